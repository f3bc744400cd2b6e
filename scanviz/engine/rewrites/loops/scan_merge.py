"""ScanMerge: loops over the same steps become one.

Independent loops that take the same number of steps and read a common input become one, so their common work is done once.  The
joined loop has all their names.  A loop joins the first group with as many steps, the same mode and a common input, unless it
needs a result of the group.  All loops of a level are placed in one walk.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

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
    """Merge loops that run over the same steps and read the same values."""
    if len(level.loops) < 2:
        return None

    members, refusal = level.once(placed)[node]
    if len(members) > 1:
        return merged(members) if node is members[1].node else None
    return refusal


MOST_NAMES = 4  # of loops that became one, in its name
Placed = dict[Apply, tuple[list[ScanView], Refusal | None]]


def placed(level: Level) -> Placed:
    """Return for each loop of a level the loops that become one with it, and why it joins none before it."""
    numbers = Numbers()
    found: dict[
        Hashable, int
    ] = {}  # groups, as bits, by steps, by how they are to be run, and by what they read
    inner: dict[int, set[Variable]] = {}
    refusals: dict[Apply, Refusal] = {}

    def join(view: ScanView, needs: int, groups: Sequence[MergeSet]) -> MergeSet | None:
        settings, steps = view.op.settings, size_key(view.n_steps, numbers)
        kind: Hashable = (steps, settings.mode, settings.truncate_gradient, view.op.until is None)
        read = [variable for variable in view.node.inputs[1:] if not isinstance(variable, Constant)]
        alike, sharing = found.get(kind, 0), 0
        for variable in read:
            sharing |= found.get(variable, 0)
        fitting = (groups[k] for k in positions(alike & sharing & ~needs))
        group = None if effects_of(view.op) else next((one for one in fitting if fits(one, view)), None)
        if group is None and groups:
            same_steps, everything = found.get(("steps", steps), 0), (1 << len(groups)) - 1
            nearest = next(filter(None, (alike & ~needs, alike & needs, same_steps, everything)))
            near = groups[nearest.bit_length() - 1]
            why = _why_apart(near.members[0], view, same_steps & near.bit, needs & near.bit)
            refusals[view.node] = why
        bit = 1 << len(groups) if group is None else group.bit
        inner.setdefault(bit, set()).update(view.op.inner_inputs)
        for key in (("steps", steps), kind, *read):
            found[key] = found.get(key, 0) | bit
        return group

    def fits(group: MergeSet, view: ScanView) -> bool:
        first = group.members[0]
        if effects_of(first.op) or not _ends_alike(first, view):
            return False
        return inner[group.bit].isdisjoint(view.op.inner_inputs)

    return {
        view.node: (group.members, refusals.get(view.node))
        for group in grouped(level, join)
        for view in group.members
    }


def _why_apart(a: ScanView, b: ScanView, same_steps: int, needed: int) -> Refusal:
    """Return which precondition of two loops that become one failed."""
    one, other = f"`{a.op.scan_name}`", f"`{b.op.scan_name}`"
    if not same_steps:
        return Refusal(f"{one} and {other} are not known to take the same number of steps", 0)
    mine, theirs = a.op.settings, b.op.settings
    if (mine.mode, mine.truncate_gradient) != (theirs.mode, theirs.truncate_gradient):
        return Refusal(f"{one} and {other} have different modes or gradient truncations", 1)
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
    """Return the name of a loop made of others."""
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
    """Return a name qualified by the name of its loop.

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
    """Return the states, outputs and carries of a loop."""
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


class MergeSet(Struct, eq=False):
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


Join = Callable[[ScanView, int, Sequence[MergeSet]], MergeSet | None]


def grouped(level: Level, join: Join) -> list[MergeSet]:
    """Put the loops of a level into groups, in order of computation.

    ``join(view, needs, groups)`` gives the group that a loop joins, None for one of its own; ``needs`` are the groups whose results
    it needs, directly or through others.
    """
    groups: list[MergeSet] = []
    of: list[MergeSet] = []  # of each loop so far
    above: dict[Variable, int] = {}  # the nearest loops above what is computed from loops, as bits
    for node in level.nodes:
        nearest = 0
        for variable in node.inputs:
            nearest |= above.get(variable, 0)
        if isinstance(node.op, Scan):
            needs = 0
            for k in positions(nearest):
                needs |= of[k].bit | of[k].needs
            nearest = 1 << len(of)
            view = ScanView(node)
            group = join(view, needs, groups)
            if group is None:
                group = MergeSet(1 << len(groups), needs, [])
                groups.append(group)
            elif needs & ~group.needs:
                group.needs |= needs
                for other in groups:
                    other.needs |= group.needs if other.needs & group.bit else 0
            group.members.append(view)
            of.append(group)
        if nearest:
            above.update(dict.fromkeys(node.outputs, nearest))
    return groups


def positions(bits: int) -> Iterator[int]:
    """Return the positions of the bits of a number, lowest first."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
