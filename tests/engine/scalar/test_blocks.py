"""Typed blocks: dtypes of numbers, equal operations once, loops, text, and refusals."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from scanviz.engine.errors import InternalError, ScanvizTypeError
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.scalar.array_source import NUMPY, Target, compiled, on_arrays
from scanviz.engine.scalar.blocks import text_of, typed
from scanviz.engine.scalar.expression import (
    ScalarFunction,
    argument,
    bits,
    carried,
    cast,
    constant,
    equal,
    from_bits,
    like,
    loop,
    lowest,
    primitive,
    select,
    table,
    when,
    width,
    x,
    y,
)
from scanviz.engine.scalar.primitives import KINDS, PRIMITIVES


def value(expression, *given):
    """Return the value of an expression of NumPy numbers or arrays."""
    block = typed([expression], [np.asarray(each).dtype.name for each in given])
    with np.errstate(all="ignore"):
        (found,) = on_arrays(block)(*map(np.asarray, given))
    assert found.dtype == block.dtypes[block.results[0]]
    return found


@pytest.mark.parametrize("dtype", [each for each in DTYPES if each != "bool"])
def test_a_python_number_takes_the_dtype_of_the_other_operand(dtype):
    block = typed([2 + x * 3], [dtype])
    assert set(block.dtypes) == {dtype}
    assert value(2 + x * 3, np.array([5], dtype)) == 17


def test_equal_operations_are_one_line():
    block = typed([(x * y + 1) / (x * y + 1)], ["float64", "float64"])
    assert [line.op for line in block.lines] == ["multiply", "constant", "add", "divide"]


def test_zeros_and_nans_of_constants_keep_their_bits():
    zeros = typed([x + 0.0, x + -0.0], ["float32"])
    assert sum(line.op == "constant" for line in zeros.lines) == 2
    block = typed([constant(float("nan"), "float64"), constant(float("nan"), "float64")], [])
    assert len(block.lines) == 1


@pytest.mark.parametrize(
    ("wrong", "dtypes"),
    [
        (x + y, ["int8", "int16"]),
        (x / y, ["int8", "int8"]),
        (x + 300, ["uint8"]),
        (select(x, y, y), ["int8", "int8"]),
        (constant(1) + 2, []),
        (bits(x), ["int32"]),
        (primitive("exp", x), ["int32"]),
        (-x, ["uint8"]),
        (table(x, [1], "int8"), ["float32"]),
        (loop({"a": x}, carried("a") > 0, {"a": carried("a") > 1}, 3)["a"], ["int8"]),
    ],
)
def test_expressions_without_a_meaning_are_refused(wrong, dtypes):
    with pytest.raises(ScanvizTypeError):
        typed([wrong], dtypes)


def test_an_expression_is_no_truth_value():
    with pytest.raises(InternalError, match="select"):
        bool(x < 1)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_high_halves_of_products_agree_with_python(dtype):
    ends = np.iinfo(dtype)
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, ends.max, (2, 100), dtype, endpoint=True)
    a[:2], b[:2] = ends.max, [ends.max, 1]
    wanted = [int(p) * int(q) >> ends.bits for p, q in zip(a, b, strict=True)]
    assert value(primitive("multiply_high", x, y), a, b).tolist() == wanted


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bit_casts_round_trip(dtype):
    given = np.array([0.0, -0.0, np.inf, np.nan, 1.5], dtype)
    assert value(from_bits(bits(x)), given).tobytes() == given.tobytes()
    assert value(bits(x) < 0, given).tolist() == np.signbit(given).tolist()


def test_quotients_and_remainders_go_towards_0():
    a, b = np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])
    assert value(primitive("quotient", x, y), a, b).tolist() == [3, -3, -3, 3]
    assert value(primitive("remainder", x, y), a, b).tolist() == [1, -1, 1, -1]


def test_limits_and_like_take_the_dtype_of_another():
    assert value(select(x > lowest(), like(1, x), 0), np.array([-128, 5], "int8")).tolist() == [0, 1]
    assert value(select(x < width(), x, 0), np.array([31, 32], "uint32")).tolist() == [31, 0]
    assert value(cast(x, y), np.array(2.9), np.array(1, "int8")).dtype == "int8"
    assert value(table(x, [0.5, 2.0], "float32"), np.array([1, 0])).tolist() == [2.0, 0.5]


def collatz(limit=1000):
    """Return how many steps a number takes to 1."""
    n, steps = carried("n"), carried("steps")
    odd = ~equal(n & 1, 0)
    following = select(odd, n * 3 + 1, n >> 1)
    start = {"n": x, "steps": like(0, x)}
    return loop(start, n > 1, {"n": following, "steps": steps + 1}, limit)["steps"]


def test_a_loop_runs_for_each_element_until_it_is_done():
    assert value(collatz(), np.array([1, 27, 6, 1])).tolist() == [0, 111, 8, 0]
    assert value(collatz(), np.array(27)).tolist() == 111 and value(collatz(), np.arange(0)).tolist() == []
    assert value(collatz(5), np.array([27, 2])).tolist() == [5, 1]


def test_inner_scalar_loops_read_carries_of_the_outer_loop():
    n, total, k = carried("n"), carried("total"), carried("k")
    inner = loop({"k": like(0, x)}, k < n * y, {"k": k + 2}, 100)["k"]
    step = {"n": n - 1, "total": total + inner}
    found = loop({"n": x, "total": like(0, x)}, n > 0, step, 100)["total"]
    given = np.array([[3, 0], [1, 5]]), np.array([1, 2])
    wanted = [
        [sum((k * b + 1) // 2 * 2 for k in range(a + 1)) for a, b in zip(row, given[1], strict=True)]
        for row in given[0]
    ]
    assert value(found, *given).tolist() == wanted


def test_loop_invariants_of_a_scalar_loop_are_hoisted():
    k = carried("k")
    block = typed([loop({"k": x}, k < y * y, {"k": k + y * y}, 9)["k"]], ["int64", "int64"])
    assert [line.op for line in block.lines] == ["multiply", "loop"]
    assert [line.op for inner in block.lines[1].blocks for line in inner.lines] == ["less", "add"]


def test_a_condition_skips_finished_elements():
    asked = primitive("log", x)
    assert value(when(x > 0, asked, x), np.array([1.0, -2.0])).tolist() == [0.0, -2.0]


def test_a_function_gives_several_results():
    both = ScalarFunction("both", ("int64", "int64"), (x + y, x - y))
    total, difference = both(argument(0), argument(0) + 1)
    block = typed([total, difference], ["int64"])
    assert [line.op for line in block.lines] == ["constant", "add", "call"]
    assert [array.tolist() for array in on_arrays(block)(np.array([4]))] == [[9], [-1]]


def test_a_block_is_the_same_in_another_process():
    block = typed([collatz()], ["int64"])
    assert pickle.loads(pickle.dumps(block)) == block and hash(block) == hash(typed([collatz()], ["int64"]))
    code = (
        "from tests.engine.scalar.test_blocks import *; print(text_of(typed([collatz()], ['int64'])), end='')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == text_of(block)


def test_a_loop_prints_with_its_condition_and_step():
    assert (
        text_of(typed([collatz()], ["int8"]), "collatz")
        == """\
