"""What stands on an operation in a picture: short, as mathematics and indices are written, with small constants in their places."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BETWEEN = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**"}
_TRANSPOSED = "dimshuffle{order=(1, 0)}"
_PARAMETERS = re.compile(r"(\w+)=(\([^()]*\)|[^,{}]*)")
_IN_WORDS = {
    "state_history": "initial rows, then steps",
    "first_rows": "first rows",
    "state_shape": "shaped as",
    "dimension": "size",
}
SHORT = 12  # characters of a constant that is written into its reader's label
_NUMBER = re.compile(r"-?\d+\.\d+(e-?\d+)?")
OPEN = "·"  # stands for what an arrow brings


def operation_label(op: str, written: Sequence[str | None], name: str = "") -> str:
    """Return what stands on an operation.

    Parameters
    ----------
    op : str
        The operation with its parameters.
    written : sequence of str or None
        Of each input the small constant that it is, or None for what an arrow brings.
    name : str
        What the user calls the result; empty for nothing.

    Examples
    --------
    >>> operation_label("subtract", ["1.0", None]), operation_label("tanh", [None], "x_t")
    ('1 - ·', 'x_t = tanh')
    >>> operation_label("index[::-1]", [None]), operation_label("index[4:]", [None], "u[4:]")
    ('[::-1]', 'u[4:]')
    >>> operation_label("assign[:, 192:]+=", [None, None], "∂gates"), operation_label("dimshuffle{order=(1, 0)}", [None])
    ('∂gates = [:, 192:] +=', 'transpose')
    >>> operation_label("sum{axes=(0,), keepdims=False}", [None]), operation_label("clip", [None, "0.0", "1.0"])
    ('sum over axis 0', 'clip(·, 0, 1)')
    >>> operation_label("subtract", [None, None], "updates[0][1]"), operation_label("cast{dtype=float64}", [None])
    ('subtract', 'cast to float64')
    """
    label, name = _plain(op), "" if _is_place(name) else name
    if any(text is not None for text in written):
        texts = [OPEN if text is None else text.removesuffix(".0") for text in written]
        sign = _BETWEEN.get(op) if len(texts) == 2 else None
        second = texts[-1]
        if sign and second.startswith("-"):
            texts[-1] = f"({second})"
        label = f" {sign} ".join(texts) if sign else f"{label}({', '.join(texts)})"
    elif name and label.startswith("[") and name.endswith(label):
        return name
    return f"{name} = {label}" if name else label


def constant_text(label: str) -> str:
    r"""Return a constant's value in one line, a number of many digits with six of them.

    Examples
    --------
    >>> constant_text("0.09999999999999998"), constant_text("[[4. 0.]\n [0. 4.]]"), constant_text("0.25")
    ('≈0.1', '[[4. 0.] [0. 4.]]', '0.25')
    """
    if len(label) > SHORT and _NUMBER.fullmatch(label):
        return f"≈{float(label):.6g}"
    return " ".join(label.split())


def _plain(op: str) -> str:
    """Return an operation without what its readers know: that it is an index, and parameters that are as always."""
    if op.startswith("index["):
        return op.removeprefix("index")
    if op.startswith("assign["):
        place, _, sign = op.removeprefix("assign").rpartition("]")
        return f"{place}] {sign}"
    return "transpose" if op == _TRANSPOSED else _in_words(op)


def _is_place(name: str) -> bool:
    """Return whether a result has no name but its place: among the outputs, or in a list of tuples such as ``updates[0][1]``."""
    return re.fullmatch(r"output \d+|\w+(\[\d+\]){2,}", name) is not None


def _in_words(op: str) -> str:
    """Return an operation with the parameters that say what it does, in words.

    Examples
    --------
    >>> _in_words("max{axes=(0, 1), keepdims=True}"), _in_words("concatenate{axis=1}"), _in_words("state_shape{∂W of grad}")
    ('max over axes 0, 1', 'concatenate along axis 1', 'shaped as ∂W')
    >>> _in_words("draw_normal{sizes=2, dtype=float64, replace=True}"), _in_words("dimension{axis=0}")
    ('draw normal', 'size of axis 0')
    """
    name, _, inside = op.partition("{")
    known = dict(_PARAMETERS.findall(inside))
    axes = re.findall(r"-?\d+", known.get("axes", ""))
    words = _IN_WORDS.get(name, name.replace("draw_", "draw "))
    if name == "state_shape":
        return f"{words} {inside.partition(' of ')[0]}"
    if name == "first_rows":
        return f"{words} {inside.rstrip('}')}"
    if axes:
        return f"{words} over {'axis' if len(axes) == 1 else 'axes'} {', '.join(axes)}"
    axis = known.get("axis", "0")
    if name == "dimension" or (axis != "0" and name != "reshape"):
        return f"{words} {'of' if name == 'dimension' else 'along'} axis {axis}"
    if name == "cast":
        return f"{words} to {known.get('dtype', 'another dtype')}"
    return f"{name} {known['order']}" if "order" in known else words
