"""What a graph costs: operations, floating-point operations, bytes moved and bytes of rows kept, as far as sizes are known.

Sizes that are known only when a function runs stay symbols, named in the user's words (``x.shape[0]``), so a cost is a
polynomial in them; two graphs of one function name them alike, and their costs can be compared.  A loop's step counts as
often as the loop takes steps, with ``until`` as often as it may.

Counts are those of the declarations (:mod:`scanviz.engine.ops.flops`), a view has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from scanviz.engine.graph.dims import Dim
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.polynomial import Polynomial
from scanviz.engine.graph.sizes import Call, Unknown, inside_out
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.sizes import size_of
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.profitability import is_view
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.shapes import inner_sizes, size_outside
from scanviz.engine.scan.variables import State, StepOutput


@dataclass(frozen=True, slots=True)
class Cost:
    """What a graph costs.

    Attributes
    ----------
    operations : Polynomial
        Operations run, those of a step as often as there are steps.
    operations_per_step : dict
        Loop (names from the outermost) → operations of one step.
    flops : Polynomial
        Floating-point operations.
    bytes_moved : Polynomial
        Bytes read and written by operations that are no views.
    buffer_bytes : Polynomial
        Bytes of the rows that loops keep.
    """

    operations: Polynomial
    operations_per_step: Mapping[tuple[str, ...], int]
    flops: Polynomial
    bytes_moved: Polynomial
    buffer_bytes: Polynomial


class _Asked(NamedTuple):
    """What was asked of a scope to find what a node costs, with the answers."""

    sizes: dict[Any, Polynomial]
    elements: dict[Variable, Polynomial]


class Scope:
    """A graph, or the step of a loop: how a size in it is written in sizes of the function's inputs."""

    def __init__(self, view: ScanView | None = None, parent: Scope | None = None) -> None:
        self.view, self.parent = view, parent
        # Sizes of a variable in sizes of its own graph are the same whatever is around, so all scopes share them; costs of
        # nodes hold wherever what was asked to find them is answered alike.
        self.memory: dict[Variable, Any] = {} if parent is None else parent.memory
        self._costs: dict[Apply, tuple[_Asked, Cost]] = {} if parent is None else parent._costs
        self._asked: _Asked | None = None
        self._known: dict[Any, Polynomial] = {}
        self._elements: dict[Variable, Polynomial] = {}
        self.sizes = {} if view is None or parent is None else inner_sizes(view, parent.shape)

    def shape(self, variable: Variable) -> tuple[Any, ...]:
        """Return the sizes of a variable, in sizes of this graph."""
        return shape_of(variable, self.memory)

    def size(self, size: Any) -> Polynomial:
        """Return a size as a polynomial in named sizes."""
        found = self._known.get(size)
        if found is None:
            found = self._known[size] = self._named(size_of(size))
        if self._asked is not None:
            self._asked.sizes[size] = found
        return found

    def _named(self, size: Dim) -> Polynomial:
        if not isinstance(size, Polynomial):
            return Polynomial.of(size)
        if self.view is None or self.parent is None:
            return _named(size)
        outside = size_outside(size, self.view, self.sizes)
        return (
            Polynomial.of(f"a size in {self.view.op.scan_name}")
            if outside is None
            else self.parent.size(outside)
        )

    def elements(self, variable: Variable) -> Polynomial:
        """Return the number of elements of a variable."""
        known = self._elements.get(variable)
        if known is None:
            known = Polynomial.of(1)
            for each in self.shape(variable) if isinstance(variable.type, TensorType) else ():
                known = known * self.size(each)
            self._elements[variable] = known
        if self._asked is not None:
            self._asked.elements[variable] = known
        return known

    def cost(self, node: Apply) -> Cost:
        """Return what a node costs, which is found once for all graphs in which its sizes are the same."""
        known = self._costs.get(node)
        if known is not None and self._answers(known[0]):
            return known[1]
        asked = self._asked = _Asked({}, {})
        try:
            found = node_cost(node, self)
        finally:
            self._asked = None
        self._costs[node] = (asked, found)
        return found

    def _answers(self, asked: _Asked) -> bool:
        return all(self.size(each) == known for each, known in asked.sizes.items()) and all(
            self.elements(variable) == known for variable, known in asked.elements.items()
        )

    def bytes(self, variable: Variable) -> Polynomial:
        """Return the bytes of a variable."""
        item = variable.type.itemsize if isinstance(variable.type, TensorType) else 24
        return self.elements(variable) * item


