"""Casts are instructions of a Program: an elementwise operation reads the dtypes that it computes in."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import Instruction, all_loops, dtype_of
from scanviz.engine.program.lower import lower
from tests.support.internals import loop_sources

K, X, N = T.imatrix("k"), T.matrix("x"), T.lscalar("n")


def mixed(program):
    """Return the elementwise instructions that do not read the dtypes in which they compute."""
    found = []
    for inside in (program, *(loop.body for loop, _ in all_loops(program))):
        for instruction in inside.instructions:
            if isinstance(instruction, Instruction) and isinstance(
                instruction.op.declaration, ElementwiseDeclaration
            ):
                given = [np.dtype(dtype_of(inside, number)) for number in instruction.inputs]
                if list(instruction.op.declaration.result(*given)[: len(given)]) != given:
                    found.append(str(instruction.op))
    return found


def test_an_operation_of_two_dtypes_reads_casts():
    program = lower([K, X], [K * X + K], "f")
    names = [instruction.op.name for instruction in program.instructions]
    assert names == ["cast", "multiply", "add"]  # one cast for both
    assert mixed(program) == []


def test_a_constant_is_cast_when_lowering_and_not_when_running():
    half = T.constant(np.arange(3, dtype="int32"))
    program = lower([X], [X * half], "f")
    assert [instruction.op.name for instruction in program.instructions] == ["multiply"]
    assert {str(value.dtype) for value in program.constants.values()} == {"int32", "float64"}


def test_a_step_and_a_branch_have_casts_of_their_own():
    rows, _ = scanviz.scan(lambda k, h: h * 0.5 + k, K, T.zeros(2))
    program = lower([K, X, N], [rows, T.ifelse(N > 2, K * X, X)], "f")
    assert mixed(program) == []


def test_a_number_that_stays_the_same_is_cast_once():
    x, n = T.matrix("x"), T.lscalar("n")
    rows, _ = scanviz.scan(lambda x_t, n: x_t / n, x, non_sequences=n)
    f = scanviz.function([x, n], rows, mode=Mode("numpy", "none"))
    assert np.array_equal(f(np.full((3, 2), 6.0), 3), np.full((3, 2), 2.0))
    (text,) = loop_sources(f.executable)
    before, _, inside = text.partition("    for ")
    assert "float64(" in before and "float64(" not in inside


def test_errors_name_operands_with_their_dtype_before_the_cast():
    k, v = T.ivector("k"), T.vector("v")
    f = scanviz.function([k, v], k * v, mode="numpy")
    with pytest.raises(scanviz.ScanvizError, match=r"`k` int32\[3\], `v` float64\[2\]"):
        f(np.ones(3, "int32"), np.ones(2))
