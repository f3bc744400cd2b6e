"""Dependence within a step: nodes computed from given variables alone, and nodes needed for given results.

Nodes computed from non-sequences alone are the same at every step.  Rules of the family ``push_before`` compute them once
before the loop, and the gradient takes their derivative once after it (:mod:`scanviz.engine.gradient.loops.invariants`).  Nodes
computed from sequences too are known for all steps before the first.

A result that nobody reads needs nothing, and what only it needs is not needed either: a draw whose numbers go nowhere, a state that
only feeds itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, ScanView, nodes_of, of_step
from scanviz.engine.scan.variables import LoopVariable, has_outer_output, inner_inputs, inner_outputs, kind_of

Effects = Mapping[tuple[int, int], int]  # (loops around it, node id) → how often


def effects_among(nodes: Iterable[Apply]) -> Effects:
    """Return the effects of nodes and of the steps of loops among them."""
    found: dict[tuple[int, int], int] = {}
    for node in nodes:
        op = node.op
        plain = type(op) is Op
        if plain and not op.declaration.may_have_effect:  # by far the most
            continue
        if isinstance(op, Scan):
            for (depth, node_id), count in effects_of(op).items():
                found[depth + 1, node_id] = found.get((depth + 1, node_id), 0) + count
        elif op.facts.effect:
            found[0, node.node_id] = found.get((0, node.node_id), 0) + 1
        elif not plain:  # it may hold a graph
            for _, results in op.subgraphs():
                for effect, count in effects_among(toposort(results)).items():
                    found[effect] = found.get(effect, 0) + count
    return found


def effects_of(op: Scan) -> Effects:
    """Return the effects of a loop's step."""
    return op.once(_effects_of_step)


@of_step
def _effects_of_step(op: Scan) -> Effects:
    return effects_among(op.once(nodes_of))


def has_effect(node: Apply) -> bool:
    """Return whether a node, or the step of a loop, prints or checks something."""
    op = node.op
    if type(op) is not Op:
        return bool(effects_among([node]))
    return op.declaration.may_have_effect and op.facts.effect


def same_effects(before: Effects, outputs: Sequence[Variable]) -> bool:
    """Return whether a graph has the same effects as before, possibly fewer copies of a node."""
    after = effects_among(toposort(outputs))
    return after.keys() == before.keys() and all(after[effect] <= count for effect, count in before.items())


def is_known(variable: Variable, known: Collection[Variable]) -> bool:
    """Return whether a variable is a constant or known."""
    return isinstance(variable, Constant) or variable in known


def all_known(variables: Collection[Variable], known: Collection[Variable]) -> bool:
    """Return whether all variables are constants or known."""
    for variable in variables:  # noqa: SIM110  # asked of every node by every rule about loops
        if variable not in known and not isinstance(variable, Constant):
            return False
    return True


def closure(op: Scan, sources: Collection[Variable], nodes: Sequence[Apply] | None = None) -> list[Apply]:
    """Return the nodes of a step that are computed from ``sources`` and constants alone, in order of computation.

    What prints or checks something does so in every step, and is not among them.

    Parameters
    ----------
    op : Scan
        The loop.
    sources : collection of Variable
        Variables of its step.
    nodes : sequence of Apply, optional
        The nodes that may be found, in order of computation; all of the step by default.
    """
    known = set(sources)
    found: list[Apply] = []
    effects = bool(effects_of(op))
    for node in op.once(nodes_of) if nodes is None else nodes:
        if effects and has_effect(node):
            continue
        if all_known(node.inputs, known):
            found.append(node)
            known.update(node.outputs)
    return found


def known_from(
    op: Scan, sources: Collection[Variable], nodes: Sequence[Apply] | None = None
) -> set[Variable]:
    """Return ``sources`` and the outputs of their :func:`closure`."""
    return {*sources, *outputs_of(closure(op, sources, nodes))}


def outputs_of(nodes: Collection[Apply]) -> list[Variable]:
    """Return the outputs of nodes."""
    return [output for node in nodes for output in node.outputs]


def needed_variables(view: ScanView, is_read: Callable[[Variable], bool]) -> set[LoopVariable]:
    """Return the loop variables that are needed: after the loop, by its stop condition, or by another needed one.

    ``is_read(result)`` is True if anything after the loop needs it.  If any is needed, so are those whose step prints or
    checks something.
    """
    op = view.op
    owner = op.once(_owners)
    needed: set[LoopVariable] = set()
    wanted: list[Variable] = [op.until.condition] if op.until is not None else []
    for role, result in zip(op.result_variables, view.node.outputs, strict=True):
        if is_read(result):
            needed.add(role)
            wanted.extend(inner_outputs(role))
    if needed and effects_of(op):
        for role in op.variables:
            if has_outer_output(role) and effects_among(toposort(inner_outputs(role))):
                needed.add(role)
                wanted.extend(inner_outputs(role))
    seen: set[Variable] = set()
    while wanted:
        variable = wanted.pop()
        if variable in seen:
            continue
        seen.add(variable)
        if variable.owner is not None:
            wanted += variable.owner.inputs
        reader = owner.get(variable)
        if reader is not None and reader not in needed:
            needed.add(reader)
            wanted.extend(inner_outputs(reader))
    if op.until is not None and needed and needed.isdisjoint(op.counters):
        needed.update(op.counters[:1])
    return needed


def _owners(op: Scan) -> Mapping[Variable, LoopVariable]:
    """Map each inner input of a step to its loop variable."""
    return {inner: role for role in op.variables for inner in inner_inputs(role)}


def needed_leaves(outputs: Sequence[Variable], inputs: Collection[Variable] = ()) -> list[Variable]:
    """Return the leaves of a graph that its outputs depend on, in the order met.

    Like :func:`scanviz.engine.graph.traversal.leaves`, without those that only results of loops read that are not needed.  A
    sequence is always needed: its length is.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> a, b = T.scalar("a"), T.scalar("b")
    >>> (p, q), _ = scanviz.scan(lambda p, q: (p * 2, q + 1), outputs_info=[a, b], n_steps=T.lscalar("n"))
    >>> [leaf.name for leaf in needed_leaves([p]) if leaf.name]
    ['n', 'a']
    """
    needed: dict[Variable, None] = dict.fromkeys(outputs)
    nodes = toposort(outputs, inputs)
    for node in reversed(nodes):
        if not any(output in needed for output in node.outputs):
            continue
        if not isinstance(node.op, Scan):
            needed.update(dict.fromkeys(node.inputs))
            continue
        view = ScanView(node)
        variables = needed_variables(view, needed.__contains__)
        needed[view.n_steps] = None
        for variable in node.op.variables:
            given = view.outer_input(variable)
            if given is not None and (variable in variables or kind_of(variable) == "sequence"):
                needed[given] = None
    stop = set(inputs)
    return [variable for variable in needed if variable.owner is None or variable in stop]
