"""Laws of declared numbers: whatever the engine notifies reaches the record, its file and the views as it was declared."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.function import Function
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.profiler.export.tables import TABLES
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.report.loops import loop_lines
from scanviz.profiler.report.units import quantity
from scanviz.record import measures
from scanviz.record.measures import Aggregate, Measure, Of, Unit
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.file import load, save
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from tests.laws.law import law

AGGREGATES: tuple[Aggregate, ...] = ("sum", "max", "last")
UNITS: tuple[Unit, ...] = ("ns", "bytes", "count")
OPERATIONS = 3
Known = dict[tuple[int | None, int | None, str], float]  # loop, operation, name → value


class Notified(NamedTuple):
    """A number that the engine notifies: of a loop, of an operation of its step, or of one outside of loops."""

    loop: int | None
    place: int | None
    measure: int
    value: int


@st.composite
def declarations(draw: st.DrawFn) -> list[Measure]:
    """Draw declarations of numbers of loops and operations, by the order of their names."""
    kinds: tuple[Of, ...] = ("loop", "operation")
    of = [*kinds, *draw(st.lists(st.sampled_from(kinds), max_size=4))]
    return [
        Measure(
            level,
            f"number_{k}",
            draw(st.sampled_from(UNITS)),
            f"number {k}",
            "Drawn.",
            draw(st.sampled_from(AGGREGATES)),
        )
        for k, level in enumerate(of)
    ]


@st.composite
def notifications(draw: st.DrawFn) -> tuple[list[Measure], list[Notified]]:
    """Draw declarations, and numbers that are notified one after the other."""
    declared = draw(declarations())
    found = []
    for _ in range(draw(st.integers(0, 20))):
        measure = draw(st.integers(0, len(declared) - 1))
        of_loop = declared[measure].of == "loop"
        loop = draw(st.integers(0, 1) if of_loop else st.sampled_from([None, 0, 1]))
        index = None if of_loop else draw(st.integers(0, OPERATIONS - 1))
        found.append(Notified(loop, index, measure, draw(st.integers(0, 10**9))))
    return declared, found


@cache
def _two_loops() -> Function:
    x = T.vector("x")
    loops = [
        scanviz.scan(lambda x_t, s: T.tanh(s * 2.0 + x_t) * x_t, x, T.constant(0.0), name=name)[0]
        for name in ("first", "second")
    ]
    return scanviz.function([x], [T.sin(T.dot(*loops)), T.cos(x)], mode="reference", name="f")


@contextmanager
def _declaring(declared: list[Measure]) -> Iterator[None]:
    with mock.patch.object(measures, "MEASURES", [*measures.MEASURES, *declared]):
        yield


def _expected(declared: list[Measure], notified: list[Notified]) -> Known:
    """Return the expected final values of the notified numbers: the oracle, of plain lists."""
    values: dict[tuple[int | None, int | None, int], list[int]] = {}
    for notice in notified:
        values.setdefault((notice.loop, notice.place, notice.measure), []).append(notice.value)
    found: Known = {}
    for (loop, index, number), listed in values.items():
        measure = declared[number]
        one = {"sum": sum(listed), "max": max(listed), "last": listed[-1]}[measure.aggregate]
        found[loop, index, measure.name] = float(one)
    return found


@law(sample=10, drawn=notifications())
def a_declared_number_reaches_record_file_report_and_tables(
    drawn: tuple[list[Measure], list[Notified]],
) -> None:
    """Every declared number is aggregated in the record by its declaration, and views show it."""
    declared, notified = drawn
    f, recorder = _two_loops(), Recorder(calibration=FREE)
    keys = [
        instruction.key for instruction in f.program.instructions if isinstance(instruction, LoopInstruction)
    ]
    with _declaring(declared):
        recorder.compiled(CompiledFunction(f.key, f.name, f, f.program, f.backend, f.build_ns, f.where))
        for notice in notified:
            loop = None if notice.loop is None else keys[notice.loop]
            recorder.measured(f.key, loop, notice.place, declared[notice.measure].name, notice.value)
        record = recorder.record()
        with tempfile.TemporaryDirectory() as folder:
            save(record, Path(folder) / "p.scanviz")
            assert load(Path(folder) / "p.scanviz") == record
        expected = _expected(declared, notified)
        [function] = record.functions
        found: Known = {
            (None, k, name): value
            for k, operation in enumerate(function.operations)
            for name, value in operation.measures.items()
        }
        for place, loop_record in enumerate(record.loops):
            own: Known = {(place, None, name): value for name, value in loop_record.measures.items()}
            text = loop_lines(loop_record, "loop", OperationTimes(parts_of(record)), 400, 99)[0].text
            for (_, _, name), value in own.items():
                measure = next(measure for measure in declared if measure.name == name)
                assert f"{measure.title} {quantity(value, measure.unit)}" in text
            found |= own | {
                (place, k, name): value
                for k, operation in enumerate(loop_record.operations)
                for name, value in operation.measures.items()
            }
        assert found == expected
        _assert_in_tables(declared, expected, record)


def _assert_in_tables(declared: list[Measure], expected: Known, record: ProfileRecord) -> None:
    """Refuse a table of loops whose cells differ from the expected values."""
    columns, rows = list(TABLES["loops"].columns), TABLES["loops"].rows(record)
    for place, (loop, row) in enumerate(zip(record.loops, rows, strict=True)):
        cells = dict(zip(columns, row, strict=True))
        assert cells["loop"] == loop.key
        for measure in declared:
            if measure.of == "loop":
                assert cells[measure.name] == expected.get((place, None, measure.name))
