"""Names of loop variables where loops become one: ``h`` of two loops is ``forwards.h`` and ``backwards.h`` in the joined one.

Names are kept where they say enough: a name that one loop alone has, and one that loops of one name have, for these are copies of
which one will be left.  A gradient is told apart by the loop that it is the gradient of: ``∂first.h``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as with_changes

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.notation import GRADIENT
from scanviz.engine.graph.replace import replace
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    State,
    StepOutput,
    giving,
    inner_inputs,
    inner_outputs,
    over,
)


def told_apart(members: Sequence[ScanView]) -> list[list[LoopVariable]]:
    """Return the loop variables of loops that become one, those that are called alike by the names of their loops too."""
    if members[0].op.until is not None:  # its condition is over the step's variables as they are
        return [list(member.op.variables) for member in members]
    loops: dict[str, set[str]] = {}
    for member in members:
        for variable in _own(member):
            loops.setdefault(variable.name, set()).add(_loop(member))
    alike = {name for name, of in loops.items() if len(of) > 1}
    return [_named(member, alike) for member in members]


def qualified(name: str, loop: str) -> str:
    """Return what something is called with the name of its loop.

    Examples
    --------
    >>> qualified("h[t-1]", "first"), qualified("∂h", "first"), qualified("∂(f * c)", "first")
    ('first.h[t-1]', '∂first.h', '∂first.(f * c)')
    """
    rest = name.removeprefix(GRADIENT)
    return f"{name[: len(name) - len(rest)]}{loop}.{rest}"


def _loop(member: ScanView) -> str:
    """Return the name of the user's loop: the one that it is the gradient of, if any."""
    forward = member.op.settings.gradient_of
    return member.op.settings.name if forward is None else forward.name


def _own(member: ScanView) -> list[LoopVariable]:
    """Return what a loop carries and gives."""
    return [variable for variable in member.op.variables if isinstance(variable, State | StepOutput | Carry)]


def _named(member: ScanView, alike: set[str]) -> list[LoopVariable]:
    """Return the variables of a loop with other names for some, and its step over variables of these names."""
    loop = _loop(member)
    fresh = {
        inner: Variable(inner.type, qualified(inner.name or variable.name, loop))
        for variable in _own(member)
        if variable.name in alike
        for inner in inner_inputs(variable)
    }
    listed = [
        with_changes(variable, name=qualified(variable.name, loop))
        if isinstance(variable, State | StepOutput | Carry) and variable.name in alike
        else variable
        for variable in member.op.variables
    ]
    if not fresh:
        return listed
    results = [result for variable in listed for result in inner_outputs(variable)]
    reading = [
        over(variable, lambda inner: fresh.get(inner, inner), lambda inner: inner) for variable in listed
    ]
    return giving(reading, iter(replace(results, fresh)))
