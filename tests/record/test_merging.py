"""Several profiles as one: nothing is lost, keys do not meet, and each function has its origin."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.profiler.export.tables import TABLES
from scanviz.profiler.report.overview import render_report
from scanviz.profiler.values.tracing import Tracer, with_traces
from scanviz.record.errors import ScanvizError
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.storage.file import load, save
from scanviz.record.storage.merging import merged
from scanviz.render.page.data import page_data
from tests.profiler.records import SMALL


def profiled(width: int) -> ProfileRecord:
    """A run with a loop, its gradient, a nested loop, and values."""
    x, w = T.matrix("x"), T.scalar("w")

    def step(row, h):
        inner, _ = scanviz.scan(lambda s: T.tanh(w * s + row), outputs_info=h, n_steps=3, name="inner")
        return inner[-1]

    h, _ = scanviz.scan(step, x, T.zeros(width), name="outer")
    f = scanviz.function([x, w], [h[-1], scanviz.grad(T.sum(h), w)], name="f", mode="numpy")
    tracer = Tracer()
    with scanviz.profile() as p, observe.observed_by(tracer):
        f(np.ones((5, width)), 0.5)
    return with_traces(p.record, tracer)


@pytest.fixture(scope="module")
def pair() -> list[tuple[str, ProfileRecord]]:
    return [("first", profiled(2)), ("second", profiled(3))]


def test_merged_functions_and_loops_keep_their_origin(pair) -> None:
    whole = merged(pair)
    assert [(function.name, function.origin) for function in whole.functions] == [
        ("f#1", "first"),
        ("f#2", "second"),
    ]
    assert [origin.name for origin in whole.origins] == ["first", "second"]
    assert len(whole.loops) == sum(len(record.loops) for _, record in pair)
    assert len({loop.key for loop in whole.loops}) == len(whole.loops)
    assert len(whole.traces) == sum(len(record.traces) for _, record in pair)
    for function in whole.functions:
        keys = {loop.key for loop in whole.loops if loop.function == function.key}
        nodes = {one.loop.key for one in function.rewrites.graphs.nodes if one.loop is not None} - {None}
        assert nodes and nodes <= keys


def test_a_merged_profile_reads_back_as_it_was_and_may_be_merged_further(pair, tmp_path: Path) -> None:
    whole = merged(pair)
    save(whole, tmp_path / "whole.scanviz")
    assert load(tmp_path / "whole.scanviz") == whole
    further = merged([("both", whole), ("first", pair[0][1])])
    assert [origin.name for origin in further.origins] == ["first", "second", "first~2"]
    assert [function.origin for function in further.functions] == ["first", "second", "first~2"]
    save(further, tmp_path / "further.scanviz")


def test_every_view_shows_the_origin(pair) -> None:
    whole = merged(pair)
    text = render_report(whole)
    assert "merged from" in text
    assert "· from second" in text
    for name in ("functions", "loops"):
        place = list(TABLES[name].columns).index("origin")
        assert {row[place] for row in TABLES[name].rows(whole)} == {"first", "second"}
    assert [row[0] for row in TABLES["origins"].rows(whole)] == ["first", "second"]
    data = page_data(whole)
    assert [origin["name"] for origin in data["run"]["origins"]] == ["first", "second"]
    assert [function["origin"] for function in data["functions"]] == ["first", "second"]
    assert "merged from" not in render_report(pair[0][1])


def test_repeats_are_merged_run_by_run_as_many_as_all_have() -> None:
    three, two = replace(SMALL, repeats=(SMALL, SMALL)), replace(SMALL, repeats=(SMALL,))
    whole = merged([("three", three), ("two", two)])
    assert [len(repeat.functions) for repeat in whole.repeats] == [2]


@pytest.mark.parametrize(
    "wrong",
    [
        replace(merged([("a", SMALL), ("b", SMALL)]), origins=()),
        replace(SMALL, functions=(replace(SMALL.functions[0], origin="nowhere"),)),
        replace(merged([("a", SMALL), ("b", SMALL)]), origins=merged([("a", SMALL)]).origins * 2),
    ],
)
def test_invalid_origins_are_refused(wrong: ProfileRecord, tmp_path: Path) -> None:
    save(wrong, tmp_path / "wrong.scanviz")
    with pytest.raises(ScanvizError, match="is inconsistent"):
        load(tmp_path / "wrong.scanviz")


def test_a_failure_of_only_one_program_is_reported() -> None:
    bad = replace(SMALL, outcome=replace(SMALL.outcome, status="error", code=1))
    assert merged([("a", SMALL), ("b", bad)]).outcome.status == "error"
    assert (
        merged([("f", ProfileRecord(functions=(FunctionRecord(1, "f", None, "numpy"),)))]).functions[0].name
        == "f"
    )
