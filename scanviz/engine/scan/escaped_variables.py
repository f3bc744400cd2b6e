"""Variables of a step that are used outside of it, where they stand for no value: they have one a step.

A step's function may put a variable where later code finds it: in a list, in an attribute, in a name of the function around it.
``x_t`` and what is computed from it mean something inside of the loop only, so the variables that ``fn`` is called on remember
their step, and whoever finds one in a graph outside can say which loop it belongs to and what to write.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.errors import MissingInputError
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.provenance import SourceLine, user_line
from scanviz.engine.graph.traversal import leaves, toposort
from scanviz.engine.graph.types import Type


class OpenStep:
    """A step whose function is being called, or was.

    Attributes
    ----------
    loop : str
        Name of its loop.
    where : SourceLine or None
        Where its function is defined.
    open : bool
        Whether the function has not returned yet: variables of the step may be used, also by loops inside of it.
    """

    __slots__ = ("loop", "open", "where")

    def __init__(self) -> None:
        self.loop, self.open = "", True
        self.where: SourceLine | None = None


class StepVariable(Variable):
    """A variable that a step's function is called on: a row of a sequence, or of what a step before has returned."""

    __slots__ = ("step",)
    step: OpenStep

    def __init__(self, type: Type, name: str | None, step: OpenStep) -> None:
        super().__init__(type, name)
        object.__setattr__(self, "step", step)


def find_escaped(outputs: Sequence[Variable]) -> MissingInputError | None:
    """Return the error of a graph that is computed from a variable of a step that is over, None if it is from none."""
    for leaf in leaves(outputs):
        if isinstance(leaf, StepVariable) and not leaf.step.open:
            return escaped_error(leaf, outputs)
    return None


def escaped_error(escaped: StepVariable, outputs: Sequence[Variable]) -> MissingInputError:
    """Return the error of a step's variable that ``outputs``, outside of its loop, are computed from."""
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
    """Return the variable of the step that the outside reads, and the node that reads it: None where it is an output."""
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
