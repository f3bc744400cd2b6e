"""Native code of small linear systems and factors; nearly singular matrices are called out.

So all tiers give LAPACK's answer or error where rounding decides, and where the result is not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.elements import lanes_of
from scanviz.engine.backends.native.emit.instructions import WRITE, Step, Write, copy, fill, source_of
from scanviz.engine.backends.native.emit.ir import Value, constant
from scanviz.engine.backends.native.emit.places import ArrayPlace
from scanviz.engine.backends.native.kernels.elementary import elementary
from scanviz.engine.backends.native.kernels.elimination import (
    LARGEST,
    WRITTEN_OUT,
    ZERO,
    PaddedRows,
    Triangle,
    all_finite,
    column_scales,
    diagonal_scales,
    exchange_all,
    factorise,
    factorise_positive,
    padded,
    substitute,
)
from scanviz.engine.backends.native.kernels.formulas import primitive
from scanviz.engine.backends.native.kernels.linalg import for_each_matrix
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.factorise import (
    CHOLESKY,
    CHOLESKY_SOLVE,
    DET,
    INV,
    LU_FACTOR,
    LU_SOLVE,
    SLOGDET,
    SOLVE,
    SOLVE_TRIANGULAR,
)
from scanviz.engine.program.instructions import Instruction, dtype_of, is_scalar

_LEFT = "a matrix that is singular or nearly so, or numbers that are not finite"


class MatrixBatch(NamedTuple):
    """The matrices of one instruction.

    Attributes
    ----------
    step : Step
        The step that is written.
    reads, writes : tuple of ArrayPlace
        The instruction's inputs and outputs: a matrix or a vector each, or one of a batch.
    """

    step: Step
    reads: tuple[ArrayPlace, ...]
    writes: tuple[ArrayPlace, ...]

    @property
    def size(self) -> int:
        """The rows of the matrices."""
        return self.reads[0].shape[-1]

    @property
    def dtype(self) -> str:
        """The dtype of the computation."""
        return self.writes[0].dtype

    def room(self, rows: int, columns: int, dtype: str | None = None) -> PaddedRows:
        """Allocate a matrix of zeros."""
        dtype = dtype or self.dtype
        lanes = min(padded(columns), lanes_of([dtype], self.step.vector_bytes))
        place = self.step.places.temporary((rows, -(-columns // lanes) * lanes), dtype)
        fill(self.step, constant(0, dtype), place)
        return PaddedRows(self.step.code, self.step.operand(place._replace(shape=(rows, columns))), lanes)

    def held(self, place: ArrayPlace) -> PaddedRows:
        """Copy a matrix, or a vector as one column, to scratch memory."""
        matrix = _as_matrix(place)
        made = self.room(matrix.shape[0], matrix.shape[1])
        copy(self.step, matrix, made.place)
        return made

    def give(self, rows: PaddedRows, place: ArrayPlace) -> None:
        """Copy a result to its place."""
        copy(self.step, rows.place, _as_matrix(place))

    def factors(self, a: PaddedRows) -> tuple[PaddedRows, Value]:
        """Factorise in place; return the row exchanges, and whether all pivots were good."""
        scales, exchanged = self.room(1, self.size), self.room(1, self.size, "int64")
        column_scales(a, scales)
        return exchanged, factorise(a, scales, exchanged)

    def positive_factor(self, a: PaddedRows) -> Value:
        """Factorise A = Rᵀ R in place; return whether all pivots were good."""
        scales = self.room(1, self.size)
        diagonal_scales(a, scales)
        return factorise_positive(a, scales)

    def by_factors(self, a: PaddedRows, exchanged: PaddedRows, b: PaddedRows) -> Value:
        """Solve by factors in place of the right sides; return whether the solution is valid."""
        good = exchange_all(b, exchanged, self.size)
        substitute(Triangle(a, lower=True, unit=True), b)
        substitute(Triangle(a, lower=False), b)
        return self.step.code.both(good, all_finite(b))


def _as_matrix(place: ArrayPlace) -> ArrayPlace:
    """Return a vector as a matrix with one column."""
    if len(place.shape) == 2:
        return place
    return place._replace(shape=(*place.shape, 1), strides=(*place.strides, np.dtype(place.dtype).itemsize))


def _turned(place: ArrayPlace) -> ArrayPlace:
    return place._replace(shape=place.shape[::-1], strides=place.strides[::-1])


# one matrix: its results, and whether the factorisation exists


def _solve(batch: MatrixBatch, instruction: Instruction) -> Value:
    if instruction.op.parameters.assume == "pos":
        a = batch.held(_turned(batch.reads[0]))  # the lower triangle lies in the upper one
        good, b = batch.positive_factor(a), batch.held(batch.reads[1])
        substitute(Triangle(a, lower=False, transposed=True), b)
        substitute(Triangle(a, lower=False), b)
        good = batch.step.code.both(good, all_finite(b))
    else:
        a = batch.held(batch.reads[0])
        exchanged, good = batch.factors(a)
        b = batch.held(batch.reads[1])
        good = batch.step.code.both(good, batch.by_factors(a, exchanged, b))
    batch.give(b, batch.writes[0])
    return good


def _inverse(batch: MatrixBatch, instruction: Instruction) -> Value:
    a = batch.held(batch.reads[0])
    exchanged, good = batch.factors(a)
    b = batch.room(batch.size, batch.size)

    for row in batch.step.code.over(0, batch.size, most=WRITTEN_OUT):
        b.put(constant(1, batch.dtype), row, row)
    good = batch.step.code.both(good, batch.by_factors(a, exchanged, b))
    batch.give(b, batch.writes[0])
    return good


def _cholesky(batch: MatrixBatch, instruction: Instruction) -> Value:
    lower = instruction.op.parameters.lower
    a = batch.held(_turned(batch.reads[0]) if lower else batch.reads[0])
    good = batch.step.code.both(batch.positive_factor(a), all_finite(a))
    copy(batch.step, a.place, _turned(batch.writes[0]) if lower else batch.writes[0])
    return good


def _solve_triangular(batch: MatrixBatch, instruction: Instruction) -> Value:
    a, b = batch.held(batch.reads[0]), batch.held(batch.reads[1])
    substitute(Triangle(a, *instruction.op.parameters), b)
    batch.give(b, batch.writes[0])
    return all_finite(b)


def _lu_factor(batch: MatrixBatch, instruction: Instruction) -> Value:
    a = batch.held(batch.reads[0])
    exchanged, good = batch.factors(a)
    batch.give(a, batch.writes[0])
    row = batch.writes[1]._replace(shape=(1, batch.size), strides=(0, 8))
    copy(batch.step, exchanged.place, row)
    return batch.step.code.both(good, all_finite(a))


def _lu_solve(batch: MatrixBatch, instruction: Instruction) -> Value:
    factors, pivots, side = batch.reads
    a, b = batch.held(factors), batch.held(side)
    exchanged = batch.room(1, batch.size, "int64")
    copy(batch.step, pivots._replace(shape=(1, batch.size), strides=(0, pivots.strides[0])), exchanged.place)
    if instruction.op.parameters.transposed:
        substitute(Triangle(a, lower=False, transposed=True), b)
        substitute(Triangle(a, lower=True, transposed=True, unit=True), b)
        good = batch.step.code.both(exchange_all(b, exchanged, batch.size, backwards=True), all_finite(b))
    else:
        good = batch.by_factors(a, exchanged, b)
    batch.give(b, batch.writes[0])
    return good


def _cholesky_solve(batch: MatrixBatch, instruction: Instruction) -> Value:
    a, b = batch.held(batch.reads[0]), batch.held(batch.reads[1])
    substitute(Triangle(a, lower=True), b)
    substitute(Triangle(a, lower=True, transposed=True), b)
    batch.give(b, batch.writes[0])
    return all_finite(b)


def _diagonal(
    batch: MatrixBatch, start: Sequence[Value], turn: Callable[[Value, Sequence[Value]], list[Value]]
) -> tuple[Value, list[Value]]:
    """Fold ``turn(number, carried)`` over the diagonal of U with signs; return whether the pivots were good, too."""
    a, code = batch.held(batch.reads[0]), batch.step.code
    exchanged, good = batch.factors(a)

    def one(row: Value, carried: Sequence[Value]) -> list[Value]:
        number = a.get(row, row)
        other = exchanged.get(ZERO, row)
        same = code.op(f"icmp eq i64 {other.text}, {row.text}", BOOLEAN)
        return turn(code.select(same, number, primitive(code, "negate", [number])), carried)

    return good, code.turns(0, batch.size, start, one, most=WRITTEN_OUT)


def _put(batch: MatrixBatch, which: int, number: Value) -> Value:
    """Store a scalar result; return whether it is finite."""
    batch.step.code.store(number, batch.step.operand(batch.writes[which]).address)
    code, zero = batch.step.code, constant(0, batch.dtype)
    return primitive(code, "equal", [primitive(code, "multiply", [number, zero]), zero])


def _determinant(batch: MatrixBatch, instruction: Instruction) -> Value:
    code = batch.step.code
    good, (found,) = _diagonal(
        batch,
        [constant(1, batch.dtype)],
        lambda number, carried: [primitive(code, "multiply", [carried[0], number])],
    )
    return batch.step.code.both(good, _put(batch, 0, found))


def _sign_and_logarithm(batch: MatrixBatch, instruction: Instruction) -> Value:
    code = batch.step.code

    one = constant(1, batch.dtype)

    def turn(number: Value, carried: Sequence[Value]) -> list[Value]:
        logarithm = elementary(code, "log", [primitive(code, "absolute", [number])])
        sign = primitive(code, "multiply", [carried[0], primitive(code, "copysign", [one, number])])
        return [primitive(code, "copysign", [one, sign]), primitive(code, "add", [carried[1], logarithm])]

    good, (sign, total) = _diagonal(batch, [one, constant(0, batch.dtype)], turn)
    return batch.step.code.both(batch.step.code.both(good, _put(batch, 0, sign)), _put(batch, 1, total))


# batches


def _written(
    one: Callable[[MatrixBatch, Instruction], Value], cores: Sequence[int], given: Sequence[int]
) -> Write:
    """Return the writer of an operation on each matrix of a batch.

    Parameters
    ----------
    one : callable
        Writes the code for one matrix, and returns whether it succeeded.
    cores, given : sequence of int
        The number of matrix axes of the inputs and the outputs; one less for a vector on the right.
    """

    def write(step: Step, instruction: Instruction) -> None:
        reads = [source_of(step, number) for number in instruction.inputs]
        if not prod(reads[0].shape):
            raise NotWrittenError("empty matrices are left to LAPACK")
        if reads[0].shape[-1] > LARGEST:
            raise NotWrittenError(f"matrices of more than {LARGEST} rows are left to LAPACK")
        writes = [_result(step, number, reads) for number in instruction.outputs]
        axes = [*cores, *given]
        if len(reads) > 1 and len(reads[-1].shape) == 1:
            axes[len(reads) - 1] = axes[len(reads)] = 1

        def write_one(cut: Sequence[ArrayPlace]) -> Value:
            batch = MatrixBatch(step, tuple(cut[: len(reads)]), tuple(cut[len(reads) :]))
            return one(batch, instruction)

        good = for_each_matrix(step, [*reads, *writes], axes, write_one)
        numbers = [
            place
            for number, place in zip(instruction.outputs, writes, strict=True)
            if is_scalar(step.body, number)
        ]

        def finished() -> list[Value]:
            return [step.code.load(step.operand(place).address, place.dtype) for place in numbers]

        step.where(good, instruction, _LEFT, finished)

    return write


def _result(step: Step, number: int, reads: Sequence[ArrayPlace]) -> ArrayPlace:
    """Return the place of a result."""
    if is_scalar(step.body, number):
        return step.places.temporary((), dtype_of(step.body, number))
    place = step.places.of(number)
    assert place is not None
    if any(read.base == place.base for read in reads):
        raise NotWrittenError("a result in the memory of an input is left to LAPACK")
    return place


for _declaration, _one, _cores, _given in (
    (SOLVE, _solve, (2, 2), (2,)),
    (INV, _inverse, (2,), (2,)),
    (CHOLESKY, _cholesky, (2,), (2,)),
    (DET, _determinant, (2,), (0,)),
    (SLOGDET, _sign_and_logarithm, (2,), (0, 0)),
    (SOLVE_TRIANGULAR, _solve_triangular, (2, 2), (2,)),
    (LU_FACTOR, _lu_factor, (2,), (2, 1)),
    (LU_SOLVE, _lu_solve, (2, 1, 2), (2,)),
    (CHOLESKY_SOLVE, _cholesky_solve, (2, 2), (2,)),
):
    WRITE.row(_declaration)(_written(_one, _cores, _given))