collatz(%0: int8)
    %2: int8, %3: int8 = loop, 1000 steps at most, of %0, 0
      while(%0: int8, %1: int8)
        %3: bool = less 1, %0
        give %3
      step(%0: int8, %1: int8)
        %3: int8 = bit_and %0, 1
        %5: bool = equal %3, 0
        %6: bool = bit_not %5
        %8: int8 = multiply %0, 3
        %9: int8 = add %8, 1
        %10: int8 = shift_right %0, 1
        %11: int8 = select %6, %9, %10
        %12: int8 = add %1, 1
        give %11, %12
    give %3"""
    )


def test_every_primitive_accepts_its_declared_kinds():
    letters = {kind[0] for kind in KINDS.values()}
    for each in PRIMITIVES.values():
        assert set(each.kinds) <= letters and each.meaning and each.arity in (1, 2)
        for dtype in DTYPES:
            made = primitive(each.name, *(x, y)[: each.arity])
            if KINDS[dtype][0] in each.kinds:
                block = typed([made], [dtype] * each.arity)
                assert block.dtypes[-1] == ("bool" if each.tests else dtype)
                (found,) = on_arrays(block)(*[np.ones(2, dtype)] * each.arity)
                assert found.dtype == block.dtypes[-1] and found.shape == (2,)
            else:
                with pytest.raises(ScanvizTypeError):
                    typed([made], [dtype] * each.arity)


def test_a_target_may_know_a_function_better():
    both = ScalarFunction("both", ("int64", "int64"), (x + y, x - y))
    calls = []

    def known(a, b):
        calls.append((a, b))
        return a + b, a - b

    block = typed(both(argument(0), argument(0) + 1), ["int64"])
    run = compiled(block, Target(np, NUMPY.special, {"both": known}))
    assert [each.tolist() for each in run(np.array([4]))] == [[9], [-1]] and len(calls) == 1
