"""All advice of a record, and the rules about loops: tiny steps, short inner loops, repeated compilation.

Each rule looks for one thing, and gives no advice without evidence in the record, or about less than 2 % of the run.  Gains are
estimates; the text shows how each was made.  Gains of several pieces of advice about one loop don't add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from scanviz.profiler.advice import run as advice_run
from scanviz.profiler.advice.figures import operation_ns, run_ns, start_ns, step_ns
from scanviz.profiler.advice.item import Advice, SourcePlace, advise, places
from scanviz.profiler.advice.memory import checkpoints, copies, rows_kept
from scanviz.profiler.advice.moving import draws, non_sequences, sequence_products
from scanviz.profiler.report.units import amount, counted, duration, share
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord

_TINY_NS = 1000.0  # shorter operations are mostly call overhead
_CALLS = 0.5  # share of call overhead in a tiny operation, at least
_MOSTLY_TINY = 0.5  # of the operations' time
_MANY_STEPS = 1000
_ALIKE = 0.8  # of the longest run: how long runs are on average
_FEW_STEPS = 32
_MUCH_SETUP = 0.3  # of a loop's run
_MANY_SHAPES = 8


def tiny_steps(place: SourcePlace) -> Iterator[Advice]:
    """Advise on runs that could be one run of larger steps."""
    loop = place.loop
    if loop.parent is not None or loop.gradient_of is not None or loop.runs < 2 or loop.steps < _MANY_STEPS:
        return
    times = [operation_ns(operation) for operation in loop.operations]
    tiny = [time for time in times if 0 < time < _TINY_NS]
    if not loop.sampled_steps or _is_updating(place) or not tiny:
        return
    if sum(tiny) < _MOSTLY_TINY * loop.body_ns:
        return
    # Runs of equal length and shapes can run together; the steps of one run remain.
    saved = _CALLS * sum(tiny) * (loop.steps - loop.longest_run)
    gain = min(saved, float(loop.total_ns))
    alike = loop.steps >= _ALIKE * loop.runs * loop.longest_run and _sets_of_shapes(loop) <= 1
    if not alike or not place.is_worth(gain):
        return
    yield advise(
        place,
        "tiny_steps",
        f"`{loop.name}` runs {amount(loop.runs)} times with steps that are mostly call overhead",
        f"Operations of {duration(sum(tiny) / len(tiny))} are mostly call overhead, whatever they compute. If the calls of"
        f" `{place.function.name}` do not need one another's results, run them together: one axis more in its inputs, and one"
        " loop for all. Estimate: half the time of these operations in all runs but one.",
        f"{counted(len(tiny), 'operation')} below {duration(_TINY_NS)}: {duration(sum(tiny))} of {duration(step_ns(place.loop))}"
        f" a step; {amount(loop.steps)} steps in {amount(loop.runs)} runs took {duration(loop.total_ns)}",
        gain,
    )


def _is_updating(place: SourcePlace) -> bool:
    """Return whether the function reads shared variables, so that its calls may depend on one another."""
    graph = place.function.graph
    return graph is None or any(leaf.role == "shared" for leaf in graph.leaves.values())


def short_inner_loops(place: SourcePlace) -> Iterator[Advice]:
    """Advise on inner loops whose time is mostly start and end."""
    loop = place.loop
    if loop.parent is None or loop.has_until or loop.gradient_of is not None or not loop.runs:
        return
    steps, start = loop.steps / loop.runs, start_ns(place.record, loop)
    run = run_ns(place.record, loop)
    if steps > _FEW_STEPS or start is None or run is None or start < _MUCH_SETUP * run:
        return
    gain = min(start * loop.runs, float(loop.total_ns))
    if not place.is_worth(gain):
        return
    if place.snapshot is not None and place.known_steps() is None:
        return  # an unknown number of steps cannot be written out
    known = (
        "" if place.snapshot is not None else ", if the number of steps is known when the function is built"
    )
    parent = next((outer.name for outer in place.record.loops if outer.key == loop.parent), "")
    yield advise(
        place,
        "short_inner_loops",
        f"`{loop.name}` is started {amount(loop.runs)} times for {steps:.3g} steps each",
        f"Write its steps out in the step of `{parent}`: a Python `for` around the same expressions{known}. Building takes longer"
        " then. Estimate: what starting and ending the inner loop takes, in usual steps.",
        f"{duration(start)} of a usual run of {duration(run)} ({share(start, run)}) is before the first step and after the last;"
        f" {amount(loop.runs)} runs",
        gain,
    )


def _sets_of_shapes(loop: LoopRecord) -> int:
    """Return the number of sets of shapes with code; the default mode makes code of two tiers for one set."""
    counts = Counter[str]()
    for tier in loop.tiers:
        counts[tier.tier] += 0 if tier.is_wait else tier.count
    return max(counts.values(), default=0)


def many_shapes(place: SourcePlace) -> Iterator[Advice]:
    """Advise on loops that were compiled again and again."""
    loop = place.loop
    count, total = _sets_of_shapes(loop), sum(tier.total_ns for tier in loop.tiers)
    gain = total * (1 - 1 / count) if count else 0.0
    if count < _MANY_SHAPES or not place.is_worth(gain):
        return
    yield advise(
        place,
        "many_shapes",
        f"`{loop.name}` was compiled {amount(count)} times",
        "New shapes need new code, up to a limit. Bring inputs to few shapes: fill rows up to a common length, or call"
        " with batches of one size. Estimate: compiling once instead.",
        f"{duration(total)} for {counted(count, 'set')} of shapes in {counted(loop.runs, 'run')}",
        gain,
    )


RULES: tuple[Callable[[SourcePlace], Iterator[Advice]], ...] = (
    non_sequences,
    sequence_products,
    draws,
    short_inner_loops,
    tiny_steps,
    copies,
    many_shapes,
)
MEMORY_RULES: tuple[Callable[[SourcePlace], Iterator[Advice]], ...] = (rows_kept, checkpoints)


def advice_of(record: ProfileRecord) -> list[Advice]:
    """Return the advice of a record, largest gain first.

    Parameters
    ----------
    record : ProfileRecord
        The run.

    Returns
    -------
    list of Advice
        By time saved, then by its upper bound, then by memory, then without a figure; empty if there is none.

    Examples
    --------
    >>> advice_of(ProfileRecord(script="rnn.py"))
    []
    """
    return sorted(_all(record), key=_place)


def _place(advice: Advice) -> tuple[float, float, int]:
    return -(advice.gain_ns or 0.0), -(advice.most_ns or 0.0), -(advice.gain_bytes or 0)


def _all(record: ProfileRecord) -> Iterator[Advice]:
    for place in places(record):
        for rule in (*RULES, *MEMORY_RULES):
            yield from rule(place)
    for rule_of_run in advice_run.RULES:
        yield from rule_of_run(record)
