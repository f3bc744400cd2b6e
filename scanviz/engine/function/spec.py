"""What a function was asked for: variables, updates and choices, checked, before anything is rewritten or compiled.

A pickle of a function holds this and no compiled code, and the same function for another tier is made of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from scanviz.engine.function.arguments import In, Out
    from scanviz.engine.graph.nodes import Array, Variable
    from scanviz.engine.graph.provenance import SourceLine
    from scanviz.engine.graph.shared import SharedVariable
    from scanviz.engine.mode import Mode


class FunctionSpec(Struct, frozen=True, eq=False):
    """What a function was asked for: enough to compile it, here or where it is unpickled."""

    name: str
    inputs: list[In]
    outputs: list[Out]
    structure: Any
    shared: list[SharedVariable]
    updates: dict[SharedVariable, Variable]
    mode: Mode
    where: SourceLine | None
    profile: bool

    def structured(self, outputs: list[Array]) -> Any:
        """Return the outputs of a call in the form that was asked for: alone, as a list or tuple, by name, or none."""
        structure = self.structure
        if structure is None:
            return None
        if structure == "single":
            return outputs[0]
        if isinstance(structure, list):
            return dict(zip(structure, outputs, strict=True))
        return structure(outputs)


__all__ = ["FunctionSpec"]
