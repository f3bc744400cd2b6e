"""What reaches what in a loop, by which path, and the twelve maps as one table."""

import pytest
from hypothesis import given
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.loops import LoopRecord
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.connections import connecting_path, connection_matrix
from scanviz.render.diagram.mappings import COLUMNS, MappingLine, entries_of, mappings_table
from scanviz.testing import random_loops
from tests.render.diagram.graphs import compiled, run_of_several_taps


@given(case=random_loops())
def test_paths_and_the_table_of_a_random_loop_are_those_of_its_pattern_and_maps(case):
    """One run serves both: it takes longer than the checks."""
    record = compiled(case)
    paths_agree_with_the_connection_pattern(record)
    the_table_agrees_with_the_twelve_maps(record)


def paths_agree_with_the_connection_pattern(record):
    graph = record.functions[0].graph
    snapshots = {each.loop.key: each.loop for each in graph.all_loops()}
    picture = diagram_of(graph, plumbing=True)
    edges = {(edge.source, edge.target) for edge in picture.edges}
    nodes = {node.id: node for node in picture.nodes}
    for loop in record.loops:
        if (
            loop.key not in snapshots
            and sum(snapshot.name == loop.name for snapshot in snapshots.values()) != 1
        ):
            continue  # the graph does not identify the loop
        matrix = connection_matrix(loop)
        assert matrix.cells == loop.connection_pattern
        for i, cells in enumerate(matrix.cells):
            for j, connected in enumerate(cells):
                path = connecting_path(graph, loop, i, j)
                assert (path is not None) == connected, (loop.name, matrix.rows[i], matrix.columns[j])
                if path is not None:
                    ends = nodes[path.ids[0]], nodes[path.ids[-1]]
                    assert [end.side for end in ends] == ["in", "out"]
                    assert {end.loop for end in ends} <= {loop.key, None}
                    for a, b in zip(path.ids, path.ids[1:], strict=False):
                        assert (a, b) in edges or nodes[a].loop_kind in ("mitmot", "carry")


def the_table_agrees_with_the_twelve_maps(record):
    for loop in record.loops:
        table = mappings_table(loop)
        lists = entries_of(loop)
        for column in COLUMNS:
            assert table.entries(column) == lists[column]
            assert [each.index for each in lists[column]] == list(range(len(lists[column])))
        drawn = set(table.lines)
        assert len(drawn) == len(table.lines)
        for target in COLUMNS:
            for source in COLUMNS:
                if source == target:
                    continue
                found = loop.var_mappings[f"{target}_from_{source}"]
                assert set(map(int, found)) == set(range(len(lists[source])))
                for index, indices in found.items():
                    wanted = {index for index in indices if index >= 0}
                    ends = [((a.left, a.left_index), (a.right, a.right_index)) for a in table.lines]
                    pairs = [*ends, *((b, a) for a, b in ends)]
                    joined = {b[1] for a, b in pairs if a == (source, int(index)) and b[0] == target}
                    assert joined == wanted, (target, source, index)
                    for each in wanted:
                        line = (source, int(index), target, each)
                        assert MappingLine(*line) in drawn or MappingLine(*line[2:], *line[:2]) in drawn


@pytest.fixture(scope="module")
def record():
    return run_of_several_taps()


def test_the_path_of_a_weight_is_described_in_words(record):
    [function] = record.functions
    [loop] = [each for each in record.loops if each.name == "rnn"]
    path = connecting_path(function.graph, loop, "W_feedback", "x")
    assert path.steps == 0
    assert path.words[0].startswith("W_feedback → dot → add")
    assert path.words[-1].endswith("tanh → x[t] → result x")
    later = connecting_path(function.graph, loop, "W_feedback", "y")
    assert later.steps == 3
    assert later.words[0].endswith("→ x[t]")
    assert later.words[1] == "3 steps later, read as x[t-3] → dot → y[t] → result y"
    assert (later.row, later.column) == ("W_feedback", "y")


def test_the_documents_entries_that_carry_nothing_have_no_path(record):
    [loop] = [each for each in record.loops if each.name == "rnn"]
    assert connecting_path(record.functions[0].graph, loop, "n_steps", "x") is None


@pytest.mark.parametrize("row", ["nothing", 99, -1])
def test_an_unknown_input_is_refused_with_those_that_there_are(record, row):
    [loop] = [each for each in record.loops if each.name == "rnn"]
    with pytest.raises(ScanvizError, match="has no outer input") as caught:
        connecting_path(record.functions[0].graph, loop, row, "x")
    assert "0 n_steps" in str(caught.value) and "W_feedback" in str(caught.value)


