"""Laws of a graph's versions: the recorded graph after each rewrite is the engine's whole graph.

Versions are found from one rewrite to the next by what each replaced; here each graph is built on its own and spelled out by a walk
that shares nothing with that.
"""

import json
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from hypothesis import strategies as st

from scanviz.engine.graph.nodes import Constant, Variable, describe
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.cost import Cost, cost_of
from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.engine.rewrites.versions import places
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import inner_inputs, inner_outputs, kind_of, taps_of
from scanviz.engine.sizes.polynomial import Polynomial
from scanviz.record.graphs.graph import GraphSnapshot, ScanRecord
from scanviz.record.graphs.rewrites import RewritesRecord
from scanviz.record.graphs.rewrites_snapshot import rewrites_record
from scanviz.record.storage.codec import decode, encode
from scanviz.testing.loops import random_loops
from tests.laws.frame import built
from tests.laws.law import law
from tests.laws.many_loops import many_loops


def graphs() -> st.SearchStrategy[list[Variable]]:
    """Graphs of one loop of any kind, or of several, mostly with gradients: the outputs of each."""
    return many_loops().map(lambda found: found[1]) | random_loops().map(lambda case: built(case).wanted)


def without_folders(name: str) -> str:
    """Return a name that may hold a path, as records do not keep those of the machine."""
    return re.sub(r"[^ {}]*/", "", name)


def _spelled(outputs: Sequence[Variable], inputs: Sequence[Variable] = ()) -> Hashable:
    """Return a graph of the engine by what its outputs are, whatever the order of its nodes."""
    values: dict[Variable, Hashable] = {leaf: ("given", k, str(leaf.type)) for k, leaf in enumerate(inputs)}
    nodes: Counter[Hashable] = Counter()

    def value(variable: Variable) -> Hashable:
        if variable not in values:
            kind = "constant" if isinstance(variable, Constant) else "input"
            role = "shared" if isinstance(variable, SharedVariable) else kind
            values[variable] = (role, describe(variable), str(variable.type))
        return values[variable]

    for node in toposort(outputs, inputs):
        op, inside = node.op, None
        if isinstance(op, Scan):
            variables = tuple(
                (kind_of(role), role.name, *taps_of(role), len(inner_inputs(role)), len(inner_outputs(role)))
                for role in op.variables
            )
            forward = op.settings.gradient_of
            name = without_folders(forward.name) if forward is not None else None
            inside = (
                without_folders(op.scan_name),
                name,
                variables,
                _spelled(op.inner_outputs, op.inner_inputs),
            )
        read = hash(tuple(value(operand) for operand in node.inputs))
        line = node.provenance.source.line if node.provenance.source is not None else None
        for output in node.outputs:
            values[output] = (
                without_folders(str(op)),
                output.index,
                output.name or "",
                str(output.type),
                read,
                line,
                hash(inside),
            )
            nodes[values[output]] += 1
    return tuple(hash(value(output)) for output in outputs), frozenset(nodes.items())


def spelled_record(graph: GraphSnapshot, given: Sequence[str] = ()) -> Hashable:
    """Return a graph of a record likewise."""
    values: dict[str, Hashable] = {
        key: (graph.role(key), given.label, given.type) for key, given in graph.variables.items()
    }
    values.update((number, ("given", k, graph.variables[number].type)) for k, number in enumerate(given))
    nodes: Counter[Hashable] = Counter()
    for node in graph.nodes:
        inside = _inside(node.loop, graph.step(node.loop)) if node.loop is not None else None
        read = hash(tuple(values[number] for number in node.inputs))
        line = int(node.source.rpartition(":")[2]) if node.source else None
        for place, number in enumerate(node.outputs):
            known = graph.variables[number]
            values[number] = (
                without_folders(node.op),
                place,
                known.name,
                known.type,
                read,
                line,
                hash(inside),
            )
            nodes[values[number]] += 1
    return tuple(hash(values[output]) for output in graph.outputs), frozenset(nodes.items())


def _inside(loop: ScanRecord, step: GraphSnapshot) -> Hashable:
    variables = tuple(
        (
            variable.kind,
            variable.name,
            variable.reads,
            variable.writes,
            len(variable.inner_inputs),
            len(variable.inner_outputs),
        )
        for variable in loop.variables
    )
    given = [number for variable in loop.variables for number in variable.inner_inputs]
    name = without_folders(loop.gradient_of) if loop.gradient_of is not None else None
    return without_folders(loop.name), name, variables, spelled_record(step, given)


@law(sample=12, wanted=graphs())
def each_version_in_a_record_is_the_graph_after_that_rewrite(wanted: list[Variable]) -> None:
    """The graph after each rewrite in a record, saved and loaded too, is the one that the rules gave."""
    history = RewriteHistory(wanted, Selection("all"))
    record = rewrites_record(history)
    for k, outputs in enumerate(history.all_graphs()):
        found = record.snapshot(k)
        assert found is not None
        assert spelled_record(found) == _spelled(outputs), f"after {k} rewrites"
        keys = [node.key for node in found.nodes]
        assert len(set(keys)) == len(keys)
    data: Any = json.loads(json.dumps(encode(record)))
    assert decode(RewritesRecord, data) == record


def _comparable(cost: Cost) -> Any:
    """Return a cost with one name for all sizes that follow from values.

    How many elements a mask picks is called by the words of the mask (``x[1:][0] > 0``).  A rewrite that writes ``x[1]`` for
    ``x[1:][0]`` changes no size, so what reads the mask is not looked at again and keeps the older words, which are as true.
    """

    def terms(polynomial: Polynomial) -> Counter[tuple[str, ...]]:
        found: Counter[tuple[str, ...]] = Counter()
        for product, number in polynomial.terms.items():
            found[tuple(sorted(map(_size_of_input, product)))] += number  # type: ignore[assignment]  # a fraction, seldom
        return found

    steps = {
        path: (step.operations, terms(step.flops), terms(step.bytes_moved))
        for path, step in cost.steps.items()
    }
    return steps, *map(terms, (cost.operations, cost.flops, cost.bytes_moved, cost.buffer_bytes))


def _size_of_input(size: Any) -> str:
    """Return the name of a size without an index, else a note that it depends on values."""
    return "of values" if "[" in re.sub(r"\.shape\[\d+\]", "", str(size)) else str(size)


@law(sample=8, wanted=graphs())
def costs_and_changes_of_a_rewrite_agree_with_its_two_graphs(wanted: list[Variable]) -> None:
    """Costs and changed nodes found from the replaced nodes agree with a comparison of the two whole graphs."""
    history = RewriteHistory(wanted, Selection("all"))
    versions, whole = list(history.versions()), history.all_graphs()
    assert len(versions) == len(whole)
    for k, version in enumerate(versions):
        assert _comparable(version.cost) == _comparable(cost_of(whole[k])), f"after {k} rewrites"
        if k:
            old, new = places(whole[k - 1]), places(whole[k])
            change = version.change
            assert len(change.removed) == len(old.keys() - new.keys()), f"by rewrite {k - 1}"
            assert len(change.added) == len(new.keys() - old.keys()), f"by rewrite {k - 1}"
