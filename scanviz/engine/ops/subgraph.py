"""Named subgraphs: a graph as one operation with a name, and perhaps with a derivative of its own.

A node whose op is a :class:`Subgraph` stands in graphs and pictures by its name.  The first rewrite puts its operations in place,
recorded as any rewrite; where that is left out, lowering does it.  So no tier knows of subgraphs, and a gradient by a rule of the
user's own is all that a subgraph changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from scanviz.engine.errors import InternalError, ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.declaration import Declaration, GraphPart, Held, Op
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Apply, Array, Constant, Variable, build, describe
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import free_leaves, toposort
from scanviz.engine.graph.types import TensorType, Type, fits
from scanviz.engine.ops.support import as_value

# (inputs, outputs, cotangents) → a derivative for each input, None for zero
Pullback = Callable[[list[Variable], list[Variable], list[Variable]], Sequence[Any]]


class SubgraphParameters(NamedTuple):
    """The name, how many inputs and outputs there are, and how many of the inputs were not captured."""

    title: str
    inputs: int
    outputs: int
    own: int

    def __str__(self) -> str:
        return f"{{{self.title}}}"


class Subgraph(Op):
    """A graph as an operation.

    Attributes
    ----------
    inputs, results : tuple of Variable
        The graph: its own inputs, those that it captured last, and what it gives.
    pullback : callable or None
        The user's rule for its derivative, None for that of its operations.
    """

    __slots__ = ("inputs", "pullback", "results")
    inputs: tuple[Variable, ...]
    results: tuple[Variable, ...]
    pullback: Pullback | None

    def __init__(
        self,
        title: str,
        inputs: Sequence[Variable],
        results: Sequence[Variable],
        own: int,
        pullback: Pullback | None,
    ) -> None:
        super().__init__(SUBGRAPH, SubgraphParameters(title, len(inputs), len(results), own))
        object.__setattr__(self, "inputs", tuple(inputs))
        object.__setattr__(self, "results", tuple(results))
        object.__setattr__(self, "pullback", pullback)

    def subgraphs(self) -> Sequence[tuple[Sequence[Variable], Sequence[Variable]]]:
        """Return its graph."""
        return ((self.inputs, self.results),)

    def held(self) -> Held:
        """Return its graph as a part, which ops that share it share."""
        about = (self.parameters.title, self.inputs, self.parameters.own, self.pullback)
        return Held(_restore, None, [GraphPart(self.results, _part, about, self.results)])

    def at(self, inputs: Sequence[Variable]) -> list[Variable]:
        """Return its results over other inputs."""
        return replace(self.results, dict(zip(self.inputs, inputs, strict=True)), check=False)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Subgraph) or self.parameters != other.parameters:
            return False
        if self.pullback is not other.pullback:
            return False
        return structurally_equal(
            self.results, other.results, dict(zip(self.inputs, other.inputs, strict=True))
        )

    __hash__ = Op.__hash__

    def __str__(self) -> str:
        return str(self.parameters.title)

    def __reduce__(self) -> tuple[object, ...]:
        from scanviz.engine.graph.flatten import reduce_op  # for pickles alone

        return reduce_op(self)


def _part(about: Any, results: Sequence[Variable]) -> object:
    return (*about, tuple(results))


def _restore(about: Any, parts: Sequence[Any], node_ids: Sequence[int]) -> Op:
    title, inputs, own, pullback, results = parts[0]
    return Subgraph(title, inputs, results, own, pullback)


def _subgraph(op: Op) -> Subgraph:
    if not isinstance(op, Subgraph):  # an operation of this name that was read from a file
        raise InternalError(f"{op.name} has no graph")
    return op


def _infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    own = _subgraph(op)
    for mine, given in zip(own.inputs, inputs, strict=True):
        if not fits(given.type, mine.type):
            raise ScanvizTypeError.here(
                f"`{describe(given)}` does not fit input `{describe(mine)}` of {op}",
                expected=mine.type,
                found=given.type,
            )
    return [variable.type for variable in own.at(inputs)]


def _perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    own = _subgraph(op)
    found: Sequence[Array] = evaluate(own.results, dict(zip(own.inputs, values, strict=True)))
    return found


SUBGRAPH = Declaration(
    "subgraph",
    "subgraph",
    arity=lambda op: op.parameters.inputs,
    doc="A graph under a name, as one operation until a function is built.",
    infer=_infer,
    perform=_perform,
)


def in_place(node: Apply) -> dict[Variable, Variable]:
    """Return the results of a subgraph's node with what its operations give in their place; it keeps their names."""
    results = _subgraph(node.op).at(node.inputs)
    for k, (old, new) in enumerate(zip(node.outputs, results, strict=True)):
        if new.owner is not None and new.name is None:
            new.name = old.name or (str(node.op) if len(results) == 1 else f"{node.op}.{k}")
    return dict(zip(node.outputs, results, strict=True))


