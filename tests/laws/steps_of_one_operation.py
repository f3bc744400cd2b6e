"""Laws of steps that do elementwise operations or casts: of special numbers of any dtypes all tiers give the same or fail alike."""

from collections.abc import Callable, Mapping, Sequence
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
from tests.laws.frame import OTHER_TIERS, PLAIN
from tests.laws.law import law
from tests.support.comparing import assert_same_bits, assert_within_places
from tests.support.special_values import special_array, special_numbers

STEPS = 3
DTYPES = (BOOLEAN, *FLOATS, *INTEGERS)
OPERATIONS = {made.name: made for made in declarations() if isinstance(made, ElementwiseDeclaration)}
FAILING = [name for name, made in OPERATIONS.items() if Op(made).facts.raises]
ROWS = ((), (1,), (3,), (2, 9), (0,))
SEEDS = st.integers(0, 2**32 - 1)
# CuPy's differences (docs/gpu.md): units in the last place of special functions, results where NumPy's are infinite, zeros' signs
PLACES_OF_CUPY = {"gammaln": 16, "betaln": 16, "gammainc": 32, "gammaincc": 512}
AT_INFINITIES = {"betaln": np.nan, "gammaln": 744.4400719213812}
ZEROS_UNLIKE_NUMPY = ("maximum", "minimum", "clip", "erfinv")


def _found(
    operations: Sequence[Callable[..., Variable]], given: Sequence[Array], carried: bool, mode: Mode
) -> list[Array] | ScanvizError:
    """Return the results of a loop whose steps apply operations to rows, or the error that it raises."""
    inputs = [T.tensor(array.dtype.name, (None,) * array.ndim) for array in given]

    def step(*parts: Any) -> list[Variable]:
        *rows, again = parts
        if carried:  # nothing of it can be done before the loop
            rows = [T.where(again, row, T.zeros_like(row)) for row in rows]
        return [*(operation(*rows) for operation in operations), again]

    try:
        (*results, _), _ = scanviz.scan(step, inputs, [*(None for _ in operations), np.True_], name="law")
        made: list[Array] = scanviz.function(inputs, results, mode=mode)(*given)
    except ScanvizError as error:
        return error
    return made


def _without_halves(exponent: Array) -> None:
    """Write ¼ for ½: what NumPy gives of a computed exponent ½ depends on how it lies in memory (docs/reference/numpy_names.md)."""
    if exponent.dtype.kind == "f":
        exponent[exponent == 0.5] = 0.25


def _check(name: str, found: Array, expected: Array, what: str, tier: str) -> None:
    places = 4
    if tier == "cupy":
        places = PLACES_OF_CUPY.get(name, places)
        if name in AT_INFINITIES:
            other = np.isclose(found, AT_INFINITIES[name], equal_nan=True) & np.isinf(expected)
            found = np.where(other, expected, found).astype(found.dtype)
    if Op(OPERATIONS[name]).facts.either_zero or (tier == "cupy" and name in ZEROS_UNLIKE_NUMPY):
        found, expected = (array + array.dtype.type(0) for array in (found, expected))
    assert_within_places(found, expected, what, places)


@law(
    sample=20,
    name=st.sampled_from(sorted(OPERATIONS)) | st.sampled_from(FAILING),
    seed=SEEDS,
    carried=st.booleans(),
    tier=OTHER_TIERS,
)
def an_operation_in_a_step_has_the_same_result_or_error_on_every_tier(
    name: str, seed: int, carried: bool, tier: str
) -> None:
    """Results and errors of special numbers of mixed dtypes agree with the reference tier."""
    rng = Random(seed)
    operation, shape = OPERATIONS[name], rng.choice(ROWS)
    dtypes = _dtypes(rng, operation.arity)
    given: list[Any] = [
        special_array(rng, dtype, (STEPS, *(shape if rng.random() < 0.7 else shape[-1:]))) for dtype in dtypes
    ]
    if name == "power":
        _without_halves(given[1])
    expected = _found([operation], given, carried, PLAIN)
    found = _found([operation], given, carried, Mode(tier, "none"))
    if tier == "cupy" and isinstance(expected, ScanvizError) and "negative integer power" in str(expected):
        assert isinstance(found, list), found  # a GPU gives some number
        return
    if isinstance(expected, ScanvizError) or isinstance(found, ScanvizError):
        assert type(found) is type(expected), f"{name} of {dtypes}: {found!r}, not {expected!r}"
        assert str(found) == str(expected), f"{name} of {dtypes}"
    else:
        _check(name, found[0], expected[0], f"{name} of {given}", tier)


