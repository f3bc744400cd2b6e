"""A row of a buffer has one name, in the picture, the mappings, the values and the buffers."""

from scanviz.record.graphs.graph import cell_name
from scanviz.render.buffers import called
from tests.tui.records_for_tui import gradient_record


def test_a_row_read_and_written_has_one_name_in_every_view():
    record = gradient_record()
    backward = next(loop for loop in record.loops if loop.gradient_of is not None)
    graph = record.functions[0].graph
    (drawn,) = (placed for placed in graph.all_loops() if placed.loop.key == backward.key)
    states = [variable for variable in backward.variables if variable.kind == "mitmot"]
    assert states
    outputs = iter(drawn.step.output_names)
    names = {}
    for variable in drawn.loop.variables:
        for tap in (
            variable.writes if variable.kind in ("mitmot", "mitsot", "sitsot") else variable.inner_outputs
        ):
            names[variable.name, tap] = next(outputs)
    for state in states:
        read = dict(zip(state.reads, state.inner_inputs, strict=False))
        for tap in state.writes:
            assert names[state.name, tap] == called(state, tap)
            if tap in read:
                assert called(state, tap) == read[tap]
            assert "[t+" not in called(state, tap)  # in the time of the loop that it is the gradient of


def test_rows_only_written_are_numbered_like_the_rows_read():
    assert cell_name("g", 2, [(0, "g[t]"), (3, "g[t-3]~2")]) == "g[t-2]"
    assert cell_name("g", 3, [(0, "g[t]"), (3, "g[t-3]~2")]) == "g[t-3]"
    assert cell_name("h", 0, [(-1, "h[t-1]"), (-2, "h[t-2]")]) == "h[t]"
