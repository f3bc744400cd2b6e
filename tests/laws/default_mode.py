"""Laws of the default mode: compiling a loop, or arrays on a device, change last bits alone from one call to the next."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from math import inf

import numpy as np
from hypothesis import strategies as st

from scanviz.engine import observe
from scanviz.engine.backends import registry
from scanviz.engine.config import config
from scanviz.engine.graph.nodes import Array
from scanviz.engine.runtime import row_storage as rows
from scanviz.profiler.recording.recorder import Recorder
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.engine.backends.cupy.fake_cupy import FakeArray
from tests.engine.backends.cupy.stand_in import StandInBackend
from tests.laws.frame import built, gradients
from tests.laws.law import law
from tests.support.between_guards import between_guards
from tests.support.comparing import check_same

LOOPS = random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True)
CALLS = 4
AFTER = st.sampled_from(
    [0.0, 1e-6, 1e-5, 3e-5]
)  # seconds: from the first call on, from a later one, or never


@contextmanager
def _pays_after(seconds: float) -> Iterator[None]:
    before, config.native.pays_after = config.native.pays_after, seconds
    try:
        yield
    finally:
        config.native.pays_after = before


@contextmanager
def _first_room(steps: int) -> Iterator[None]:
    """Give loops with a stop condition rows for that many steps at first: compiled code may take over after these."""
    before, rows.FIRST_ROOM = rows.FIRST_ROOM, steps
    try:
        yield
    finally:
        rows.FIRST_ROOM = before


@contextmanager
def _stand_in() -> Iterator[None]:
    """Put the stand-in for CuPy in the place of its tier."""
    before, registry._made["cupy"] = registry.resolve("cupy"), StandInBackend()
    try:
        yield
    finally:
        registry._made["cupy"] = before


def _calls(case: LoopCase, watched: bool, on_device: Sequence[bool] = (False,) * CALLS) -> list[list[Array]]:
    """Return what some calls of one function give, each from the same state of the shared variable."""
    loop = built(case, name="law")
    f, state = loop.function(loop.results, "auto", updates=loop.updates), loop.state
    found = []
    with observe.observed_by(Recorder()) if watched else nullcontext():
        for is_there in on_device:
            if state is not None:
                state.set_value(np.array(case.shared_start))
            results = f(*(FakeArray(np.array(value)) for value in loop.values) if is_there else loop.values)
            if is_there and loop.values:
                assert all(isinstance(result, FakeArray) for result in results)
                results = [result.get() for result in results]
            found.append([*results, *([] if state is None else [state.get_value()])])
    return found


@law(sample=8, case=LOOPS, after=AFTER, room=st.sampled_from([1, 2, 1024]))
def the_default_mode_agrees_with_a_plain_python_loop_in_every_call(
    case: LoopCase, after: float, room: int
) -> None:
    """Calls before, during and after the compilation of a loop agree with a plain loop, observed or not."""
    plain, expected_state = run_plainly(case)
    expected = [*plain, *([] if expected_state is None else [expected_state])]
    with _pays_after(after), _first_room(room):
        for watched in (False, True):
            for number, found in enumerate(_calls(case, watched)):
                check_same(found, expected, case.dtype, f"call {number}{', watched' * watched}")


@law(
    sample=5,
    case=LOOPS,
    on_device=st.lists(st.booleans(), min_size=2, max_size=CALLS).filter(any),
    watched=st.booleans(),
)
def calls_with_device_arrays_agree_with_a_plain_python_loop(
    case: LoopCase, on_device: list[bool], watched: bool
) -> None:
    """Calls with arrays of the device or the host, in any order, agree with a plain loop; results lie where the arrays do."""
    plain, expected_state = run_plainly(case)
    expected = [*plain, *([] if expected_state is None else [expected_state])]
    with _stand_in():
        for number, found in enumerate(_calls(case, watched, on_device)):
            check_same(found, expected, case.dtype, f"call {number}")


@law(sample=5, case=random_loops(smooth=True, dtypes=("float64",), longest=6))
def a_function_compiled_whole_agrees_with_the_reference(case: LoopCase) -> None:
    """A loop's value and gradients as one piece of machine code agree with the unrewritten graph.

    It writes nowhere but into its own arrays.
    """
    found = []
    for mode, after in (("auto", 0.0), ("reference", inf)):
        loop = built(case, name="law")
        f = loop.function([loop.cost, *gradients(loop.cost, loop.given)], mode)
        with _pays_after(after), between_guards():
            found.append(f(*loop.values))
    check_same(found[0], found[1], case.dtype, "value and gradient")
