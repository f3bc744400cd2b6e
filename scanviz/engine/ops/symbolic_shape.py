"""Shapes as graphs: the sizes of a variable, computed from the sizes of the inputs and never from values.

Every op's one shape rule is run over symbolic dimensions: ints where sizes are known, int64 scalar variables where not.
Where an op has no rule the question stays a ``dimension`` node on its output.  Ops above this layer, such as Scan, add
rules of their own in :data:`SYMBOLIC_SHAPE_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.declaration import MeaningTable, Op
from scanviz.engine.graph.dims import Dim, Dims
from scanviz.engine.graph.nodes import Apply, Variable, build_one, tensor_type
from scanviz.engine.graph.types import BOOLEAN, INTEGERS, TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.shape import BROADCAST_SIZE, DIMENSION, AxisParameters
from scanviz.engine.ops.size_equality import surely_equal, surely_not_negative
from scanviz.engine.ops.support import constant, constant_integer

Shape = tuple[Any, ...]  # of ints and int64 scalar variables
ShapeOf = Callable[[Variable], Shape]
SYMBOLIC_SHAPE_RULES: MeaningTable[Callable[[Apply, ShapeOf], Sequence[Shape | None]]] = MeaningTable(
    "symbolic shape rule", "engine/<layer>/{family}.py"
)


def as_size(dimension: Dim) -> Variable:
    """Return a dimension as an int64 scalar variable."""
    return dimension if isinstance(dimension, Variable) else constant(dimension, "int64")


def _simplest(variable: Variable) -> Dim:
    """Return the int that a variable is known to be, or the variable."""
    known = constant_integer(variable)
    return variable if known is None else known


class SymbolicDims(Dims):
    """Arithmetic on ints and int64 scalar variables; None stays unknown."""

    __slots__ = ()

    def _pair(self, declaration: ElementwiseDeclaration, first: Dim, second: Dim) -> Dim:
        return build_one(Op(declaration), as_size(first), as_size(second))

    def add(self, first: Dim, second: Dim) -> Dim:
        """Return the sum, simplified."""
        if first is None or second is None:
            return None
        if isinstance(first, int) and isinstance(second, int):
            return first + second
        if isinstance(first, int) and first == 0:
            return second
        if isinstance(second, int) and second == 0:
            return first
        return self._pair(e.add, first, second)

    def subtract(self, first: Dim, second: Dim) -> Dim:
        """Return the difference, simplified."""
        if first is None or second is None:
            return None
        if isinstance(first, int) and isinstance(second, int):
            return first - second
        if first is second:
            return 0
        return first if isinstance(second, int) and second == 0 else self._pair(e.subtract, first, second)

    def multiply(self, first: Dim, second: Dim) -> Dim:
        """Return the product, simplified."""
        for one, other in ((first, second), (second, first)):
            if isinstance(one, int) and one in (0, 1):
                return 0 if one == 0 else other
        if first is None or second is None:
            return None
        return (
            first * second
            if isinstance(first, int) and isinstance(second, int)
            else self._pair(e.multiply, first, second)
        )

    def floor_divide(self, first: Dim, second: Dim) -> Dim:
        """Return the quotient rounded down, simplified."""
        if first is None or second is None or (isinstance(second, int) and second == 0):
            return None
        if isinstance(first, int) and isinstance(second, int):
            return first // second
        return first if isinstance(second, int) and second == 1 else self._pair(e.floor_divide, first, second)

    def maximum(self, first: Dim, second: Dim) -> Dim:
        """Return the larger."""
        if first is None or second is None:
            return None
        if isinstance(first, int) and isinstance(second, int):
            return max(first, second)
        for one, other in ((first, second), (second, first)):
            if isinstance(one, int) and one <= 0 and surely_not_negative(other):
                return other
        return first if first is second else self._pair(e.maximum, first, second)

    def minimum(self, first: Dim, second: Dim) -> Dim:
        """Return the smaller."""
        if first is None or second is None:
            return None
        if isinstance(first, int) and isinstance(second, int):
            return min(first, second)
        return first if first is second else self._pair(e.minimum, first, second)

    def same(self, first: Dim, second: Dim) -> Dim:
        """Return the one that is an int, if either is."""
        if first is None:
            return second
        if isinstance(second, int) or isinstance(first, int):
            return (
                super().same(first, second)
                if isinstance(first, int) and isinstance(second, int)
                else self._known(first, second)
            )
        return first

    def _known(self, first: Dim, second: Dim) -> Dim:
        return second if isinstance(second, int) else first

    def broadcast_dimension(self, sizes: Sequence[Dim]) -> Dim:
        """Return the size that dimensions broadcast to, as a graph where it must be."""
        ints = [size for size in sizes if isinstance(size, int)]
        large = [size for size in ints if size != 1]
        if large:
            return super().broadcast_dimension(ints)
        symbols = list(dict.fromkeys(size for size in sizes if isinstance(size, Variable)))
        if any(size is None for size in sizes):
            return None
        if not symbols:
            return 1
        terms = list(dict.fromkeys(each for symbol in symbols for each in _broadcast_terms(symbol)))
        return terms[0] if len(terms) == 1 else build_one(Op(BROADCAST_SIZE), *terms)

    def choose(self, condition: Dim, first: Dim, second: Dim) -> Dim:
        """Return the dimension that a condition chooses, as a graph where the two may differ."""
        if first is second or not isinstance(condition, Variable) or first is None or second is None:
            return super().choose(None if isinstance(condition, Variable) else condition, first, second)
        if surely_equal(first, second):
            return first
        return e.where(
            build_one(Op(e.not_equal), condition, constant(0, "int64")), as_size(first), as_size(second)
        )

    def fill_in(self, wanted: Sequence[Dim], total: Dim) -> tuple[Dim, ...]:
        """Return sizes with the one that is -1 replaced, looking for it at run time where sizes are inputs."""
        doubtful = [size for size in wanted if isinstance(size, Variable) and _may_be_negative(size)]
        if not doubtful or any(isinstance(size, int) and size == -1 for size in wanted):
            return super().fill_in(wanted, total)
        rest = self.subtract(0, self.product(wanted))  # of the others, if one is -1
        missing = self.floor_divide(total, rest)
        minus_one = constant(-1, "int64")
        return tuple(
            e.where(build_one(Op(e.equal), size, minus_one), as_size(missing), size)
            if missing is not None and any(size is each for each in doubtful)
            else size
            for size in wanted
        )

    def slice_length(self, size: Dim, start: Dim, stop: Dim, step: Dim, given: tuple[bool, bool]) -> Dim:
        """Return how many elements a slice picks, as a graph where it must be."""
        if step is None or size is None or (given[0] and start is None) or (given[1] and stop is None):
            return None
        if all(not isinstance(each, Variable) for each in (size, start, stop, step)):
            return super().slice_length(size, start, stop, step, given)
        bounds = (size, start if given[0] else None, stop if given[1] else None)
        if isinstance(step, int):
            return self._upward(*bounds, step) if step > 0 else self._downward(*bounds, -step)
        rises = build_one(Op(e.greater), step, constant(0, "int64"))  # a step of 0 is refused where it is run
        up = self._upward(*bounds, self.maximum(step, 1))
        down = self._downward(*bounds, self.maximum(self.subtract(0, step), 1))
        return e.where(rises, as_size(up), as_size(down))

    def _upward(self, size: Dim, start: Dim, stop: Dim, stride: Dim) -> Dim:
        last = size if stop is None else self._clamped(stop, size, 0, size)
        if start is None or (isinstance(start, int) and start == 0):
            return self._strides(last, stride)
        plain = stop is None and isinstance(start, int) and start > 0  # beyond the end the span is negative
        first = start if plain else self._clamped(start, size, 0, size)
        return self.maximum(self._strides(self.subtract(last, first), stride), 0)

    def _downward(self, size: Dim, start: Dim, stop: Dim, stride: Dim) -> Dim:
        top = self.subtract(size, 1)
        first = top if start is None else self._clamped(start, size, -1, top)
        if stop is None:
            return self._strides(size if start is None else self.add(first, 1), stride)
        last = self._clamped(stop, size, -1, top)
        return self.maximum(self._strides(self.subtract(first, last), stride), 0)

    def _strides(self, span: Dim, stride: Dim) -> Dim:
        """Return how many strides begin within a span; 0 or less for a negative one."""
        return self.floor_divide(self.add(span, self.subtract(stride, 1)), stride)

    def _clamped(self, bound: Dim, size: Dim, low: Dim, high: Dim) -> Dim:
        """Return a slice bound counted from the start and limited to where a slice of this direction may end."""
        if isinstance(bound, int):
            if bound < 0:
                return self.maximum(self.add(size, bound), low)
            return 0 if bound == 0 and low == 0 else self.minimum(bound, high)
        negative = build_one(Op(e.less), bound, constant(0, "int64"))
        place = e.where(negative, as_size(self.add(bound, size)), bound)
        return self.minimum(self.maximum(place, low), high)


def _broadcast_terms(size: Variable) -> Sequence[Variable]:
    """Return the sizes that a size is the broadcast of: itself, if it is no such thing."""
    node = size.owner
    return node.inputs if node is not None and node.op.declaration is BROADCAST_SIZE else (size,)


def _may_be_negative(size: Variable) -> bool:
    """Return whether a number is not made of sizes alone, by sums and products."""
    if size.owner is None:
        known = constant_integer(size)
        return known is None or known < 0
    sign = size.owner.op.facts.sign
    return sign == "any" or (sign == "kept" and any(_may_be_negative(each) for each in size.owner.inputs))


def shape_of(variable: Variable, known: dict[Variable, Shape] | None = None) -> Shape:
    """Return the sizes of a variable as ints and int64 scalar variables that need none of its values.

    Parameters
    ----------
    variable : Variable
        A tensor.
    known : dict, optional
        Shapes found so far, shared between calls.
    """
    memory = {} if known is None else known
    stack = [variable]
    while stack:
        each = stack[-1]
        if each in memory:
            stack.pop()
            continue
        waiting = [given for given in _needed(each) if given not in memory]
        if waiting:
            stack.extend(waiting)
            continue
        memory[each] = _own_shape(each, memory)
        stack.pop()
    return memory[variable]


def _needed(variable: Variable) -> list[Variable]:
    node = variable.owner
    if not isinstance(variable.type, TensorType) or None not in variable.type.shape or node is None:
        return []
    return [each for each in node.inputs if isinstance(each.type, TensorType)]


def _own_shape(variable: Variable, memory: dict[Variable, Shape]) -> Shape:
    kind = variable.type
    if not isinstance(kind, TensorType):
        return ()
    found = _by_rule(variable, memory) if None in kind.shape else None
    return _completed(variable, found)


def _completed(variable: Variable, found: Shape | None) -> Shape:
    """Return the sizes of a variable: those of its type, then those a rule found, then questions to the variable."""
    kind = variable.type
    if not isinstance(kind, TensorType):
        return ()
    sizes: list[Dim] = []
    for axis, size in enumerate(kind.shape):
        inferred = found[axis] if found is not None else None
        if size is not None:
            sizes.append(size)
        elif inferred is None:
            sizes.append(build_one(Op(DIMENSION, AxisParameters(axis)), variable))
        else:
            sizes.append(_simplest(inferred) if isinstance(inferred, Variable) else inferred)
    return tuple(sizes)


def _by_rule(variable: Variable, memory: dict[Variable, Shape]) -> Shape | None:
    node = variable.owner
    if node is None:
        return None
    special = SYMBOLIC_SHAPE_RULES.get(node.op.declaration)
    if special is not None:
        every = special(node, lambda each: shape_of(each, memory))
        for output, found in zip(node.outputs, every, strict=True):  # all at once: a loop has many
            if output is not variable:
                memory.setdefault(output, _completed(output, found))
        return every[variable.index]
    rule = node.op.declaration.shapes
    if rule is None:
        return None
    shapes = [memory[each] if isinstance(each.type, TensorType) else () for each in node.inputs]
    try:
        found = rule(node.op, SymbolicDims(shapes, lambda k: _value(node.inputs[k])))[variable.index]
    except ScanvizError:
        return None  # sizes that contradict one another are reported where the values are computed
    return found if len(found) == tensor_type(variable).ndim else None


def _value(variable: Variable) -> Dim:
    from scanviz.engine.ops.elementwise import cast

    known = constant_integer(variable)
    if known is not None:
        return known
    kind = variable.type
    whole = isinstance(kind, TensorType) and kind.ndim == 0 and kind.dtype in (BOOLEAN, *INTEGERS)
    return cast(variable, "int64") if whole else None