def without_subgraphs(outputs: Sequence[Variable]) -> list[Variable]:
    """Return a graph with the operations of its subgraphs in their place; those inside of others too."""
    found = list(outputs)
    while nodes := [node for node in toposort(found) if isinstance(node.op, Subgraph)]:
        found = replace(found, in_place(nodes[0]), check=False)
    return found


def named_subgraph(
    inputs: Sequence[Variable] | Variable,
    outputs: Sequence[Variable] | Variable,
    name: str,
    pullback: Pullback | None = None,
) -> Callable[..., Any]:
    """Return a function that applies a graph to variables, as one operation with a name.

    Graphs and pictures show the name.  Functions compute the graph's operations: the rewrite ``inline_subgraphs`` puts them in its
    place, and what they give has its name in reports.  A graph may be applied as often as wanted.

    Parameters
    ----------
    inputs : Variable or list of Variable
        Inputs of the graph; nothing computes them.
    outputs : Variable or list of Variable
        Outputs of the graph: a list for several.  Other variables that it reads are captured as they are.
    name : str
        The name.
    pullback : callable, optional
        Its derivative instead of that of its operations: ``pullback(inputs, outputs, cotangents)``, with a list of variables for
        each, gives a list with one derivative for each of ``inputs``, or None for zero.

    Returns
    -------
    callable
        Takes a variable, number or array for each input and returns a variable, or a list of them.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError
        If these make no graph; when called, if arguments do not fit.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> swish = scanviz.named_subgraph(x, x * T.nnet.sigmoid(x), "swish")
    >>> y = T.vector("y")
    >>> scanviz.dprint(swish(y))
    swish [A]
      └─ y
    >>> swish(y).eval({y: [0.0]})
    array([0.])
    """
    own = [inputs] if isinstance(inputs, Variable) else list(inputs)
    single = isinstance(outputs, Variable)
    results = [outputs] if isinstance(outputs, Variable) else list(outputs)
    _check(own, results, name, pullback)
    captured = free_leaves(results, own)
    op = Subgraph(name, [*own, *captured], results, len(own), pullback)

    def apply(*arguments: Any) -> Any:
        if len(arguments) != len(own):
            raise ScanvizTypeError.here(
                f"{name} takes a different number of arguments",
                expected=", ".join(f"`{describe(variable)}`" for variable in own),
                found=f"{len(arguments)} arguments",
            )
        given = [_argument(mine, argument) for mine, argument in zip(own, arguments, strict=True)]
        made = build(op, [*given, *captured], [result.name for result in results])
        return made[0] if single else list(made)

    return apply


def _argument(mine: Variable, given: Any) -> Variable:
    kind = mine.type
    numbers = not isinstance(given, Variable) and isinstance(kind, TensorType)
    return as_value(given, kind.dtype if isinstance(kind, TensorType) and numbers else None)


def _check(own: Sequence[Any], results: Sequence[Any], name: Any, pullback: Any) -> None:
    """Raise if the arguments make no graph."""
    if not isinstance(name, str) or not name:
        raise ScanvizTypeError.here("a named subgraph needs a name", found=repr(name))
    for variable in (*own, *results):
        if not isinstance(variable, Variable):
            raise ScanvizTypeError.here(f"{name}: inputs and outputs must be variables", found=repr(variable))
    for variable in own:
        if variable.owner is not None or isinstance(variable, Constant):
            raise ScanvizValueError.here(
                f"{name}: `{describe(variable)}` cannot be an input",
                expected="a variable that nothing computes",
                fix="T.vector(name), and the graph built of that",
            )
    if len(set(own)) < len(own) or not results:
        raise ScanvizValueError.here(f"{name}: inputs must be distinct, and there must be an output")
    if pullback is not None and not callable(pullback):
        raise ScanvizTypeError.here(
            f"{name}: pullback must be a function",
            expected="pullback(inputs, outputs, cotangents)",
            found=repr(pullback),
        )
