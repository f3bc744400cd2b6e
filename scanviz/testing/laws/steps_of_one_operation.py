"""Laws of steps that do elementwise operations or casts: of special numbers of any dtypes all tiers give the same or fail alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.declaration import Op, declarations
from scanviz.engine.graph.nodes import Array, Variable, tensor_type
from scanviz.engine.graph.types import BOOLEAN, FLOATS, INTEGERS
from scanviz.engine.mode import Mode
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.testing.comparing import assert_same_bits, assert_within_places
from scanviz.testing.laws.law import law
from scanviz.testing.laws.tiers import TIERS
from scanviz.testing.special_values import special_array, special_numbers

STEPS = 3
DTYPES = (BOOLEAN, *FLOATS, *INTEGERS)
OPERATIONS = {made.name: made for made in declarations() if isinstance(made, ElementwiseDeclaration)}
ROWS = ((), (1,), (3,), (2, 9), (0,))
SEEDS = st.integers(0, 2**32 - 1)


def _found(
    operations: Sequence[Callable[..., Variable]],
    given: Sequence[Array | float],
    carried: bool,
    mode: Mode,
) -> list[Array] | ScanvizError:
    """Return what a loop gives whose steps do operations of rows and numbers, or the error that it raises."""
    arrays = [operand for operand in given if isinstance(operand, np.ndarray)]
    inputs = [T.tensor(array.dtype.name, (None,) * array.ndim) for array in arrays]

    def step(*parts: Any) -> list[Variable]:
        *rows, again = parts
        if carried:  # nothing of it can be done before the loop
            rows = [T.where(again, row, T.zeros_like(row)) for row in rows]
        left = iter(rows)
        operands = [next(left) if isinstance(operand, np.ndarray) else operand for operand in given]
        return [*(operation(*operands) for operation in operations), again]

    try:
        (*results, _), _ = scanviz.scan(step, inputs, [*(None for _ in operations), np.True_], name="law")
        made: list[Array] = scanviz.function(inputs, results, mode=mode)(*arrays)
    except ScanvizError as error:
        return error
    return made


def _a_number(rng: Random, dtype: str) -> Any:
    """Return a number that all steps have in common, as a user writes it: rules and code that know it meet it."""
    number = rng.choice(special_numbers(dtype)).item()
    return np.bool_(number) if isinstance(number, bool) else number


def _without_halves(exponent: Array) -> None:
    """Write ¼ for ½: what NumPy gives of a computed exponent ½ depends on how it lies in memory (docs/numpy.md)."""
    if exponent.dtype.kind == "f":
        exponent[exponent == 0.5] = 0.25


def _check(name: str, found: Array, expected: Array, what: str) -> None:
    if Op(OPERATIONS[name]).facts.either_zero:
        found, expected = (array + array.dtype.type(0) for array in (found, expected))
    assert_within_places(found, expected, f"{name} of {what}")


@law(sample=20, name=st.sampled_from(sorted(OPERATIONS)), seed=SEEDS, carried=st.booleans(), tier=TIERS)
def an_operation_of_a_step_gives_or_fails_alike_on_every_tier(
    name: str, seed: int, carried: bool, tier: str
) -> None:
    """Of numbers at which identities fail, of any dtypes beside one another, results and errors are the reference tier's."""
    rng = Random(seed)
    operation, shape = OPERATIONS[name], rng.choice(ROWS)
    dtypes = _dtypes(rng, operation.arity)
    given: list[Any] = [
        special_array(rng, dtype, (STEPS, *(shape if rng.random() < 0.7 else shape[-1:]))) for dtype in dtypes
    ]
    if name == "power":
        _without_halves(given[1])
    expected = _found([operation], given, carried, Mode("reference", "none"))
    found = _found([operation], given, carried, Mode(tier, "none"))
    if isinstance(expected, ScanvizError) or isinstance(found, ScanvizError):
        assert type(found) is type(expected), f"{name} of {dtypes}: {found!r}, not {expected!r}"
        assert str(found) == str(expected), f"{name} of {dtypes}"
    else:
        _check(name, found[0], expected[0], str(given))


