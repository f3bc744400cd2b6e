"""Laws of the parts of a run: they sum to the whole and agree with a script of known times."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.function import Function
from scanviz.engine.observation.events import CompiledFunction, StepSeries
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.profiler.export import export
from scanviz.profiler.export.frames import frames_of, stacks
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.report.loops import loop_lines
from scanviz.profiler.report.overview import render_report
from scanviz.profiler.report.units import share
from scanviz.record.graphs.graph import ScanRecord
from scanviz.record.loops import LoopRecord, TierRecord
from scanviz.record.model import (
    BuildRecord,
    CallPartsRecord,
    FunctionRecord,
    ProfileRecord,
    ThreadTimesRecord,
)
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.run_breakdown import (
    CONTAINERS,
    OperationTimes,
    RunPart,
    parts_of,
    run_time_ns,
)
from scanviz.record.summary.totals import lines, totals
from scanviz.record.values import DurationRecord, SourceRecord
from scanviz.render.diagram.heat import HeatMap
from scanviz.render.page.data import page_data
from tests.laws.law import law

_TIMES = st.integers(0, 50) | st.integers(0, 10**10)
_MEANS = st.floats(0, 1e7)
_COUNTS = st.integers(0, 5) | st.integers(0, 10**5)
_LINES = st.none() | st.builds(SourceRecord, st.sampled_from(["a.py", "b.py"]), st.integers(1, 4))
_NAMES = st.sampled_from(["", "f", "encoder", "scan at a.py:3"])
_MOST_LOOPS = 5


@st.composite
def _operations(draw: st.DrawFn, loops: list[int]) -> tuple[OperationRecord, ...]:
    """Draw operations: some of the loops among them, others are in branches."""
    found = []
    for index in range(draw(st.integers(0, 4))):
        linked = draw(st.booleans())
        loop = loops.pop() if linked and loops else None
        kinds: tuple[Literal["operation", "branch"], ...] = ("operation", "branch")
        found.append(
            OperationRecord(
                index,
                draw(_NAMES),
                "loop" if loop is not None else draw(st.sampled_from(kinds)),
                "float64[]",
                draw(_LINES),
                loop,
                draw(_COUNTS),
                draw(_MEANS),
                moved_from=draw(st.sampled_from(["", "encoder"])),
                rule=draw(st.sampled_from(["", "gradient", "PushOutSeqScan"])),
            )
        )
    return tuple(found)


_DURATIONS = st.builds(DurationRecord, _COUNTS, _TIMES)
_CALL_PARTS = st.builds(CallPartsRecord, _TIMES, _TIMES, _TIMES, _COUNTS, _MEANS, _TIMES, _TIMES)
_KINDS: tuple[Literal["scan", "gradient", "function"], ...] = ("scan", "gradient", "function")
_BUILT = st.builds(BuildRecord, st.sampled_from(_KINDS), _LINES, _COUNTS, _TIMES)


@st.composite
def records(draw: st.DrawFn) -> ProfileRecord:
    """Draw a record whose loops and functions fit together, and whose times need not."""
    functions, loops = [], list[LoopRecord]()
    for key in range(1, draw(st.integers(0, 3)) + 1):
        mine: list[LoopRecord] = []
        parents: dict[int | None, list[int]] = {None: []}
        for number in range(draw(st.integers(0, _MOST_LOOPS))):
            parent = draw(st.sampled_from(list(parents)))
            parents[parent].append(100 * key + number)
            parents[100 * key + number] = []
            mine.append(draw(_loop(100 * key + number, key, parent)))
        for k, loop in enumerate(mine):
            mine[k] = replace(loop, operations=draw(_operations(list(parents[loop.key]))))
        functions.append(
            FunctionRecord(
                key,
                draw(_NAMES),
                draw(_LINES),
                "numpy",
                {"rewrite": draw(_TIMES)},
                draw(_operations(list(parents[None]))),
                draw(_COUNTS),
                call_times=draw(_DURATIONS),
                call_parts=draw(_CALL_PARTS),
            )
        )
        loops += mine
    return ProfileRecord(
        script="script.py",
        wall_ns=draw(_TIMES),
        functions=tuple(functions),
        loops=tuple(loops),
        building=tuple(draw(st.lists(_BUILT, max_size=3))),
        threads=draw(st.builds(ThreadTimesRecord, _TIMES, _TIMES, st.integers(0, 3), _TIMES)),
    )


def _loop(key: int, function: int, parent: int | None) -> st.SearchStrategy[LoopRecord]:
    return st.builds(
        LoopRecord,
        st.just(key),
        st.just(function),
        st.just(parent),
        _NAMES,
        _LINES,
        runs=_COUNTS,
        steps=_COUNTS,
        total_ns=_TIMES,
        setup_ns=_TIMES,
        step_times=_DURATIONS,
        sampled_steps=_COUNTS,
        body_ns=_MEANS,
        copy_ns=_MEANS,
        overhead_ns=_MEANS,
        cost_ns=_MEANS,
        stamp_ns=st.floats(0, 1e4),
        tiers=st.lists(
            st.builds(TierRecord, st.just("numpy"), st.just("why"), _COUNTS, _TIMES), max_size=2
        ).map(tuple),
    )


def assert_adds_up(record: ProfileRecord) -> tuple[RunPart, ...]:
    """Check that every nanosecond of a record is in one part, and return the parts."""
    parts = parts_of(record)
    inside: Counter[int] = Counter()
    for place, part in enumerate(parts):
        assert part.own_ns >= 0, part
        assert (part.parent is None) == (place == 0) and (part.parent or 0) <= max(0, place - 1), part
        if part.parent is not None:
            inside[part.parent] += part.total_ns
    for place, part in enumerate(parts):
        assert part.total_ns == part.own_ns + inside[place], part
        assert part.kind in (*CONTAINERS, "building") or not inside[place], part
    assert sum(part.own_ns for part in parts) == parts[0].total_ns >= record.wall_ns
    return parts


@law(sample=60, record=records())
def parts_of_a_run_add_up_to_the_whole(record: ProfileRecord) -> None:
    """Every nanosecond of a run is in exactly one part, for any numbers of a record."""
    assert_adds_up(record)


@law(sample=25, record=records())
def rows_of_every_view_add_up_to_the_whole(record: ProfileRecord) -> None:
    """Rows by kind and by line, of the page and of a function in the terminal application all sum to the run."""
    from scanviz.tui.views.run_parts import function_rows

    parts = parts_of(record)
    whole = run_time_ns(parts)
    assert sum(row.total_ns for row in totals(parts)) == whole
    assert sum(row.total_ns for row in lines(parts)) == whole
    on_page = page_data(record)["parts"]
    for table in ("totals", "lines"):
        assert sum(row["total_ns"] for row in on_page[table]) == on_page["whole_ns"] == whole
    for function in record.functions:
        rows = function_rows(function, parts, ())
        mine = [part for part in parts if part.kind == "function" and part.function == function.key]
        assert sum(row[0].value for _, row in rows if not isinstance(row[0].value, str)) == sum(
            part.total_ns for part in mine
        )
        assert len({key for key, _ in rows}) == len(rows)
    assert render_report(record, width=80)


@law(sample=25, record=records())
def every_view_gives_an_operation_the_same_share_of_the_run(record: ProfileRecord) -> None:
    """The report, the application, the page and the picture show an operation's share of the run, not of its loop."""
    from scanviz.tui.views.profile import loop_rows

    times, page = OperationTimes(parts_of(record)), page_data(record)
    heat = HeatMap(record, None)
    assert times.run_ns == page["parts"]["whole_ns"]
    for loop, on_page in zip(record.loops, page["loops"], strict=True):
        timed = [operation for operation in loop.operations if operation.samples]
        pictured = [heat.operation(ScanRecord("", 1, (), key=loop.key), each.index) for each in timed]
        expected = [share(times.of(loop, each), times.run_ns) for each in timed]
        assert [share(each.time_ns or 0.0, times.run_ns) for each in pictured] == expected
        assert [each.time_ns for each in pictured] == [
            each["total_ns"] for each in on_page["operations"] if each["samples"]
        ]
        for each in pictured:
            assert each.share == (min(1.0, (each.time_ns or 0) / times.run_ns) if times.run_ns else None)
        in_application = dict(loop_rows(loop, times))
        assert [in_application[each.index][1].text for each in timed] == expected
        message = [line.text for line in loop_lines(loop, "l", times, 400, 99)]
        rows = message[next((k for k, text in enumerate(message) if "of run" in text), len(message)) + 1 :]
        shown = [re.findall(r"(?:<?[\d.,]+ %|–)(?=  |$)", text)[0] for text in rows[: len(timed)]]
        assert Counter(shown) == Counter("–" if text == "0 %" else text for text in expected)


