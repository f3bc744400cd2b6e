"""A law of steps that do one elementwise operation: for any dtypes and special numbers all tiers give the same, errors too."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError, ScanvizTypeError
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.graph.types import BOOLEAN, FLOATS, INTEGERS
from scanviz.engine.mode import Mode
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.testing.comparing import assert_close
from scanviz.testing.laws.law import law
from scanviz.testing.laws.tiers import TIERS
from scanviz.testing.special_values import special_array

STEPS = 3
DTYPES = (BOOLEAN, *FLOATS, *INTEGERS)
# of 0 there is no integer reciprocal: whatever the processor gives
NAMES = sorted(
    made.name
    for made in declarations()
    if isinstance(made, ElementwiseDeclaration) and made.name != "reciprocal"
)
ROWS = ((), (1,), (3,), (2, 9), (0,))


def _found(
    operation: ElementwiseDeclaration, given: list[Array], carried: bool, mode: Mode
) -> Array | ScanvizError:
    """Return what a loop gives whose steps do an operation of rows, or the error that it raises."""
    inputs = [T.tensor(array.dtype.name, (None,) * array.ndim) for array in given]

    def step(*parts: Any) -> list[Variable]:
        *rows, again = parts
        if carried:  # nothing of it can be done before the loop
            rows = [T.where(again, row, T.zeros_like(row)) for row in rows]
        return [operation(*rows), again]

    (rows, _), _ = scanviz.scan(step, inputs, [None, np.True_], name="law")
    f = scanviz.function(inputs, rows, mode=mode)
    try:
        result: Array = f(*given)
    except ScanvizError as error:
        return error
    return result


@law(
    sample=20,
    name=st.sampled_from(NAMES),
    seed=st.integers(0, 2**32 - 1),
    carried=st.booleans(),
    tier=TIERS,
)
def an_operation_of_a_step_gives_or_fails_alike_on_every_tier(
    name: str, seed: int, carried: bool, tier: str
) -> None:
    """Of numbers at which identities fail, of any dtypes beside one another, results and errors are the reference tier's."""
    rng = Random(seed)
    operation = next(made for made in declarations() if made.name == name)
    assert isinstance(operation, ElementwiseDeclaration)
    shape = rng.choice(ROWS)
    alike = rng.random() < 0.5
    first = rng.choice(DTYPES)
    dtypes = [first if alike else rng.choice(DTYPES) for _ in range(operation.arity)]
    given = [
        special_array(rng, dtype, (STEPS, *(shape if rng.random() < 0.7 else shape[-1:]))) for dtype in dtypes
    ]
    try:
        expected = _found(operation, given, carried, Mode("reference", "none"))
    except ScanvizTypeError:
        return  # it takes no such numbers
    found = _found(operation, given, carried, Mode(tier, "none"))
    what = f"{name} of {dtypes}"
    if isinstance(expected, ScanvizError) or isinstance(found, ScanvizError):
        assert type(found) is type(expected), f"{what}: {found!r}, not {expected!r}"
        assert str(found) == str(expected), what
        return
    assert_close(found, expected, what)


__all__ = ["an_operation_of_a_step_gives_or_fails_alike_on_every_tier"]
