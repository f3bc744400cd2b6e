"""Weak initial states: Python numbers take the dtype that NumPy gives them in the step.

The step is called once, with the number's usual dtype.  Then its dtypes are worked out again with the states as Python numbers,
and with what the step returns beside a Python number, until no state changes any more.  Where nothing decides, the usual dtype
stays; where something does, the step is rebuilt for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizError, ScanvizTypeError
from scanviz.engine.graph.nodes import Apply, Constant, Variable, is_floating, rebuild, tensor_type
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import BOOLEAN, FLOATS, INTEGERS, TensorType
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.elementwise import cast, where
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration, weak_constant
from scanviz.engine.ops.index import INDEX

Kind = str | type[int] | type[float]  # a dtype, or the type of a Python number that has none yet
_LEAST = {int: "int8", float: "float16"}


class WeakState(NamedTuple):
    """A state with a weak initial value: its Python type, its rows in the step, and the step's result for it."""

    number: type[bool] | type[int] | type[float]
    reads: Sequence[Variable]
    returned: Variable


class WeakDtypes(NamedTuple):
    """The dtypes that rows of weak states take, and the kind of everything that is computed from them."""

    of_rows: dict[Variable, str]
    kinds: dict[Variable, Kind]

    @property
    def differ(self) -> bool:
        """True if anything has another dtype than at building."""
        all_kinds: dict[Variable, Kind] = {**self.kinds, **self.of_rows}
        return any(isinstance(kind, str) and kind != _dtype(variable) for variable, kind in all_kinds.items())


def weak_dtypes(states: Sequence[WeakState], outputs: Sequence[Variable]) -> WeakDtypes:
    """Return which dtypes weak states take; ``outputs`` are all of the step's."""
    kinds: list[Kind] = ["bool" if state.number is bool else state.number for state in states]
    found: dict[Variable, Kind] = {}
    try:
        for decided in (False, True):
            joined: list[Kind] = []
            while joined != kinds:
                kinds = joined or kinds
                rows = {row: kind for state, kind in zip(states, kinds, strict=True) for row in state.reads}
                found = _kinds(outputs, rows, decided)
                returned = [_kind_of(state.returned, found) for state in states]
                joined = list(map(_together, kinds, returned))
    except (ScanvizError, OverflowError, ValueError, TypeError):
        return WeakDtypes({}, {})  # an operation has no meaning in such a dtype: the usual ones stay
    of_rows = {
        row: kind if isinstance(kind, str) else _dtype(row) if kind is state.number else config.floatX
        for state, kind in zip(states, kinds, strict=True)
        for row in state.reads
    }
    return WeakDtypes(of_rows, found)


def retype(
    outputs: Sequence[Variable], mapping: Mapping[Variable, Variable], kinds: Mapping[Variable, Kind]
) -> list[Variable]:
    """Replace variables by ones of other dtypes; Python numbers and expressions of them stay weak."""

    def again(node: Apply, inputs: Sequence[Variable]) -> Apply:
        if isinstance(node.op.declaration, ElementwiseDeclaration):
            computed, result = _computed(node, kinds, True)
            if isinstance(result, str):
                inputs = [
                    _number_of_dtype(node.op.declaration, new, dtype) if isinstance(kind, type) else new
                    for new, kind, dtype in zip(inputs, _kinds_of(node.inputs, kinds), computed, strict=False)
                ]
        elif node.op.declaration is IFELSE:
            branches = [_usual(kind) for kind in _kinds_of(node.outputs, kinds)] * 2
            inputs = [
                inputs[0],
                *(
                    cast(new, dtype) if dtype else new
                    for new, dtype in zip(inputs[1:], branches, strict=True)
                ),
            ]
        elif not _takes(node, inputs):
            inputs = [
                cast(new, _dtype(old)) if _dtype(old) else new
                for new, old in zip(inputs, node.inputs, strict=True)
            ]
        return rebuild(node, inputs)

    return replace(outputs, mapping, rebuild_node=again, check=False)


def _number_of_dtype(declaration: ElementwiseDeclaration, number: Variable, dtype: str) -> Variable:
    known = number.weak if isinstance(number, Constant) else None
    return cast(number, dtype) if known is None else weak_constant(declaration, known, dtype)


def _takes(node: Apply, inputs: Sequence[Variable]) -> bool:
    """Return whether a non-elementwise operation accepts inputs of other dtypes.

    Else they are cast back, for the operation was built for the dtypes before: a loop in the step, or arrays that are joined.
    """
    pairs = list(zip(map(_dtype, inputs), map(_dtype, node.inputs), strict=True))
    changed = [k for k, (new, old) in enumerate(pairs) if new != old]
    declaration = node.op.declaration
    if changed in ([], [0]):
        if is_floating(node.inputs[0]) and not any(map(is_floating, node.inputs[1:])):
            return True
        if node.op.facts.same_elements or declaration is INDEX or declaration.family == "reduce":
            return True
    for k in changed:
        if not np.can_cast(*pairs[k], "safe"):
            raise ScanvizTypeError(f"{node.op} was built for {pairs[k][1]}", found=pairs[k][0])
    return False


