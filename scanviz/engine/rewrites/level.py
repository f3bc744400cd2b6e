"""One graph as rules see it, with its tier: its nodes, the readers of variables, and known shapes.

A function's graph is one level; the step of each loop in it is another, inside.

A change that saves time on NumPy may cost compiled code more than it saves.  Elementwise work, draws, lookups and views stay in
the step of machine code and of kernels: they take a few instructions per number and no memory.  NumPy pays a call for each in
every step, so they are moved out and run over all rows at once.  The loop and its function's tier alone determine the loop's
tier, before anything runs (:meth:`TargetTier.why_numpy`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Apply, Variable, rebuild
from scanviz.engine.graph.traversal import toposort, users
from scanviz.engine.ops.symbolic_shape import Shape, shape_of
from scanviz.engine.scan.loop import SCAN, Scan, nodes_of
from scanviz.engine.sizes.polynomial import Polynomial, unknowns_in

NATIVE_TIERS = ("auto", "native")  # that run loops as machine code
HOST_TIERS = (*NATIVE_TIERS, "numpy", "reference")  # on which every operation runs
WhyNoCode = Callable[[Apply], str | None]


def _nowhere(tier: str) -> None:
    """Return None: no machine code works here."""


class TargetTier(Struct, frozen=True):
    """The tier of a function, or of the loop around a step.

    Attributes
    ----------
    tier : str
        Its name.
    code_of : callable
        ``code_of(tier)`` returns a function of an operation: the reason why it has no code in the tier's compiled loops, None
        where it has.  For a tier that compiles no loops here it returns None.
    """

    tier: str = "numpy"
    code_of: Callable[[str], WhyNoCode | None] = _nowhere

    def inside(self, op: Scan) -> TargetTier:
        """Return the target of a loop's step."""
        mode = op.settings.mode
        return self if mode is None or mode == self.tier else replace(self, tier=mode)

    def why_numpy(self, op: Scan) -> str | None:
        """Return why a loop is rewritten for NumPy; None if it is rewritten for machine code."""
        inside = self.inside(op)
        if inside not in op.derived:  # it follows from the step alone
            op.derived[inside] = inside._why_numpy(op)
        found: str | None = op.derived[inside]
        return found

    def _why_numpy(self, op: Scan) -> str | None:
        why_no_code = self.code_of(self.tier)
        if why_no_code is None:
            if self.tier in NATIVE_TIERS:
                return "machine code does not work here"
            return f"`{op.scan_name}` runs on the tier {self.tier!r}"
        from scanviz.engine.scan.dependence import effects_of  # where a loop is rewritten

        if effects_of(op):
            return f"the step of `{op.scan_name}` prints or checks something"
        for node in op.once(nodes_of):
            if isinstance(node.op, Scan) and self.tier in NATIVE_TIERS:
                why = self.why_numpy(node.op)
            else:
                why = why_no_code(node) or _values_in_shape(node)
            if why is not None:
                return why
        return None


NUMPY = TargetTier()


def _values_in_shape(node: Apply) -> str | None:
    """Return that the shape of a result follows from values; None if it follows from shapes alone."""
    for output in node.outputs:
        if None not in getattr(output.type, "shape", ()):
            continue
        for size in shape_of(output):
            unknowns = unknowns_in(size) if isinstance(size, Polynomial) else ()
            if any(unknown.axis is None or unknown.computed for unknown in unknowns or ()):
                return f"the shape of what `{node.op.name}` gives depends on values"
    return None


T = TypeVar("T")
Readers = list[tuple[Apply, int]]


class Refused(Struct, frozen=True):
    """A refusal, with where it was given.

    Attributes
    ----------
    rule : str
        The rule that does not fire.
    path : tuple of str
        The loops around the node.
    node : str
        The node, in the user's names.
    node_id : int
        Its id.
    source : str
        The user's line, or empty.
    why : str
        The precondition that failed.
    preconditions_met : int
        Number of preconditions that held before it.
    """

    rule: str
    path: tuple[str, ...]
    node: str
    node_id: int
    source: str
    why: str
    preconditions_met: int = 0


class Level:
    """A graph.

    Parameters
    ----------
    outputs : sequence of Variable
        Its outputs.
    path : tuple of str
        Names of the loops around it, outermost first.
    loop : Scan or None
        The loop that it is the step of.
    nodes : sequence of Apply, optional
        Its nodes in order of computation, where they are known.
    target : TargetTier
        The tier that runs it.

    Attributes
    ----------
    nodes : sequence of Apply
        In order of computation.
    by_declaration : dict
        Declaration → its nodes, in order of computation.
    loops : list of Apply
        The loops among them, in order of computation.
    users : dict
        Variable → the nodes that read it, with the position it is read at.
    wanted : frozenset of Variable
        The outputs.
    quiet : dict
        Rule → its refusals, for rules that were asked at all of its nodes and changed nothing.
    """

    def __init__(
        self,
        outputs: Sequence[Variable],
        path: tuple[str, ...] = (),
        loop: Scan | None = None,
        nodes: Sequence[Apply] | None = None,
        target: TargetTier = NUMPY,
    ) -> None:
        self.path, self.loop, self.wanted, self.target = path, loop, frozenset(outputs), target
        self.nodes: list[Apply] = toposort(outputs) if nodes is None else list(nodes)
        self.outputs = list(outputs)
        self.by_declaration: dict[Declaration, list[Apply]] = {}
        for node in self.nodes:
            self.by_declaration.setdefault(node.op.declaration, []).append(node)
        self.loops = self.by_declaration.get(SCAN, [])
        self._users: dict[Variable, Readers] | None = None
        self.quiet: dict[str, list[Refused]] = {}
        self._found: dict[Callable[[Level], object], Any] = {}

    def rebuilt(self, outputs: Sequence[Variable]) -> Level:
        """Return the level of another graph in the place of this one."""
        return Level(outputs, self.path, self.loop, target=self.target)

    def once(self, find: Callable[[Level], T]) -> T:
        """Return a function's answer about this graph, computed once."""
        if find not in self._found:
            self._found[find] = find(self)
        found: T = self._found[find]  # what was kept under a function is what it gave
        return found

    @property
    def users(self) -> dict[Variable, Readers]:
        """Variable → the nodes that read it, with positions."""
        if self._users is None:
            self._users = users(self.nodes)
        return self._users

    def readers(self, variable: Variable) -> Readers:
        """Return the nodes that read a variable, with the position it is read at."""
        return self.users.get(variable, [])

    def is_read(self, variable: Variable) -> bool:
        """Return whether anything needs a variable."""
        return variable in self.wanted or variable in self.users

    def node_by_node(self, act: Callable[[Apply], Sequence[Variable]]) -> list[Variable]:
        """Return the outputs where each node, over what its inputs have become, is replaced by what ``act`` gives of it."""
        new_of: dict[Variable, Variable] = {}
        for node in self.nodes:
            now = node
            if not new_of.keys().isdisjoint(node.inputs):
                now = rebuild(node, [new_of.get(variable, variable) for variable in node.inputs])
            results = act(now)
            if results is not node.outputs:
                new_of.update(zip(node.outputs, results, strict=True))
        return [new_of.get(output, output) for output in self.outputs]

    def shape(self, variable: Variable) -> Shape:
        """Return the sizes of a variable: ints, and int64 scalar variables where unknown."""
        return shape_of(variable)
