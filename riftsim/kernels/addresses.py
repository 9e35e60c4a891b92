"""Arrays over memory whose address is known: what handles are made of.

Intrinsics, so that kernels without reference counts can use them; the arrays own nothing.
"""

from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj


def _view(context, builder, array_type, address, shape):
    """Code of a C-contiguous array of ``array_type`` at an address (an int64 value) with a shape (intp values)."""
    out = arrayobj.make_array(array_type)(context, builder)
    itemsize = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
    strides = [itemsize]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(address, context.get_data_type(array_type.dtype).as_pointer())
    arrayobj.populate_array(out, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return out._getvalue()


@intrinsic
def array_at(typing_context, address, length, dtype):
    """The one-dimensional array of ``dtype`` at an address (int64)."""
    array_type = types.Array(dtype.dtype, 1, "C")

    def codegen(context, builder, signature, arguments):
        return _view(context, builder, array_type, arguments[0], [arguments[1]])

    return array_type(types.int64, types.int64, dtype), codegen


@intrinsic
def matrix_at(typing_context, address, rows, columns, dtype):
    """The two-dimensional C-contiguous array of ``dtype`` at an address (int64)."""
    array_type = types.Array(dtype.dtype, 2, "C")

    def codegen(context, builder, signature, arguments):
        return _view(context, builder, array_type, arguments[0], list(arguments[1:3]))

    return array_type(types.int64, types.int64, types.int64, dtype), codegen


def _words(context, builder, signature, arguments, count):
    """The three words of a table in a handle, as values; ``arguments`` begin with the handle and the table's number."""
    handle = context.make_array(signature.args[0])(context, builder, arguments[0])
    first = builder.mul(arguments[1], context.get_constant(types.int64, 3))
    return [
        builder.load(builder.gep(handle.data, [builder.add(first, context.get_constant(types.int64, word))]))
        for word in range(count)
    ]


_INT64S = types.Array(types.int64, 1, "C")
_INT64_ROWS = types.Array(types.int64, 2, "C")


@intrinsic
def vector(typing_context, handle, number):
    """The table ``number`` of a handle (three words each: address, rows, columns) as int64 (rows,)."""

    def codegen(context, builder, signature, arguments):
        address, rows = _words(context, builder, signature, arguments, 2)
        return _view(context, builder, _INT64S, address, [rows])

    return _INT64S(_INT64S, types.int64), codegen


@intrinsic
def grid(typing_context, handle, number):
    """The table ``number`` of a handle as int64 (rows, columns)."""

    def codegen(context, builder, signature, arguments):
        address, rows, columns = _words(context, builder, signature, arguments, 3)
        return _view(context, builder, _INT64_ROWS, address, [rows, columns])

    return _INT64_ROWS(_INT64S, types.int64), codegen


@intrinsic
def table(typing_context, handle, number, columns):
    """The same where ``columns`` is known to the compiler."""

    def codegen(context, builder, signature, arguments):
        address, rows = _words(context, builder, signature, arguments, 2)
        return _view(context, builder, _INT64_ROWS, address, [rows, arguments[2]])

    return _INT64_ROWS(_INT64S, types.int64, types.int64), codegen
