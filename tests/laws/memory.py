"""Laws of memory: the forecast of a call is what its ledger counts, and the ledger counts what tracemalloc sees."""

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.function import Function
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from scanviz.engine.observe import Observer, observed_by
from scanviz.engine.program.instructions import BranchInstruction, LoopInstruction, Program
from scanviz.engine.runtime.row_storage import FIRST_BYTES
from scanviz.testing.loop_case import READINGS, LoopCase, Reading
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.law import law
from tests.laws.programs import compiled

SMALL = 64 * 1024  # bytes of Python's own objects that a call may make
NARROW = 256  # bytes: rounding of a few small arrays, of scalars that are arrays for a moment


class _Peak(Observer):
    """Takes the most that a call held."""

    weighs = True

    def __init__(self) -> None:
        self.bytes = 0.0

    def measured(self, function: int, loop: int | None, index: int | None, name: str, value: float) -> None:
        if name == "peak_bytes" and loop is None and index is None:
            self.bytes = max(self.bytes, value)


def counted(f: Function, given: Sequence[Any]) -> float:
    """Return the most bytes that a call held, as its ledger counts them."""
    with observed_by(_Peak()) as peak:
        f(*given)
    assert isinstance(peak, _Peak)
    return peak.bytes


def _chooses(program: Program) -> bool:
    """Return whether anything in a program depends on values: a stop condition, or a branch."""
    for instruction in program.instructions:
        if isinstance(instruction, BranchInstruction):
            return True
        if isinstance(instruction, LoopInstruction) and (
            instruction.until is not None or _chooses(instruction.body)
        ):
            return True
    return False


@law(
    sample=15,
    case=random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True),
    rewrites=st.booleans(),
    reading=st.sampled_from(READINGS),
    tier=st.sampled_from(["numpy", "native"]),
)
def a_forecast_agrees_with_the_ledger(case: LoopCase, rewrites: bool, reading: Reading, tier: str) -> None:
    """The forecast of a call of a random loop equals its ledger, and is a lower bound for value-dependent sizes."""
    count = len(run_plainly(case)[0][0])
    f, given = compiled(case, rewrites, tier, lambda variable: reading.of(variable, count))
    text = f.memory_forecast(*given[: len(f.inputs)])
    held = counted(f, given[: len(f.inputs)])
    if text.unknown:
        return
    assert text.peak_bytes >= held - NARROW, (text, held)
    if not _chooses(f.program):
        assert text.peak_bytes <= held + NARROW, (text, held)


class Wide(NamedTuple):
    """A function of square matrices, as a list of operations on earlier results."""

    size: int
    dtype: str
    parts: tuple[tuple[str, int, int], ...]
    results: tuple[int, ...]


def _loop(step: Callable[..., Any], last: bool) -> Callable[[Any, Any], Any]:
    def made(a: Any, b: Any) -> Any:
        rows, _ = scanviz.scan(step, a, b[0])
        return T.broadcast_to(rows[-1], a.shape) + a if last else rows

    return made


def _gradient(step: Callable[..., Any], by_state: bool) -> Callable[[Any, Any], Any]:
    def made(a: Any, b: Any) -> Any:
        rows, _ = scanviz.scan(step, a, b[0])
        cost = T.mean(rows * rows)
        return a + scanviz.grad(cost, b) if by_state else scanviz.grad(cost, a)

    return made


