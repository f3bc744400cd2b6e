"""Check that a state's initial value and its step result agree in dtype and shape.

Only a cast to a larger dtype is silent.  A step that returns a smaller dtype than its state starts with is cast to that dtype:
floats to floats, and integers and bools to integers.  Any other dtype is an error that shows the line and the cast.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError, some
from scanviz.engine.graph.nodes import Constant, Variable, describe, tensor_type
from scanviz.engine.graph.provenance import SourceLine, user_line
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.types import FLOATS, RANDOM_STATE, TensorType, shape_text
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.support import constant
from scanviz.engine.scan.arguments import OutputArgument
from scanviz.engine.scan.step import BuiltStep


def check_counts(outputs: Sequence[OutputArgument], step: BuiltStep) -> None:
    """Check that the step returns one output for each item of ``outputs_info``, if given."""
    returned = step.returned.outputs
    if not outputs or len(returned) == len(outputs):
        return
    shown = ", ".join(f"`{describe(variable)}`" for variable in returned)
    names = [
        f"`{step.inputs.output_names[output.position]}`"
        if output.initial is not None
        else "one that is not fed back"
        for output in outputs
    ]
    fix = "None in outputs_info for each output that is not fed back"
    if len(returned) < len(outputs):
        missing = range(len(returned), len(outputs))
        items = ", ".join(f"outputs_info[{position}]" for position in missing)
        fix = f"return one output for each item, in the order of outputs_info\nor leave {items} out"
    raise ScanvizValueError(
        f"the step returns {some(len(returned), 'output')}, but outputs_info has {some(len(outputs), 'item')}",
        where=step.where,
        expected=f"{some(len(outputs), 'output')}: {', '.join(names)}",
        found=shown or "none",
        fix=fix,
    )


def check_kind(info: OutputArgument, name: str, value: Variable, where: SourceLine | None) -> None:
    """Check that the step returns a random state exactly where it received one."""
    random = info.initial is not None and info.initial.type == RANDOM_STATE
    if (value.type == RANDOM_STATE) == random:
        return
    raise ScanvizTypeError(
        f"the step returns {'numbers' if random else 'a random state'} as output {info.position}",
        where=_line(value, where),
        expected=f"a random state, as `{name}` is" if random else "numbers",
        found=value.type,
        fix="return the state and the values in the order of outputs_info, such as outputs_info=[state, None]: "
        "a draw gives the next state first",
    )


def agree_state(
    info: OutputArgument, name: str, read: Variable, value: Variable, where: SourceLine | None
) -> tuple[Variable, Variable]:
    """Return the initial state and the step's result for it, cast where the cast is lossless.

    Raises
    ------
    ScanvizTypeError
        If dtypes or numbers of dimensions do not agree.
    ShapeError
        If sizes are known to differ.
    """
    assert info.initial is not None
    if not isinstance(value.type, TensorType):
        raise ScanvizTypeError(
            f"state `{name}` is a {read.type}, but the step returns a {value.type}", where=_line(value, where)
        )
    row, result = tensor_type(read), value.type
    initial = info.initial if info.weak is None else _start(info, name, row.dtype, value, where)
    if result.ndim != row.ndim:
        raise _rank_error(info, name, row, value, where)
    if any(a is not None and b is not None and a != b for a, b in zip(row.shape, result.shape, strict=True)):
        first, later = shape_text(row.shape), shape_text(result.shape)
        raise ShapeError(
            f"in the step: state `{name}` starts with a row of shape {first} but the step returns shape {later}",
            where=_line(value, where),
            expected=f"shape {first} from every step",
            found=f"shape {later}{_source(value)}",
            fix=_remedy(name, row, value),
        )
    if (
        isinstance(value, Constant)
        and value.weak is not None
        and np.result_type(row.dtype, value.weak) == row.dtype
    ):
        value = constant(value.weak, row.dtype)
    elif result.dtype != row.dtype:
        if (result.dtype in FLOATS) != (row.dtype in FLOATS) or not np.can_cast(
            result.dtype, row.dtype, "safe"
        ):
            raise _dtype_error(name, row.dtype, value, where)
        value = cast(value, row.dtype)
    return initial, value


def _start(
    info: OutputArgument, name: str, dtype: str, value: Variable, where: SourceLine | None
) -> Variable:
    """Return the Python numbers that a state starts from in the dtype that it takes."""
    try:
        return constant(info.weak, dtype)
    except ScanvizValueError:
        raise ScanvizValueError(
            f"in the step: state `{name}` starts from {info.weak}, which does not fit into {dtype}",
            where=_line(value, where),
            expected=f"a number that {dtype} holds, for the step computes in it",
            found=f"`{describe(value)}`{_source(value)}",
            fix=f'outputs_info=np.asarray({info.weak}, "int64") to start it as int64',
        ) from None


def _rank_error(
    info: OutputArgument, name: str, row: TensorType, value: Variable, where: SourceLine | None
) -> ScanvizTypeError:
    assert info.initial is not None
    result = tensor_type(value)
    more = ""
    if info.taps != (-1,):
        more = f" (with taps {list(info.taps)} the initial state has one more dimension than a step's result)"
    return ScanvizTypeError(
        f"in the step: state `{name}` has rows of {some(row.ndim, 'dimension')} but the step returns {result.ndim}{more}",
        where=_line(value, where),
        expected=f"shape {shape_text(row.shape)}, like one row of `{describe(info.initial)}`",
        found=f"`{describe(value)}`, shape {shape_text(result.shape)}{_source(value)}",
        fix=_remedy(name, row, value)
        if result.ndim != row.ndim - 1 or _flattens(value, row)
        else f"the value before the first step, not rows for all steps: outputs_info={_written(info.initial)}[0]",
    )


def _remedy(name: str, row: TensorType, value: Variable) -> str:
    from scanviz.engine.ops.join import CONCATENATE  # messages alone need them
    from scanviz.engine.ops.size_checks import shape_remedy

    joined = value.owner is not None and value.owner.op.declaration is CONCATENATE
    returned = row.shape if _flattens(value, row) else tensor_type(value).shape
    return shape_remedy(name, row.shape, returned, joined)


def _flattens(value: Variable, row: TensorType) -> bool:
    """Return whether the step flattens a state by joining to it: ``T.append`` without an axis."""
    parts = value.owner.inputs if value.owner is not None and value.owner.op.name == "concatenate" else []
    shaped = (
        part.owner.inputs[0].type
        for part in parts
        if part.owner is not None and part.owner.op.name == "reshape"
    )
    return any(kind == row for kind in shaped)


def _written(variable: Variable) -> str:
    return variable.name if variable.name is not None and variable.name.isidentifier() else "initial"


def _dtype_error(name: str, dtype: str, value: Variable, where: SourceLine | None) -> ScanvizTypeError:
    returned = tensor_type(value).dtype
    return ScanvizTypeError(
        f"in the step: state `{name}` starts as {dtype} but the step returns {returned}",
        where=_line(value, where),
        found=f"`{describe(value)}`{_source(value)}",
        fix=f'outputs_info=T.zeros(…, dtype="{returned}") to start it as {returned},\n'
        f'or T.cast({value.name or "result"}, "{dtype}") in the step',
    )


def agree_update(shared: SharedVariable, value: Variable, where: SourceLine | None) -> Variable:
    """Return the update of a shared variable, cast where the cast is lossless.

    Raises
    ------
    ScanvizTypeError
        If it cannot be stored in the shared variable.
    """
    wanted, given = shared.type, value.type
    name = describe(shared)
    if wanted == RANDOM_STATE or not isinstance(wanted, TensorType) or not isinstance(given, TensorType):
        if wanted != given:
            raise ScanvizTypeError(
                f"the update of `{name}` has the wrong type",
                where=_line(value, where),
                expected=wanted,
                found=given,
            )
        return value
    if given.ndim != wanted.ndim:
        raise ScanvizTypeError(
            f"the update of `{name}` has the wrong number of dimensions",
            where=_line(value, where),
            expected=wanted,
            found=given,
        )
    if given.dtype == wanted.dtype:
        return value
    if np.can_cast(given.dtype, wanted.dtype, "safe"):
        return cast(value, wanted.dtype)
    raise ScanvizTypeError(
        f"the update of `{name}` has dtype {given.dtype}, which {wanted.dtype} cannot hold",
        where=_line(value, where),
        expected=wanted.dtype,
        found=f"`{describe(value)}`, {given.dtype}{_source(value)}",
        fix=f'T.cast(…, "{wanted.dtype}")',
    )


def _line(value: Variable, fallback: SourceLine | None) -> SourceLine | None:
    source = value.owner.provenance.source if value.owner is not None else None
    return source or fallback or user_line()


def _source(value: Variable) -> str:
    source = value.owner.provenance.source if value.owner is not None else None
    text = source.text() if source is not None else ""
    return f"\n              {text}" if text else ""
