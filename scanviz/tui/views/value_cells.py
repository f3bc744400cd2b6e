"""Contents of the Values tab: the first bad value, a row for each variable, watch expressions."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from rich.text import Text

from scanviz.record.loops import LoopRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.render.row_values import number
from scanviz.tui.model.linked_selection import NO_SIGN, SIGN, origin
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import CYAN, RED
from scanviz.tui.views.tables import Cell, Column, Row, text_cell

# The scrubber: a line for a run's steps with the cursor and the kept steps; a click goes to a step.


class Scrubber(Struct, frozen=True):
    """The drawn scrubber.

    Attributes
    ----------
    text : Text
        The line.
    before, cells, steps : int
        Columns before the cells, cells, and the steps that they stand for.
    """

    text: Text
    before: int
    cells: int
    steps: int

    def step_at(self, column: int) -> int | None:
        """Return the step of a column; None outside of the cells."""
        inside = 0 <= column - self.before < self.cells and self.steps
        return cell_step(column - self.before, self.steps, self.cells) if inside else None


def scrubber(
    step: int, steps: int, kept: Collection[int], speed: int, plays: bool, about: str, width: int
) -> Scrubber:
    """Draw the scrubber of a run; ``about`` names the origin of the step's values."""
    head = f"{'▶' if plays else '▷'} {f'{speed}/s' if plays else 'space'} "
    end = f" step {step} of {steps}{f' · {about}' if about else ''}"
    cells = max(8, min(100, width) - len(head) - len(end) - 2)
    text = Text(head, style="bold").append_text(track(step, steps, kept, cells)).append(end, "not bold")
    return Scrubber(text, len(head) + 1, cells, steps)


def cell_step(cell: int, steps: int, cells: int) -> int:
    """Return the step of a cell.

    Examples
    --------
    >>> [cell_step(cell, 100, 10) for cell in (0, 5, 9)]
    [0, 55, 99]
    """
    return round(cell * (steps - 1) / max(1, cells - 1))


def track(step: int, steps: int, kept: Collection[int], cells: int) -> Text:
    """Draw the steps of a run as cells: thick where values were kept, a dot at the cursor.

    Examples
    --------
    >>> track(4, 10, {0, 1, 9}, 10).plain
    '├━━┈┈●┈┈┈┈━┤'
    """
    thick = {round(step * (cells - 1) / max(1, steps - 1)) for step in kept}
    at = round(step * (cells - 1) / max(1, steps - 1))
    text = Text("├", style="dim")
    for cell in range(cells):
        sign = "●" if cell == at else "━" if cell in thick else "┈"
        text.append(sign, style="bold" if cell == at else f"not bold {CYAN}" if cell in thick else "dim")
    return text.append("┤", style="dim")


# Expressions over values that were kept: names of a step's variables, numbers, arithmetic, comparisons and a few functions.
#
# An expression is read by Python's own parser and evaluated node by node; nothing but what stands here can be done in it.  A step's
# variables have names such as ``h[t-1]``, which are looked up as they are written.

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "all": np.all,
    "any": np.any,
    "exp": np.exp,
    "isfinite": np.isfinite,
    "isnan": np.isnan,
    "log": np.log,
    "max": np.max,
    "mean": np.mean,
    "min": np.min,
    "norm": np.linalg.norm,
    "sqrt": np.sqrt,
    "std": np.std,
    "sum": np.sum,
    "tanh": np.tanh,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
LONGEST = 200  # characters of an expression
LARGEST_POWER = 64


class WatchError(ValueError):
    """The expression cannot be evaluated, for the reason in the message."""


def watch_value(expression: str, values: Mapping[str, Any], cut: Collection[str] = ()) -> str:
    """Return the value of an expression as text.

    Parameters
    ----------
    expression : str
        Such as ``max(h[t]) - 1``.
    values : mapping of str to numpy.ndarray
        Variables by name.
    cut : collection of str
        Names of variables with numbers that were not kept.

    Raises
    ------
    WatchError
        If it is no such expression, or names what is not there.

    Examples
    --------
    >>> watch_value("max(h[t]) - h[t-1][0]", {"h[t]": np.array([1.0, 4.0]), "h[t-1]": np.array([0.5, 0.0])})
    '3.5'
    """
    if len(expression) > LONGEST:
        raise WatchError(f"an expression has at most {LONGEST} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        raise WatchError("this is no expression") from None
    names = {_spelled(name): value for name, value in values.items()}
    with np.errstate(all="ignore"):
        try:
            found = _value(tree.body, names, {_spelled(text) for text in cut})
        except WatchError:
            raise
        except (ArithmeticError, IndexError, MemoryError, RecursionError, TypeError, ValueError) as error:
            raise WatchError(f"{type(error).__name__}: {error}") from None
    return np.array2string(np.asarray(found), precision=5, threshold=20, max_line_width=10_000)


def _spelled(name: str) -> str:
    """Return a name in the spelling of Python's parser, in which ``h[ t-1 ]`` and ``h[t - 1]`` are the same."""
    try:
        return ast.unparse(ast.parse(name, mode="eval"))
    except (SyntaxError, ValueError, RecursionError):
        return name


def _value(node: ast.expr, names: Mapping[str, Any], cut: Collection[str]) -> Any:
    written = ast.unparse(node)
    if written in names:
        return names[written]
    if written in cut:
        raise WatchError(f"not all numbers of {written} were kept")
    match node:
        case ast.Constant(value=bool() | int() | float() as number):
            return float(number)  # whole numbers of any length could take any time
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, names, cut)
        case ast.BinOp() if type(node.op) in _BINARY:
            left, right = _value(node.left, names, cut), _value(node.right, names, cut)
            if isinstance(node.op, ast.Pow) and np.max(np.abs(right)) > LARGEST_POWER:
                raise WatchError(f"powers go up to {LARGEST_POWER}")
            return _BINARY[type(node.op)](left, right)
        case ast.Compare(ops=[only], comparators=[right]) if type(only) in _COMPARE:
            return _COMPARE[type(only)](_value(node.left, names, cut), _value(right, names, cut))
        case ast.Call(func=ast.Name(id=name), args=[one], keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](_value(one, names, cut))
        case ast.Subscript(slice=index):
            return _value(node.value, names, cut)[_index(index)]
    raise WatchError(f"{written} is not known; variables: {', '.join(list(names)[:8]) or 'none'}")


