"""The findings of a run, in sentences: its slowest line and the cause, unusual events, and the effect of rewriting.

Each sentence comes from numbers of the record and names the place to look at next.
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
from scanviz.record.summary.run_breakdown import PartKind, RunPart, parts_of, run_time_ns
from scanviz.record.summary.slow_steps import in_other_code, other_code_ns, reasons, slowest_share
from scanviz.record.traces.model import first_bad_of
from scanviz.record.units import duration, share
from scanviz.record.values import SourceRecord

MUCH = 0.2  # of what an operation is part of: less is no sentence
MOST_OF_IT = 0.5
NEARLY_ALL = 0.9
LARGE_PRODUCT = 1e6  # floating-point operations: of smaller ones the call takes most
SLOW_MACHINE = 1.0  # floating-point operations of a product per nanosecond
WAITED = 4.0  # times what a product takes as a rule, or needs on this machine, where its threads waited
SURE = 0.95  # how much a rule must change to be reported, as a ratio of times
CALL_NS = 2_000  # an operation on NumPy that takes less is mostly the call of it
LONGEST_LABEL = 60  # characters of an operation that the sentence of the slowest line names
LONGEST_NAME = 80  # characters of a name or an operation in other sentences
AT_LIMIT = 0.5  # of a limit of the machine: an operation that reaches it is bound by it
NOT_CALLED = "No scanviz function was called: scanviz records what scanviz.function compiles."
ONLY_COMPILED = "No scanviz function was called, only compiled: call it in the script to time it."
LONG_NS = 1_000_000_000  # compilation that takes longer comes first
_COMPILATION: tuple[PartKind, ...] = ("building", "code")
_EXECUTED: tuple[PartKind, ...] = ("operation", "steps", "slow")  # without the overhead of loops


class VerdictSentence(Struct, frozen=True):
    """One sentence, and its target in the views.

    Attributes
    ----------
    topic : str
        ``"time"``: where it goes; ``"why"``: why the slowest line is slow; ``"rewriting"``: what rules did; ``"unusual"``: what
        is not as it should be; ``"try"``: what would make it faster.
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
    """Return the findings of a run, the slowest line first.

    Parameters
    ----------
    record : ProfileRecord
        The run.
    parts : sequence of RunPart, optional
        The run divided by :func:`scanviz.record.summary.run_breakdown.parts_of`, if it is at hand.

    Examples
    --------
    >>> from scanviz.record.model import DurationRecord, FunctionRecord, LoopRecord, ThreadTimesRecord
    >>> loop = LoopRecord(1, 1, None, "rnn", SourceRecord("rnn.py", 3), runs=1, steps=9, total_ns=80)
    >>> called = FunctionRecord(1, "f", None, "numpy", calls=1, call_times=DurationRecord(1, 90))
    >>> times = ThreadTimesRecord(inside_ns=90)
    >>> record = ProfileRecord(script="rnn.py", wall_ns=100, functions=(called,), loops=(loop,), threads=times)
    >>> [sentence.text for sentence in verdict(record)]
    ['rnn.py:3 is the slowest line: 80 % of run time, 8.89 ns per step of the loop `rnn`.']
    """
    if not any(function.calls or function.running for function in record.functions):
        return _not_called(record)
    return tuple(_sentences(record, parts_of(record) if parts is None else parts))


def _not_called(record: ProfileRecord) -> tuple[VerdictSentence, ...]:
    """Return the sentence of a run that has ended and called no function: whether it compiled one."""
    if record.outcome.status == "running":
        return ()
    compiled = any(build.kind == "function" for build in record.building)
    return (VerdictSentence("time", ONLY_COMPILED if compiled else NOT_CALLED),)


class SlowLine(Struct, frozen=True):
    """A line of the script with its time, in loops and outside of them; compilation is not counted.

    Attributes
    ----------
    source : SourceRecord
        The line.
    total_ns : int
        All of it.
    parts : tuple of RunPart
        Its parts, the longest first.
    """

    source: SourceRecord
    total_ns: int
    parts: tuple[RunPart, ...]

    @property
    def loop(self) -> int | None:
        """Key of the line's most expensive loop; None for time outside of loops."""
        spent: Counter[int | None] = Counter()
        for part in self.parts:
            spent[part.loop] += part.own_ns
        return spent.most_common(1)[0][0]

    def spent_in(self, loop: int | None) -> int:
        """Return the line's time in a loop, or outside of loops."""
        return sum(part.own_ns for part in self.parts if part.loop == loop)