@law(sample=25, record=records())
def flame_graphs_have_the_parts_of_the_run(record: ProfileRecord) -> None:
    """Frames of flame graphs are the parts of the run, each with its own time, and sum to the run."""
    parts = parts_of(record)
    framed = [(stack[-1].total_ns, own) for stack, own in stacks(frames_of(record))]
    assert framed == [(part.total_ns, part.own_ns) for part in parts]
    written = [int(line.rpartition(" ")[2]) for line in export(record, "collapsed")[""].decode().splitlines()]
    assert sum(written) == parts[0].total_ns


class Did(NamedTuple):
    """An action of a script: kind, nanoseconds of its own, and the actions inside it."""

    kind: str
    ns: int
    inside: tuple[Did, ...] = ()


_NS = st.integers(0, 1000)


def _scripts() -> st.SearchStrategy[list[Did]]:
    waited = st.builds(Did, st.just("script"), _NS)
    call = st.builds(
        Did,
        st.sampled_from(["call", "call", "failed call"]),
        _NS,
        st.lists(st.builds(Did, st.sampled_from(["operation", "loop"]), _NS), max_size=2).map(tuple),
    )
    built = st.builds(
        Did, st.just("build"), _NS, st.lists(call, max_size=2).map(tuple)
    )  # a function called while another is built
    return st.lists(waited | call | built, max_size=12)


