"""Expressions over values that were kept: names of a step's variables, numbers, arithmetic, comparisons and a few functions.

An expression is read by Python's own parser and evaluated node by node; nothing but what stands here can be done in it.  A step's
variables have names such as ``h[t-1]``, which are looked up as they are written.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

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
    """The expression cannot be evaluated; the message says why."""


def watched(expression: str, values: Mapping[str, Any], cut: Collection[str] = ()) -> str:
    """Return the value of an expression as text.

    Parameters
    ----------
    expression : str
        Such as ``max(h[t]) - 1``.
    values : mapping of str to numpy.ndarray
        Variables by name.
    cut : collection of str
        Names of variables of which not all numbers were kept.

    Raises
    ------
    WatchError
        If it is no such expression, or names what is not there.

    Examples
    --------
    >>> watched("max(h[t]) - h[t-1][0]", {"h[t]": np.array([1.0, 4.0]), "h[t-1]": np.array([0.5, 0.0])})
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
    """Return a name as Python's parser would write it back, so that ``h[ t-1 ]`` and ``h[t - 1]`` are one."""
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