def _dtype(variable: Variable) -> str:
    return variable.type.dtype if isinstance(variable.type, TensorType) else ""


def _kind_of(variable: Variable, found: Mapping[Variable, Kind]) -> Kind:
    if variable in found:
        return found[variable]
    if isinstance(variable, Constant) and variable.weak is not None:
        return type(variable.weak)
    return _dtype(variable)


def _usual(kind: Kind) -> str:
    return kind if isinstance(kind, str) else "int64" if kind is int else config.floatX


def _of_branches(first: Kind, second: Kind, decided: bool) -> Kind:
    """Return the kind of a choice between two values."""
    if not first or not second:
        return first
    whole = {first, second} - {int}
    if decided and int in (first, second) and whole <= {*INTEGERS, BOOLEAN} - {"uint64"} and whole:
        return "int64"
    return _together(first, second)


def _together(first: Kind, second: Kind) -> Kind:
    """Return NumPy's result kind for two kinds; two Python numbers give a Python number."""
    if isinstance(first, str) or isinstance(second, str):
        return np.result_type(*(kind if isinstance(kind, str) else kind() for kind in (first, second))).name
    return float if float in (first, second) else int


def _kinds_of(variables: Sequence[Variable], found: Mapping[Variable, Kind]) -> list[Kind]:
    return [_kind_of(variable, found) for variable in variables]


def _kinds(outputs: Sequence[Variable], rows: Mapping[Variable, Kind], decided: bool) -> dict[Variable, Kind]:
    """Propagate kinds through the step.

    Once it is ``decided`` which states stay Python numbers, they are int64 beside whole numbers: they may grow beyond these.
    """
    found = dict(rows)
    for node in toposort(outputs, rows.keys()):
        if not found.keys().isdisjoint(node.inputs):
            elementwise = isinstance(node.op.declaration, ElementwiseDeclaration)
            made = (
                [_computed(node, found, decided)[1]]
                if elementwise
                else _kinds_of_results(node, found, decided)
            )
            found.update(zip(node.outputs, made, strict=True))
    return found


def _computed(node: Apply, found: Mapping[Variable, Kind], decided: bool) -> tuple[list[str], Kind]:
    """Return the dtypes that an elementwise operation computes its inputs in, and the kind of its result."""
    declaration = node.op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    kinds = _kinds_of(node.inputs, found)
    computed = _dtypes(declaration, kinds)
    if not any(isinstance(kind, str) for kind in (kinds[1:] if declaration is where else kinds)):
        made = np.dtype(computed[-1]).kind
        return computed, "bool" if made == "b" else float if made == "f" else int
    if decided:
        usual = [
            _dtype(variable) if kind is int and variable in found and dtype not in FLOATS else kind
            for variable, kind, dtype in zip(node.inputs, kinds, computed, strict=False)
        ]
        wider = _dtypes(declaration, usual)
        if set(FLOATS).isdisjoint(computed) <= set(FLOATS).isdisjoint(wider):  # uint64 beside int64 is none
            computed = wider
    return computed, computed[-1]


def _dtypes(declaration: ElementwiseDeclaration, kinds: Sequence[Kind]) -> list[str]:
    result = declaration.result(*(np.dtype(kind) if isinstance(kind, str) else kind for kind in kinds))
    return [dtype.name for dtype in result]


def _kinds_of_results(node: Apply, found: Mapping[Variable, Kind], decided: bool) -> list[Kind]:
    kinds = _kinds_of(node.inputs, found)
    if node.op.declaration is IFELSE:
        half = len(node.outputs)
        return [
            _of_branches(*pair, decided) for pair in zip(kinds[1 : 1 + half], kinds[1 + half :], strict=True)
        ]
    usual = [_usual(kind) for kind in kinds]
    inputs = [_with_dtype(variable, dtype) for variable, dtype in zip(node.inputs, usual, strict=True)]
    if not _takes(node, inputs):
        return [_dtype(output) for output in node.outputs]
    dtypes: list[Kind] = [
        kind.dtype if isinstance(kind, TensorType) else "" for kind in node.op.infer(inputs)
    ]
    # what keeps the dtype of numbers that are weak keeps them weak
    least = [
        variable if isinstance(kind, str) else _with_dtype(variable, _LEAST[kind])
        for variable, kind in zip(inputs, kinds, strict=True)
    ]
    number_of = {_LEAST[kind]: kind for kind in kinds if not isinstance(kind, str)}
    if number_of and _takes(node, least):
        kept = [kind.dtype if isinstance(kind, TensorType) else "" for kind in node.op.infer(least)]
        dtypes = [
            number_of.get(name, dtype) if name != dtype else dtype
            for name, dtype in zip(kept, dtypes, strict=True)
        ]
    return dtypes


def _with_dtype(variable: Variable, dtype: str) -> Variable:
    if dtype == _dtype(variable):
        return variable
    return Variable(tensor_type(variable).with_dtype(dtype), variable.name)
