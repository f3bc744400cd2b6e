"""Every node knows the user's line, the loops around it and the rule that made it."""

import os
import pickle

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.graph import provenance
from scanviz.engine.graph.provenance import (
    Provenance,
    SourceLine,
    building_scan,
    current,
    current_scans,
    intern_line,
    made_by,
    short_path,
)


def test_the_line_is_the_users_not_the_librarys():
    y = T.nan_to_num(T.vector("x"))  # this line, though where() and others are called inside
    source = y.owner.provenance.source
    assert source.text().startswith("y = T.nan_to_num") and source.file == __file__
    assert source.function == "test_the_line_is_the_users_not_the_librarys"


def test_an_operator_has_the_users_line_too():
    y = T.vector("x") + 1
    assert y.owner.provenance.source.text() == 'y = T.vector("x") + 1'


def test_an_error_of_here_has_the_users_line_and_its_parts():
    error = ScanvizValueError.here("`n` is odd", expected="an even number", found=3, fix="n + 1")
    assert error.where.file == __file__ and error.where.text().startswith("error = ScanvizValueError.here")
    assert (error.what, error.expected, error.found, error.fix) == (
        "`n` is odd",
        "an even number",
        3,
        "n + 1",
    )


def test_a_node_of_a_step_knows_its_loop():
    seen = []

    def step(row):
        inner, _ = scanviz.scan(lambda v, s: seen.append(v * s) or v * s, row, 1.0, name="inner")
        return inner[-1]

    scanviz.scan(step, T.matrix("m"), name="outer")
    assert seen[0].owner.provenance.scans == ("outer", "inner")
    assert current_scans() == ()


def test_the_loops_name_is_taken_back_after_an_error():
    try:
        with building_scan("broken"):
            raise ValueError
    except ValueError:
        pass
    assert current_scans() == ()


def test_a_rules_nodes_inherit_the_source_line_of_the_replaced_node():
    old = (T.vector("x") * 2).owner
    with made_by("Double", old.provenance, (old.node_id,)):
        new = (T.vector("x") + T.vector("y")).owner
    assert (new.provenance.rule, new.provenance.parents) == ("Double", (old.node_id,))
    assert new.provenance.source is old.provenance.source
    assert current().rule is None and "Double" in repr(new.provenance)


def test_one_source_place_is_one_object_after_pickling_too():
    line = intern_line("rnn.py", 3, "step")
    assert intern_line("rnn.py", 3, "step") is line is pickle.loads(pickle.dumps(line))
    assert line == SourceLine("rnn.py", 3, "step") != SourceLine("rnn.py", 4, "step")
    assert str(line) == "rnn.py:3" and line.text() == ""


def test_a_file_in_the_working_folder_is_named_from_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert short_path(str(tmp_path / "model" / "rnn.py")) == "model/rnn.py"
    assert short_path(str(tmp_path.parent / "rnn.py")) == str(tmp_path.parent / "rnn.py")


def test_a_provenance_without_rule_prints_none():
    assert repr(Provenance(None)) == "Provenance(None, scans=())"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs are POSIX")
def test_source_lines_are_read_only_from_regular_files_of_bounded_size(tmp_path):
    (tmp_path / "rnn.py").write_text("h = f(h)\n")
    os.mkfifo(tmp_path / "fifo.py")
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(provenance.LARGEST + 1)
    assert SourceLine(str(tmp_path / "rnn.py"), 1, "f").text() == "h = f(h)"
    for name in (tmp_path / "fifo.py", tmp_path / "huge.py", "/dev/zero", tmp_path, "a\0b.py", "nowhere.py"):
        assert SourceLine(str(name), 1, "f").text() == ""
    recorded = SourceLine(str(tmp_path / "rnn.py"), 1, "f", recorded="as it was")
    assert recorded.text() == pickle.loads(pickle.dumps(recorded)).text() == "as it was"
