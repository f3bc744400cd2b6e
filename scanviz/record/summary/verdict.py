"""A run in a few sentences: where its time went, what rewriting did for that, and what was unusual.

Every sentence comes from numbers of the record, and names the place to look at next.  A sentence that has nothing to tell is left
out, so that what stands there is worth reading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.names import loop_titles
from scanviz.record.plain_text import sanitize
from scanviz.record.processor import off_cpu_share
from scanviz.record.summary.roofline import bound_of
from scanviz.record.summary.run_breakdown import RunPart, parts_of
from scanviz.record.summary.slow_steps import in_other_code, other_code_ns, slowest_share
from scanviz.record.summary.totals import LOOPS, OUTSIDE, PartTotal, title, totals
from scanviz.record.traces.first_bad import first_bad_of
from scanviz.record.traces.model import STATISTICS
from scanviz.record.values import SourceRecord

MUCH = 0.2  # of what an operation is part of: less is no sentence
RECORDING = "recording"  # the row that is no part of the program
WORTH = 0.05  # of the time: what the program computes is told even where something else takes more
MOST_OF_IT = 0.5
LARGE_PRODUCT = 1e6  # floating-point operations: of smaller ones the call takes most
WAITED = 4.0  # times what a product takes as a rule, or needs on this machine, where its threads waited
SURE = 0.95  # how much a rule must change to be told, as a ratio of times


class VerdictSentence(Struct, frozen=True):
    """One sentence, and where it leads.

    Attributes
    ----------
    topic : str
        ``"time"``: where it goes; ``"rewriting"``: what rules did; ``"unusual"``: what is not as it should be; ``"try"``: what
        would make it faster.
    text : str
        The sentence.
    function, loop : int or None
        Keys of what it is about.
    source : SourceRecord or None
        The line it is about.
    step, run : int or None
        The step and the run of the loop's value that is not as it should be.
    """

    topic: str
    text: str
    function: int | None = None
    loop: int | None = None
    source: SourceRecord | None = None
    step: int | None = None
    run: int | None = None


def verdict(record: ProfileRecord, parts: Sequence[RunPart] | None = None) -> tuple[VerdictSentence, ...]:
    """Return what there is to say of a run, the most important first.

    Parameters
    ----------
    record : ProfileRecord
        The run.
    parts : sequence of RunPart, optional
        What :func:`scanviz.record.summary.run_breakdown.parts_of` gives of it, where that is known already.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord, FunctionRecord, LoopRecord, ThreadTimesRecord
    >>> loop = LoopRecord(1, 1, None, "rnn", SourceRecord("rnn.py", 3), runs=1, steps=9, total_ns=80)
    >>> called = FunctionRecord(1, "f", None, "numpy", calls=1, call_times=DurationRecord(1, 90))
    >>> times = ThreadTimesRecord(inside_ns=90)
    >>> record = ProfileRecord(script="rnn.py", wall_ns=100, functions=(called,), loops=(loop,), threads=times)
    >>> [sentence.text for sentence in verdict(record)]
    ['80 % of the time is in the loop `rnn` (rnn.py:3).']
    """
    if not any(function.calls for function in record.functions):
        return ()
    return tuple(_sentences(record, parts_of(record) if parts is None else parts))


def _sentences(record: ProfileRecord, parts: Sequence[RunPart]) -> Iterator[VerdictSentence]:
    rows = sorted(totals(parts), key=lambda total: -total.total_ns)
    rows = [row for row in rows if row.title != RECORDING]
    worked_ns = sum(row.total_ns for row in rows)
    # where recording takes much, as that of values does, shares are of what the program itself took
    whole = worked_ns if parts[0].total_ns - worked_ns > MUCH * parts[0].total_ns else parts[0].total_ns
    if worked_ns:
        yield _where(record, parts, rows[0], whole)
        computed = next((row for row in rows if row.title in (LOOPS, OUTSIDE)), None)
        if computed is not None and computed is not rows[0] and computed.total_ns >= WORTH * whole:
            yield _where(record, parts, computed, whole)
    yield from _rewriting(record, parts)
    yield from _unusual(record)
    yield from _waiting_products(record, parts)


def _where(record: ProfileRecord, parts: Sequence[RunPart], most: PartTotal, whole: int) -> VerdictSentence:
    """Return what takes most of the time, and what of that is most of it."""
    time = "the time" if whole == parts[0].total_ns else "the time without recording"
    part = f"{_percent(most.total_ns, whole)} of {time} is"
    if most.title == LOOPS:
        return _in_loops(record, parts, part, whole)
    if most.title == OUTSIDE:
        return _outside(parts, part)
    return VerdictSentence("time", f"{part} {most.title}.")


def _in_loops(record: ProfileRecord, parts: Sequence[RunPart], part: str, whole: int) -> VerdictSentence:
    """Return which loop takes most of the loops' time, and which operation most of that."""
    own: Counter[int] = Counter()
    for row in parts:
        if row.loop is not None and title(row) == LOOPS:
            own[row.loop] += row.own_ns
    ((key, took),) = own.most_common(1)
    loop = next(loop for loop in record.loops if loop.key == key)
    name = f"the loop `{sanitize(loop_titles(record)[key])}`"
    share, place = _percent(took, whole), f"{name}{_at(loop.source)}"
    text = f"{part} in {place}" if part.startswith(share) else f"{part} in loops, {share} in {place}"
    if other_code_ns(loop) > MOST_OF_IT * took:
        return VerdictSentence("time", f"{text}: {in_other_code(loop)}.", loop.function, key, loop.source)
    inside = [row for row in parts if row.loop == key and row.kind == "operation"]
    hottest = max(inside, key=lambda row: row.own_ns, default=None)
    if hottest is None or hottest.own_ns < MUCH * took:
        return VerdictSentence("time", f"{text}.", loop.function, key, loop.source)
    what = f"`{sanitize(hottest.label)}`{_at(hottest.source, loop.source)}"
    text += f", {_percent(hottest.own_ns, took)} of that {what}."
    return VerdictSentence("time", text, loop.function, key, hottest.source or loop.source)


