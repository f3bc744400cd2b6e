"""Costs of a graph: operations, floating-point operations, bytes moved and bytes of rows kept, as far as sizes are known.

Sizes that are known only when a function runs stay symbols, named in the user's words (``x.shape[0]``), so a cost is a
polynomial in them.  Two graphs of one function name them alike, so their costs can be compared.  A loop's step counts as often
as the loop takes steps, with ``until`` as often as it may.

Counts are those of the declarations (:mod:`scanviz.engine.cost`), a view has none.  A sum is kept as terms of polynomials: what the
nodes of one graph cost becomes what those of the next cost by the nodes that changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.sizes import size_of
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.loops.loop_facts import is_view
from scanviz.engine.scan.loop import Scan, ScanView, nodes_of
from scanviz.engine.scan.shapes import inner_sizes, size_outside
from scanviz.engine.scan.variables import State, StepOutput, inner_inputs, kind_of
from scanviz.engine.sizes.dims import Dim
from scanviz.engine.sizes.polynomial import Call, Polynomial, Unknown, mapped

Path = tuple[str, ...]  # names of loops, from the outermost
Meanings = dict[
    str, set[Unknown | Call]
]  # what a name of a size stands for: several inputs may have one name


class StepCost(Struct, frozen=True):
    """Costs of one step of a loop.

    Attributes
    ----------
    operations : int
        Operations of its own, without those of loops inside.
    flops : Polynomial
        Floating-point operations, with those of loops inside.
    bytes_moved : Polynomial
        Bytes read and written, with those of loops inside.
    """

    operations: int
    flops: Polynomial
    bytes_moved: Polynomial


class Cost(Struct, frozen=True):
    """Costs of a graph.

    Attributes
    ----------
    operations : Polynomial
        Operations run, those of a step as often as there are steps.
    steps : mapping
        Loop (names from the outermost) → what one step costs.
    flops : Polynomial
        Floating-point operations.
    bytes_moved : Polynomial
        Bytes read and written by operations that are no views.
    buffer_bytes : Polynomial
        Bytes of the rows that loops keep.
    """

    operations: Polynomial
    steps: Mapping[tuple[str, ...], StepCost]
    flops: Polynomial
    bytes_moved: Polynomial
    buffer_bytes: Polynomial

    @property
    def operations_per_step(self) -> dict[tuple[str, ...], int]:
        """Loop (names from the outermost) → operations of one step."""
        return {path: step.operations for path, step in self.steps.items()}

    def less(self, other: Cost) -> Cost:
        """Return how much more it is than another cost, without single steps."""
        return Cost(
            self.operations - other.operations,
            {},
            self.flops - other.flops,
            self.bytes_moved - other.bytes_moved,
            self.buffer_bytes - other.buffer_bytes,
        )


def add(total: dict[Any, Any], polynomial: Polynomial, times: int = 1) -> None:
    """Add a multiple of a polynomial to the terms of a sum."""
    for term, value in polynomial.terms.items():
        total[term] = total.get(term, 0) + times * value


ZERO = Polynomial.of(0)
FREE = Cost(ZERO, {}, ZERO, ZERO, ZERO)
_NO_STEP = StepCost(0, ZERO, ZERO)


class TotalCost:
    """The sum of costs of nodes that are computed equally often; updated by the nodes that changed."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._nodes: dict[Apply, Cost] = {}
        self._operations: dict[Any, Any] = {}
        self._flops: dict[Any, Any] = {}
        self._moved: dict[Any, Any] = {}
        self._kept: dict[Any, Any] = {}
        self._single = 0  # operations that are no loops
        self._loops: Counter[Path] = Counter()
        self._steps: dict[Path, StepCost] = {}  # of several loops of one name all together

    def become(self, nodes: Sequence[Apply]) -> None:
        """Become the sum of these nodes; costs of new ones are computed."""
        before, now = self._nodes, dict.fromkeys(nodes)
        for node in [node for node in before if node not in now]:
            self._add(before.pop(node), -1)
        for node in [node for node in nodes if node not in before]:
            before[node] = self._scope.cost(node)
            self._add(before[node], 1)

    def _add(self, cost: Cost, times: int) -> None:
        """Add a multiple of a cost; -1 subtracts it."""
        if cost is FREE:
            return
        add(self._operations, cost.operations, times)
        add(self._flops, cost.flops, times)
        add(self._moved, cost.bytes_moved, times)
        add(self._kept, cost.buffer_bytes, times)
        if not cost.steps:  # no loop
            self._single += times
        for path, step in cost.steps.items():
            self._loops[path] += times
            known = self._steps.get(path, _NO_STEP)
            self._steps[path] = StepCost(
                known.operations + times * step.operations,
                known.flops + step.flops * times,
                known.bytes_moved + step.bytes_moved * times,
            )

    def cost(self, path: Path = (), times: Polynomial | int = 1, rows: Polynomial = ZERO) -> Cost:
        """Return a multiple of the sum of costs, with rows kept once; ``path`` is the loop whose step it is."""
        found = [Polynomial(terms) * times for terms in (self._operations, self._flops, self._moved)]
        steps = {path + within: step for within, step in self._steps.items() if self._loops[within]}
        if path:
            steps = {path: StepCost(self._single, Polynomial(self._flops), Polynomial(self._moved))} | steps
        return Cost(found[0], steps, found[1], found[2], Polynomial(self._kept) + rows)