@cache
def _one_loop() -> Function:
    """Return a function of a loop and of an operation after it."""
    x = T.vector("x")
    out, _ = scanviz.scan(lambda x_t: T.exp(x_t), sequences=x, name="known")
    return scanviz.function([x], T.tanh(out), mode="reference", name="f")


class _Script:
    """Perform drawn actions, notify a recorder as the engine would, and keep the true times."""

    def __init__(self) -> None:
        self.now, self.truth = 10**6, Counter[str]()
        self.recorder = Recorder(clock=lambda: self.now, calibration=FREE)
        f = _one_loop()
        self.recorder.compiled(CompiledFunction(1, "f", None, f.program, "numpy", {}, None))
        self.loop = next(
            instruction for instruction in f.program.instructions if isinstance(instruction, LoopInstruction)
        )
        self.operations = f.program.instructions
        self.recorder.restart()

    def do(self, did: Did) -> None:
        """Do one thing."""
        match did.kind:
            case "script":
                self._spend("script", did.ns)
            case "build":
                watched = self._spend("recording", did.ns // 7)
                begun = self.now
                self.recorder.build_begin("function", None)
                self._spend("building", did.ns)
                for inner in did.inside:
                    self.do(inner)
                elapsed = self.now - begun
                watched += self._spend("recording", did.ns // 9)
                self.recorder.build_end("function", None, elapsed)
                self.recorder.build_observed(watched)
            case _:
                self._call(did)

    def _spend(self, kind: str, ns: int) -> int:
        self.now += ns
        self.truth[kind] += ns
        return ns

    def _call(self, did: Did) -> None:
        failed = did.kind == "failed call"
        checks = 0 if failed else self._spend("checks", did.ns // 3)  # time before an error is not reported
        begun = self.now
        self.recorder.function_begin(1, 0)
        around = self._spend("function" if failed else "entry", did.ns // 4)
        times = [0] * len(self.operations)
        for inner in did.inside:
            index = [isinstance(operation, LoopInstruction) for operation in self.operations].index(
                inner.kind == "loop"
            )
            before = self.now
            if inner.kind == "loop":
                self._run(inner.ns)
            else:
                self._spend("function" if failed else "operation", inner.ns)
            times[index] += self.now - before
        elapsed = self.now - begun
        if not failed:
            self.recorder.operations(1, times, around)
        self.recorder.function_end(1, 0, elapsed, ZeroDivisionError() if failed else None)
        if not failed:
            copies = self._spend("copies", did.ns // 5)
            self.recorder.function_returned(1, checks, copies, 0)

    def _run(self, ns: int) -> None:
        key = self.loop.key
        self.recorder.loop_begin(1, key, 1, 0)
        before, step = ns // 3, ns - ns // 3
        self._spend("around", before)
        self._spend("steps", step)
        self.recorder.loop_steps(StepSeries(key, 0, np.array([step], np.int64)))
        self.recorder.loop_end(1, key, 1, ns, before, None)


@law(sample=60, script=_scripts())
def parts_agree_with_known_times_of_a_script(script: list[Did]) -> None:
    """Known times of a script are in the parts of their kinds, exactly; unreported time is unattributed.

    Operations of calls that failed were not timed: where there are such calls, these kinds share their room.
    """
    made = _Script()
    for did in script:
        made.do(did)
    record = made.recorder.record()
    parts = assert_adds_up(record)
    assert parts[0].total_ns == record.wall_ns == sum(made.truth.values())
    found: Counter[str] = Counter()
    for part in parts:
        found[part.kind] += part.own_ns
    for kind in ("script", "building", "recording", "checks", "copies", "around", "steps"):
        assert found[kind] == made.truth[kind], (kind, found, made.truth)
    if not any(_failed(did) for did in script):
        for kind in ("operation", "entry"):  # averages over calls, rounded once a part
            assert abs(found[kind] - made.truth[kind]) <= 2, (kind, found, made.truth)
        assert totals(parts)[-1].total_ns <= 2, (found, made.truth)


def _failed(did: Did) -> bool:
    return did.kind == "failed call" or any(map(_failed, did.inside))