def _outside(parts: Sequence[RunPart], part: str) -> VerdictSentence:
    """Return which operations outside of loops take most, and from which loops they came."""
    found = [row for row in parts if row.kind == "operation" and row.loop is None and row.own_ns]
    whole = sum(row.own_ns for row in found)
    came: Counter[str] = Counter()
    for row in found:
        came[row.moved_from] += row.own_ns
    ((loop, took),) = came.most_common(1)
    chosen = sorted((row for row in found if row.moved_from == loop), key=lambda row: -row.own_ns)
    few = [row for row in chosen if row.own_ns >= MUCH * whole][:2] or chosen[:1]
    listed = " and ".join(f"`{sanitize(row.label)}`" for row in few)
    text = f"{part} outside of loops"
    if loop and took >= MOST_OF_IT * whole:
        text += f", most of it in work that left the loop `{sanitize(loop)}`: {listed}{_at(few[0].source)}."
    else:
        text += (
            f", {_percent(sum(row.own_ns for row in few), whole)} of that in {listed}{_at(few[0].source)}."
        )
    return VerdictSentence("time", text, few[0].function, None, few[0].source)


def _rewriting(record: ProfileRecord, parts: Sequence[RunPart]) -> Iterator[VerdictSentence]:
    """Iterate over what rewriting did to the function that takes most: measured where it was, else counted."""
    took = {part.function: part.total_ns for part in parts if part.kind == "function"}
    functions = [
        function for function in record.functions if function.rewrites is not None and took.get(function.key)
    ]
    if not functions:
        return
    function = max(functions, key=lambda function: took[function.key])
    rewrites = function.rewrites
    assert rewrites is not None
    sure = [effect for effect in rewrites.effects if effect.low > 1 / SURE]
    if sure:
        best = max(sure, key=lambda effect: effect.ratio)
        took_longer = f"a call of `{sanitize(function.name)}` takes {best.ratio:.2f} times as long"
        text = f"Rewriting pays: without {sanitize(best.rule)} {took_longer}."
        yield VerdictSentence("rewriting", text, function.key)
        return
    text = _fewer(rewrites)
    if text:
        yield VerdictSentence("rewriting", f"Rewriting {text}.", function.key)


def _fewer(rewrites: RewritesRecord) -> str:
    """Return how many operations a step had and has, of the loop where most went away."""
    before, after = rewrites.steps(0), rewrites.steps(len(rewrites.applications))
    fewer = {loop: before[loop] - after.get(loop, 0) for loop in before if loop in after}
    gone = [loop for loop in before if loop not in after]
    loop = max(fewer, key=lambda loop: fewer[loop], default=None)
    found = []
    if loop is not None and fewer[loop] > 0:
        found.append(
            f"left {after[loop]} of {before[loop]} operations in a step of `{sanitize(loop)}`{_floating(rewrites, loop)}"
        )
    if gone:
        found.append(
            f"made {len(gone)} loop{'s' if len(gone) > 1 else ''} unnecessary ({sanitize(', '.join(gone[:3]))})"
        )
    return " and ".join(found)