def test_a_name_that_means_several_is_asked_for_by_number():
    both = [LoopVariableRecord("sequence", "u", (tap,), (), ("u[t]",), (), "u") for tap in (0, 0)]
    h = LoopVariableRecord("sitsot", "h", (-1,), (0,), ("h[t-1]",), ("h[t]",), "h0", "h")
    loop = LoopRecord(1, 1, None, "rnn", None, variables=(*both, h))
    from scanviz.record.graphs.graph import GraphSnapshot

    with pytest.raises(ScanvizError, match=r"2 outer inputs `u`[^$]*1 \(u\), 2 \(u\)"):
        connecting_path(GraphSnapshot("f"), loop, "u", "h")
    with pytest.raises(ScanvizError, match="the graph has no loop `rnn`"):
        connecting_path(GraphSnapshot("f"), loop, 1, "h")


def test_a_pattern_of_another_loop_is_refused(record):
    loop = record.loops[0]
    with pytest.raises(ScanvizError, match="does not fit its loop variables"):
        connection_matrix(replace(loop, connection_pattern=loop.connection_pattern[:-1]))
    with pytest.raises(ScanvizError, match="does not fit its loop variables"):
        connection_matrix(replace(loop, connection_pattern=()))


def test_the_matrix_in_text_has_a_mark_where_an_input_reaches_an_output(record):
    [loop] = [each for each in record.loops if each.name == "rnn"]
    matrix = connection_matrix(loop)
    lines = matrix.as_text().splitlines()
    assert lines[1].split() == ["0", "x", "1", "y"]
    [row] = [line for line in lines if " W_out " in line]
    assert row.split()[0] == str([entry.label for entry in matrix.rows].index("W_out"))
    assert [row[lines[1].index(head)] for head in ("0 x", "1 y")] == ["●", "●"]
    long = replace(matrix, columns=tuple(replace(e, label=e.label * 50) for e in matrix.columns))
    lines = long.as_text().splitlines()
    assert lines[1].split() == ["0", "1"] and lines[-2:] == [f"0 = {'x' * 50}", f"1 = {'y' * 50}"]


def test_the_table_in_text_stands_in_columns_and_is_harmless():
    h = LoopVariableRecord(
        "mitsot", "h\x1b[31m\n", (-2, -1), (0,), ("h[t-2]\x07", "h[t-1]"), ("…",), "h0", "h"
    )
    maps = {
        "inner_inp_from_outer_inp": {"0": (), "1": (0, 1)},
        "inner_out_from_inner_inp": {"0": (0,), "1": (0,)},
        "outer_out_from_inner_out": {"0": (0,)},
        "outer_out_from_outer_inp": {"1": (7,), "nonsense": (0,)},
    }
    text = mappings_table(
        LoopRecord(1, 1, None, "r\x1bnn", None, variables=(h,), var_mappings=maps)
    ).as_text()
    assert text.isprintable() or set(text) - {"\n"} == {each for each in text if each.isprintable()}
    rows = text.splitlines()
    assert len(rows) == 5 and rows[3].count("─") == 2 + 2 + 3
    assert rows[3].index("┬") == rows[4].index("└") and rows[3].rindex("┬") < rows[3].index("───")


def test_a_hidden_inner_loop_connects_by_its_connection_pattern():
    x, w = T.vector("x"), T.vector("w")

    def step(x_t):
        inner, _ = scanviz.scan(
            lambda a, b: [a * 2, b + T.sum(w)], outputs_info=[x_t, T.constant(0.0)], n_steps=3, name="inner"
        )
        return [inner[0][-1], inner[1][-1]]

    import numpy as np

    results, _ = scanviz.scan(step, x, [None, None], name="outer")
    with scanviz.profile() as p:
        f = scanviz.function([x, w], results, mode=scanviz.Mode(rewrites="none"))
        f(np.ones(2), np.ones(2))
    [outer] = [loop for loop in p.record.loops if loop.name == "outer"]
    matrix = connection_matrix(outer)
    graph = p.record.functions[0].graph
    found = {
        (row, column): connecting_path(graph, outer, i, j) is not None
        for i, row in enumerate(matrix.rows)
        for j, column in enumerate(matrix.columns)
    }
    assert found == {
        (row, column): matrix.cells[i][j]
        for i, row in enumerate(matrix.rows)
        for j, column in enumerate(matrix.columns)
    }
    assert True in found.values() and list(found.values()).count(True) < len(found)
