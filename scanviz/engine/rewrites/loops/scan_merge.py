"""ScanMerge: loops over the same steps become one.

Loops that take the same number of steps, none of which needs another, and that read something in common become one: what they
compute alike is then computed once.  The joined loop has all their names.  A loop joins the first group that takes as many
steps, is to be run the same way, reads one of its inputs and that it does not need; all loops of a level are placed in one walk.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace as with_changes

from scanviz.engine.graph.equality import Numbers, structurally_equal
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.graph.notation import GRADIENT
from scanviz.engine.graph.replace import replace
from scanviz.engine.ops.sizes import size_key
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, listed, rule
from scanviz.engine.scan.dependence import effects_of
from scanviz.engine.scan.loop import SCAN, Scan, ScanView
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


@rule(name="ScanMerge", phase="merge", on=(SCAN,), single=True, tags=("scan",))
def merge_loops(node: Apply, level: Level) -> Match | Refusal | None:
    """Make one loop of those that run over the same steps and share what they read."""
    if len(level.loops) < 2:
        return None

    groups = level.once(placed)
    members = groups.groups.of[node].members
    if len(members) > 1:
        return merged(members) if node is members[1].node else None
    return groups.refusals.get(node)


MOST_NAMES = 4  # of loops that became one, in its name


class PlacedLoops:
    """The loops of a level in groups, and why loops stand alone; sets of groups are ints."""

    def __init__(self) -> None:
        self.groups = Groups()
        self.refusals: dict[Apply, Refusal] = {}
        self._numbers = Numbers()
        self._of_steps: dict[Hashable, int] = {}
        self._of_kind: dict[Hashable, int] = {}  # steps, and how they are to be run
        self._reading: dict[Variable, int] = {}
        self._inner: dict[LoopGroup, set[Variable]] = {}

    def place(self, view: ScanView, needs: int) -> None:
        """Put a loop into the first group that it fits, or into one of its own."""
        settings = view.op.settings
        steps = size_key(view.n_steps, self._numbers)
        kind = (steps, settings.mode, settings.truncate_gradient, view.op.until is None)
        read = dict.fromkeys(
            variable for variable in view.node.inputs[1:] if not isinstance(variable, Constant)
        )
        sharing = 0
        for variable in read:
            sharing |= self._reading.get(variable, 0)
        alike = self._of_kind.get(kind, 0)
        group = None if effects_of(view.op) else self._fitting(view, alike & sharing & ~needs)
        if group is None:
            self._refuse(view, self._of_steps.get(steps, 0), alike, needs)
        group = self.groups.put(view, group, needs)
        self._inner.setdefault(group, set()).update(view.op.inner_inputs)
        self._of_steps[steps] = self._of_steps.get(steps, 0) | group.bit
        self._of_kind[kind] = alike | group.bit
        for variable in read:
            self._reading[variable] = self._reading.get(variable, 0) | group.bit

    def _fitting(self, view: ScanView, candidates: int) -> LoopGroup | None:
        """Return the first of some groups that a loop can join."""
        for group in self.groups.among(candidates):
            if effects_of(group.members[0].op):
                continue
            if _ends_alike(group.members[0], view) and not self._holds(group, view):
                return group
        return None

    def _holds(self, group: LoopGroup, view: ScanView) -> bool:
        """Return whether a group has variables of a loop's step already."""
        return not self._inner[group].isdisjoint(view.op.inner_inputs)

    def _refuse(self, view: ScanView, same_steps: int, alike: int, needs: int) -> None:
        """Say why a loop joins none before it: of the loop that came nearest, the last of several."""
        everything = (1 << len(self.groups.all)) - 1
        for bits in (alike & ~needs, alike & needs, same_steps, everything):
            if bits:
                nearest = self.groups.all[bits.bit_length() - 1]
                near = nearest.members[0]
                why = _why_apart(near, view, same_steps & nearest.bit, needs & nearest.bit)
                self.refusals[view.node] = why
                return


def placed(level: Level) -> PlacedLoops:
    """Return the loops of a level in groups."""
    found = PlacedLoops()
    for view, needs in loops_and_needs(level, found.groups):
        found.place(view, needs)
    return found


def _why_apart(a: ScanView, b: ScanView, same_steps: int, needed: int) -> Refusal:
    """Return which precondition of two loops that become one failed."""
    one, other = f"`{a.op.scan_name}`", f"`{b.op.scan_name}`"
    if not same_steps:
        return Refusal(f"{one} and {other} are not known to take the same number of steps", 0)
    mine, theirs = a.op.settings, b.op.settings
    if (mine.mode, mine.truncate_gradient) != (theirs.mode, theirs.truncate_gradient):
        return Refusal(f"{one} and {other} were asked to run in different ways", 1)
    if not _ends_alike(a, b):
        return Refusal(f"{one} and {other} end by different conditions", 1)
    if effects_of(a.op) or effects_of(b.op):
        return Refusal(f"a step of {one} or of {other} prints or checks something", 2)
    if needed:
        return Refusal(f"{other} needs a result of {one}", 2)
    if not set(a.op.inner_inputs).isdisjoint(b.op.inner_inputs):
        return Refusal(f"{one} and {other} were made of one loop and read its variables in different ways", 2)
    return Refusal(f"{one} and {other} read nothing in common: together they are no faster", 3)


def _ends_alike(a: ScanView, b: ScanView) -> bool:
    """Return whether both end never, or by conditions that are equal at every step."""
    if a.op.until is None or b.op.until is None:
        return a.op.until is b.op.until
    pairs: dict[Variable, Variable] = {}
    for mine in a.op.variables:
        if isinstance(mine, State | Carry | StepOutput):
            continue
        for yours in b.op.variables:
            if type(mine) is type(yours) and a.outer_input(mine) is b.outer_input(yours):
                pairs.setdefault(inner_inputs(mine)[0], inner_inputs(yours)[0])
    return structurally_equal([a.op.until.condition], [b.op.until.condition], pairs)


def _joined(names: Sequence[str]) -> str:
    """Return what a loop made of others is called; no two of them have a name in common, so no two are called alike."""
    shown = names if len(names) <= MOST_NAMES else [*names[:2], "…", names[-1]]
    return "&".join(dict.fromkeys(shown))


def merged(members: Sequence[ScanView]) -> Match:
    """Return one loop with the loop variables of all."""
    first = members[0]
    loops = [member.op.settings for member in members]
    together = [one for member in members for one in member.op.settings.members(member.node.node_id)]
    forward = dict.fromkeys(one.gradient_of for one in together if one.gradient_of is not None)
    settings = first.op.settings.renamed(_joined([loop.label for loop in loops]))._replace(
        gradient_of=next(iter(forward))._replace(name=_joined([one.name for one in forward]))
        if forward
        else None,
        merged=tuple(together),
        allow_gc=all(loop.allow_gc for loop in loops),
        profile=any(loop.profile for loop in loops),
    )

    op = Scan([variable for one in distinct_variables(members) for variable in one], first.op.until, settings)
    inputs = [first.n_steps, *(variable for one in members for variable in one.node.inputs[1:])]
    outputs = [output for one in members for output in one.node.outputs]
    node = Apply(op, inputs, node_id=first.node.node_id, names=[output.name for output in outputs])
    names = listed(f"`{loop.name}`" for loop in loops)
    return Match(dict(zip(outputs, node.outputs, strict=True)), f"{names} run as one loop")


def distinct_variables(members: Sequence[ScanView]) -> list[list[LoopVariable]]:
    """Return the loop variables of loops to merge; variables of the same name are qualified by their loop's name."""
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
