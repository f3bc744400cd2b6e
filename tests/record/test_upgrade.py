"""Profiles that earlier versions wrote open, and every view shows of them what it showed then.

``schema_1/`` has two profiles of its ``train.py``, one with all graphs, one of which the list of rewrites and the last graph alone were
kept, and what commands of that version printed of them; ``schema_2/`` has one with all graphs; ``schema_3/`` one of two runs of two
functions, with sides of a branch.
"""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanviz.cli import main
from scanviz.engine.errors import ScanvizError
from scanviz.profiler.compare.comparison import compare
from scanviz.profiler.export.tables import TABLES
from scanviz.record.check_graph import check_graph
from scanviz.record.file import load, save
from scanviz.record.model import SCHEMA
from scanviz.record.upgrade import upgraded
from scanviz.testing import hostile

HERE = Path(__file__).parent
OLD = ("schema_1/whole", "schema_1/list_alone", "schema_2/whole", "schema_3/whole")
COMMANDS = (
    "report",
    "advise",
    "rewrites",
    "rewrites --costs",
    "rewrites --step 3 --side-by-side",
    "rewrites --step 5 --tree",
    "rewrites --why cost",
    "rewrites --why train.py:13",
    "rewrites --all",
    "graph --engine own --depth 2 --width 120",
    "graph --engine own --before --width 120",
    "graph --engine own --diff 3 --width 120",
    "graph --connections",
    "graph --mappings",
)


def shown(path, capsys):
    """Return what the commands print of a profile, one after the other."""
    found = []
    for command in COMMANDS:
        name, *options = command.split()
        main([name, str(path), *options])
        printed = capsys.readouterr()
        found.append(f"$ scanviz {command}\n{printed.out}{printed.err}".replace(str(path), path.name))
    return "".join(found)