def slow_lines(parts: Sequence[RunPart]) -> list[SlowLine]:
    """Return the lines of the script, the slowest first.

    Examples
    --------
    >>> line = SourceRecord("rnn.py", 7, "h = T.tanh(x)")
    >>> whole = RunPart("run", "rnn.py", 100)
    >>> [found.total_ns for found in slow_lines([whole, RunPart("operation", "tanh(x)", 97, 97, 0, line)])]
    [97]
    """
    found: dict[tuple[str, int], list[RunPart]] = {}
    for part in parts:
        if part.kind in _EXECUTED and part.own_ns and part.source is not None:
            found.setdefault((part.source.file, part.source.line), []).append(part)
    made = []
    for inside in found.values():
        inside.sort(key=lambda part: -part.own_ns)
        source = inside[0].source
        assert source is not None
        made.append(SlowLine(source, sum(part.own_ns for part in inside), tuple(inside)))
    return sorted(made, key=lambda line: -line.total_ns)


def _sentences(record: ProfileRecord, parts: Sequence[RunPart]) -> Iterator[VerdictSentence]:
    lines, whole = slow_lines(parts), run_time_ns(parts)
    yield from _first_nan(record)
    compilation: Counter[SourceRecord | None] = Counter()
    for part in parts:
        if part.kind in _COMPILATION:
            compilation[part.source] += part.own_ns
    compiled = _compiled(compilation, whole)
    slowest = [_slowest(record, lines[0], whole)] if lines else []
    yield from (*compiled, *slowest) if compilation.total() >= LONG_NS else (*slowest, *compiled)
    loops = {loop.key: loop for loop in record.loops}
    if lines and lines[0].loop is not None:
        yield from _why(record, loops[lines[0].loop], lines[0])
    yield from _unusual(record)
    yield from _waiting_products(record, parts)
    yield from _rewriting(record, parts)


def _compiled(spent: Counter[SourceRecord | None], whole: int) -> list[VerdictSentence]:
    """Return the line with the longest compilation, if compilation is most of the run."""
    if spent.total() <= MOST_OF_IT * whole:
        return []
    source, took = max(spent.items(), key=lambda pair: (pair[0] is not None) * pair[1])
    text = f"Compilation takes {share(spent.total(), whole)} of run time"
    if source is not None:
        text += f", {share(took, whole)} at {sanitize(str(source))}"
    return [VerdictSentence("time", f"{text}; each function compiles once.", source=source)]


def _slowest(record: ProfileRecord, line: SlowLine, whole: int) -> VerdictSentence:
    """Return the slowest line of the script, its loop, and its most expensive operation."""
    key, first = line.loop, line.parts[0]
    text = f"{sanitize(str(line.source))} is the slowest line: {share(line.total_ns, whole)} of run time"
    if key is None:
        moved = first.moved_from if first.moved_from and first.rule != "gradient" else ""
        text += f", moved out of the loop `{_short(moved)}`" if moved else ", outside of loops"
    else:
        loop = next(loop for loop in record.loops if loop.key == key)
        here = line.spent_in(key)
        step = f"{duration(here / loop.steps)} per step" if loop.steps else duration(here)
        text += f", {step} of the loop `{_short(loop_titles(record)[key])}`"
    gradient = sum(part.own_ns for part in line.parts if part.rule == "gradient")
    if MUCH * line.total_ns <= gradient < NEARLY_ALL * line.total_ns:
        text += f", {share(gradient, line.total_ns)} of that in the gradient"
    is_much = first.own_ns >= MUCH * line.total_ns
    if first.kind == "operation" and is_much and len(first.label) <= LONGEST_LABEL:
        only = first.own_ns >= NEARLY_ALL * line.total_ns
        text += f": `{sanitize(first.label)}`" if only else f", mostly `{sanitize(first.label)}`"
    return VerdictSentence("time", f"{text}.", first.function, key, line.source)


def _why(record: ProfileRecord, loop: LoopRecord, line: SlowLine) -> Iterator[VerdictSentence]:
    """Iterate over known causes of a slow line of a loop: the code that ran it, its calls, the machine's limits."""
    if other_code_ns(loop) > MOST_OF_IT * loop.total_ns:
        yield VerdictSentence(
            "why", f"{_capital(in_other_code(loop))}.", loop.function, loop.key, line.source
        )
        return
    on_numpy = loop.tiers[-1].tier == "numpy" if loop.tiers else False
    refused = loop.tiers[-1].why.partition("no native code: ")[2] if on_numpy else ""
    if refused:
        text = f"The loop `{_short(loop.name)}` runs on NumPy, not as machine code: {sanitize(refused)}."
        yield VerdictSentence("why", text, loop.function, loop.key, line.source)
    operations = [one for one in loop.operations if one.source == line.source and one.samples]
    if on_numpy and operations and all(one.typical_ns < CALL_NS for one in operations):
        text = "Steps are so short that per-operation overhead dominates."
        yield VerdictSentence("why", text, loop.function, loop.key, line.source)
    hottest = max(operations, key=loop.ran_ns, default=None)
    bound = bound_of(record.measures, hottest) if hottest is not None else None
    if hottest is not None and bound is not None and bound.reached >= AT_LIMIT:
        text = f"`{_short(hottest.label)}` runs at {100 * bound.reached:.0f} % of this machine's limit: {bound.kind}."
        yield VerdictSentence("why", text, loop.function, loop.key, line.source)


