"""Costs of a graph: operations, floating-point operations, bytes moved and bytes of rows kept, as far as sizes are known.

Sizes that are known only when a function runs stay symbols, named in the user's words (``x.shape[0]``), so a cost is a
polynomial in them.  Two graphs of one function name them alike, so their costs can be compared.  A loop's step counts as often
as the loop takes steps, with ``until`` as often as it may.

Counts are those of the declarations (:mod:`scanviz.engine.cost`), a view has none.  A sum is kept as terms of polynomials: what the
nodes of one graph cost becomes what those of the next cost by the nodes that changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply, Variable, describe, is_floating, is_integer_scalar
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.sizes import size_of
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.loops.loop_facts import is_view
from scanviz.engine.scan.loop import Scan, ScanView, nodes_of
from scanviz.engine.scan.shapes import inner_sizes, size_outside
from scanviz.engine.scan.variables import State, StepOutput
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

    @property
    def polynomials(self) -> tuple[Polynomial, Polynomial, Polynomial, Polynomial]:
        """All of it, without single steps."""
        return self.operations, self.flops, self.bytes_moved, self.buffer_bytes

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


class Scope:
    """A graph, or the step of a loop: how a size in it is written in sizes of the function's inputs."""

    def __init__(self, view: ScanView | None = None, parent: Scope | None = None) -> None:
        self.view, self.parent = view, parent
        # sizes of a variable in sizes of its own graph are the same whatever is around, so all scopes share them
        self.memory: dict[Variable, Any] = {} if parent is None else parent.memory
        # what named sizes stand for, all of it: two inputs of one name have one name for their sizes
        self.meanings: Meanings = {} if parent is None else parent.meanings
        self._known: dict[Any, Polynomial] = {}
        self._elements: dict[Variable, Polynomial] = {}
        self._own: dict[Apply, Cost] = {}
        self._loops: dict[Any, Cost] = {}  # by operation and sizes of inputs: most loops are only rebuilt
        self.sizes = {} if view is None or parent is None else inner_sizes(view, parent.shape)

    def total(self, nodes: Sequence[Apply]) -> Cost:
        """Return the sum of costs of nodes that are computed equally often."""
        sums: list[dict[Any, Any]] = [{}, {}, {}, {}]
        steps: dict[Path, StepCost] = {}  # of several loops of one name all together
        for cost in map(self.cost, nodes):
            for whole, part in zip(sums, cost.polynomials, strict=True):
                add(whole, part)
            for path, step in cost.steps.items():
                known = steps.get(path, _NO_STEP)
                steps[path] = StepCost(
                    known.operations + step.operations,
                    known.flops + step.flops,
                    known.bytes_moved + step.bytes_moved,
                )
        operations, flops, moved, kept = map(Polynomial, sums)
        return Cost(operations, steps, flops, moved, kept)

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
        if found is None and isinstance(node.op, Scan):
            key = id(node.op), *map(self._sizes_of, node.inputs)
            found = self._loops.get(key)
            if found is None:
                found = self._loops[key] = node_cost(node, self)
        elif found is None:
            found = node_cost(node, self)
        self._own[node] = found
        return found

    def _sizes_of(self, variable: Variable) -> Any:
        """Return what the cost of a loop depends on of an input: sizes of floats, and the values of sizes."""
        if is_integer_scalar(variable):
            return size_of(variable)
        return (variable.type, self.shape(variable)) if is_floating(variable) else variable

    def bytes(self, variable: Variable) -> Polynomial:
        """Return the bytes of a variable."""
        item = variable.type.itemsize if isinstance(variable.type, TensorType) else 24
        return self.elements(variable) * item


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
    return Scope().total(toposort(outputs))


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
    steps, inside, nodes = scope.size(view.n_steps), Scope(view, scope), view.op.once(nodes_of)
    once = inside.total(nodes)
    rows: dict[Any, Any] = {}
    add(rows, once.buffer_bytes)
    for variable in view.op.variables:
        if isinstance(variable, State | StepOutput):
            add(rows, _rows_kept(variable, view, scope, inside, steps))
    name = view.op.scan_name
    single = sum(cost is not FREE and not cost.steps for cost in map(inside.cost, nodes))
    own = {(name,): StepCost(single, once.flops, once.bytes_moved)}
    further = {(name, *path): step for path, step in once.steps.items()}
    return Cost(
        once.operations * steps, own | further, once.flops * steps, once.bytes_moved * steps, Polynomial(rows)
    )


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
