"""Laws of indices in steps: what NumPy picks, writes and adds for the same index."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.function.callable import Function
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from tests.laws.frame import TIERS
from tests.laws.law import law

STEPS, SHAPE = 2, (4, 3, 5)
PARTS = ("whole", "slice", "number", "number of the step", "array", "array", "matrix", "new axis", "mask")
INTEGERS = ("int64", "int32", "uint8", "uint64", "int16")


@dataclass(frozen=True)
class IndexCase:
    """An index of an array of three dimensions in a step.

    Attributes
    ----------
    parts : tuple of str
        Of :data:`PARTS`, one for each axis from the first.
    dtype : str
        Of the integers of the step.
    does : str
        Whether the part is ``"read"``, ``"set"`` or ``"added to"``.
    value : str
        What is written: a ``"number"``, or an array of the ``"shape"`` of the part.
    many : int
        How long arrays of integers are, and rows of such matrices.
    seed : int
        Of all numbers.
    """

    parts: tuple[str, ...]
    dtype: str
    does: str
    value: str
    many: int
    seed: int

    def given(self) -> tuple[Array, list[Array], list[Any]]:
        """Return the array, the integers and masks of each part by step, and the rest of the index, None for those."""
        rng, axis = np.random.default_rng(self.seed), 0
        source = rng.integers(-9, 9, (STEPS, *SHAPE)).astype(float)
        arrays: list[Array] = []
        parts: list[Any] = []
        low = 0 if self.dtype.startswith("u") else -1
        for part in self.parts:
            size = SHAPE[min(axis, 2)]
            shape = {"number of the step": (), "array": (self.many,), "matrix": (2, self.many)}.get(part)
            if shape is not None:
                arrays.append(rng.integers(low * size, size, (STEPS, *shape)).astype(self.dtype))
            elif part == "mask":
                arrays.append(rng.random((STEPS, size)) < 0.6)
            known = {"whole": slice(None), "slice": slice(1, None), "number": int(rng.integers(-size, size))}
            parts.append(np.newaxis if part == "new axis" else known.get(part, Ellipsis))
            axis += part != "new axis"
        return source, arrays, parts


def _filled(parts: list[Any], given: list[Any]) -> tuple[Any, ...]:
    """Return an index with what is given for each part that is not known."""
    left = iter(given)
    return tuple(next(left) if part is Ellipsis else part for part in parts)


def _by_numpy(case: IndexCase, value: Array, source: Array, index: tuple[Any, ...]) -> Array:
    if case.does == "read":
        return np.asarray(source[index])
    result = source.copy()
    if case.does == "set":
        result[index] = value
    else:
        np.add.at(result, index, value)
    return result


def _value_of(case: IndexCase, source: Array, index: tuple[Any, ...]) -> Array:
    shape = source[index].shape if case.value == "shape" else ()
    return np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)


def _parts_of(given: list[str]) -> tuple[str, ...]:
    """Return parts for the axes that there are, with one mask at most."""
    while sum(part != "new axis" for part in given) > len(SHAPE):
        given = given[:-1]
    return tuple(part for k, part in enumerate(given) if part != "mask" or "mask" not in given[:k])


CASES = st.builds(
    IndexCase,
    parts=st.lists(st.sampled_from(PARTS), min_size=1, max_size=4).map(_parts_of),
    dtype=st.sampled_from(INTEGERS),
    does=st.sampled_from(["read", "set", "added to"]),
    value=st.sampled_from(["number", "shape"]),
    many=st.sampled_from([3, 3, 11, 0]),  # 11 fill a register of any width, and some are left
    seed=st.integers(0, 999),
)


@law(sample=20, case=CASES, tier=TIERS)
def an_index_in_a_step_agrees_with_numpy(case: IndexCase, tier: str) -> None:
    """Indexing by slices, integers, index arrays and masks agrees with NumPy, for reads and writes."""
    source, arrays, parts = case.given()
    steps = [_filled(parts, [array[k] for array in arrays]) for k in range(STEPS)]
    try:
        values = [_value_of(case, source[k], steps[k]) for k in range(STEPS)]
        expected = [_by_numpy(case, values[k], source[k], steps[k]) for k in range(STEPS)]
    except IndexError:
        return  # arrays that do not broadcast
    if (
        len({array.shape for array in expected}) > 1 or len({array.shape for array in values}) > 1
    ):  # of elements selected by a mask
        return

    rows = [source, np.stack(values), *arrays]
    np.testing.assert_array_equal(_call_of(case, parts, rows, tier)(*rows), np.stack(expected))


def _call_of(case: IndexCase, parts: list[Any], rows: list[Array], tier: str) -> Function:
    """Return a function of rows of the array, of the value and of the indices: what each step reads or writes."""

    def step(*given: Variable) -> Variable:
        table, value, *indices = given
        index = _filled(parts, indices)
        if case.does == "read":
            return table[index]
        return (T.set_subtensor if case.does == "set" else T.inc_subtensor)(table[index], value)

    inputs = [T.tensor(array.dtype.name, (None, *array.shape[1:])) for array in rows]
    found, _ = scanviz.scan(step, inputs, name="law")
    return scanviz.function(inputs, found, mode=Mode(tier, "none"), on_unused_input="ignore")


@law(sample=20, case=CASES, which=st.integers(0, 99), tier=TIERS)
def an_index_beyond_its_axis_is_the_error_of_its_step(case: IndexCase, which: int, tier: str) -> None:
    """Every tier names the array and the step of an index beyond its axis."""
    source, arrays, parts = case.given()
    wrong = [array for array in arrays if array.dtype != bool and array.size]
    if not wrong:
        return
    numbers = wrong[which % len(wrong)]
    places = numbers[STEPS - 1 :].reshape(-1)
    # NumPy counts numbers beyond int64 from the end in arrays of them, but none alone
    places[which % places.size] = 2**64 - 1 if numbers.ndim == 1 and numbers.dtype == np.uint64 else 99
    value = np.zeros((STEPS,))
    text = []
    for name in ("reference", tier):
        call = _call_of(case, parts, [source, value, *arrays], name)
        try:
            call(source, value, *arrays)
        except IndexError as error:
            text.append(str(error))
        except ValueError:
            return  # arrays that do not broadcast
        else:
            raise AssertionError("an index beyond its axis is no error")
    if tier == "cupy" and "broadcast" in text[0] and "out of bounds" in text[1]:
        return  # numbers are looked at before masks are counted
    assert text[0] == text[1], text
    assert "out of bounds" not in text[0] or f"at step {STEPS - 1}" in text[0], text
