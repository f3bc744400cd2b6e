"""Options of a loop besides its computation, and the loops it stands for.

A backward loop keeps the id of its forward loop's node, and a loop merged by rewrites the ids of the nodes of its parts.  A
loop that is loaded from a pickle refers to the nodes' new ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class GradientOf(NamedTuple):
    """The loop that a backward loop belongs to: its name, and the node id of its node."""

    name: str
    node_id: int


class Member(NamedTuple):
    """A loop merged into another: its node id, and the loop it is the back-propagation of."""

    node_id: int
    gradient_of: GradientOf | None


class ScanSettings(NamedTuple):
    """Options of a loop besides its computation.

    Attributes
    ----------
    name : str
        The user's name, or None for one made of the source line.
    truncate_gradient : int
        Steps back in time that a gradient goes, -1 for all.
    mode : str or None
        Name of the tier that runs this loop, None for the function's.
    allow_gc : bool
        True frees the loop's buffers after each run.
    profile : bool
        Whether to record this loop.
    strict : bool
        Whether captured shared variables were refused.
    recompute : bool
        Whether a gradient runs this loop again where it needs its values, instead of keeping them.
    gradient_of : GradientOf or None
        The loop that this one is the back-propagation of.
    steps_read : bool
        Whether a rewrite has left out the steps after the last row that is read.
    number : int
        Tells it from the other loops of its name in one function, 0 where there is none.
    merged : tuple of Member
        The loops that rewrites made it of; empty for one that stands for itself.
    """

    name: str
    truncate_gradient: int = -1
    mode: str | None = None
    allow_gc: bool = True
    profile: bool = False
    strict: bool = False
    recompute: bool = False
    gradient_of: GradientOf | None = None
    steps_read: bool = False
    number: int = 0
    merged: tuple[Member, ...] = ()

    def members(self, node_id: int) -> tuple[Member, ...]:
        """Return the loops that this loop stands for: itself, unless it was merged."""
        return self.merged or (Member(node_id, self.gradient_of),)

    @property
    def label(self) -> str:
        """The loop's displayed name, with its number if it has one."""
        return f"{self.name}#{self.number}" if self.number else self.name

    def renamed(self, name: str) -> ScanSettings:
        """Return the same settings of a loop of another name."""
        return self._replace(name=name, number=0)

    def compared(self) -> ScanSettings:
        """Return the settings that determine a loop's computation; others are cleared."""
        return self._replace(name="", number=0, profile=False, gradient_of=None, steps_read=False, merged=())

    def referred(self) -> tuple[int, ...]:
        """Return the node ids that the settings refer to."""
        forward = (self.gradient_of, *(one.gradient_of for one in self.merged))
        known = (*(one.node_id for one in self.merged), *(one.node_id for one in forward if one is not None))
        return tuple(dict.fromkeys(known))

    def referring_to(self, node_ids: Sequence[int]) -> ScanSettings:
        """Replace node ids, in the order of :meth:`referred`."""
        new = dict(zip(self.referred(), node_ids, strict=True))
        merged = tuple(Member(new[one.node_id], _renumbered(one.gradient_of, new)) for one in self.merged)
        return self._replace(gradient_of=_renumbered(self.gradient_of, new), merged=merged)


def _renumbered(forward: GradientOf | None, new: Mapping[int, int]) -> GradientOf | None:
    return None if forward is None else forward._replace(node_id=new[forward.node_id])