@pytest.mark.parametrize("name", OLD)
def test_every_view_shows_of_an_old_profile_what_it_showed(name, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    path = HERE / f"{name}.scanviz"
    wanted = path.with_suffix(".txt").read_text("utf-8")
    assert shown(path, capsys) == wanted
    save(load(path), tmp_path / path.name)
    assert shown(tmp_path / path.name, capsys) == wanted  # written anew, in the present form


@pytest.mark.parametrize("name", OLD)
def test_an_old_profile_is_read_as_one_of_today(name):
    record = load(HERE / f"{name}.scanviz")
    assert record.schema == SCHEMA
    for function in record.functions:
        check_graph(function.graph)
        loops = {loop.key for loop in record.loops if loop.function == function.key}
        assert {each.key for each, _ in function.graph.all_loops()} == loops
        assert any(node.operation is not None for node in function.graph.nodes)
        assert function.rewrites.has_versions == name.endswith("whole")
        assert (function.rewrites.snapshot(0) is None) == name.endswith("list_alone")


def old_document(name="schema_1/whole"):
    with zipfile.ZipFile(HERE / f"{name}.scanviz") as archive:
        return json.loads(archive.read("record.json"))


@pytest.mark.parametrize("name", OLD)
def test_times_of_an_old_profile_s_operations_keep_their_meaning(name):
    """Averages were kept outside of loops alone; what stood under that name in a step was the typical time."""
    old, new = old_document(name), load(HERE / f"{name}.scanviz")
    for before, after in zip([old, *old.get("repeats", ())], [new, *new.repeats], strict=True):
        for function, record in zip(before["functions"], after.functions, strict=True):
            for was, now in zip(function["operations"], record.operations, strict=True):
                assert now.typical_ns == (was.get("median_ns") or was["mean_ns"])
                assert now.mean_ns == (was["mean_ns"] if was["samples"] else None)
        for loop, record in zip(before["loops"], after.loops, strict=True):
            sides = zip(loop.get("sides", ()), record.sides, strict=True)
            steps = [
                (loop["operations"], record.operations),
                *((a["operations"], b.operations) for a, b in sides),
            ]
            for were, are in steps:
                assert [now.typical_ns for now in are] == [was["mean_ns"] for was in were]
                assert all(now.mean_ns is None for now in are)


def today(line):
    """Return a line with rows that a gradient writes called as where it reads them."""
    return line.replace("grad_h[t+1] :=", "grad_h[t-1] :=")


def test_averages_that_were_not_kept_are_empty_in_tables_and_compared_with_nothing():
    """A record of before has typical times of a step alone; beside one of today these are compared, not its averages."""
    old = load(HERE / "schema_3" / "whole.scanviz")
    table = TABLES["operations"]
    cells = [dict(zip(table.columns, row, strict=True)) for row in table.rows(old)]
    assert {(row["loop"] is None, row["mean_ns"] is None) for row in cells} == {(True, False), (False, True)}
    loops = tuple(
        replace(loop, operations=tuple(replace(one, mean_ns=99 * one.typical_ns) for one in loop.operations))
        for loop in old.loops
    )
    new = replace(old, loops=loops)
    rows = compare(old, new).rows
    assert rows and all(row.interval is None or row.interval.ratio == 1.0 for row in rows)


def test_all_versions_are_those_that_the_old_lines_tell_of():
    old = old_document()["functions"][0]["rewrites"]
    lines = [today(line) for line in old["lines"]]
    new = load(HERE / "schema_1" / "whole.scanviz").functions[0].rewrites
    assert list(new.lines(0)) == lines
    for k, each in enumerate(old["applications"]):
        for edit in each["edits"]:
            lines[edit["start"] : edit["stop"]] = map(today, edit["lines"])
        assert list(new.lines(k + 1)) == lines
    told = {
        origin.name: (origin.op, origin.source, origin.rule, list(origin.parents)) for origin in new.origins
    }
    assert all(
        told[each["name"]] == (each["op"], each["source"], each["rule"], each["parents"])
        for each in old["origins"]
    )


def test_a_profile_without_fields_that_came_later_opens():
    document = old_document()
    (function,) = document["functions"]
    del function["graph"], function["rewrites"]["texts"], function["rewrites"]["effects"]
    assert upgraded(document)["functions"][0]["rewrites"]["graphs"]["nodes"]
    del function["rewrites"]
    assert "rewrites" not in upgraded(document)["functions"][0]


@settings(max_examples=2 * settings.default.max_examples)
@given(name=st.sampled_from(OLD), changes=hostile.changes() | hostile.changes_of_texts())
def test_an_old_profile_that_somebody_changed_opens_or_is_refused_in_words(name, changes, tmp_path_factory):
    with zipfile.ZipFile(HERE / f"{name}.scanviz") as archive:
        entries = {each: archive.read(each) for each in archive.namelist()}
    path = tmp_path_factory.mktemp("old") / "old.scanviz"
    path.write_bytes(hostile.archive_of(hostile.changed(changes, entries)))
    try:
        record = load(path)
    except ScanvizError:
        return
    save(record, path)
    assert load(path) == record


def test_loops_of_an_old_graph_that_hold_one_another_are_refused_at_once():
    document = old_document()
    (function,) = document["functions"]
    function["rewrites"]["rows"] = []
    graph = function["graph"]
    loops = [each for each in graph["nodes"] if each["loop"] is not None]
    loops[1]["loop"] = loops[0]["loop"]
    with pytest.raises(ScanvizError, match="makes no sense"):
        upgraded(document)


@pytest.mark.parametrize(
    "rows",
    [
        ["[0]"],
        ["nonsense"],
        ['[0,"o",["nowhere"]]'],
        ['[0,"v","x",1,"x","float64","input"]'],
        ['[0,"n","a","exp",["b"],[["a","",""]],""]', '[0,"n","b","exp",["a"],[["b","",""]],""]', '[0,"o",["b"],[""],"f"]'],
        ['[0,"v",["x"],"x","x","float64","input"]', '[0,"o",["x"],[""],"f"]'],
        [7],
    ],
)  # fmt: skip
def test_rows_that_describe_no_graph_are_refused(rows):
    document = old_document()
    document["functions"][0]["rewrites"]["rows"] = rows
    with pytest.raises(ScanvizError, match="profile"):
        upgraded(document)
