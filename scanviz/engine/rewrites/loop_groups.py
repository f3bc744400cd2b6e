"""Loops of a level that may become one, in groups: which need which, so that joining loops never makes a circle.

Loops are looked at in order of computation.  Groups are bits of an int, so sets of them are ints, and asking which groups a
loop needs is a few operations however many loops there are.  What a group needs is kept closed over groups: joining two
loops may make a third need what only one of them needed, and loops that need one another could not be run.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.rewrites.level import Level
from scanviz.engine.scan.loop import Scan, ScanView


class LoopGroup(Struct, eq=False):
    """Loops that become one.

    Attributes
    ----------
    bit : int
        Stands for it in sets of groups.
    needs : int
        The groups whose results it needs, directly or through others.
    members : list of ScanView
        In order of computation.
    """

    bit: int
    needs: int
    members: list[ScanView]


class Groups:
    """The groups of one level, in the order of their first loops."""

    def __init__(self) -> None:
        self.all: list[LoopGroup] = []
        self.of: dict[Apply, LoopGroup] = {}

    def among(self, bits: int) -> Iterator[LoopGroup]:
        """Return the groups of a set, in order."""
        return (self.all[k] for k in positions(bits))

    def put(self, view: ScanView, group: LoopGroup | None, needs: int) -> LoopGroup:
        """Put a loop that needs some groups into another one, None for a group of its own."""
        if group is None:
            group = LoopGroup(1 << len(self.all), needs, [])
            self.all.append(group)
        elif needs & ~group.needs:
            group.needs |= needs
            for loop_group in self.all:
                if loop_group.needs & group.bit:
                    loop_group.needs |= group.needs
        group.members.append(view)
        self.of[view.node] = group
        return group


def loops_and_needs(level: Level, groups: Groups) -> Iterator[tuple[ScanView, int]]:
    """Return the loops of a level in order of computation, each with the groups it needs.

    Who reads this puts each loop into a group before the next.
    """
    loops = level.loops
    above: dict[Variable, int] = {}  # the nearest loops above what is computed from loops, as bits
    for node in level.nodes:
        nearest = 0
        for variable in node.inputs:
            nearest |= above.get(variable, 0)
        if isinstance(node.op, Scan):
            needs = 0
            for k in positions(nearest):
                group = groups.of[loops[k]]
                needs |= group.bit | group.needs
            nearest = 1 << len(groups.of)
            yield ScanView(node), needs
        if nearest:
            above.update(dict.fromkeys(node.outputs, nearest))


def positions(bits: int) -> Iterator[int]:
    """Return the positions of the bits of a number, lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
