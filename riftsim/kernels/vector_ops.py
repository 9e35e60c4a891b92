"""Explicit vector instructions as numba intrinsics: distances, prefetch, unaligned loads, moves.

Written as LLVM vectors of a fixed width with a fixed reduction order. Two consequences: a float32 distance has the same
bits at every call site and on every machine (LLVM splits the vectors where registers are narrower, and no relaxed rule
lets it reorder sums), and no kernel needs to be compiled anew for each dimension.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

_I8, _I16, _I32, _I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
_F32 = ir.FloatType()
_FLOAT_LANES = 16
_BYTE_LANES = 32


def _data(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, array).data


def _as_bytes(builder, pointer):
    return builder.bitcast(pointer, _I8.as_pointer())


def _load(builder, pointer, llvm_type):
    loaded = builder.load(builder.bitcast(pointer, llvm_type.as_pointer()))
    loaded.align = 1
    return loaded


def _sum_lanes(builder, vector, add):
    lanes = vector.type.count
    while lanes > 1:
        lanes //= 2
        undefined = ir.Constant(vector.type, ir.Undefined)
        low = ir.Constant(ir.VectorType(_I32, lanes), list(range(lanes)))
        high = ir.Constant(ir.VectorType(_I32, lanes), list(range(lanes, 2 * lanes)))
        vector = add(builder.shuffle_vector(vector, undefined, low), builder.shuffle_vector(vector, undefined, high))
    return builder.extract_element(vector, ir.Constant(_I32, 0))


def _pair_sums(builder, products):
    """Add neighbouring lanes; with 16-bit factors LLVM selects one multiply-add instruction for both steps."""
    half = products.type.count // 2
    undefined = ir.Constant(products.type, ir.Undefined)
    even = ir.Constant(ir.VectorType(_I32, half), list(range(0, 2 * half, 2)))
    odd = ir.Constant(ir.VectorType(_I32, half), list(range(1, 2 * half, 2)))
    return builder.add(
        builder.shuffle_vector(products, undefined, even), builder.shuffle_vector(products, undefined, odd)
    )


def _reduce(builder, element, left, right, dimension, inner_product):
    """Emit the sum over ``dimension`` elements of products (or squared differences) of two unaligned byte pointers.

    Bytes are subtracted as 16-bit integers (exact) and summed as 32-bit ones; float32 stays float32 in 16 lanes.
    """
    is_float = element == types.float32
    lanes, sums = (_FLOAT_LANES, _FLOAT_LANES) if is_float else (_BYTE_LANES, _BYTE_LANES // 2)
    size = 4 if is_float else 1
    stored, worked, summed = (_F32, _F32, _F32) if is_float else (_I8, _I16, _I32)
    add, subtract, multiply = (
        (builder.fadd, builder.fsub, builder.fmul) if is_float else (builder.add, builder.sub, builder.mul)
    )

    def operand(pointer, at, count):
        def shaped(scalar):
            return ir.VectorType(scalar, count) if count > 1 else scalar

        value = _load(builder, builder.gep(pointer, [at]), shaped(stored))
        if is_float:
            return value
        return (builder.sext if element == types.int8 else builder.zext)(value, shaped(worked))

    def terms(at, count):
        x, y = operand(left, at, count), operand(right, at, count)
        if not inner_product:
            x = y = subtract(x, y)
        if is_float:
            return multiply(x, y)
        wide = ir.VectorType(summed, count) if count > 1 else summed
        return multiply(builder.sext(x, wide), builder.sext(y, wide))

    index = dimension.type
    blocks = builder.udiv(dimension, ir.Constant(index, lanes))
    lane_sums = cgutils.alloca_once_value(builder, ir.Constant(ir.VectorType(summed, sums), None))
    with cgutils.for_range(builder, blocks) as loop:
        products = terms(builder.mul(loop.index, ir.Constant(index, lanes * size)), lanes)
        if not is_float:
            products = _pair_sums(builder, products)
        builder.store(add(builder.load(lane_sums), products), lane_sums)
    total = cgutils.alloca_once_value(builder, _sum_lanes(builder, builder.load(lane_sums), add))
    done = builder.mul(blocks, ir.Constant(index, lanes))
    with cgutils.for_range(builder, builder.sub(dimension, done)) as loop:
        at = builder.mul(builder.add(done, loop.index), ir.Constant(index, size))
        builder.store(add(builder.load(total), terms(at, 1)), total)
    result = builder.load(total)
    return result if is_float else builder.sitofp(result, _F32)


def _distance(builder, element, metric, left, right, dimension):
    """Emit ``metric == 0 ? squared L2 : -inner product`` as one branch."""
    result = cgutils.alloca_once(builder, _F32)
    is_l2 = builder.icmp_signed("==", metric, ir.Constant(metric.type, 0))
    with builder.if_else(is_l2, likely=True) as (then, otherwise):
        with then:
            builder.store(_reduce(builder, element, left, right, dimension, inner_product=False), result)
        with otherwise:
            product = _reduce(builder, element, left, right, dimension, inner_product=True)
            builder.store(builder.fneg(product), result)
    return builder.load(result)


def _require_vector_dtype(array_type):
    if array_type.dtype not in (types.uint8, types.int8, types.float32):
        raise TypingError(f"vectors are uint8, int8 or float32, not {array_type.dtype}")


@intrinsic
def distance_at(typing_context, metric, a, a_offset, b, b_offset, d):
    """Distance of ``a[a_offset:a_offset+d]`` and ``b[b_offset:b_offset+d]`` (flat arrays of one dtype), float32.

    ``metric`` 0 is squared L2 (exact in integers below 2**31, then rounded once), 1 is minus the inner product.
    """
    _require_vector_dtype(a)
    if a.dtype != b.dtype:
        raise TypingError(f"both vectors must have one dtype, not {a.dtype} and {b.dtype}")
    signature = types.float32(types.int64, a, types.int64, b, types.int64, types.int64)

    def codegen(context, builder, signature, arguments):
        metric, a, a_offset, b, b_offset, d = arguments
        left = _as_bytes(builder, builder.gep(_data(context, builder, signature.args[1], a), [a_offset]))
        right = _as_bytes(builder, builder.gep(_data(context, builder, signature.args[3], b), [b_offset]))
        return _distance(builder, signature.args[1].dtype, metric, left, right, d)

    return signature, codegen


@intrinsic
def distance_bytes(typing_context, metric, query, buffer, byte_offset, d):
    """Distance of ``query[:d]`` and the vector of the same dtype that starts at ``buffer[byte_offset]``, float32.

    ``buffer`` holds raw bytes (uint8); the vector in it need not be aligned.
    """
    _require_vector_dtype(query)
    if buffer.dtype != types.uint8:
        raise TypingError(f"the buffer holds bytes (uint8), not {buffer.dtype}")
    signature = types.float32(types.int64, query, buffer, types.int64, types.int64)

    def codegen(context, builder, signature, arguments):
        metric, query, buffer, byte_offset, d = arguments
        left = _as_bytes(builder, _data(context, builder, signature.args[1], query))
        right = builder.gep(_data(context, builder, signature.args[2], buffer), [byte_offset])
        return _distance(builder, signature.args[1].dtype, metric, left, right, d)

    return signature, codegen


@intrinsic
def prefetch(typing_context, array, offset):
    """Ask the caches for the line that holds ``array[offset]``; never faults."""
    signature = types.void(array, types.int64)

    def codegen(context, builder, signature, arguments):
        pointer = builder.gep(_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = ir.Constant(_I32, 0), ir.Constant(_I32, 3), ir.Constant(_I32, 1)
        builder.call(function, [_as_bytes(builder, pointer), read, keep, data])
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def load_i32(typing_context, buffer, byte_offset):
    """Read the little-endian int32 that starts at ``buffer[byte_offset]`` (uint8 array), aligned or not."""
    signature = types.int32(buffer, types.int64)

    def codegen(context, builder, signature, arguments):
        start = _as_bytes(builder, _data(context, builder, signature.args[0], arguments[0]))
        return _load(builder, builder.gep(start, [arguments[1]]), _I32)

    return signature, codegen


@intrinsic
def move_up(typing_context, keys, start, stop):
    """Move ``keys[start:stop]`` one place up, to ``keys[start+1:stop+1]`` (uint64 array, memmove)."""
    signature = types.void(keys, types.int64, types.int64)

    def codegen(context, builder, signature, arguments):
        data = _data(context, builder, signature.args[0], arguments[0])
        source = builder.gep(data, [arguments[1]])
        target = builder.gep(source, [ir.Constant(_I64, 1)])
        count = builder.mul(builder.sub(arguments[2], arguments[1]), ir.Constant(_I64, 8))
        cgutils.raw_memmove(builder, target, source, count, 1)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def float_bits(typing_context, value):
    """Bits of a float32 as uint32."""
    signature = types.uint32(types.float32)

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _I32)

    return signature, codegen


@intrinsic
def float_from_bits(typing_context, bits):
    """float32 with the given bits (uint32)."""
    signature = types.float32(types.uint32)

    def codegen(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], _F32)

    return signature, codegen
