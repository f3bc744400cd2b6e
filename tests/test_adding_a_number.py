"""A new number: its producer in the engine and one declaration, and every view shows it."""

import asyncio
import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import InternalError
from scanviz.engine.runtime.arena import LoopArena
from scanviz.profiler.compare import compare
from scanviz.profiler.compare.report import render_comparison
from scanviz.profiler.export import export
from scanviz.profiler.report.overview import render_report
from scanviz.record import measures
from scanviz.record.measures import Measure
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.file import load, save
from scanviz.render.page import page
from tests.tui.driver import at, opened, text_of

ENGINE = Path(scanviz.__file__).parent / "engine"
RECORDING = Path(scanviz.__file__).parent / "profiler" / "recording"
DECLARED = [
    Measure("loop", "chunks_taken", "count", "chunks taken", "How often steps were taken in a row."),
    Measure("loop", "most_moved", "bytes", "most moved", "The most of one run.", "max", ("facts",)),
    Measure("operation", "numbers_made", "count", "numbers made", "Of one operation."),
]


def recorded() -> ProfileRecord:
    x = T.vector("x")
    sums, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, T.constant(0.0), name="sums")
    f = scanviz.function([x], [sums, scanviz.grad(T.sum(sums), x)], name="f")
    with scanviz.profile(detail="ops") as p:
        f(np.ones(50))
    return p.record


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> ProfileRecord:
    """A run in which the engine notifies new numbers."""
    monkeypatch.setattr(measures, "MEASURES", [*measures.MEASURES, *DECLARED])
    usual = LoopArena.chunk_end

    def chunk_end(arena: LoopArena, first: int, wanted: int) -> int:
        if arena.probe is not None:
            arena.probe.measured(arena.loop.key, "chunks_taken", 1_000_000)
            arena.probe.measured(arena.loop.key, "most_moved", 2048 if first == 0 else 1024)
            arena.probe.measured(arena.loop.key, "numbers_made", 77_000 + first, index=0)
        return usual(arena, first, wanted)

    monkeypatch.setattr(LoopArena, "chunk_end", chunk_end)
    return recorded()


def test_a_new_number_is_kept_in_the_record_and_its_file(record: ProfileRecord, tmp_path: Path) -> None:
    save(record, tmp_path / "p.scanviz")
    again = load(tmp_path / "p.scanviz")
    for loop in (*record.loops, *again.loops):
        assert loop.measures["chunks_taken"] % 1_000_000 == 0 < loop.measures["chunks_taken"]
        assert loop.measures["most_moved"] == 2048 and loop.operations[0].measures["numbers_made"] >= 77_000
    assert again == record and "chunks_taken" in json.dumps(record.to_json())


def test_the_report_shows_a_new_number(record: ProfileRecord) -> None:
    text = render_report(record, width=200)
    assert re.search(r"chunks taken \d,000,000", text) and "numbers made" in text and "77,000" in text


def test_the_terminal_application_shows_a_new_number(record: ProfileRecord) -> None:
    async def look() -> None:
        async with opened(record, size=(160, 50)) as (app, pilot):
            await at(app, pilot, "Profile")
            assert "chunks taken" in text_of(app, "#profile-about")
            table = app.view.table()
            assert "numbers made" in " ".join(str(column.label) for column in table.columns.values())
            assert any("77,000" in text for text in table.texts())
            assert "2.00 KiB" in drawn(app)

    asyncio.run(look())


def drawn(app: object) -> str:
    """Return all that the terminal shows."""
    return "\n".join(
        "".join(segment.text for segment in line) for line in app.screen._compositor.render_strips()
    )


def test_the_page_shows_a_new_number(record: ProfileRecord) -> None:
    text = page(record)
    data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    titles = [[each["title"] for each in loop["heading"]] for loop in data["loops"]]
    assert all("chunks taken" in title for title in titles)
    assert "numbers made" in [each["title"] for each in data["measures"]]
    assert data["loops"][0]["operations"][0]["measures"]["numbers_made"] >= 77_000
    assert "loop.heading.map" in text and "data.measures.filter" in text


def test_the_exports_contain_a_new_number(record: ProfileRecord) -> None:
    files = {name: content.decode() for name, content in export(record, "csv").items()}
    loops = list(csv.DictReader(io.StringIO(next(text for name, text in files.items() if "loops" in name))))
    rows = list(
        csv.DictReader(io.StringIO(next(text for name, text in files.items() if "operations" in name)))
    )
    assert all(int(loop["most_moved"]) == 2048 and int(loop["chunks_taken"]) > 0 for loop in loops)
    assert {row["numbers_made"][:2] for row in rows} == {"", "77"}
    assert "chunks_taken" in b"".join(export(record, "json").values()).decode()


def test_compare_compares_a_new_number(record: ProfileRecord) -> None:
    loop = record.loops[0]
    other = replace(record, loops=(replace(loop, measures={"chunks_taken": 3.0}), *record.loops[1:]))
    found = compare(record, other)
    assert [(number.measure.name, number.b) for number in found.numbers] == [("chunks_taken", 3)]
    assert "loop sums: chunks taken" in render_comparison(found) and compare(record, record).numbers == ()


def test_an_undeclared_number_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def chunk_end(arena: LoopArena, first: int, wanted: int) -> int:
        arena.probe.measured(arena.loop.key, "lost", 1)
        return wanted

    monkeypatch.setattr(LoopArena, "chunk_end", chunk_end)
    with pytest.raises(InternalError, match="'lost' of a loop is not declared"):
        recorded()


def test_every_number_that_the_engine_notifies_is_declared() -> None:
    sources = "\n".join(each.read_text("utf-8") for each in ENGINE.rglob("*.py"))
    names = set(re.findall(r"\.measured\([^\"()]*\"(\w+)\"", sources))
    assert names <= {measure.name for measure in measures.MEASURES}
    sources += "\n".join(each.read_text("utf-8") for each in RECORDING.rglob("*.py"))
    names |= set(re.findall(r"\"(\w+)\": float\b", sources))
    known = {measure.name for measure in measures.MEASURES if not measure.field and not measure.per}
    assert names <= known <= names | set(re.findall(r"[{ \[]\"(\w+)\"(?:: |\] = )", sources))


def test_rows_that_grow_are_counted() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda h: (h + 1.0, scanviz.until(h > 5000.0)), outputs_info=[x[0]], n_steps=10**9)
    f = scanviz.function([x], h)
    with scanviz.profile() as p:
        f(np.zeros(1))
    [loop] = p.record.loops
    assert loop.measures["row_growths"] >= 1 and "rows made longer" in render_report(p.record, width=160)
