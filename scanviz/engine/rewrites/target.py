"""Which tier runs a loop, as far as rules must know: what pays for NumPy may cost machine code more than it saves.

Machine code keeps elementwise work, draws, lookups and views in the step, where they cost a few instructions a number and no
memory; NumPy pays a call for each in every step, and has them of all rows at once.  The answer follows from the loop and its
function's tier alone, before anything runs: :meth:`TargetTier.why_numpy` is the one place that gives it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.scan.loop import Scan, nodes_of
from scanviz.engine.sizes.polynomial import Polynomial
from scanviz.engine.sizes.unknowns import unknowns_in

NATIVE_TIERS = ("auto", "native")  # that run loops as machine code
HOST_TIERS = (*NATIVE_TIERS, "numpy", "reference")  # on which every operation runs
WhyNoCode = Callable[[Apply], str | None]


def _nowhere() -> None:
    """Return None: no machine code works here."""


class TargetTier(Struct, frozen=True):
    """The tier of a function, or of the loop around a step.

    Attributes
    ----------
    tier : str
        Its name.
    native : callable
        ``native()`` gives what says why an operation has no native code, None where it has; None where no machine code works here.
    """

    tier: str = "numpy"
    native: Callable[[], WhyNoCode | None] = _nowhere

    def inside(self, op: Scan) -> TargetTier:
        """Return the target of what is in a loop's step."""
        mode = op.settings.mode
        return self if mode is None or mode == self.tier else replace(self, tier=mode)

    def why_numpy(self, op: Scan) -> str | None:
        """Return why a loop is rewritten for NumPy; None where it is rewritten for machine code."""
        inside = self.inside(op)
        if inside.tier not in NATIVE_TIERS:
            return f"`{op.scan_name}` runs on the tier {inside.tier!r}"
        if inside not in op.derived:  # it follows from the step alone
            op.derived[inside] = inside._why_numpy(op)
        found: str | None = op.derived[inside]
        return found

    def _why_numpy(self, op: Scan) -> str | None:
        why_no_code = self.native()
        if why_no_code is None:
            return "machine code does not work here"
        from scanviz.engine.scan.dependence import effects_of  # where a loop is rewritten

        if effects_of(op):
            return f"the step of `{op.scan_name}` prints or checks something"
        for node in op.once(nodes_of):
            if isinstance(node.op, Scan):
                why = self.why_numpy(node.op)
            else:
                why = why_no_code(node) or _values_in_shape(node)
            if why is not None:
                return why
        return None


NUMPY = TargetTier()


def _values_in_shape(node: Apply) -> str | None:
    """Return that the shape of a result follows from values; None where it follows from shapes alone."""
    for output in node.outputs:
        if None not in getattr(output.type, "shape", ()):
            continue
        for size in shape_of(output):
            unknowns = unknowns_in(size) if isinstance(size, Polynomial) else ()
            if any(unknown.axis is None or unknown.computed for unknown in unknowns or ()):
                return f"the shape of what `{node.op.name}` gives depends on values"
    return None