def _rewriting(record: ProfileRecord, parts: Sequence[RunPart]) -> Iterator[VerdictSentence]:
    """Iterate over effects of rewriting on the slowest function: operations per step, and the measured speedup if any."""
    took = {part.function: part.total_ns for part in parts if part.kind == "function"}
    functions = [
        function for function in record.functions if function.rewrites is not None and took.get(function.key)
    ]
    if not functions:
        return
    function = max(functions, key=lambda function: took[function.key])
    rewrites = function.rewrites
    assert rewrites is not None
    fewer = _fewer(rewrites)
    best = max(
        (one for one in rewrites.effects if one.low > 1 / SURE), key=lambda one: one.ratio, default=None
    )
    if best is not None:
        effect = f"without {_short(best.rule)} a call of `{_short(function.name)}` takes {best.ratio:.2f} times as long"
        text = f"Rewriting {fewer}; {effect}." if fewer else f"Measured effect of rewriting: {effect}."
        yield VerdictSentence("rewriting", text, function.key)
    elif fewer:
        yield VerdictSentence("rewriting", f"Rewriting {fewer}; effect on time not measured.", function.key)


def _fewer(rewrites: RewritesRecord) -> str:
    """Return the operations per step before and after, for the loop that lost most, and the removed loops."""
    before, after = rewrites.steps(0), rewrites.steps(len(rewrites.applications))
    fewer = {loop: before[loop] - after.get(loop, 0) for loop in before if loop in after}
    gone = [loop for loop in before if loop not in after]
    loop = max(fewer, key=lambda loop: fewer[loop], default=None)
    found = []
    if loop is not None and fewer[loop] > 0:
        counts = f"from {before[loop]} to {after[loop]} operations"
        found.append(f"cut each step of `{_short(loop)}` {counts}{_floating(rewrites, loop)}")
    if gone:
        loops = f"{len(gone)} loop{'s' if len(gone) > 1 else ''}"
        found.append(f"removed {loops} ({_short(', '.join(gone[:3]))})")
    return " and ".join(found)


def _floating(rewrites: RewritesRecord, loop: str) -> str:
    """Return a step's floating-point operations before and after, if they are known and fewer."""
    numbers = (rewrites.numbers(k) for k in (0, len(rewrites.applications)))
    steps = (known.per_step.get(loop) if known is not None else None for known in numbers)
    before, after = (step.flops if step is not None else None for step in steps)
    if before is None or after is None or after >= before:
        return ""
    return f" ({before:,} → {after:,} flops)"


def _first_nan(record: ProfileRecord) -> Iterator[VerdictSentence]:
    """Iterate over where NaN first appears: the one that a call returned, then another one among the values that were kept."""
    returned, kept = _returned_nan(record), _first_kept(record)
    if returned is not None:
        yield returned
    if kept is not None and (returned is None or (returned.loop, returned.step) != (kept.loop, kept.step)):
        yield kept


def _first_kept(record: ProfileRecord) -> VerdictSentence | None:
    """Return the first NaN or infinity among the values that were kept; one that a loop inside a step gave is named there."""
    titles, loops = loop_titles(record), {loop.key: loop for loop in record.loops}
    firsts = {
        loop.key: found
        for loop in record.loops
        if (found := first_bad_of(trace for trace in record.traces if trace.loop == loop.key)) is not None
    }
    if not firsts:
        return None
    loop = loops[next(iter(firsts))]
    while (inner := loop.inner_loop(firsts[loop.key][1].variable.operation)) in firsts:
        loop = loops[inner]
    trace, bad = firsts[loop.key]
    word = "NaN" if trace.has_nan(bad.step, bad.variable) else "infinity"
    run = f" of run {trace.run}" if loop.runs > 1 else ""
    name, source = _short(bad.variable.name), bad.variable.source
    text = f"The first {word} in `{_short(titles[loop.key])}` is `{name}`"
    text += f" at step {bad.step}{run}{_at(source)}."
    return VerdictSentence("unusual", text, loop.function, loop.key, source, bad.step, trace.run)


