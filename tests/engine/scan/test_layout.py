"""The documents' flat views: orders, the twelve maps, accessors, connection patterns."""

import pytest
from hypothesis import assume, given

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import describe
from scanviz.engine.scan.layout import Layout
from scanviz.engine.scan.variables import kind_of
from scanviz.testing import random_loops

GOLDEN = {
    "inner_inp_from_outer_inp": {0: [], 1: [0], 2: [1, 2], 3: [3], 4: [4], 5: [], 6: [5]},
    "inner_out_from_outer_inp": {0: [], 1: [], 2: [0], 3: [1], 4: [3], 5: [2], 6: []},
    "outer_out_from_outer_inp": {0: -1, 1: -1, 2: 0, 3: 1, 4: 3, 5: 2, 6: -1},
    "outer_inp_from_inner_inp": {0: 1, 1: 2, 2: 2, 3: 3, 4: 4, 5: 6},
    "inner_out_from_inner_inp": {0: [], 1: [0], 2: [0], 3: [1], 4: [3], 5: []},
    "outer_out_from_inner_inp": {0: -1, 1: 0, 2: 0, 3: 1, 4: 3, 5: -1},
    "outer_inp_from_inner_out": {0: 2, 1: 3, 2: 5, 3: 4},
    "inner_inp_from_inner_out": {0: [1, 2], 1: [3], 2: [], 3: [4]},
    "outer_out_from_inner_out": {0: 0, 1: 1, 2: 2, 3: 3},
    "outer_inp_from_outer_out": {0: 2, 1: 3, 2: 5, 3: 4},
    "inner_inp_from_outer_out": {0: [1, 2], 1: [3], 2: [], 3: [4]},
    "inner_out_from_outer_out": {0: [0], 1: [1], 2: [2], 3: [3]},
}


@pytest.fixture
def documented():
    """The loop of the documents: a sequence, a mitsot, a sitsot, a nitsot, a random state and a non-sequence."""
    stream = T.random.RandomStreams(1)
    seq, mitsot, sitsot, nonseq = T.vector("seq"), T.vector("mitsot"), T.scalar("sitsot"), T.scalar("nonseq")

    def step(seq_t, m_tm3, m_tm1, s_tm1, nonseq):
        total = seq_t + m_tm3 + m_tm1 + s_tm1 + nonseq + stream.uniform()
        return total, total, total

    outputs, _ = scanviz.scan(
        step, seq, [dict(initial=mitsot, taps=[-3, -1]), sitsot, None], nonseq, name="documented"
    )
    return outputs[0].owner


def test_the_documented_loop_has_the_documented_maps(documented):
    assert Layout(documented).var_mappings == GOLDEN
    assert documented.op.var_mappings == GOLDEN


def test_the_flat_lists_stand_in_the_documents_order(documented):
    layout = Layout(documented)
    assert [describe(each) for each in layout.outer_inputs[1:5]] == [
        "seq",
        "mitsot",
        "sitsot",
        "random state 0",
    ]
    assert [each.name for each in layout.inner_inputs[:4]] == ["seq[t]", "m[t-3]", "m[t-1]", "s[t-1]"]
    assert len(layout.outer_outputs) == 4 and len(layout.inner_outputs) == 4


def test_accessors_pick_their_kind_from_the_flat_lists(documented):
    op, layout = documented.op, Layout(documented)
    assert op.inner_mitsot_grouped() == [layout.inner_inputs[1:3]]
    assert op.outer_non_seqs(documented) == [layout.outer_inputs[6]] == op.outer_non_seqs(layout.outer_inputs)
    assert op.mitsot_taps() == [(-3, -1)] and op.mitmot_taps() == [] == op.mitmot_out_taps()
    assert op.oldest_inner_mitsot() == [layout.inner_inputs[1]]
    assert op.outer_nitsot_outs(documented) == [layout.outer_outputs[2]]


def check_fields(args, layout):
    """Check that the fields of ScanArgs, one after the other, are the flat lists."""

    def flat(prefix):
        fields = [getattr(args, name) for name in args.__struct_fields__ if name.startswith(prefix)]
        entries = [entry for field in fields for entry in field]
        return [one for entry in entries for one in (entry if isinstance(entry, list) else [entry])]

    assert flat("inner_in_") == layout.inner_inputs == args.inner_inputs
    assert [*flat("inner_out_"), *args.cond] == layout.inner_outputs == args.inner_outputs
    assert [args.n_steps, *flat("outer_in_")] == layout.outer_inputs == args.outer_inputs
    assert flat("outer_out_") == layout.outer_outputs == args.outer_outputs


def test_the_fields_of_scan_args_are_the_flat_lists(documented):
    args, layout = scanviz.ScanArgs.from_node(documented), Layout(documented)
    check_fields(args, layout)
    assert args.field_of(layout.inner_inputs[2]) == "inner_in_mit_sot-0-1"
    assert not args.as_while


def as_list(value):
    return value if isinstance(value, list) else [value] if value != -1 else []


@given(case=random_loops())
def test_each_map_is_the_converse_of_its_twin(case):
    results, _, _, _ = case.build()
    node = results[0].owner
    assume(node is not None and node.op.name == "scan")
    maps = Layout(node).var_mappings
    assert len(maps) == 12
    for name, forward in maps.items():
        target, source = name.split("_from_")
        backward = maps[f"{source}_from_{target}"]
        for i, found in forward.items():
            for j in as_list(found):
                assert i in as_list(backward[j]), f"{name}: {i} → {j}, but not back"


def test_connection_patterns_close_over_time():
    x, w = T.vector("x"), T.scalar("w")

    def step(x_t, a_tm1, b_tm1, w):
        return b_tm1 * 1.0, b_tm1 + x_t, w * 2.0

    (a, _, _), _ = scanviz.scan(step, x, [0.0, 0.0, None], w)
    layout = Layout(a.owner)
    pattern = layout.connection_pattern()
    # rows: n_steps, x, a, b, nitsot length, w; columns: a, b, nitsot
    assert pattern == [
        [False] * 3,
        [True, True, False],
        [False] * 3,
        [True, True, False],
        [False] * 3,
        [False, False, True],
    ]
    op = a.owner.op
    assert [kind_of(variable) for variable in op.variables] == [
        "sequence",
        "sitsot",
        "sitsot",
        "nitsot",
        "non_sequence",
    ]


def test_scan_args_of_a_node_without_a_loop_are_an_error():
    x = T.vector("x")
    for other in ((x * 2).owner, x * 2, None):
        with pytest.raises(ScanvizTypeError, match=r"test_layout.*this is none(?s:.)*result\.owner"):
            scanviz.ScanArgs.from_node(other)
