"""The picture of any graph: everything in it is in the picture, once, and closing a loop loses nothing around it."""

from collections import Counter
from functools import partial

from hypothesis import given

from scanviz.record.graphs.plumbing import plumbing
from scanviz.record.snapshot import snapshot
from scanviz.render.diagram import build
from scanviz.render.diagram.folding import depths
from scanviz.render.diagram.formulas import constant_text
from scanviz.testing import random_loops
from tests.render.diagram.graphs import assert_sound, history, with_gradients

diagram_of = partial(build.diagram_of, plumbing=True)


LAWS = []


def law(check):
    """Add a law of the pictures of a graph without keys, of one with keys, and of one after all rewrites."""
    LAWS.append(check)
    return check


@given(case=random_loops())
def test_every_law_holds_of_the_pictures_of_a_random_loop(case):
    """One loop serves all laws: building, differentiating and rewriting it takes longer than the checks."""
    wanted, _ = with_gradients(case)
    record = history(wanted)
    graphs = [snapshot(wanted), record.snapshot(0), record.snapshot(len(record.applications))]
    again = [snapshot(wanted), *(history(wanted).snapshot(k) for k in (0, len(record.applications)))]
    assert [diagram_of(graph) for graph in graphs] == [diagram_of(graph) for graph in again]
    for check in LAWS:
        check(graphs, record)


@law
def every_edge_has_its_ends_and_every_id_is_unique(graphs, _):
    for graph in graphs:
        for depth in (None, 0, 1):
            assert_sound(diagram_of(graph, depth=depth))


@law
def every_loop_variable_has_its_ports_with_its_kind(graphs, _):
    for graph in graphs:
        picture = diagram_of(graph)
        for box, (loop, _, around) in zip(picture.clusters, graph.all_loops(), strict=True):
            assert (box.label, box.gradient_of) == (loop.name, loop.gradient_of or "")
            ports = [node for node in picture.nodes if node.cluster == box.id and node.kind == "port"]
            wanted = [("n_steps", None, "in")]
            for k, variable in enumerate(loop.variables):
                wanted += [(variable.kind, k, "in")] if variable.outer_input is not None else []
                wanted += [(variable.kind, k, "out")] if variable.outer_output is not None else []
            assert Counter((port.loop_kind, port.variable, port.side) for port in ports) == Counter(wanted)
            node = next(node for node in around.nodes if node.loop is loop)
            assert len(wanted) == len(node.inputs) + len(node.outputs)


@law
def operands_are_edges_or_constants_in_the_label(graphs, _):
    for graph in graphs:
        picture = diagram_of(graph)
        drawn = [node for node in picture.nodes if node.kind == "operation"]
        places = {}
        for edge in picture.edges:
            if edge.role == "data":
                places.setdefault(edge.target, []).append(edge.place)
        operations = []
        boxes = [None, *(cluster.id for cluster in picture.clusters)]
        for box, level in zip(boxes, [graph, *(placed.step for placed in graph.all_loops())], strict=True):
            operations += [(box, level, node) for node in level.nodes if node.loop is None]
        by_key = {(each.cluster, each.key): each for each in drawn}
        assert len(drawn) == len(operations)
        for box, level, node in operations:
            if not node.key:
                continue
            found = by_key[box, node.key]
            written = [
                k
                for k, each in enumerate(node.inputs)
                if level.role(each) == "constant" and k not in places.get(found.id, [])
            ]
            assert sorted([*places.get(found.id, []), *written]) == list(range(len(node.inputs)))
            assert all(
                constant_text(level.variables[node.inputs[k]].label).removesuffix(".0") in found.label
                for k in written
            )
        assert sum(len(places.get(each.id, [])) for each in drawn) == sum(
            not (level.role(k) == "constant" and _small(level.variables[k]))
            for _, level, node in operations
            for k in node.inputs
        )


def _small(variable):
    label = constant_text(variable.label)
    return not variable.name and 0 < len(label) <= 12 and label != variable.type


@law
def edges_come_from_the_source_of_a_value(graphs, _):
    for graph in graphs[1:]:
        picture = diagram_of(graph)
        nodes = {each.id: each for each in picture.nodes}
        insides = dict(zip(picture.clusters, (placed.step for placed in graph.all_loops()), strict=True))
        steps = {None: graph, **{box.id: step for box, step in insides.items()}}
        readers = {(box, node.key): (level, node) for box, level in steps.items() for node in level.nodes}
        for edge in picture.edges:
            if nodes[edge.target].kind != "operation":
                continue
            level, node = readers[nodes[edge.target].cluster, nodes[edge.target].key]
            number, source = node.inputs[edge.place], nodes[edge.source]
            [*makers] = [each for each in level.nodes if number in each.outputs]
            if not makers:
                assert source.key == level.variables[number].key
            elif makers[0].loop is None:
                assert source.key == makers[0].key
            else:
                assert (source.kind, source.side) == ("port", "out")


