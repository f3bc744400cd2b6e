"""Instruments that know nothing of the profiler: CPU time of a loop as it is, and with one of its operations done twice."""

from __future__ import annotations

import linecache
import math
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from time import thread_time_ns
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from truth_workloads import Case

import scanviz
from scanviz.engine.backends.source.compiled import compile_source
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.runtime.buffer_pool import lent_bytes
from scanviz.engine.runtime.specialised import ENTERED

LARGE_BYTES = 64 * 2**10  # of an array that caches near the processor hold few of
_INTO = re.compile(r"( +)(\w+)\((.*), (\w+)\)$")  # a call that writes its result into its last argument


class Measured(NamedTuple):
    """Nanoseconds, and how far off they may be."""

    ns: float
    error_ns: float


def in_turn(actions: Sequence[Callable[[], Any]], rounds: int) -> list[list[int]]:
    """Return the CPU nanoseconds of each action in each round, the actions taken in turn."""
    found: list[list[int]] = [[] for _ in actions]
    for action in actions:
        action()
    for _ in range(rounds):
        for times, action in zip(found, actions, strict=True):
            begun = thread_time_ns()
            action()
            times.append(thread_time_ns() - begun)
    return found


def difference(more: Sequence[int], less: Sequence[int], steps: int) -> Measured:
    """Return the median of the differences a step, round by round, with twice the error of that median."""
    return middle([(a - b) / steps for a, b in zip(more, less, strict=True)])


def middle(values: Sequence[float]) -> Measured:
    """Return the median with twice its error."""
    found = statistics.median(values)
    deviation = statistics.median(abs(one - found) for one in values)
    return Measured(found, 2 * 1.86 * deviation / math.sqrt(len(values)))


class PlainLoop:
    """The plain code of a loop in which single operations can be repeated.

    Parameters
    ----------
    f : Function
        Has been called, so that its code is there.
    name : str
        Of the loop.
    """

    def __init__(self, f: Any, name: str) -> None:
        self.loop = next(loop for loop, _ in all_loops(f.program) if loop.name == name)
        self.made = all_made(f.executable.flat.runners)[self.loop.key]
        # the code that short runs are entered by knows nothing of what is done here: there is none, and none is made any more
        self.made.entry, self.made.runs = None, -sys.maxsize
        self.plain = self.made.written("plain")
        self.lines = self.plain.text.splitlines()
        self.head = next(k for k, text in enumerate(self.lines, 1) if text.startswith("        for "))
        self.variants: dict[int, Any] = {}

    def use(self, place: int | None) -> None:
        """Let the function run the code as it is, or with an instruction done twice."""
        self.made._code["plain"] = self.plain if place is None else self._doubled(place)

    def has(self, place: int) -> bool:
        """Return whether an instruction has a line in every step."""
        return any(one == place and line > self.head for line, one in self.plain.lines.items())

    def _doubled(self, place: int) -> Any:
        if place not in self.variants:
            namespace, lines = dict(self.plain.function.__globals__), list[str]()
            for number, text in enumerate(self.lines, 1):
                if self.plain.lines.get(number) == place and number > self.head:
                    lines.append(self._once_more(text, place, namespace))
                lines.append(text)
            entry = self.plain.function.__name__
            self.variants[place] = compile_source("\n".join(lines) + "\n", entry, namespace, {}, {}, "twice")
        return self.variants[place]

    def _once_more(self, text: str, place: int, namespace: dict[str, Any]) -> str:
        """Return a line that repeats a line, writing into unread memory.

        Large spare memory would take room in the processor's caches that the step's own arrays have, and make all of it slower:
        there an operation that does not read what it writes over writes the same twice.
        """
        written, outputs = _INTO.match(text.split("  # ")[0]), self.loop.body.instructions[place].outputs
        shape = self.made.plan.places[outputs[0]].shape
        if written is None or shape is None or None in shape:
            return text
        dtype = np.dtype(self.loop.body.registers[outputs[0]].type.dtype)
        # as the loop's own: other memory takes longer to write
        spare = lent_bytes(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)
        if spare.nbytes >= LARGE_BYTES and written[4] not in re.findall(r"\w+", written[3]):
            return text
        namespace["spare"] = spare
        return f"{written[1]}{written[2]}({written[3]}, spare)"


def adding_up(parts: Sequence[Measured], whole_ns: float, are_all: bool = True) -> list[Measured]:
    """Return parts with what they do not add up to the whole as error, shared out among them: by that the instrument is off.

    Where they are not all of it, only what they come to above it is.
    """
    total = sum(part.ns for part in parts)
    more = total - whole_ns if are_all else max(0.0, total - whole_ns)
    off = abs(more) / total if total > 0 else 0.0
    return [Measured(part.ns, part.error_ns + off * abs(part.ns)) for part in parts]


def step_cpu_ns(case: Case, f: Any, rounds: int) -> Measured:
    """Return the CPU time of a step: what calls with twice the steps take more; in machine code, with all of them than with half.

    Where a run has one step it is what calls take more than without it: a first step takes half as long again as one that follows.
    """
    if case.calls > 1 and scanviz.config.mode != "native":
        return first_step_cpu_ns(case, f, rounds)
    steps = case.steps if scanviz.config.mode != "native" or case.calls > 1 else case.steps // 2
    long, short, calls = case.inputs(2 * steps), case.inputs(steps), range(case.calls)
    more, less = in_turn([lambda: [f(*long) for _ in calls], lambda: [f(*short) for _ in calls]], rounds)
    return difference(more, less, steps * case.calls)


def first_step_cpu_ns(case: Case, f: Any, rounds: int) -> Measured:
    """Return the CPU time of the only step of a run: what calls take more than by code that is the same without its steps."""
    arguments, calls = case.inputs(case.steps), range(case.calls)
    for _ in range(2 * ENTERED):
        f(*arguments)
    key = next(loop.key for loop, _ in all_loops(f.program) if loop.name == case.loop)
    made = all_made(f.executable.flat.runners)[key]
    usual = made.entry
    source = "".join(linecache.getlines(usual.__code__.co_filename))
    text, count = re.subn(r"\n( +)for (.*) in .*:(?=\n)", r"\n\1for \2 in ():", source, count=1)
    assert count
    emitter: Any = SimpleNamespace(namespace=dict(usual.__globals__), names=dict)
    none = compile_source(text.splitlines(), usual.__name__, emitter, {}, "no steps").function

    def run(entry: Any) -> None:
        made.entry = entry
        for _ in calls:
            f(*arguments)

    more, less = in_turn([lambda: run(usual), lambda: run(none)], rounds)
    made.entry = usual
    return difference(more, less, case.steps * case.calls)


def operations_cpu_ns(
    case: Case, f: Any, loop: PlainLoop, places: Sequence[int], rounds: int
) -> list[Measured]:
    """Return the CPU time of operations in a step: the extra time of the loop with each repeated."""
    arguments, calls = case.inputs(case.steps), range(case.calls)

    def run(place: int | None) -> Callable[[], Any]:
        def action() -> None:
            loop.use(place)
            for _ in calls:
                f(*arguments)

        return action

    once, *twice = in_turn([run(None), *(run(place) for place in places)], rounds)
    loop.use(None)
    return [difference(times, once, case.steps * case.calls) for times in twice]


__all__ = [
    "Measured",
    "PlainLoop",
    "adding_up",
    "difference",
    "in_turn",
    "middle",
    "operations_cpu_ns",
    "step_cpu_ns",
]