def _returned_nan(record: ProfileRecord) -> VerdictSentence | None:
    """Return where the NaN that a call returned first appears."""
    nan = record.first_nan
    function = next((one for one in record.functions if nan is not None and one.key == nan.function), None)
    if nan is None or function is None:
        return None
    called = f"`{_short(function.name)}` returned NaN"
    if not nan.operation:
        text = f"{called}: scanviz check SCRIPT finds where it appears."
        if nan.was_given:
            text = f"{called} that no operation computed: look for it in the inputs of that call."
        return VerdictSentence("unusual", text, function.key)
    inside = [loop for loop in record.loops if (loop.function, loop.name) == (nan.function, nan.loop)]
    where = (
        f" at step {nan.step} of the loop `{_short(loop_titles(record)[inside[0].key])}`" if inside else ""
    )
    place, rows = f"`{_short(nan.operation)}`{where}{_at(nan.source)}", _short(nan.rows)
    if nan.was_given:
        text = f"{called}. It came from {rows or 'outside'}, and is first read by {place}."
    else:
        made = f", computed from {rows}" if rows else ""
        text = f"{called}. It first appears in {place}{made}."
    loop = inside[0] if inside else None
    traces = [trace for trace in record.traces if loop is not None and trace.loop == loop.key]
    runs = [trace.run for trace in traces if trace.has_nan(nan.step) or len(traces) == 1]
    at = (nan.step, min(runs)) if runs else (None, None)
    return VerdictSentence(
        "unusual", text, nan.function, loop.key if loop is not None else None, nan.source, *at
    )


def _unusual(record: ProfileRecord) -> Iterator[VerdictSentence]:
    """Iterate over slow steps that take much of a loop's time."""
    titles = loop_titles(record)
    slowest = max(record.loops, key=lambda loop: slowest_share(loop) * loop.total_ns, default=None)
    part = 0.0 if slowest is None else slowest_share(slowest)
    if slowest is not None and part and slowest.total_ns >= MUCH * record.wall_ns:
        text = f"The slowest 1 % of the steps of `{_short(titles[slowest.key])}` take {100 * part:.0f} % of its time"
        why = reasons(slowest, slowest.measures.get("slowest_hundredth_ns", 0.0))
        yield VerdictSentence(
            "unusual",
            f"{text}: {sanitize(why[0]) if why else 'cause unknown'}.",
            slowest.function,
            slowest.key,
        )


def _waiting_products(record: ProfileRecord, parts: Sequence[RunPart]) -> Iterator[VerdictSentence]:
    """Iterate over the most expensive product, if its threads waited instead of multiplying."""
    found = max(
        (part for part in parts if part.kind == "operation"), key=lambda part: part.own_ns, default=None
    )
    if found is None or found.own_ns < MUCH * run_time_ns(parts):
        return
    key, inside = (found.function, False) if found.loop is None else (found.loop, True)
    all_owners: Sequence[FunctionRecord | LoopRecord] = record.loops if inside else record.functions
    owner = next(one for one in all_owners if one.key == key)
    operation = next(one for one in owner.operations if one.index == found.operation)
    usual_ns, off = owner.ran_ns(replace(operation, mean_ns=None)), off_cpu_share(owner)
    bound, flops = bound_of(record.measures, operation), operation.measures.get("product_flops", 0.0)
    reached = bound.reached if bound is not None else flops / SLOW_MACHINE / max(1.0, operation.typical_ns)
    least_ns = usual_ns * min(1.0, reached)
    if flops >= LARGE_PRODUCT and found.own_ns >= WAITED * least_ns > 0 and off >= MUCH:
        name = f"`{_short(operation.label)}`{_at(operation.source)}"
        where = "loop" if inside else "function"
        other = "its typical time" if reached >= 1 else "the least time on a slow machine"
        other = other if bound is None else "the least time on this machine"
        text = (
            f"{name} takes {found.own_ns / least_ns:.2g} times {other}, and its {where} was off the CPU {100 * off:.0f} % of the"
            " time: threads, such as those of BLAS, waited for one another."
            " Set OPENBLAS_NUM_THREADS=1, or run on an idle machine."
        )
        yield VerdictSentence("unusual", text, found.function, found.loop, operation.source)


def _short(text: str) -> str:
    """Return a sanitised name or operation, cut to fit in a sentence."""
    text = sanitize(text)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _at(source: SourceRecord | None) -> str:
    """Return a line in brackets; nothing for None."""
    return "" if source is None else f" ({sanitize(str(source))})"
