"""Laws of costs in numbers: recorded costs of graphs that never ran agree with graphs of known sizes."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.observe import Observer, observed_by
from scanviz.engine.rewrites.cost import Cost, StepCost, cost_of
from scanviz.engine.sizes.polynomial import Polynomial
from scanviz.record.costs import CostNumbersRecord, StepNumbersRecord
from scanviz.record.graphs.rewrites_snapshot import rewrites_of
from scanviz.testing.loops import random_loops
from tests.laws.frame import built
from tests.laws.law import law
from tests.laws.many_loops import ROWS, WIDTH, many_loops
from tests.laws.versions import without_folders

Given = Sequence[tuple[Variable, Array]]


class _Weighed(Observer):
    weighs = True


def _values(graph: tuple[list[Variable], list[Variable]]) -> tuple[Given, list[Variable]]:
    """Return a graph of several loops with values for its inputs."""
    shapes = [(ROWS, WIDTH), (WIDTH, WIDTH), (WIDTH,)]
    inputs, wanted = graph
    return [(variable, np.ones(shape)) for variable, shape in zip(inputs, shapes, strict=True)], wanted


def graphs() -> st.SearchStrategy[tuple[Given, list[Variable]]]:
    """Graphs of one loop of any kind, or of several, mostly with gradients, with values for their inputs."""
    loops = random_loops(symbolic_steps=True, constants=True).map(built)
    one = loops.map(lambda loop: (list(loop.given.items()), loop.wanted))
    return one | many_loops().map(_values)


def _known(variable: Variable, value: Array) -> Variable:
    """Return a variable that stands for an input and whose size, or whole number, is known when building."""
    if value.ndim == 0 and value.dtype.kind in "iu":
        return T.constant(value)
    return T.tensor(value.dtype.name, value.shape, variable.name)


def agrees(found: CostNumbersRecord | None, cost: Cost) -> bool:
    """Return whether numbers are those of a cost, as far as nothing in it is unknown."""
    assert found is not None
    pairs = [
        (found.operations, cost.operations),
        (found.flops, cost.flops),
        (found.bytes_moved, cost.bytes_moved),
        (found.buffer_bytes, cost.buffer_bytes),
    ]
    mine: dict[str, list[StepNumbersRecord]] = {}
    for name, step in found.per_step.items():
        mine.setdefault(without_folders(name), []).append(step)
    theirs: dict[str, list[StepCost]] = {}
    for path, known in cost.steps.items():
        theirs.setdefault(without_folders("/".join(path)), []).append(known)
    assert mine.keys() == theirs.keys()
    for name, steps in mine.items():
        assert sum(step.operations for step in steps) == sum(known.operations for known in theirs[name])
        for kind in ("flops", "bytes_moved"):
            numbers = [getattr(step, kind) for step in steps]
            together = None if None in numbers else sum(numbers)
            pairs.append((together, sum((getattr(known, kind) for known in theirs[name]), Polynomial({}))))
    return all(whole.number in (None, number) for number, whole in pairs)


@law(sample=10, graph=graphs(), at=st.floats(0, 1))
def costs_in_numbers_agree_with_a_graph_of_known_sizes(
    graph: tuple[Given, list[Variable]], at: float
) -> None:
    """A record's costs before and after a rewrite are those of the graph over inputs of the call's sizes."""
    given, wanted = graph
    f = scanviz.function([variable for variable, _ in given], wanted, mode="numpy", on_unused_input="ignore")
    with observed_by(_Weighed()):
        f(*(value for _, value in given))
    shared: list[SharedVariable] = f.spec.shared
    known = dict(given) | {variable: np.asarray(variable.get_value()) for variable in shared}
    mapping = {variable: _known(variable, value) for variable, value in known.items()}
    record, versions = rewrites_of(f), f.rewrites.all_graphs()
    for k in {0, round(at * (len(versions) - 1)), len(versions) - 1}:
        cost = cost_of(replace(versions[k], mapping, check=False))
        assert agrees(record.numbers(k), cost), (k, record.numbers(k), cost)