@law(sample=8, seed=SEEDS, carried=st.booleans(), tier=TIERS)
def every_operation_gives_alike_of_all_special_numbers(seed: int, carried: bool, tier: str) -> None:
    """Of all special numbers of some dtypes, met with one another or with one known number, each tier gives what NumPy gives."""
    rng = Random(seed)
    dtypes = _dtypes(rng, rng.choice((1, 2, 2, 2, 2, 3)))
    met = np.meshgrid(*map(special_numbers, dtypes), indexing="ij")
    length = rng.choice((0, 1, 3, 8, 17))
    shape = (-(-met[0].size // length), length) if length else (met[0].size,)
    given: list[Any] = [
        np.resize(numbers, shape).astype(dtype) for numbers, dtype in zip(met, dtypes, strict=True)
    ]
    if len(dtypes) > 1 and rng.random() < 0.6:
        place = rng.choice((0, 1, 1))
        given[place] = _a_number(rng, dtypes[place])
    if len(dtypes) == 2 and isinstance(given[1], np.ndarray):
        _without_halves(given[1])
    names = [name for name in OPERATIONS if _takes(name, given)]
    operations = [OPERATIONS[name] for name in names]
    mode = Mode(tier, rng.choice(("none", None)))
    expected = _found(operations, given, carried, Mode("reference", "none"))
    found = _found(operations, given, carried, mode)
    assert isinstance(expected, list) and isinstance(found, list), f"{found!r}, not {expected!r}"
    for name, mine, theirs in zip(names, found, expected, strict=True):
        _check(name, mine, theirs, f"{given} with {mode!r}")


def _dtypes(rng: Random, count: int) -> list[str]:
    first, alike = rng.choice((*DTYPES, "float64", "float32")), rng.random() < 0.5
    return [first if alike else rng.choice(DTYPES) for _ in range(count)]


def _takes(name: str, given: Sequence[Any]) -> bool:
    """Return whether an operation has a meaning for some operands, whatever they are."""
    operation = OPERATIONS[name]
    if operation.arity != len(given) or name == "polygamma":  # whose order is none of these numbers
        return False
    operands = [T.tensor(each.dtype.name, ()) if isinstance(each, np.ndarray) else each for each in given]
    try:
        made = operation(*operands)
    except (ScanvizError, OverflowError):
        return False
    return not (Op(operation).facts.raises and tensor_type(made).dtype in INTEGERS)


@law(sample=30, seed=SEEDS, carried=st.booleans(), tier=TIERS)
def a_cast_of_a_step_is_numpys(seed: int, carried: bool, tier: str) -> None:
    """Numbers of any dtype as any other, also those that are out of range, are what NumPy's ``astype`` makes of each alone."""
    rng = Random(seed)
    old, length = rng.choice((*DTYPES, *FLOATS, *FLOATS)), rng.choice((0, 1, 3, 8, 33))
    numbers = special_numbers(old)
    given = np.resize(np.array(numbers, old), (len(numbers), length) if length else len(numbers))
    casts = [lambda row, new=new: T.cast(row, new) for new in DTYPES]
    found = _found(casts, [given], carried, Mode(tier, rng.choice(("none", None))))
    assert isinstance(found, list), found
    for new, made in zip(DTYPES, found, strict=True):
        with np.errstate(all="ignore"):
            expected = [number.astype(new) for number in given.reshape(-1)]
        assert_same_bits(made, np.array(expected, new).reshape(given.shape), f"{old} as {new} of {given}")


__all__ = [
    "a_cast_of_a_step_is_numpys",
    "an_operation_of_a_step_gives_or_fails_alike_on_every_tier",
    "every_operation_gives_alike_of_all_special_numbers",
]
