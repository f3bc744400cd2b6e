"""Names of variables from the user's functions: ``gates = T.dot(x, W)`` is shown as ``gates``.

After the call of a step, the local variables of the functions that built it are read.  The search for the user's line knows the
frames that made nodes, and a frame that is held keeps its local variables after its function has returned.  So nothing is done
while the step is built, and no trace or profile function disturbs debuggers and coverage tools.

A variable gets the name that it has in the outermost of these functions, which is where the user put a helper's result; of two
names there the one that was bound first.  A name that is bound twice is the last value's, as in Python.  Members of a list,
a tuple or a dict are called by it: ``gates[0]``, ``cell['input']``.  Names that a user gave stay.

Examples
--------
>>> import scanviz
>>> from scanviz import tensor as T
>>> def step(x_t, h):
...     gates = [T.sigmoid(x_t + h), T.tanh(h)]
...     kept = gates[0] * h
...     return kept + gates[1]
>>> h, _ = scanviz.scan(step, T.dvector("x"), outputs_info=T.zeros(()))
>>> (state,) = [variable for variable in h.owner.op.variables if variable.name == "h"]
>>> print(state.writes[0], state.writes[0].owner.inputs)
kept + gates[1] (<kept: float64[]>, <gates[1]: float64[]>)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

from scanviz.engine.graph.nodes import Variable

_DEEPEST = 2  # lists in lists
_MOST = 200  # members of a list, a tuple or a dict that are looked at


def name_by_locals(frames: Mapping[FrameType, int]) -> None:
    """Give computed variables without a name the one that they have in the user's functions.

    Parameters
    ----------
    frames : mapping of frame to int
        Frames of the functions, of such as have returned too, with how deep in the stack of calls each stands.
    """
    names: dict[Variable, str] = {}
    for frame in sorted(frames, key=lambda frame: frames[frame]):
        for name, value in _local_variables(frame):
            for path, variable in _variables(name, value, _DEEPEST):
                names.setdefault(variable, path)
    for variable, name in names.items():
        if variable.name is None and variable.owner is not None:
            variable.name = name


def _local_variables(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Yield the named local variables of a function, except ``_`` and Python's own."""
    for name, value in list(frame.f_locals.items()):
        if type(name) is str and name.isidentifier() and name.strip("_"):
            yield name, value


def _variables(path: str, value: Any, deep: int) -> Iterator[tuple[str, Variable]]:
    """Iterate over the variables that a value is or holds, with how a user would write them.

    Nothing of the user's is called: only types are asked, and only Python's own lists, tuples and dicts are looked into.
    """
    if issubclass(type(value), Variable):
        yield path, value
    elif deep and (type(value) in (list, tuple, dict) or _is_named_tuple(value)) and len(value) <= _MOST:
        for key, member in _members(value):
            yield from _variables(f"{path}{key}", member, deep - 1)


def _is_named_tuple(value: Any) -> bool:
    return type(value).__bases__ == (tuple,) and type(type(value).__dict__.get("_fields")) is tuple


def _members(value: Any) -> list[tuple[str, Any]]:
    if type(value) is dict:
        return [(f"[{key!r}]", member) for key, member in value.copy().items() if type(key) in (str, int)]
    if type(value) in (list, tuple):
        return [(f"[{k}]", member) for k, member in enumerate(value)]
    return list(
        zip((f".{field}" for field in type(value).__dict__["_fields"]), tuple.__iter__(value), strict=True)
    )