def _named(size: Polynomial) -> Polynomial:
    """Return a size in names of sizes of inputs; what is no sum or product of them has a name of its own."""
    known: dict[Polynomial, Polynomial] = {}

    def name(unknown: Unknown | Call) -> Polynomial:
        if isinstance(unknown, Unknown):
            source = describe(unknown.source)
            return Polynomial.of(source if unknown.axis is None else f"{source}.shape[{unknown.axis}]")
        args = [known.get(arg, arg) for arg in unknown.args]
        if unknown.name != "broadcast_size":
            return Polynomial.of(f"{unknown.name}({', '.join(map(str, args))})")
        sizes = sorted(dict.fromkeys(args), key=str)  # in any order it is one size, which has one name
        return sizes[0] if len(sizes) == 1 else Polynomial.of(f"broadcast({', '.join(map(str, sizes))})")

    for polynomial in inside_out(size, known.__contains__):
        known[polynomial] = polynomial.replaced(name)
    return known[size]


def cost_of(outputs: Sequence[Variable]) -> Cost:
    """Return what a graph costs.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> a, b = T.matrix("a"), T.matrix("b")
    >>> print(cost_of([T.dot(a, b)]).flops)
    2·a.shape[0]·a.shape[1]·b.shape[1]
    """
    scope, total = Scope(), _Total()
    for node in toposort(outputs):
        total.add(scope.cost(node))
    return total.cost(1)


def node_cost(node: Apply, scope: Scope) -> Cost:
    """Return what one node costs each time it is computed; a loop with all of its steps."""
    if isinstance(node.op, Scan):
        return _loop_cost(node, scope)
    if not node.op.facts.counted or is_view(node):
        return FREE
    moved = sum((scope.bytes(variable) for variable in (*node.inputs, *node.outputs)), _ZERO)
    return Cost(Polynomial.of(1), {}, flops_of(node, scope), moved, _ZERO)


def _loop_cost(node: Apply, scope: Scope) -> Cost:
    """Return what a loop costs: its steps, and the rows it keeps."""
    view = ScanView(node)
    total = _Total((view.op.scan_name,))
    steps, inside = scope.size(view.n_steps), Scope(view, scope)
    for inner in toposort(view.op.inner_outputs):
        total.add(inside.cost(inner))
    for variable in view.op.variables:
        if isinstance(variable, State | StepOutput):
            total.keep(_rows_kept(variable, view, scope, inside, steps))
    return total.cost(steps)


_ZERO = Polynomial.of(0)
FREE = Cost(_ZERO, {}, _ZERO, _ZERO, _ZERO)


class _Total:
    """Costs of nodes that are computed as often as one another, as they are added up.

    Parameters
    ----------
    path : tuple of str
        The loop whose step they are in, if they are in one.
    """

    def __init__(self, path: tuple[str, ...] = ()) -> None:
        self._path = path
        self._per_step = {path: 0} if path else {}
        self._operations: Counter[Any] = Counter()
        self._flops: Counter[Any] = Counter()
        self._moved: Counter[Any] = Counter()
        self._kept: Counter[Any] = Counter()

    def add(self, cost: Cost) -> None:
        """Add a node."""
        if cost is FREE:
            return
        self._operations.update(cost.operations.terms)
        self._flops.update(cost.flops.terms)
        self._moved.update(cost.bytes_moved.terms)
        self._kept.update(cost.buffer_bytes.terms)
        if self._path and not cost.operations_per_step:  # no loop
            self._per_step[self._path] += 1
        for path, count in cost.operations_per_step.items():
            within = self._path + path
            self._per_step[within] = self._per_step.get(within, 0) + count

    def keep(self, rows: Polynomial) -> None:
        """Add bytes of rows, which are kept once however often they are written."""
        self._kept.update(rows.terms)

    def cost(self, times: Polynomial | int) -> Cost:
        """Return the costs of so many times what was added."""
        found = [Polynomial(counter) * times for counter in (self._operations, self._flops, self._moved)]
        return Cost(found[0], self._per_step, found[1], found[2], Polynomial(self._kept))


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


@dataclass(frozen=True, slots=True)
class _Sizes:
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
