"""Report variables of a step that escape from it: outside the loop they have no value, but one per step.

A step's function may store a variable where later code finds it: in a list, an attribute or an enclosing function's name.  ``x_t``
and its dependents have a meaning only inside the loop.  So the arguments of ``fn`` refer to their step, and an error about an
escaped variable names its loop and the fix.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.errors import MissingInputError
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.provenance import SourceLine, user_line
from scanviz.engine.graph.traversal import leaves, toposort
from scanviz.engine.graph.types import Type


class OpenStep:
    """A step whose function is running or has returned.

    Attributes
    ----------
    loop : str
        Name of the loop.
    where : SourceLine or None
        Source line of the function.
    open : bool
        Whether the function is still running: it and its inner loops may use the step's variables.
    """

    __slots__ = ("loop", "open", "where")

    def __init__(self) -> None:
        self.loop, self.open = "", True
        self.where: SourceLine | None = None


class StepVariable(Variable):
    """An argument of a step's function: a row of a sequence, or of an earlier step's result."""

    __slots__ = ("step",)
    step: OpenStep

    def __init__(self, type: Type, name: str | None, step: OpenStep) -> None:
        super().__init__(type, name)
        object.__setattr__(self, "step", step)


def find_escaped(outputs: Sequence[Variable]) -> MissingInputError | None:
    """Return the error of a graph that depends on an escaped variable, or None."""
    for leaf in leaves(outputs):
        if isinstance(leaf, StepVariable) and not leaf.step.open:
            return escaped_error(leaf, outputs)
    return None


def escaped_error(escaped: StepVariable, outputs: Sequence[Variable]) -> MissingInputError:
    """Return the error for an escaped variable on which ``outputs`` depend."""
    from scanviz.engine.graph.refusals import source_text  # of an error

    step = escaped.step
    leaked, reader = _left(escaped, outputs)
    where = (reader.provenance.source if reader is not None else None) or user_line()
    built = leaked.owner.provenance.source if leaked.owner is not None else step.where
    named = leaked.name and leaked.name.isidentifier()
    returned = f"return …, {leaked.name} in the step" if named else "return it from the step too"
    text = source_text(built)
    return MissingInputError(
        f"`{describe(leaked)}` belongs to the step of loop `{step.loop}`, and is used outside of that loop",
        where=where,
        text=source_text(where),
        expected="a result that the loop returns, with one row a step",
        found=f"a variable of the step, which has another value at each, made at {built}"
        + (f":\n              {text}" if text else ""),
        fix=f"{returned}, with None for it in outputs_info;\n"
        f"the loop gives it as another output, and [-1] is its value after the last step",
    )


def _left(escaped: StepVariable, outputs: Sequence[Variable]) -> tuple[Variable, Apply | None]:
    """Return the step's variable that the outside reads, and the node that reads it, or None for an output."""
    loop = escaped.step.loop
    inside: set[Variable] = {escaped}
    for node in toposort(outputs):
        read = next((variable for variable in node.inputs if variable in inside), None)
        if read is None:
            continue
        if loop not in node.provenance.scans:
            return read, node
        inside.update(node.outputs)
    return next((output for output in outputs if output in inside), escaped), None