def _floating(rewrites: RewritesRecord, loop: str) -> str:
    """Return how many floating-point operations a step of a loop had and has, where that is known and they are fewer."""
    numbers = (rewrites.numbers(k) for k in (0, len(rewrites.applications)))
    steps = (known.per_step.get(loop) if known is not None else None for known in numbers)
    before, after = (step.flops if step is not None else None for step in steps)
    if before is None or after is None or after >= before:
        return ""
    return f" ({after:,} of {before:,} floating-point ones)"


def _unusual(record: ProfileRecord) -> Iterator[VerdictSentence]:
    """Iterate over what is not as it should be: values that are no numbers, time without the processor, slow steps."""
    titles = loop_titles(record)
    for loop in record.loops:
        traces = [trace for trace in record.traces if trace.loop == loop.key]
        found = first_bad_of(traces)
        if found is not None:
            trace, bad = found
            place = trace.steps.index(bad.step)
            what = "NaN" if bad.variable.statistics[place, STATISTICS.index("nan")] else "infinity"
            run = f" of run {trace.run}" if loop.runs > 1 else ""
            where = (
                f"`{sanitize(titles[loop.key])}` is `{sanitize(bad.variable.name)}` at step {bad.step}{run}"
            )
            text = f"The first {what} in {where}"
            text = f"{text}{_at(bad.variable.source)}."
            yield VerdictSentence(
                "unusual", text, loop.function, loop.key, bad.variable.source, bad.step, trace.run
            )
            break
    slowest = max(record.loops, key=lambda loop: slowest_share(loop) * loop.total_ns, default=None)
    share = 0.0 if slowest is None else slowest_share(slowest)
    if slowest is not None and share and slowest.total_ns >= MUCH * record.wall_ns:
        yield VerdictSentence(
            "unusual",
            f"The slowest 1 % of the steps of `{sanitize(titles[slowest.key])}` take {100 * share:.0f} % of its time.",
            slowest.function,
            slowest.key,
        )


def _waiting_products(record: ProfileRecord, parts: Sequence[RunPart]) -> Iterator[VerdictSentence]:
    """Iterate over the product that takes most, where its threads waited instead of multiplying."""
    owners: dict[tuple[int | None, int | None], FunctionRecord | LoopRecord] = {
        (function.key, None): function for function in record.functions
    }
    owners |= {(loop.function, loop.key): loop for loop in record.loops}
    found = max(
        (part for part in parts if part.kind == "operation"), key=lambda part: part.own_ns, default=None
    )
    if found is None or found.own_ns < MUCH * parts[0].total_ns:
        return
    owner = owners[found.function, found.loop]
    operation = next(one for one in owner.operations if one.index == found.operation)
    usual_ns, off = owner.ran_ns(replace(operation, mean_ns=None)), off_cpu_share(owner)
    bound = bound_of(record.measures, operation)
    least_ns = usual_ns * min(1.0, bound.reached) if bound is not None else usual_ns
    is_large = operation.measures.get("product_flops", 0.0) >= LARGE_PRODUCT
    if is_large and found.own_ns >= WAITED * least_ns > 0 and off >= MUCH:
        name = f"`{sanitize(operation.label)}`{_at(operation.source)}"
        where = "loop" if isinstance(owner, LoopRecord) else "function"
        other = "its typical time" if bound is None else "what this machine needs"
        text = (
            f"{name} takes {found.own_ns / least_ns:.2g} times {other}, and its {where} was off the CPU {100 * off:.0f} % of the"
            " time: threads, such as those of BLAS, waited for one another."
            " Set OPENBLAS_NUM_THREADS=1, or run on an idle machine."
        )
        yield VerdictSentence("unusual", text, found.function, found.loop, operation.source)


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / max(1, whole):.0f} %"


def _at(source: SourceRecord | None, known: SourceRecord | None = None) -> str:
    """Return a line behind what stands there, if it was not named before."""
    if source is None or source == known:
        return ""
    return f" ({sanitize(str(source))})"
