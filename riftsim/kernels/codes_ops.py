"""Distances of compact codes as numba intrinsics.

Like ``vector_ops``: fixed lanes and a fixed order of reduction, so that a distance has the same bits everywhere.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from riftsim.kernels.vector_ops import (
    _F32,
    _I8,
    _I32,
    _I64,
    _as_bytes,
    _data,
    _distance,
    _load,
    _require_vector_dtype,
    _sum_lanes,
)

CODE_FULL = 0
CODE_PQ = 1
CODE_SQ8 = 2

_LOOKUP_LANES = 4
_SCALAR_LANES = 16
_LINE_BYTES = 64


def _lookup_sum(builder, table, code, chunks):
    """Emit the sum of ``table[256 * j + code[j]]``: chunk j into lane j mod 4, then (s0 + s1) + (s2 + s3)."""

    def entry(chunk, index):
        place = builder.add(builder.shl(chunk, ir.Constant(_I64, 8)), index)
        return builder.load(builder.gep(table, [place]))

    sums = [cgutils.alloca_once_value(builder, ir.Constant(_F32, 0.0)) for _ in range(_LOOKUP_LANES)]
    blocks = builder.udiv(chunks, ir.Constant(_I64, _LOOKUP_LANES))
    with cgutils.for_range(builder, blocks) as loop:
        first = builder.mul(loop.index, ir.Constant(_I64, _LOOKUP_LANES))
        word = builder.zext(_load(builder, builder.gep(code, [first]), _I32), _I64)
        for lane, total in enumerate(sums):
            index = builder.and_(builder.lshr(word, ir.Constant(_I64, 8 * lane)), ir.Constant(_I64, 255))
            value = entry(builder.add(first, ir.Constant(_I64, lane)), index)
            builder.store(builder.fadd(builder.load(total), value), total)
    done = builder.mul(blocks, ir.Constant(_I64, _LOOKUP_LANES))
    for lane, total in enumerate(sums[:-1]):
        chunk = builder.add(done, ir.Constant(_I64, lane))
        with builder.if_then(builder.icmp_signed("<", chunk, chunks)):
            index = builder.zext(builder.load(builder.gep(code, [chunk])), _I64)
            builder.store(builder.fadd(builder.load(total), entry(chunk, index)), total)
    s0, s1, s2, s3 = (builder.load(total) for total in sums)
    return builder.fadd(builder.fadd(s0, s1), builder.fadd(s2, s3))


def _scalar_sum(builder, is_l2, table, code, d):
    """Emit the sum of ``w * (a - c)**2`` (squared L2) or ``a + w * c``, with ``a = table[:d]``, ``w = table[d:2d]``."""
    weights = builder.gep(table, [d])

    def term(place, lanes):
        stored = ir.VectorType(_I8, lanes) if lanes > 1 else _I8
        real = ir.VectorType(_F32, lanes) if lanes > 1 else _F32
        value = builder.uitofp(_load(builder, builder.gep(code, [place]), stored), real)
        shift = _load(builder, builder.gep(table, [place]), real)
        weight = _load(builder, builder.gep(weights, [place]), real)
        if not is_l2:
            return builder.fadd(shift, builder.fmul(weight, value))
        difference = builder.fsub(shift, value)
        return builder.fmul(weight, builder.fmul(difference, difference))

    vector = ir.VectorType(_F32, _SCALAR_LANES)
    lane_sums = cgutils.alloca_once_value(builder, ir.Constant(vector, None))
    blocks = builder.udiv(d, ir.Constant(_I64, _SCALAR_LANES))
    with cgutils.for_range(builder, blocks) as loop:
        place = builder.mul(loop.index, ir.Constant(_I64, _SCALAR_LANES))
        builder.store(builder.fadd(builder.load(lane_sums), term(place, _SCALAR_LANES)), lane_sums)
    total = cgutils.alloca_once_value(builder, _sum_lanes(builder, builder.load(lane_sums), builder.fadd))
    done = builder.mul(blocks, ir.Constant(_I64, _SCALAR_LANES))
    with cgutils.for_range(builder, builder.sub(d, done)) as loop:
        place = builder.add(done, loop.index)
        builder.store(builder.fadd(builder.load(total), term(place, 1)), total)
    return builder.load(total)


@intrinsic
def distance_of_code(typing_context, kind, metric, table, query, codes, byte_offset, code_bytes, d):
    """Compact distance of the code at ``codes[byte_offset]``, float32.

    The kinds are told apart in here rather than by the caller because branches around array arguments make numba count
    references at every call, which costs ten times the distance.
    """
    _require_vector_dtype(query)
    if table.dtype != types.float32 or codes.dtype != types.uint8:
        raise TypingError(f"tables are float32 and codes uint8, not {table.dtype} and {codes.dtype}")
    integers = types.int64
    signature = types.float32(integers, integers, table, query, codes, integers, integers, integers)

    def codegen(context, builder, signature, arguments):
        kind, metric, table, query, codes, byte_offset, code_bytes, d = arguments
        table = _data(context, builder, signature.args[2], table)
        exact = _as_bytes(builder, _data(context, builder, signature.args[3], query))
        code = builder.gep(_data(context, builder, signature.args[4], codes), [byte_offset])
        is_l2 = builder.icmp_signed("==", metric, ir.Constant(_I64, 0))
        result = cgutils.alloca_once(builder, _F32)
        with builder.if_else(builder.icmp_signed("==", kind, ir.Constant(_I64, CODE_PQ))) as (is_pq, is_other):
            with is_pq:
                builder.store(_lookup_sum(builder, table, code, code_bytes), result)
            with (
                is_other,
                builder.if_else(builder.icmp_signed("==", kind, ir.Constant(_I64, CODE_SQ8))) as (is_scalar, is_full),
            ):
                with is_scalar, builder.if_else(is_l2) as (then, otherwise):
                    with then:
                        builder.store(_scalar_sum(builder, True, table, code, d), result)
                    with otherwise:
                        builder.store(_scalar_sum(builder, False, table, code, d), result)
                with is_full:
                    builder.store(_distance(builder, signature.args[3].dtype, metric, exact, code, d), result)
        return builder.load(result)

    return signature, codegen


@intrinsic
def prefetch_bytes(typing_context, buffer, byte_offset, size_bytes):
    """Ask the caches for every line of ``buffer[byte_offset : byte_offset + size_bytes]``; never faults."""
    signature = types.void(buffer, types.int64, types.int64)

    def codegen(context, builder, signature, arguments):
        buffer, byte_offset, size_bytes = arguments
        start = builder.gep(_data(context, builder, signature.args[0], buffer), [byte_offset])
        start = _as_bytes(builder, start)
        kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = ir.Constant(_I32, 0), ir.Constant(_I32, 3), ir.Constant(_I32, 1)
        last = builder.sub(size_bytes, ir.Constant(_I64, 1))
        whole = builder.sdiv(last, ir.Constant(_I64, _LINE_BYTES))
        with cgutils.for_range(builder, whole) as loop:
            line = builder.gep(start, [builder.mul(loop.index, ir.Constant(_I64, _LINE_BYTES))])
            builder.call(function, [line, read, keep, data])
        builder.call(
            function, [builder.gep(start, [builder.mul(whole, ir.Constant(_I64, _LINE_BYTES))]), read, keep, data]
        )
        builder.call(function, [builder.gep(start, [last]), read, keep, data])
        return context.get_dummy_value()

    return signature, codegen