class Scope:
    """A graph, or the step of a loop: how a size in it is written in sizes of the function's inputs."""

    def __init__(self, view: ScanView | None = None, parent: Scope | None = None) -> None:
        self.view, self.parent = view, parent
        # sizes of a variable in sizes of its own graph are the same whatever is around, so all scopes share them
        self.memory: dict[Variable, Any] = {} if parent is None else parent.memory
        self._known: dict[Any, Polynomial] = {}
        self._elements: dict[Variable, Polynomial] = {}
        # what named sizes stand for, all of it: two inputs of one name have one name for their sizes
        self.meanings: Meanings = {} if parent is None else parent.meanings
        self._own: dict[Apply, Cost] = {}  # of nodes whose costs are known here
        self._latest: dict[int, Apply] = {}  # of each node id, the one that was met last
        # outputs of rebuilt nodes → those of the node that was met first
        self._first: dict[Variable, Variable] = {}
        self._inside: dict[int, Scope] = {}  # steps of loops here, by node id
        self._given: dict[Variable, tuple[str, Variable]] = {}  # what a step's inputs are around the loop
        self.sizes: dict[Variable, Any] = {}
        self.total = TotalCost(self)
        if view is not None:
            self._look(view, _given(view))

    def _look(self, view: ScanView, given: Mapping[Variable, tuple[str, Variable]]) -> None:
        """Be the step of a loop from now on."""
        assert self.parent is not None
        self.view = view
        self._given.update(given)
        self.sizes.update(inner_sizes(view, self.parent.shape))

    def inside(self, view: ScanView) -> Scope:
        """Return the step of a loop in this graph.

        A loop with another step than before is recognised by the same variables over the same values.  Its known sizes and
        costs still hold, so only the new part of its step is inspected.
        """
        known, given = self._inside.get(view.node.node_id), _given(view)
        if known is None or not known.is_like(view, given):
            known = self._inside[view.node.node_id] = Scope(view, self)
        elif known.view is None or known.view.node is not view.node:
            known._look(view, given)
        return known

    def is_like(self, view: ScanView, given: Mapping[Variable, tuple[str, Variable]]) -> bool:
        """Return whether all that is known of this step holds in that of a loop."""
        return (
            self.view is not None
            and self.view.op.scan_name == view.op.scan_name
            and all(self._given.get(inner, outside) == outside for inner, outside in given.items())
        )

    def shape(self, variable: Variable) -> tuple[Any, ...]:
        """Return the sizes of a variable, in sizes of this graph."""
        return shape_of(variable, self.memory)

    def size(self, size: Any) -> Polynomial:
        """Return a size as a polynomial in named sizes."""
        found = self._known.get(size)
        if found is None:
            found = self._known[size] = self._named(size_of(size))
        return found

    def _named(self, size: Dim) -> Polynomial:
        if not isinstance(size, Polynomial):
            return Polynomial.of(size)
        if self.view is None or self.parent is None:
            return _named(size, self.meanings)
        outside = size_outside(size, self.view, self.sizes)
        if outside is None:
            return Polynomial.of(f"a size in {self.view.op.scan_name}")
        return self.parent.size(outside)

    def elements(self, variable: Variable) -> Polynomial:
        """Return the number of elements of a variable."""
        known = self._elements.get(variable)
        if known is None:
            known = Polynomial.of(1)
            for size in self.shape(variable) if isinstance(variable.type, TensorType) else ():
                known = known * self.size(size)
            self._elements[variable] = known
        return known

    def cost(self, node: Apply) -> Cost:
        """Return the cost of a node, cached per graph."""
        found = self._own.get(node)
        if found is None:
            found = self._own[node] = self._as_before(node) or node_cost(node, self)
            self._latest[node.node_id] = node
        return found

    def _as_before(self, node: Apply) -> Cost | None:
        """Return the cost of a node that is only rebuilt, over rebuilt nodes or others of the same sizes; None of any other."""
        before, first = self._latest.get(node.node_id), self._first
        if before is None or before.op is not node.op or len(before.inputs) != len(node.inputs):
            return None
        read = zip(node.inputs, before.inputs, strict=True)
        if not all(self._alike(new, old) for new, old in read):
            return None
        pairs = list(zip(node.outputs, before.outputs, strict=True))
        if any(new.type != old.type or new.name != old.name for new, old in pairs):
            return None
        for new, old in pairs:
            first[new] = first.get(old, old)
            if old in self.memory:
                self.memory[new] = self.memory[old]
        return self._own[before]

    def _alike(self, new: Variable, old: Variable) -> bool:
        """Return whether readers of a variable cost the same with another: values of whole numbers may be sizes."""
        first = self._first
        if new is old or first.get(new, new) is first.get(old, old):
            return True
        kind = new.type
        if kind != old.type or new.name != old.name or not isinstance(kind, TensorType):
            return False
        return kind.dtype.startswith("float") and self.shape(new) == self.shape(old)

    def bytes(self, variable: Variable) -> Polynomial:
        """Return the bytes of a variable."""
        item = variable.type.itemsize if isinstance(variable.type, TensorType) else 24
        return self.elements(variable) * item


