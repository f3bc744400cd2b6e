"""Values that pass unchanged while something is looked at: ``Print`` writes them down, ``Assert`` checks conditions.

Their results are the value itself, copied: no view, so that a plan never takes the operation for a mere look at memory.  What
sets them apart is the fact ``effect``: they are computed as often as they stand in the graph, where they stand, whatever rules
do to the rest.  Only what is needed for a result is computed at all: a ``Print`` whose value nobody reads prints nothing.

Loops whose steps print announce themselves and each step (:func:`running_loop`), so that a line names its step; all others
leave that alone and pay nothing for it.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, NamedTuple, TextIO

import numpy as np

from scanviz.engine.display import WRITERS
from scanviz.engine.errors import AssertFailedError, ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op, fitted
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.provenance import current_scans, holding
from scanviz.engine.graph.types import Type
from scanviz.engine.ops.support import as_value, as_variable, kept_shape

ATTRIBUTES = ("shape", "dtype", "size", "min", "max", "mean", "std", "sum")
LONGEST = 2000  # characters of a line
SUMMARISED = 40  # elements; larger arrays are shown by their ends, as NumPy does
_STANDARD_ERROR, _STANDARD_OUTPUT = 0, 1

_numbers = itertools.count(2)
_open_files: dict[int, TextIO] = {}  # a function that prints may be all that holds a file
_silent: ContextVar[bool] = ContextVar("silent", default=False)


class PrintParameters(NamedTuple):
    """The message, the attributes to print (none: the value itself), the number of the file, and the loops around it."""

    message: str
    attributes: tuple[str, ...]
    file: int
    loops: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{{{self.message!r}}}"


class AssertParameters(NamedTuple):
    """The message, and the names of the conditions."""

    message: str
    conditions: tuple[str, ...]

    def __str__(self) -> str:
        return f"{{{self.message!r}}}"


def without_printing() -> AbstractContextManager[bool]:
    """Let ``Print`` write nothing in the block: a call is computed again there, to look at its values."""
    return holding(_silent, True)


def _infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    return (tensor_type(inputs[0]),)


def _print(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    value = np.array(values[0])
    if not _silent.get():
        parameters: PrintParameters = op.parameters
        line = f"{_place(parameters.loops)}{parameters.message} = {_shown(value, parameters.attributes)}"
        stream = _stream(parameters)
        for write in WRITERS:
            write(line if len(line) <= LONGEST else line[: LONGEST - 1] + "…", stream)
    return (value,)


def _place(loops: Sequence[str]) -> str:
    """Return the running loops and their steps; loops around the value that were unrolled have the one step."""
    running = list(running_loops())
    found: list[tuple[str, int]] = []
    for name in loops:
        runs = bool(running) and running[0].name.partition("#")[0] == name
        found.append((running[0].name, running.pop(0).step) if runs else (name, 0))
    if running:  # loops that rules made of others have other names
        found = [(loop.name, loop.step) for loop in running_loops()]
    return ", ".join(f"{name} step {step}" for name, step in found) + (": " if found else "")


def _stream(parameters: PrintParameters) -> TextIO:
    if parameters.file == _STANDARD_ERROR:
        return sys.stderr
    if parameters.file == _STANDARD_OUTPUT:
        return sys.stdout
    stream = _open_files.get(parameters.file)
    if stream is None or stream.closed:
        raise ScanvizValueError(
            f"the file for printing `{parameters.message}` is not open in this process",
            expected="a file that is open, in the process that opened it",
            fix="Print(message) to print to standard error",
        )
    return stream


def _shown(value: Array, attributes: Sequence[str]) -> str:
    """Return a value on one line, of a large array its ends."""
    if attributes:
        return ", ".join(f"{attribute} {_attribute(value, attribute)}" for attribute in attributes)
    ends = max(1, 4 - value.ndim)
    text = np.array2string(
        value, max_line_width=sys.maxsize, threshold=SUMMARISED, edgeitems=ends, separator=" "
    )
    return " ".join(text.split()).replace("[ ", "[")


def _attribute(value: Array, name: str) -> object:
    if name in ("min", "max") and not value.size:
        return "of nothing"
    found = getattr(value, name)
    return found() if callable(found) else found


def _assert(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    parameters: AssertParameters = op.parameters
    conditions = [np.asarray(value) for value in values[1:]]
    if not all(condition.all() for condition in conditions):
        pairs = zip(parameters.conditions, conditions, strict=True)
        raise AssertFailedError(
            parameters.message,
            expected="every condition true",
            found="; ".join(f"`{name}` is {_condition(value)}" for name, value in pairs),
        )
    return (np.array(values[0]),)


def _condition(value: Array) -> str:
    """Describe a condition; for an array, at its first false element."""
    if not value.ndim:
        return str(value[()])
    wrong = np.argwhere(~value.astype(bool))
    if not len(wrong):
        return f"true everywhere, shape {value.shape}"
    first = ", ".join(map(str, wrong[0]))
    return f"{_shown(value, ())}: false at [{first}]" + (f" and {len(wrong) - 1} more" * (len(wrong) > 1))


_PRINTED = Facts(effect=True, axes=axes.elementwise)  # of the value; what is written down is no value
_CHECKED = Facts(effect=True)
PRINT = Declaration(
    "print",
    "effects",
    arity=1,
    doc="The same value, written on a line with the loop and the step.",
    infer=_infer,
    perform=_print,
    shapes=kept_shape,
    notation=fitted,
    facts=_PRINTED,
)
ASSERT = Declaration(
    "assert",
    "effects",
    arity=lambda op: 1 + len(op.parameters.conditions),
    doc="The same value, after a check that conditions hold.",
    infer=_infer,
    perform=_assert,
    shapes=kept_shape,
    notation=fitted,
    facts=_CHECKED,
)


class Print:
    """An operation that prints a value wherever it is computed, in every step of a loop too, and returns it unchanged.

    A line holds the loops and their steps, the message and the value, of a large array its ends; characters that could
    steer a terminal are written out.  It is printed once each time the value is computed, however the graph around it is
    rewritten: work is never moved out of loops by way of it, and steps that print are all taken.  What no result needs is
    not computed, and not printed.  Derivatives pass unchanged.  Where a gradient runs a loop
    again (:func:`scanviz.scan_checkpoints`, and any loop if nothing is rewritten), it prints again.

    Parameters
    ----------
    message : str
        The name of the value.
    attributes : sequence of str
        Attributes to print, not the value: ``"shape"``, ``"dtype"``, ``"size"``, ``"min"``, ``"max"``, ``"mean"``, ``"std"`` or
        ``"sum"``.
    file : text file, optional
        The file to print to; by default standard error.  It must stay open, and functions that print to a file of one's own cannot
        be pickled to run elsewhere.

    Raises
    ------
    ScanvizTypeError
        If the message is no text or the file cannot be written to.
    ScanvizValueError
        If there is no such attribute.

    Examples
    --------
    >>> import sys
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> h, _ = scanviz.scan(lambda x_t, h: Print("h", file=sys.stdout)(h + x_t), x, 0.0, name="sums")
    >>> scanviz.function([x], h[-1])([1.0, 2.0])
    sums step 0: h = 1.
    sums step 1: h = 3.
    array(3.)
    """

    __slots__ = ("attributes", "file", "message")

    def __init__(self, message: str = "", attributes: Sequence[str] = (), file: TextIO | None = None) -> None:
        _check_message("Print", message)
        if file is not None and not callable(getattr(file, "write", None)):
            fix = "open(path, 'a')" if isinstance(file, str) else None
            raise ScanvizTypeError.here(
                "Print needs an open text file",
                expected="an open text file",
                found=repr(file),
                fix=fix,
            )
        self.message, self.file = message, file
        self.attributes = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        for attribute in self.attributes:
            if attribute not in ATTRIBUTES:
                raise ScanvizValueError.here(
                    f"Print knows no attribute {attribute!r}",
                    expected=", ".join(ATTRIBUTES),
                    found=repr(attribute),
                )

    def __call__(self, value: Any) -> Variable:
        """Return the value, which is printed where it is computed."""
        variable = as_variable(value)
        tensor_type(variable)
        message = self.message or describe(variable)
        parameters = PrintParameters(message, self.attributes, _file_number(self.file), current_scans())
        return build_one(Op(PRINT, parameters), variable, name=variable.name)


def _file_number(file: TextIO | None) -> int:
    if file is None or file is sys.stderr:
        return _STANDARD_ERROR
    if file is sys.stdout:
        return _STANDARD_OUTPUT
    known = next((number for number, text_i_o in _open_files.items() if text_i_o is file), None)
    if known is None:
        known = next(_numbers)
        _open_files[known] = file
    return known


class Assert:
    """An operation that checks conditions wherever a value is computed, also in every step of a loop, and returns it unchanged.

    The check is made as often as the value is computed, and is never removed or moved by rewrites.  What no result needs is
    not computed, and not checked.  Derivatives pass unchanged, and nothing to the conditions.

    Parameters
    ----------
    message : str
        The message if a condition does not hold.

    Raises
    ------
    ScanvizTypeError
        If the message is no text.
    AssertFailedError
        When a function runs, if an element of a condition is false; it is an AssertionError too, and names the message, the
        line, the loop, the step and the conditions.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> root = scanviz.function([x], T.sqrt(Assert("x is negative")(x, x >= 0)))
    >>> root(4.0)
    array(2.)
    """

    __slots__ = ("message",)

    def __init__(self, message: str = "a condition does not hold") -> None:
        _check_message("Assert", message)
        self.message = message

    def __call__(self, value: Any, *conditions: Any) -> Variable:
        """Return the value, whose computation checks the conditions."""
        variable = as_variable(value)
        tensor_type(variable)
        if not conditions:
            raise ScanvizTypeError.here(
                "Assert has nothing to check",
                expected="a value and one condition or more",
                found="a value alone",
                fix="Assert(message)(value, condition)",
            )
        tests = [as_value(condition) for condition in conditions]
        for test in tests:
            tensor_type(test)
        names = tuple(describe(test) for test in tests)
        return build_one(
            Op(ASSERT, AssertParameters(self.message, names)), variable, *tests, name=variable.name
        )


def _check_message(what: str, message: Any) -> None:
    if not isinstance(message, str):
        raise ScanvizTypeError.here(
            f"the message of {what} must be text", found=repr(message), fix=f'{what}("message")(value)'
        )


class CurrentStep:
    """The step at which a loop that runs now is, with the name of the loop."""

    __slots__ = ("name", "step")

    def __init__(self, name: str) -> None:
        self.name, self.step = name, 0


_running: ContextVar[tuple[CurrentStep, ...]] = ContextVar("running_loops", default=())


def running_loop(name: str) -> AbstractContextManager[tuple[CurrentStep, ...]]:
    """Let the loop ``name`` be the innermost one that runs in the block."""
    return holding(_running, (*_running.get(), CurrentStep(name)))


def at_step(step: int) -> None:
    """Say at which step the innermost running loop is."""
    _running.get()[-1].step = step


def running_loops() -> tuple[CurrentStep, ...]:
    """Return the loops that run now and announced themselves, outermost first.

    Examples
    --------
    >>> with running_loop("rnn"):
    ...     at_step(3)
    ...     print([(loop.name, loop.step) for loop in running_loops()])
    [('rnn', 3)]
    """
    return _running.get()