@law(sample=4, seed=SEEDS, carried=st.booleans(), tier=OTHER_TIERS)
def every_operation_agrees_with_numpy_for_all_special_numbers(seed: int, carried: bool, tier: str) -> None:
    """Every tier agrees with NumPy for all combinations of special numbers of some dtypes."""
    rng = Random(seed)
    dtypes = _dtypes(rng, rng.choice((1, 1, 2, 2, 3)))
    given = _rows(rng, np.meshgrid(*map(special_numbers, dtypes), indexing="ij"), dtypes)
    if len(dtypes) == 2:
        _without_halves(given[1])
    _compare(
        {name: (name, made) for name, made in OPERATIONS.items()},
        given,
        carried,
        Mode(tier, rng.choice(("none", None))),
    )


@law(sample=4, seed=SEEDS, carried=st.booleans(), tier=OTHER_TIERS)
def known_operands_agree_with_numpy_beside_all_special_numbers(seed: int, carried: bool, tier: str) -> None:
    """Every tier agrees with NumPy for special numbers beside a constant operand."""
    rng = Random(seed)
    dtype, other = _dtypes(rng, 2)
    calls: dict[str, tuple[str, Callable[..., Variable]]] = {}
    for name in {"power", *rng.sample([name for name, made in OPERATIONS.items() if made.arity == 2], 5)}:
        for number in map(_as_written, special_numbers(other)):
            if (name, number, tier) != ("power", 0.5, "cupy"):  # C's power, not the root
                calls[f"{name}(x, {number})"] = (
                    name,
                    lambda x, name=name, number=number: OPERATIONS[name](x, number),
                )
            calls[f"{name}({number}, x)"] = (
                name,
                lambda x, name=name, number=number: OPERATIONS[name](number, x),
            )
    mode = Mode(tier, rng.choice(("none", None)))
    _compare(calls, _rows(rng, [np.array(special_numbers(dtype))], [dtype]), carried, mode)


def _as_written(number: Any) -> Any:
    """Return a number as a user writes it."""
    return number if isinstance(number, np.bool_) else number.item()


def _rows(rng: Random, numbers: Sequence[Array], dtypes: Sequence[str]) -> list[Array]:
    """Return arrays of these numbers whose rows are single numbers, or have some length."""
    length, size = rng.choice((0, 1, 3, 8, 17)), numbers[0].size
    shape = (-(-size // length), length) if length else (size,)
    return [np.resize(some, shape).astype(dtype) for some, dtype in zip(numbers, dtypes, strict=True)]


def _compare(
    calls: Mapping[str, tuple[str, Callable[..., Variable]]],
    given: Sequence[Array],
    carried: bool,
    mode: Mode,
) -> None:
    """Compare those of some calls that have a meaning for rows with the reference tier."""
    taken = {call: (name, made) for call, (name, made) in calls.items() if _takes(name, made, given)}
    made = [operation for _, operation in taken.values()]
    expected = _found(made, given, carried, PLAIN)
    found = _found(made, given, carried, mode)
    assert isinstance(expected, list) and isinstance(found, list), f"{found!r}, not {expected!r}"
    for (call, (name, _)), mine, theirs in zip(taken.items(), found, expected, strict=True):
        _check(name, mine, theirs, f"{call} of {given} with {mode!r}", mode.backend)


def _dtypes(rng: Random, count: int) -> list[str]:
    first, alike = rng.choice((*DTYPES, *FLOATS, *FLOATS)), rng.random() < 0.5
    return [first if alike else rng.choice(DTYPES) for _ in range(count)]


def _takes(name: str, call: Callable[..., Variable], given: Sequence[Array]) -> bool:
    """Return whether a call of an operation has a meaning for rows, whatever they are."""
    if name == "polygamma":  # whose order is none of these numbers
        return False
    try:
        made = call(*(T.tensor(value.dtype.name, ()) for value in given))
    except (ScanvizError, OverflowError):
        return False
    return not (Op(OPERATIONS[name]).facts.raises and tensor_type(made).dtype in INTEGERS)


@law(sample=8, seed=SEEDS, carried=st.booleans(), tier=OTHER_TIERS)
def a_cast_in_a_step_agrees_with_numpy(seed: int, carried: bool, tier: str) -> None:
    """Casts between all dtypes, out of range too, agree with NumPy's ``astype`` of each number alone."""
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