@law
def the_recurrence_edges_are_the_pairs_of_taps_in_which_a_later_step_reads(graphs, _):
    for graph in graphs:
        picture = diagram_of(graph)
        nodes = {node.id: node for node in picture.nodes}
        for box, (loop, _, _) in zip(picture.clusters, graph.all_loops(), strict=True):
            wanted = Counter()
            for k, variable in enumerate(loop.variables):
                if variable.kind in ("sitsot", "mitsot", "mitmot"):
                    gaps = [w - r for w in variable.writes for r in variable.reads]
                    wanted.update((k, gap) for gap in gaps if gap > 0)
                elif variable.kind == "carry":
                    wanted[k, 1] += 1
            found = Counter()
            for edge in picture.edges:
                if edge.role == "recurrence" and nodes[edge.source].cluster == box.id:
                    assert nodes[edge.source].kind == "inner_output"
                    assert nodes[edge.target].kind == "inner_input"
                    assert nodes[edge.source].variable == nodes[edge.target].variable
                    found[nodes[edge.source].variable, int(edge.label.split()[0])] += 1
            assert found == wanted


@law
def closing_loops_loses_no_connection_around_them(graphs, _):
    for graph in graphs:
        whole = diagram_of(graph)
        closed = diagram_of(graph, depth=0)
        outside = {node.id for node in whole.nodes if node.cluster is None}
        outermost = {cluster.id for cluster in whole.clusters if cluster.parent is None}
        ports = {node.id for node in whole.nodes if node.kind == "port" and node.cluster in outermost}

        def around(picture, ends=outside | ports, inside=ports):
            return Counter(
                (edge.source, edge.target, edge.role, edge.place)
                for edge in picture.edges
                if edge.source in ends
                and edge.target in ends
                and not (edge.source in inside and edge.target in inside)
            )

        assert around(whole) == around(closed)
        assert sum(around(closed).values()) == len(closed.edges) or not ports
        assert {port.id for node in closed.nodes for port in node.ports} == ports
        assert not closed.clusters and {node.id for node in closed.nodes} == outside | outermost


@law
def depth_counts_nested_loops(graphs, _):
    for graph in graphs:
        whole = diagram_of(graph)
        deep = depths(whole)
        for depth in range(3):
            picture = diagram_of(graph, depth=depth)
            assert {cluster.id for cluster in picture.clusters} == {
                each for each in deep if deep[each] < depth
            }
            closed = {node.id for node in picture.nodes if node.kind == "loop"}
            assert closed == {each for each in deep if deep[each] == depth}


@law
def ids_of_operations_survive_rewrites_that_do_not_change_them(_, record):
    for k in range(len(record.applications)):
        before, after = (diagram_of(record.snapshot(each)) for each in (k, k + 1))
        first, second = (
            {(node.cluster, node.key): node.id for node in picture.nodes if node.kind == "operation"}
            for picture in (before, after)
        )
        for place in first.keys() & second.keys():
            assert first[place] == second[place]
        if not record.applications[k].removed:
            assert {_of_node(key) for _, key in first} <= {_of_node(key) for _, key in second}


def _of_node(key):
    """Return the key of a node without the part that distinguishes two forms of it, which a merge unites."""
    return key.partition("~")[0]


@law
def a_picture_without_plumbing_lacks_nothing_else_and_counts_it(graphs, _):
    for graph in graphs:
        whole, folded = diagram_of(graph), build.diagram_of(graph)
        assert_sound(folded)
        levels = [graph, *(placed.step for placed in graph.all_loops())]
        boxes = [None, *(cluster.id for cluster in whole.clusters)]
        left_out = Counter()
        for box, level in zip(boxes, levels, strict=True):
            left_out[box] = len(plumbing(level))
        assert folded.clusters == whole.clusters
        for kind in ("operation", "loop", "port", "inner_input", "inner_output", "until"):
            counts = [Counter(node.cluster for node in d.nodes if node.kind == kind) for d in (whole, folded)]
            assert counts[0] - counts[1] == (+left_out if kind == "operation" else Counter())
        count = sum(left_out.values())
        assert folded.notes == ((build.plumbing_note(count),) if count else ())