def _index(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int()):
            return node.value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
        case ast.Slice(lower=low, upper=high, step=None):
            return slice(low and _index(low), high and _index(high))
        case ast.Tuple(elts=parts):
            return tuple(_index(part) for part in parts)
    raise WatchError(f"{ast.unparse(node)} is no index: numbers and slices are")


WIDEST = 36  # letters of a name in the table; below it stands whole
COLUMNS = (
    # Its number is in the order in which the step computes: the first bad one is where it began.
    Column("no.", number=True),
    Column("variable"),
    Column("of the step"),
    Column("min", number=True),
    Column("max", number=True),
    Column("mean", number=True),
    Column("NaN", number=True),
    Column("inf", number=True),
    Column("values"),
    Column("line"),
)


def trace_at(state: ViewState) -> TraceRecord | None:
    """Return the step's kept values, preferably of the selected run."""
    kept = [trace for trace in state.traces if state.step in trace.steps]
    return next((trace for trace in kept if trace.run == state.run), kept[0] if kept else None)


def about_step(state: ViewState, loop: LoopRecord) -> Text:
    """Return the step in words, and the origin of the first NaN or infinity."""
    text = Text(f"{sanitize(loop.name)}, step {state.step} of {state.steps}", style="bold")
    forward = next((other for other in state.record.loops if other.key == loop.gradient_of), None)
    if forward is not None:
        text.append(
            f" (belongs to step {max(0, state.steps - 1 - state.step)} of {sanitize(forward.name)})",
            style="not bold",
        )
    if not state.traces:
        how = "scanviz profile --values SCRIPT keeps them, and scanviz tui --values SCRIPT"
        text.append(f"\nvalues were not recorded: {how}", style="not bold dim")
        return text
    text.append(f"\n{_first_bad(state)}", style="not bold")
    for link in state.blame()[1:]:
        line = f" ({sanitize(str(link.source))})" if link.source is not None else ""
        text.append(f"\n  ← {sanitize(link.words)}{line}", style="not bold")
    return text


def line_of(state: ViewState, variable: TracedVariableRecord) -> str:
    """Return the user's line that built a variable; empty if none is known."""
    if variable.source is not None:
        return str(variable.source)
    return origin(state, variable.variable).source if variable.variable is not None else ""


def _first_bad(state: ViewState) -> str:
    """Describe the position of the first NaN or infinity, and its operands."""
    chain = state.blame()
    if not chain:
        return "no NaN or infinity was kept"
    link = chain[0]
    run = f" of run {link.run}" if len(state.traces) > 1 else ""
    line = f" ({sanitize(str(link.source))})" if link.source is not None else ""
    return f"first NaN or infinity{run} (f): {sanitize(link.words)}{line}"


def variable_row(
    place_in_step: int, variable: TracedVariableRecord, place: int, chosen: int | None, line: str
) -> Row:
    """Return the row of a variable: name, statistics and first values."""
    low, high, mean, nan, infinite = variable.statistics[place].tolist()
    bad = f"bold {RED}" if nan or infinite else ""
    name = sanitize(variable.name)
    name = name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…"
    sign = SIGN if chosen is not None and variable.variable == chosen else NO_SIGN
    values = " ".join(number(element) for element in variable.values[place, :8].tolist())
    more = " …" if math.prod(variable.shape) > 8 else ""
    return (
        Cell(str(place_in_step), place_in_step),
        Cell(f"{sign}{'! ' if bad else ''}{name}", name.casefold(), bad or ("bold" if sign == SIGN else "")),
        text_cell(variable.role),
        *(Cell(number(value), value if math.isfinite(value) else -math.inf) for value in (low, high, mean)),
        Cell(str(int(nan)), nan, bad),
        Cell(str(int(infinite)), infinite, bad),
        text_cell(values + more),
        text_cell(sanitize(line)),
    )


def watch_text(expression: str, trace: TraceRecord | None, state: ViewState) -> str:
    """Return the value of a watch expression at the step, or why there is none."""
    if trace is None:
        return "not kept at this step"
    place = trace.steps.index(state.step)
    known = {
        variable.name: variable.values[place][: math.prod(variable.shape)].reshape(variable.shape)
        for variable in trace.variables
        if math.prod(variable.shape) <= variable.values.shape[1]
    }
    cut = {variable.name for variable in trace.variables if variable.name not in known}
    try:
        return watch_value(expression, known, cut)
    except WatchError as error:
        return str(error)
