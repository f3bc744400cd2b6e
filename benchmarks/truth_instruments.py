"""Instruments that know nothing of the profiler: CPU time of a loop as it is, and with one of its lines written twice."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from time import thread_time_ns
from typing import Any

from truth_workloads import Case

from scanviz.engine.backends.source.compiled import compile_source
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.program.instructions import all_loops


def cpu_ns(action: Callable[[], Any]) -> int:
    begun = thread_time_ns()
    action()
    return thread_time_ns() - begun


def in_turn(actions: Sequence[Callable[[], Any]], rounds: int) -> list[list[int]]:
    """Return the CPU nanoseconds of each action in each round, the actions taken in turn."""
    found: list[list[int]] = [[] for _ in actions]
    for action in actions:
        action()
    for _ in range(rounds):
        for times, action in zip(found, actions, strict=True):
            times.append(cpu_ns(action))
    return found


def median_difference(long: Sequence[int], short: Sequence[int]) -> float:
    """Return the median of the differences, round by round."""
    return statistics.median(a - b for a, b in zip(long, short, strict=True))


class PlainLoop:
    """The plain code of a loop, of which single lines can be written twice.

    Parameters
    ----------
    f : Function
        Has been called, so that its code is there.
    name : str
        Of the loop.
    """

    def __init__(self, f: Any, name: str) -> None:
        loop = next(loop for loop, _ in all_loops(f.program) if loop.name == name)
        self.made = all_made(f.executable.flat.runners)[loop.key]
        self.plain = self.made.written("plain")
        self.variants: dict[int, Any] = {}

    def use(self, index: int | None) -> None:
        """Let the function run the code as it is, or with the lines of an instruction written twice."""
        self.made._code["plain"] = self.plain if index is None else self._doubled(index)

    def has(self, index: int) -> bool:
        """Return whether an instruction has a line in every step."""
        header = next(
            k for k, text in enumerate(self.plain.text.splitlines(), 1) if text.startswith("        for ")
        )
        return any(one == index and line > header for line, one in self.plain.lines.items())

    def _doubled(self, index: int) -> Any:
        if index not in self.variants:
            lines = []
            for number, text in enumerate(self.plain.text.splitlines(), 1):
                lines += [text] * (2 if self.plain.lines.get(number) == index else 1)
            entry = self.plain.function.__name__
            namespace = dict(self.plain.function.__globals__)
            self.variants[index] = compile_source(
                "\n".join(lines) + "\n", entry, namespace, {}, {}, "doubled"
            )
        return self.variants[index]


def step_cpu_ns(case: Case, f: Any, rounds: int) -> float:
    """Return the CPU time of a step: what calls with twice the steps take more, or all of a call where its steps are few."""
    long, short = case.inputs(2 * case.steps), case.inputs(case.steps)
    calls = range(case.calls)
    times = in_turn(
        [lambda: [f(*long) for _ in calls], lambda: [f(*short) for _ in calls]],
        rounds,
    )
    return median_difference(*times) / (case.steps * case.calls)


def operations_cpu_ns(
    case: Case, f: Any, loop: PlainLoop, indices: Sequence[int], rounds: int
) -> list[float]:
    """Return the CPU time of operations in a step: what the loop takes more with each written twice."""
    arguments, calls = case.inputs(case.steps), range(case.calls)

    def run(index: int | None) -> Callable[[], Any]:
        def action() -> None:
            for _ in calls:
                f(*arguments)

        def whole() -> None:
            loop.use(index)
            action()

        return whole

    once, *twice = in_turn([run(None), *(run(index) for index in indices)], rounds)
    loop.use(None)
    return [median_difference(times, once) / (case.steps * case.calls) for times in twice]
