"""Loops of a graph in groups that run as one, and the loop that a group becomes (rule ``ScanMerge``)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from scanviz.engine.graph.equality import Numbers, structurally_equal
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.ops.sizes import size_key
from scanviz.engine.rewrites.formatting import listed
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loop_groups import Groups, LoopGroup, loops_and_needs
from scanviz.engine.rewrites.rule import Match, Refusal
from scanviz.engine.scan.effects import effects_of
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import Carry, State, StepOutput, inner_inputs

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
    from scanviz.engine.rewrites.loop_names import told_apart

    op = Scan([variable for one in told_apart(members) for variable in one], first.op.until, settings)
    inputs = [first.n_steps, *(variable for one in members for variable in one.node.inputs[1:])]
    outputs = [output for one in members for output in one.node.outputs]
    node = Apply(op, inputs, node_id=first.node.node_id, names=[output.name for output in outputs])
    names = listed(f"`{loop.name}`" for loop in loops)
    return Match(dict(zip(outputs, node.outputs, strict=True)), f"{names} run as one loop")
