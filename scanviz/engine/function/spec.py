"""The specification of a function: checked variables, updates and options, before rewriting and compilation.

A pickled function holds its specification and no compiled code.  The same specification compiles for another tier.
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
    """The specification of a function: enough to compile it, here or after unpickling."""

    name: str
    inputs: list[In]
    outputs: list[Out]
    structure: Any
    shared: list[SharedVariable]
    updates: dict[SharedVariable, Variable]
    mode: Mode
    where: SourceLine | None
    profile: bool
    tier_reason: str = ""  # why it runs on its tier, if no user chose that

    def structured(self, outputs: list[Array]) -> Any:
        """Return the outputs of a call in the requested structure: a single value, a list or tuple, a dict, or None."""
        structure = self.structure
        if structure is None:
            return None
        if structure == "single":
            return outputs[0]
        if isinstance(structure, list):
            return dict(zip(structure, outputs, strict=True))
        return structure(outputs)


__all__ = ["FunctionSpec"]