MAKE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "product": lambda a, b: T.dot(a, b),
    "tanh": lambda a, b: T.tanh(a),
    "two operations": lambda a, b: T.exp(-a) * b,
    "transposed": lambda a, b: a.T,
    "backwards": lambda a, b: a[::-1],
    "halves": lambda a, b: T.concatenate([b[a.shape[0] // 2 :], a[: a.shape[0] // 2]]),
    "reshaped": lambda a, b: T.reshape(a.T, a.shape),
    "in another order": lambda a, b: T.reshape(T.reshape(a.T, (-1,)), a.shape),
    "rows": _loop(lambda x, h: T.tanh(x + h), last=False),
    "last row": _loop(lambda x, h: T.maximum(x, h) * 0.5, last=True),
    "rows of two": _loop(lambda x, h: T.sort(x * h), last=False),
    "gradient": _gradient(lambda x, h: T.tanh(x + h), by_state=False),
    "gradient by the start": _gradient(lambda x, h: T.tanh(x * h), by_state=True),
}


@st.composite
def wide_functions(draw: st.DrawFn) -> Wide:
    """Draw a function whose arrays are so large that Python's own objects are little beside them."""
    parts: list[tuple[str, int, int]] = []
    for k in range(draw(st.integers(1, 6))):
        parts.append(
            (draw(st.sampled_from(list(MAKE))), draw(st.integers(0, k + 1)), draw(st.integers(0, k + 1)))
        )
    made = st.integers(2, len(parts) + 1)
    results = draw(st.lists(made, min_size=1, max_size=2, unique=True))
    return Wide(
        draw(st.integers(180, 320)),
        draw(st.sampled_from(["float64", "float32"])),
        tuple(parts),
        tuple(results),
    )


def _multiplies_backwards(wide: Wide) -> bool:
    """Return whether rows that lie backwards are multiplied: NumPy copies them inside of that, which no ledger counts."""
    lie_backwards = [False, False]
    for name, first, second in wide.parts:
        if name == "product" and (lie_backwards[first] or lie_backwards[second]):
            return True
        lie_backwards.append(name == "backwards" or (name == "transposed" and lie_backwards[first]))
    return False


def _buffered(wide: Wide) -> int:
    """Return the bytes that NumPy reads rows through which a gradient squares from the last on: buffers that no ledger counts."""
    squares = any(name.startswith("gradient") for name, _, _ in wide.parts)
    return 2 * np.getbufsize() * np.dtype(wide.dtype).itemsize * squares


def _built(wide: Wide) -> tuple[Function, list[Array]]:
    a, b = T.matrix("a", dtype=wide.dtype), T.matrix("b", dtype=wide.dtype)
    values = [a, b]
    for name, first, second in wide.parts:
        values.append(T.cast(MAKE[name](values[first], values[second]), wide.dtype))
    f = scanviz.function([a, b], [values[k] for k in wide.results], on_unused_input="ignore")
    drawn = np.random.default_rng(0)
    return f, [drawn.normal(size=(wide.size, wide.size)).astype(wide.dtype) * 0.01 for _ in range(2)]


def traced(f: Function, given: Sequence[Any]) -> int:
    """Return the most bytes that a call held beyond those before, as tracemalloc sees them.

    It is the lesser of two calls: one of the first may also import or write what enters short loops quickly.
    """
    f(*given)
    return min(_traced(f, given), _traced(f, given))


def _traced(f: Function, given: Sequence[Any]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        f(*given)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@law(sample=8, wide=wide_functions())
def a_ledger_agrees_with_tracemalloc(wide: Wide) -> None:
    """The peak by ledger and by forecast agrees with tracemalloc in an unobserved call."""
    assume(not _multiplies_backwards(wide))
    f, given = _built(wide)
    seen, held, few = traced(f, given), counted(f, given), SMALL + _buffered(wide)
    assert abs(held - seen) <= 0.05 * seen + few, (held, seen)
    text = f.memory_forecast(*given)
    assert abs(text.peak_bytes - seen) <= 0.05 * seen + few, (text, seen)


class Chunked(NamedTuple):
    """A loop with checkpoints, wide enough for Python's own objects to be little beside its rows."""

    steps: int
    chunk: int | Literal["auto"]
    by: Literal[
        "sequence", "constant", "number"
    ]  # the number of steps; a number is an input, and so is the chunk then
    width: int
    gradient: bool


@law(
    sample=4,
    case=st.builds(
        Chunked,
        st.integers(1, 300),
        st.just("auto") | st.integers(1, 40),
        st.sampled_from(["sequence", "constant", "number"]),
        st.integers(400, 1200),
        st.booleans(),
    ),
)
def checkpoints_are_forecast_correctly(case: Chunked) -> None:
    """Memory of a loop with checkpoints is forecast, for any source of its step count and chunk length."""
    x, h0, w, n, chunk = T.matrix("x"), T.vector("h0"), T.vector("w"), T.lscalar("n"), T.lscalar("chunk")
    numbers = case.by == "number"
    rows, _ = scanviz.scan_checkpoints(
        lambda *given: T.tanh(given[-2] * given[-1] + (given[0] if case.by == "sequence" else 0.5)),
        x if case.by == "sequence" else None,
        h0,
        w,
        n_steps=n if numbers else case.steps if case.by == "constant" else None,
        save_every_N=chunk if numbers and case.chunk != "auto" else case.chunk,
    )
    last = rows[-1]
    result = scanviz.grad(T.sum(last), w) if case.gradient else last
    f = scanviz.function([x, h0, w, n, chunk], result, mode="numpy", on_unused_input="ignore")
    size = case.chunk if isinstance(case.chunk, int) else 1
    given = (np.ones((case.steps, case.width)), np.ones(case.width), np.ones(case.width), case.steps, size)
    text = f.memory_forecast(*(value.shape if isinstance(value, np.ndarray) else value for value in given))
    seen, held = traced(f, given), counted(f, given)
    assert not text.unknown, text
    few = NARROW + 4 * 8 * case.width  # views of single rows
    assert abs(text.peak_bytes - held) <= 0.02 * held + few, (text, held)
    # more than was there where few steps make arrays anew
    assert 0.9 * seen - SMALL <= held <= 2.2 * seen + SMALL, (held, seen)


@law(
    sample=8,
    size=st.integers(1, 100_000),
    stop=st.integers(0, 40),
    kind=st.sampled_from(["state", "output", "picked"]),
    length=st.booleans(),
    tier=st.sampled_from(["numpy", "native", "reference"]),
)
def a_loop_that_stops_reserves_little_more_than_it_gives(
    size: int, stop: int, kind: str, length: bool, tier: str
) -> None:
    """Memory of a stopped loop of up to a million steps follows from the steps taken; its length alone needs one row."""
    h0 = T.vector("h0")

    def step(k: Variable, h: Variable) -> Any:
        new = h * 0.5 + k
        rows = {"state": [], "output": [new + 1], "picked": [new[new > -1]]}[kind]
        return [k + 1, new, *rows], scanviz.until(k >= stop)

    starts = [0, h0] if kind == "state" else [0, h0, None]
    results, _ = scanviz.scan(step, outputs_info=starts, n_steps=1_000_000)
    f = scanviz.function([h0], results[-1].shape[0] if length else results[-1], mode=Mode(tier, "all"))
    row, given = 8 * size, [np.zeros(size)]
    found = f(*given)
    assert (found if length else len(found)) == stop + 1
    rows = 10 if length else 4 * (stop + 1) + 10  # those before they grow, and temporaries of a step
    assert counted(f, given) <= rows * row + FIRST_BYTES * (not length) + SMALL
