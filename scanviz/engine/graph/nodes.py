"""Variables, Applies and Ops: the nodes of a graph, immutable once built.

A :class:`Variable` is a value to come; an :class:`Apply` is an operation bound to its inputs, with output variables of
its own.  Nodes compare and hash by identity.  A rewrite never edits a node: it builds new ones, and the graph before
stays.  Only a variable's ``name`` may be set later; it is no part of the structure.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import numpy as np

from scanviz.engine.display import Shown
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.provenance import Provenance, current, holding
from scanviz.engine.graph.syntax import Syntax
from scanviz.engine.graph.types import FLOATS, TensorType, Type

Array = np.ndarray[Any, Any]
_node_ids = itertools.count(1)
_own_node_ids: ContextVar[RunState | None] = ContextVar("own_node_ids", default=None)
_runs = itertools.count(1)
NODE_IDS_OF_A_RUN = 1 << 24

# how pickle rebuilds what is computed: filled by a layer above, which imports what walks graphs for it
REDUCE: list[Callable[[Variable], tuple[Any, ...]]] = []


def next_node_id() -> int:
    """Return a node id that no node has: nodes built before it have smaller ones, nodes built after it larger."""
    own = _own_node_ids.get()
    if own is None:
        return next(_node_ids)
    own.next_id = (node_id := own.next_id) + 1
    return node_id


class RunState:
    """Progress of a run of rewrites: its next node id, and its cache."""

    __slots__ = ("found", "next_id")

    def __init__(self, next_id: int, found: dict[Any, Any]) -> None:
        self.next_id, self.found = next_id, found


def next_run() -> int:
    """Return the number of a new run of rewrites, for :func:`node_ids_of`."""
    return next(_runs)


def node_ids_of(run: int) -> AbstractContextManager[object]:
    """Take node ids from the run's own counter in the block, so that a repeated run gives the same ids.

    They are negative, so less than all others: what a rewrite made counts as built before anything a user builds on it.
    """
    return holding(_own_node_ids, RunState(-run * NODE_IDS_OF_A_RUN, {}))


def found_in_run() -> dict[Any, Any] | None:
    """Return the cache of the current run of rewrites, None outside a run.

    Nodes that one run builds must not get into another one: it would build others when it is done again.
    """
    own = _own_node_ids.get()
    return None if own is None else own.found


class Variable(Syntax, Shown):
    """A symbolic value: an input of a graph, or an output of an Apply.

    Attributes
    ----------
    type : TensorType or RandomStateType
        Type of the value.
    owner : Apply or None
        The Apply that computes it; None for inputs, constants and shared variables.
    index : int
        Its position among the outputs of ``owner``.
    name : str or None
        The user's name for it; may be set at any time.
    """

    __slots__ = ("__weakref__", "index", "name", "owner", "type")
    type: Type
    owner: Apply | None
    index: int
    name: str | None

    def __init__(
        self, type: Type, name: str | None = None, owner: Apply | None = None, index: int = 0
    ) -> None:
        put = object.__setattr__
        put(self, "type", type)
        put(self, "name", name)
        put(self, "owner", owner)
        put(self, "index", index)

    def __setattr__(self, attribute: str, value: object) -> None:
        if attribute != "name":
            from scanviz.engine.graph.refusals import not_settable

            raise not_settable(self, attribute)
        object.__setattr__(self, attribute, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Variable, (self.type, self.name)) if self.owner is None else REDUCE[-1](self)

    def __repr__(self) -> str:
        return f"<{describe(self)}: {self.type}>"

    def __str__(self) -> str:
        return describe(self)


class Constant(Variable):
    """A value known when building.

    Attributes
    ----------
    value : numpy.ndarray
        The value, read-only.
    weak : int, float or None
        The Python number it was written as, which would take another dtype beside another operand.
    """

    __slots__ = ("value", "weak")
    value: Array
    weak: int | float | None

    def __init__(
        self, type: Type, value: Array, name: str | None = None, weak: int | float | None = None
    ) -> None:
        super().__init__(type, name)
        object.__setattr__(self, "weak", weak)
        value = np.array(value)  # a copy: a constant does not change when the user's array does
        value.flags.writeable = False
        object.__setattr__(self, "value", value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Constant, (self.type, self.value, self.name, self.weak))


class Apply:
    """An operation bound to its inputs.

    Attributes
    ----------
    op : Op
        The operation with its parameters.
    inputs, outputs : tuple[Variable, ...]
        Its inputs and outputs; the outputs belong to this Apply alone.
    provenance : Provenance
        Its origin.
    node_id : int
        Node id: kept when the node is only rebuilt because something below it changed.
    makers : tuple of Apply
        The Applies of its inputs, the last input first, as walks put them on a stack.
    inferred : bool
        Whether the types of its outputs are what its op inferred, so that nothing about them is left to check.
    """

    __slots__ = ("__weakref__", "inferred", "inputs", "makers", "node_id", "op", "outputs", "provenance")
    op: Op
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    provenance: Provenance
    node_id: int
    makers: tuple[Apply, ...]
    inferred: bool

    def __init__(
        self,
        op: Op,
        inputs: Sequence[Variable],
        types: Sequence[Type] | None = None,
        provenance: Provenance | None = None,
        node_id: int | None = None,
        names: Sequence[str | None] = (),
    ) -> None:
        put = object.__setattr__
        put(self, "inferred", types is None)
        if types is None:
            types = op.infer(inputs)
        put(self, "op", op)
        put(self, "inputs", tuple(inputs))
        makers = []
        for variable in inputs:
            if variable.owner is not None:
                makers.append(variable.owner)
        put(self, "makers", tuple(makers[::-1]))
        put(self, "provenance", provenance if provenance is not None else current())
        put(self, "node_id", next_node_id() if node_id is None else node_id)
        if len(types) == 1:  # by far the most
            put(self, "outputs", (Variable(types[0], names[0] if names else None, self),))
        else:
            labels = names or (None,) * len(types)
            put(self, "outputs", tuple([Variable(kind, labels[k], self, k) for k, kind in enumerate(types)]))

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"graphs are immutable: build a new Apply instead of setting `{attribute}`")

    def __repr__(self) -> str:
        return f"<{self.op}({', '.join(describe(variable) for variable in self.inputs)})>"


def build(op: Op, inputs: Sequence[Variable], names: Sequence[str | None] = ()) -> tuple[Variable, ...]:
    """Apply an operation to inputs and return the new outputs.

    Raises
    ------
    ScanvizError
        If the operation does not take inputs of these types; the message names them.
    """
    return Apply(op, inputs, names=names).outputs


def build_one(op: Op, *inputs: Variable, name: str | None = None) -> Variable:
    """Apply an operation that has one output and return it."""
    return build(op, inputs, (name,) if name else ())[0]


def rebuild(node: Apply, inputs: Sequence[Variable], op: Op | None = None) -> Apply:
    """Return the same node with other inputs: provenance, node id and names kept, types inferred anew."""
    new_op = op or node.op
    types = _same_types(node, inputs, new_op)
    outputs = node.outputs
    names = (outputs[0].name,) if len(outputs) == 1 else [output.name for output in outputs]
    fresh = Apply(new_op, inputs, types, node.provenance, node.node_id, names)
    if types is not None:
        object.__setattr__(fresh, "inferred", node.inferred)
    return fresh


def _same_types(node: Apply, inputs: Sequence[Variable], op: Op) -> Sequence[Type] | None:
    """Return the types of a node's outputs if its new inputs leave them unchanged.

    Rules of types look at the types of inputs and at numbers known when building, and at nothing else.
    """
    if op is not node.op:
        return None
    for new, old in zip(inputs, node.inputs, strict=True):
        if new is old:
            continue
        if new.type is not old.type and new.type != old.type:
            return None
        if (new.owner is None and isinstance(new, Constant)) or (
            old.owner is None and isinstance(old, Constant)
        ):
            return None
    outputs = node.outputs
    return (outputs[0].type,) if len(outputs) == 1 else [output.type for output in outputs]


def tensor_type(variable: Variable) -> TensorType:
    """Return the type of a variable that the caller knows to be a tensor."""
    kind = variable.type
    if not isinstance(kind, TensorType):
        from scanviz.engine.graph.refusals import no_tensor  # of an error

        raise no_tensor(variable)
    return kind


def rank(variable: Variable) -> int:
    """Return the number of dimensions of a variable that the caller knows to be a tensor."""
    return tensor_type(variable).ndim


def is_floating(variable: Variable) -> bool:
    """Return whether a variable is an array of floating-point numbers, and so differentiable."""
    return isinstance(variable.type, TensorType) and variable.type.dtype in FLOATS


def is_integer_scalar(variable: Variable) -> bool:
    """Return whether a variable is an int64 scalar, the type of sizes."""
    kind = variable.type
    return isinstance(kind, TensorType) and not kind.shape and kind.dtype == "int64"


def describe(variable: Variable) -> str:
    """Describe a variable in a message: its name, its value if it is a small constant, or its expression.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> h = T.dvector("h")
    >>> describe(h), describe(1 - h**2), describe(T.tanh(h + 1) * h[0])
    ('h', '1 - h²', 'tanh(h + 1) * h[0]')
    """
    made = _expression_parts(variable)
    if made is None:
        return _leaf_name(variable)
    from scanviz.engine.graph.notation import operation  # messages alone need it

    return operation(*made, _expression_parts, _operand_name, _rank_of)


def _expression_parts(variable: Variable) -> tuple[Op, Sequence[Variable]] | None:
    owner = variable.owner
    return None if variable.name or owner is None or len(owner.outputs) > 1 else (owner.op, owner.inputs)


def _rank_of(variable: Variable) -> int | None:
    return variable.type.ndim if isinstance(variable.type, TensorType) else None


def _operand_name(variable: Variable) -> str:
    """Return a variable as an operand of an expression; numbers as a user would write them."""
    if isinstance(variable, Constant) and not variable.name and variable.value.shape == ():
        return f"{variable.value.item():.6g}" if variable.value.dtype.kind == "f" else str(variable.value)
    return _leaf_name(variable)


def _leaf_name(variable: Variable) -> str:
    if variable.name:
        return variable.name
    if isinstance(variable, Constant):
        return str(variable.value) if variable.value.size <= 4 else f"constant {variable.type}"
    owner = variable.owner
    if owner is None:
        return f"unnamed {variable.type}"
    operands = (_operand_in_short(operand, place) for place, operand in enumerate(owner.inputs))
    return f"{owner.op}.{variable.index}({', '.join(operands)})"


def _operand_in_short(variable: Variable, place: int) -> str:
    """Return an operand's name, its operation, or its place among the inputs."""
    return variable.name or (variable.owner.op.name if variable.owner is not None else f"input {place + 1}")
