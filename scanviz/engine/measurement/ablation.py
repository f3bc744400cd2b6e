"""Measure the effect of each rule: compare a function with the same function without one rule, on the same inputs.

Rounds are interleaved, so that drift of the machine affects both; the result is the median ratio of the rounds, with quartiles.  If
the quartiles lie on both sides of 1, the difference is noise.  If another rule does the work of the excluded one, it is named: the
ratio then does not measure that work.  Peak memory is that of NumPy's arrays in separate runs, with the least and largest ratio.

A function of the default mode may change from NumPy to machine code.  Both sides run on the tier that the function has reached.
"""

from __future__ import annotations

import functools
import statistics
import time
import tracemalloc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from scanviz.engine.function import Function
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.measurement.verification import Notify, compare, no_notification
from scanviz.engine.program.lower import lower
from scanviz.engine.program.rules import apply_memory_rules
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection

FEWEST_ROUNDS, MOST_ROUNDS = 5, 200
PEAKS = 3  # runs that measure peak memory
SAME = 0.005  # relative difference of memory below which it is the same
NONE = "all of them"


class Effect(Struct, frozen=True):
    """The effect of excluding a rule from a function.

    Attributes
    ----------
    rule : str
        The excluded rule; :data:`NONE` for all rules.
    ratio : float
        Time without the rule over time with it: 2 means that the rule makes the function twice as fast.
    low, high : float
        Quartiles of the ratio.
    rounds : int
        Number of rounds.
    with_ns, without_ns : float
        Median nanoseconds of a call.
    with_bytes, without_bytes : int
        Median peak memory of a call.
    memory_low, memory_high : float
        Least and largest ratio of peak memory.
    agrees : bool
        Whether both give the same results.
    instead : tuple of str
        Rules that removed the same operations in its place.
    """

    rule: str
    ratio: float
    low: float
    high: float
    rounds: int
    with_ns: float
    without_ns: float
    with_bytes: int
    without_bytes: int
    memory_low: float
    memory_high: float
    agrees: bool
    instead: tuple[str, ...] = ()

    @property
    def is_noise(self) -> bool:
        """True if the times differ no more than between rounds."""
        return self.low <= 1.0 <= self.high

    @property
    def memory_ratio(self) -> float:
        """Peak memory without the rule over that with it."""
        return self.without_bytes / max(1, self.with_bytes)

    @property
    def is_memory_noise(self) -> bool:
        """True if peak memory differs no more than between runs."""
        return self.memory_low <= 1.0 <= self.memory_high or abs(self.memory_ratio - 1.0) < SAME


Run = Callable[[], list[Any]]


def ablate(
    function: Function,
    arrays: Sequence[Any],
    seconds: float = 20.0,
    clock: Callable[[], int] = time.perf_counter_ns,
    among: Collection[str] | None = None,
    notify: Notify = no_notification,
) -> Iterator[Effect]:
    """Measure the effect of each rule that was applied to a function.

    Parameters
    ----------
    function : Function
        A compiled function.
    arrays : sequence of array
        Its inputs, then the values of its shared variables; neither is changed.
    seconds : float
        Approximate time limit.
    clock : callable
        Returns nanoseconds; replaced in tests.
    among : collection of str, optional
        The rules to exclude one by one; by default all applied rules, and finally all of them together.
    notify : callable
        Called between rounds, never while one is timed, with the progress, from 0 to 1, and the excluded rule.
    """
    selection = function.rewrites.selection
    rules = list(dict.fromkeys(rewrite.rule for rewrite in function.rewrites))
    variants = [(rule, selection.excluding(rule)) for rule in rules if among is None or rule in among]
    if rules and among is None:
        variants.append((NONE, Selection("none")))
    if not variants:
        return
    budget = int(seconds * 1e9 / (len(variants) + 1))
    base, history = runner(function, arrays, selection)
    base()  # the first run fills caches
    peaks = [_peak(base) for _ in range(PEAKS)]
    usual = _taken_away(history)
    for k, (rule, chosen) in enumerate(variants):
        of_rule = functools.partial(_part_of, notify, k, len(variants), rule)
        of_rule(0.0)
        begun = clock()
        other, history = runner(function, arrays, chosen)
        instead = stand_ins(rule, usual, _taken_away(history))
        effect = _effect(rule, base, peaks, other, budget - (clock() - begun), clock, of_rule)
        yield replace(effect, instead=instead)


def _part_of(notify: Notify, number: int, count: int, rule: str, part: float) -> None:
    """Notify of the progress with one rule as a part of the whole."""
    notify((number + part) / count, rule)


def _taken_away(history: RewriteHistory) -> dict[str, set[str]]:
    """Return the operations that each rule removed from a graph or a loop's step, by name and loop."""
    found: dict[str, set[str]] = {}
    for record in history.of_graph:
        change = record.change
        found.setdefault(record.rule, set()).update(change.removed, change.moved_out)
    return found


def stand_ins(rule: str, usual: Mapping[str, set[str]], without: Mapping[str, set[str]]) -> tuple[str, ...]:
    """Return the rules that do the work of an excluded one, given the operations that each removes with and without it.

    Examples
    --------
    >>> usual = {"PushOutSeqScan": {"dot in `rnn`"}, "PushOutScanOutput": {"exp in `rnn`"}}
    >>> stand_ins("PushOutSeqScan", usual, {"PushOutScanOutput": {"exp in `rnn`", "dot in `rnn`"}})
    ('PushOutScanOutput',)
    """
    work = usual.get(rule, set())
    return tuple(
        other for other, done in without.items() if other != rule and work & (done - usual.get(other, set()))
    )


def runner(
    function: Function,
    arrays: Sequence[Any],
    selection: Selection,
) -> tuple[Run, RewriteHistory]:
    """Return a runner of a function under other rules, on the tier that the function has reached, and their history."""
    spec = function.spec
    wanted: list[Variable] = [*(output.variable for output in spec.outputs), *spec.updates.values()]
    reads: list[Variable] = [*(given.variable for given in spec.inputs), *spec.shared]
    history = RewriteHistory(wanted, selection, target=function.rewrites.target)
    program, _ = apply_memory_rules(lower(reads, history.final, function.name), selection)
    executable = function.compile_alike(program)
    given = [np.array(array) for array in arrays]

    def run() -> list[Any]:
        return list(executable.run(given, None))

    return run, history


def _effect(
    rule: str,
    base: Run,
    peaks: list[int],
    other: Run,
    budget: int,
    clock: Callable[[], int],
    notify: Callable[[float], None],
) -> Effect:
    expected, found = base(), other()
    agrees = compare(expected, found, [""] * len(expected)) is None
    times: tuple[list[int], list[int]] = ([], [])
    begun, spent = clock(), 0
    while len(times[0]) < FEWEST_ROUNDS or (len(times[0]) < MOST_ROUNDS and clock() - begun < budget):
        for kept, action in zip(times, (base, other), strict=True):
            start = clock()
            action()
            kept.append(max(1, clock() - start))
            spent += kept[-1]
        notify(min(1.0, max(spent / max(budget, 1), len(times[0]) / MOST_ROUNDS)))
    ratios = [without / with_it for with_it, without in zip(*times, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    others = [_peak(other) for _ in peaks]
    return Effect(
        rule,
        middle,
        low,
        high,
        len(ratios),
        statistics.median(times[0]),
        statistics.median(times[1]),
        int(statistics.median(peaks)),
        int(statistics.median(others)),
        min(others) / max(1, *peaks),
        max(others) / max(1, min(peaks)),
        agrees,
    )


def _peak(action: Run) -> int:
    """Return the peak memory of a run in bytes."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
