"""Laws of NumPy's names: a function that has one gives what NumPy gives, in any tier, in and outside loops; one law a name."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz import Mode, function, scan
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Array, Variable, tensor_type
from scanviz.testing.verify import verify_grad
from tests.laws.frame import PLAIN
from tests.laws.law import law
from tests.support.comparing import assert_close
from tests.support.numpy_calls import CALLS, NumpyCall

TIERS = [PLAIN, Mode("numpy", "all"), Mode("numpy", "none")]
SEEDS = st.integers(0, 2**32 - 1)


def _several(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]


def _plainly(call: NumpyCall, arrays: Sequence[Array]) -> list[Array] | None:
    """Return what NumPy gives, None where that is an error."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in _several(call.plain(*arrays))]
    except (ValueError, TypeError, IndexError, np.linalg.LinAlgError):
        return None


def _symbols(call: NumpyCall, rng: Random, arrays: Sequence[Array], leading: bool = False) -> list[Variable]:
    """Return inputs for arrays whose sizes are all known, all hidden, or some of both."""
    share = rng.choice((0.0, 0.5, 1.0)) if call.hidden else 0.0
    front = (None,) if leading else ()
    return [
        T.tensor(
            array.dtype.name, (*front, *(None if rng.random() < share else n for n in array.shape)), f"x{k}"
        )
        for k, array in enumerate(arrays)
    ]


def _fails(call: NumpyCall, inputs: Sequence[Variable], arrays: Sequence[Array], mode: Mode) -> bool:
    try:
        function(inputs, _several(call.symbolic(*inputs)), mode=mode, on_unused_input="ignore")(*arrays)
    except (ScanvizError, ValueError, TypeError, IndexError):
        return True
    return False


def _check_once(call: NumpyCall, rng: Random, mode: Mode) -> bool:
    """Compare one call; return whether NumPy gives something."""
    arrays = call.fill(rng)
    expected = _plainly(call, arrays)
    inputs = _symbols(call, rng, arrays)
    if expected is None:
        assert _fails(call, inputs, arrays, mode), f"NumPy refuses {call.written} of {arrays}"
        return False
    outputs = _several(call.symbolic(*inputs))
    found = function(inputs, outputs, mode=mode, on_unused_input="ignore")(*arrays)
    for mine, theirs, made in zip(found, expected, outputs, strict=True):
        what = f"{call.written} of {arrays}"
        assert tensor_type(made).dtype == theirs.dtype.name, (what, made.type, theirs.dtype)
        assert tensor_type(made).ndim == theirs.ndim, (what, made.type, theirs.shape)
        sizes = zip(tensor_type(made).shape, theirs.shape, strict=True)
        assert all(size in (None, true) for size, true in sizes), (what, made.type, theirs.shape)
        assert_close(mine, theirs, what, call.tolerance)
    return True


def _check_in_loop(call: NumpyCall, rng: Random, mode: Mode) -> None:
    """Compare the calls of three steps of a loop, each with values of its own."""
    rows = [call.fill(rng) for _ in range(3)]
    expected = [_plainly(call, row) for row in rows]
    done = [array for array in expected if array is not None]
    if not rows[0] or len(done) < len(rows):
        return
    if not call.varying and len({tuple(array.shape for array in row) for row in done}) > 1:
        return
    inputs = _symbols(call, rng, rows[0], leading=True)

    def step(*given: Variable) -> list[Variable]:
        made = _several(call.symbolic(*given))
        return [T.sum(result, dtype="float64") for result in made] if call.varying else made

    results = scan(step, sequences=inputs, return_list=True, return_updates=False)
    stacked = [np.stack(column) for column in zip(*rows, strict=True)]
    found = function(inputs, results, mode=mode, on_unused_input="ignore")(*stacked)
    for k, theirs in enumerate(done):
        for mine, one in zip(found, theirs, strict=True):
            wanted = one.sum(dtype="float64") if call.varying else one
            assert_close(mine[k], wanted, f"{call.written} of {rows[k]}, in a loop", call.tolerance)


def _law_of(name: str) -> Callable[..., None]:
    def check(seed: int) -> None:
        rng = Random(seed)
        call = CALLS[name](rng)
        mode = rng.choice(TIERS)
        if _check_once(call, rng, mode):
            _check_in_loop(call, rng, mode)

    check.__name__ = f"{name.replace('.', '_')}_agrees_with_numpy"
    check.__doc__ = f"``{name}`` gives NumPy's numbers, dtype and shape of any fitting arrays, in a loop too, or refuses with it."
    check.__module__ = __name__
    return check


for _name in CALLS:
    law(sample=8, seed=SEEDS)(_law_of(_name))


@law(sample=40, seed=SEEDS, name=st.sampled_from(list(CALLS)))
def a_derivative_of_a_numpy_name_agrees_with_finite_differences(seed: int, name: str) -> None:
    """Derivatives of functions under NumPy's names agree with finite differences, in both modes."""
    rng = Random(seed)
    call = CALLS[name](rng)
    if call.points is None:
        return
    points = call.points(rng)
    if _plainly(call, points) is not None:
        known = not call.hidden or rng.random() < 0.5
        verify_grad(
            call.smooth or call.symbolic, points, known_shapes=known, mode=rng.choice(("reference", "numpy"))
        )


__all__: list[str] = []
