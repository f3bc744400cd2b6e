"""Blocks printed as CUDA C++ and compiled by g++, in one library, against the NumPy meaning and against plain Python."""

import ctypes
import itertools
from random import Random

import numpy as np
import pytest

from scanviz.engine.errors import ScanvizNotImplementedError
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.scalar.blocks import typed
from scanviz.engine.scalar.cuda_source import PRELUDE, TYPES, CudaFunctions
from scanviz.engine.scalar.expression import cast, select, x
from scanviz.engine.scalar.primitives import PRIMITIVES
from tests.engine.ops.formulas.test_formulas import ELEMENTWISE, check, combinations, defined, operands_of
from tests.support.formulas import WHOLE, Grower, plain_value
from tests.support.host_kernels import HAS_COMPILER, library
from tests.support.special_values import special_array, special_numbers

pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="the functions need g++, which is not installed")
PLACES = 4  # of elementary functions, as CUDA's documentation states for most
NOT_WRITTEN = {"betaln", "digamma", "gammainc", "gammaincc", "polygamma"}


class Printed:
    """Blocks as functions of arrays, all of one library.

    Parameters
    ----------
    blocks : mapping
        Key → block.
    """

    def __init__(self, blocks):
        functions, self.blocks, entries = CudaFunctions(), {}, []
        for number, (key, block) in enumerate(blocks.items()):
            kinds = [*block.dtypes[: block.arguments], block.dtypes[block.results[0]]]
            given = ", ".join(f"const {TYPES[kind]}* a{k}" for k, kind in enumerate(kinds[:-1]))
            call = f"{functions.name_for('f', block)}({', '.join(f'a{k}[i]' for k in range(len(kinds) - 1))})"
            entries.append(
                f'extern "C" void entry{number}(long long n, {given}, {TYPES[kinds[-1]]}* made) '
                f"{{ for (long long i = 0; i < n; ++i) made[i] = {call}; }}"
            )
            self.blocks[key] = number, kinds
        entries.append("static void wait_for_all() {}")
        self.library = library(PRELUDE + functions.text() + "\n", "\n".join(entries))

    def __call__(self, key, *arrays):
        """Return the results of a block for arrays of one length."""
        number, kinds = self.blocks[key]
        given = [np.ascontiguousarray(array, kind) for array, kind in zip(arrays, kinds, strict=False)]
        made = np.empty(len(given[0]), kinds[-1])
        places = [ctypes.c_void_p(array.ctypes.data) for array in (*given, made)]
        getattr(self.library, f"entry{number}")(ctypes.c_longlong(len(made)), *places)
        return made


@pytest.fixture(scope="module")
def operations():
    """Return all operations of all dtypes that have code."""
    blocks = {}
    for declaration in ELEMENTWISE:
        for dtypes in combinations(declaration):
            block = declaration.block(*dtypes)[1]
            try:
                CudaFunctions().name_for("f", block)
            except ScanvizNotImplementedError:
                continue
            blocks[declaration.name, dtypes] = block
    return Printed(blocks)


def is_exact(block):
    """Return whether a block has no elementary function."""
    lines = itertools.chain(block.lines, *(inner.lines for line in block.lines for inner in line.blocks))
    return all(line.op not in PRIMITIVES or PRIMITIVES[line.op].exact for line in lines)


@pytest.mark.parametrize("declaration", ELEMENTWISE, ids=lambda each: each.name)
def test_a_printed_operation_is_the_numpy_meaning(operations, declaration):
    rng, tried = np.random.default_rng(7), 0
    for dtypes in combinations(declaration):
        if (declaration.name, dtypes) not in operations.blocks:
            continue
        tried += 1
        operands = operands_of(dtypes, rng)
        kept = defined(declaration, operands)
        if declaration.name == "erfinv":
            kept &= operands[0] != 0  # SciPy's of -0.0 is 0.0, CUDA's -0.0
        if declaration.name == "gammaln":
            kept &= ~(np.abs(operands[0]) == 5e-324)  # SciPy's result is inf
        operands = [operand[kept] for operand in operands]
        computed, block = declaration.block(*dtypes)
        with np.errstate(all="ignore"):
            wanted = declaration.function(*operands)
            given = [operand.astype(dtype) for operand, dtype in zip(operands, computed, strict=True)]
        found = operations((declaration.name, dtypes), *given)
        check(declaration, found, wanted, dtypes, operands, 0 if is_exact(block) else PLACES)
    assert bool(tried) == (declaration.name not in NOT_WRITTEN)


CASTS = list(itertools.permutations(DTYPES, 2))


@pytest.fixture(scope="module")
def casts():
    return Printed({(old, new): typed([cast(x, new)], [old]) for old, new in CASTS})


@pytest.mark.parametrize("old", DTYPES)
def test_a_printed_cast_is_numpys(casts, old):
    for new in DTYPES:
        if new != old:
            given = np.array(special_numbers(old), old)
            with np.errstate(all="ignore"):
                # NumPy's own goes this way too, but not for all lengths
                wanted = (given.astype("int64") if new == "uint32" else given).astype(new)
            np.testing.assert_array_equal(
                casts((old, new), given), wanted, err_msg=f"{old} to {new} of {given}"
            )


def test_random_expressions_have_plain_pythons_values():
    cases = {}
    for seed in range(60):
        rng = Random(seed)
        dtypes = [rng.choice((*WHOLE, "float64", "bool")) for _ in range(rng.choice((1, 2, 3)))]
        made, kind = Grower(rng, dtypes).grow(rng.randint(1, 12))
        given = [special_array(rng, dtype, (5,), moderate=True) for dtype in dtypes]
        cases[seed] = made, kind, dtypes, given
    printed = Printed({seed: typed([made], dtypes, kind) for seed, (made, kind, dtypes, _) in cases.items()})
    for seed, (made, kind, dtypes, given) in cases.items():
        wanted = [plain_value(made, [array[k].item() for array in given], dtypes)[0] for k in range(5)]
        np.testing.assert_array_equal(
            printed(seed, *given), np.array(wanted, kind), err_msg=f"{seed}: {made!r}"
        )


def test_a_negated_negative_number_is_no_decrement():
    printed = Printed({"f": typed([select(x < 0, -(x * 0 + 1), -select(x < 1, -1.0, -2.0))], ["float64"])})
    np.testing.assert_array_equal(printed("f", np.array([-1.0, 0.0, 3.0])), [-1, 1, 2])