def _given(view: ScanView) -> dict[Variable, tuple[str, Variable]]:
    """Map the inputs of a loop's step to their outer values, and how they are passed."""
    return {
        inner: (kind_of(variable), outer)
        for variable in view.op.readers
        if (outer := view.outer_input(variable)) is not None
        for inner in inner_inputs(variable)
    }


def size_name(size: Unknown) -> str:
    """Return the name of a variable's size or of a whole number; a loop's result often has the name of its initial value."""
    source, owner = describe(size.source), getattr(size.source, "owner", None)
    if size.axis == 0 and owner is not None and isinstance(owner.op, Scan):
        return f"rows of {source}"
    return source if size.axis is None else f"{source}.shape[{size.axis}]"


def _named(size: Polynomial, meanings: Meanings) -> Polynomial:
    """Return a size in names of input sizes; a size that is no sum or product of them has its own name."""
    known: dict[Polynomial, Dim] = {}

    def name(unknown: Unknown | Call) -> Polynomial:
        if isinstance(unknown, Unknown):
            text = size_name(unknown)
        else:
            args = [known.get(arg, arg) for arg in unknown.args]
            text = f"{unknown.name}({', '.join(map(str, args))})"
            if unknown.name == "broadcast_size":
                # in any order it is one size, which has one name
                sizes: list[Polynomial | int] = sorted(dict.fromkeys(args), key=str)
                if len(sizes) == 1:
                    return sizes[0] * Polynomial.of(1)
                text = f"broadcast({', '.join(map(str, sizes))})"
        meanings.setdefault(text, set()).add(unknown)
        return Polynomial.of(text)

    found: Polynomial = mapped(size, name, known) * Polynomial.of(1)
    return found


def cost_of(outputs: Sequence[Variable]) -> Cost:
    """Return the costs of a graph.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> a, b = T.matrix("a"), T.matrix("b")
    >>> print(cost_of([T.dot(a, b)]).flops)
    2·a.shape[0]·a.shape[1]·b.shape[1]
    """
    scope = Scope()
    scope.total.become(toposort(outputs))
    return scope.total.cost()


def node_cost(node: Apply, scope: Scope) -> Cost:
    """Return the cost of one computation of a node; of a loop with all its steps."""
    if isinstance(node.op, Scan):
        return _loop_cost(node, scope)
    if not node.op.facts.counted or is_view(node):
        return FREE
    moved = sum((scope.bytes(variable) for variable in (*node.inputs, *node.outputs)), ZERO)
    return Cost(Polynomial.of(1), {}, flops_of(node, scope), moved, ZERO)


def _loop_cost(node: Apply, scope: Scope) -> Cost:
    """Return the cost of a loop: its steps, and the rows it keeps."""
    view = ScanView(node)
    steps, inside = scope.size(view.n_steps), scope.inside(view)
    inside.total.become(view.op.once(nodes_of))
    rows: Counter[Any] = Counter()
    for variable in view.op.variables:
        if isinstance(variable, State | StepOutput):
            add(rows, _rows_kept(variable, view, scope, inside, steps))
    return inside.total.cost((view.op.scan_name,), steps, Polynomial(rows))


def _rows_kept(
    variable: State | StepOutput, view: ScanView, scope: Scope, inside: Scope, steps: Polynomial
) -> Polynomial:
    """Return the bytes of the rows that a loop keeps of a result."""
    rows = steps if variable.keep.last is None else Polynomial.of(variable.keep.last)
    if isinstance(variable, StepOutput):
        return inside.bytes(variable.value) * rows
    initial = view.outer_input(variable)
    if variable.kind == "mitmot" and initial is not None:
        return scope.bytes(initial)
    row = next(iter(variable.reads.values()), next(iter(variable.writes.values())))
    return inside.bytes(row) * (rows + variable.offset)  # of the shape of those it starts from


class _Sizes(Struct, frozen=True):
    """Sizes of a node as polynomials, as declarations ask for them."""

    node: Apply
    scope: Scope

    def given(self, position: int) -> Polynomial:
        """Return the number of elements of an input."""
        return self.scope.elements(self.node.inputs[position])

    def made(self) -> Polynomial:
        """Return the number of elements of the first output."""
        return self.scope.elements(self.node.outputs[0])

    def size(self, position: int, axis: int) -> Polynomial:
        """Return the size of an input along an axis, 1 where it has none."""
        shape = self.scope.shape(self.node.inputs[position])
        return self.scope.size(shape[axis]) if shape else Polynomial.of(1)


def flops_of(node: Apply, scope: Scope) -> Polynomial:
    """Return the floating-point operations of one node."""
    rule = node.op.facts.flops
    return Polynomial.of(0) if rule is None else rule(node.op, _Sizes(node, scope))
