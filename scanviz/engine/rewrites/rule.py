"""Rules: rewrites as data, and the list of all of them.

A rule looks at a node or at a whole graph and never edits anything.  It returns a :class:`Match` with the replacements, a
:class:`Refusal` with the precondition that failed, in words, or None where it is not meant for such a node.  Rules run in
*phases*; within a phase in the order of :data:`RULES`, again and again until none of them changes anything
(:mod:`scanviz.engine.rewrites.pipeline`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.declaration import Declaration, is_in_use
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.rewrites.level import Level

Phase = Literal["gradient", "canonical", "loops", "simplify", "merge", "clean", "keep", "memory"]
PHASES: tuple[Phase, ...] = get_args(Phase)
GENERAL: tuple[Phase, ...] = ("canonical", "simplify", "clean")  # phases of rules about any graph
UNSAFE = "unsafe"  # tag of rules that may change numbers that are not finite, or rounding: only on request
FROM_OUTSIDE = "outside"  # tag of rules written outside of scanviz: only on request, an installed package changes no program
ON_REQUEST = frozenset({UNSAFE, FROM_OUTSIDE})


class Match(Struct, frozen=True, eq=False):
    """A rule fires.

    Attributes
    ----------
    mapping : mapping of Variable to Variable
        Variable → its replacement; unread outputs of the node may be left out.
    message : str
        One line: what it did, in the past or present tense, such as ``"3 operations leave the loop `rnn`"``.
    """

    mapping: Mapping[Variable, Variable]
    message: str


class Refusal(Struct, frozen=True):
    """A rule was meant for a node and does not fire.

    Attributes
    ----------
    why : str
        The precondition that failed, in words.
    preconditions_met : int
        Number of preconditions that held before it: of several refusals, the largest came nearest.
    """

    why: str
    preconditions_met: int = 0


class Rewritten(Struct, frozen=True, eq=False):
    """The answer of a rule about a whole graph: new outputs, and one line about them."""

    outputs: list[Variable]
    message: str


NodeAct = Callable[[Apply, Level], Match | Refusal | None]
GraphAct = Callable[[Level], Rewritten | None]
Act = TypeVar("Act", bound=Callable[..., Any])
ProgramAct = TypeVar("ProgramAct", bound=Callable[..., object])  # Programs are a layer above this one


class Rule(Struct, frozen=True, eq=False):
    """A rewrite.

    Attributes
    ----------
    name : str
        Unique; the documents' name where they have one.
    phases : tuple of str
        The phases that apply it.
    on : frozenset of Declaration
        The operations it is meant for; empty for rules about a whole graph.
    act : callable
        ``act(node, level)``, or ``act(level)`` for a whole graph.
    single : bool
        Whether one match is applied at a time: rules of loops.
    outermost_first : bool
        Whether a rule about whole graphs looks at a graph before the steps of its loops, not after.
    tags : frozenset of str
        Further names by which it can be selected: its phases, ``"scan"``, ``"general"``, ``"unsafe"``, ….
    file, line : str, int
        The place of its source.
    doc : str
        The first line of its documentation.
    """

    name: str
    phases: tuple[Phase, ...]
    on: frozenset[Declaration]
    act: Callable[..., Any]  # its signature depends on the kind of rule
    single: bool
    outermost_first: bool
    tags: frozenset[str]
    file: str
    line: int
    doc: str

    @property
    def where(self) -> str:
        """File within the package, and line."""
        return f"{self.file}:{self.line}"

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


RULES: dict[str, Rule] = {}
# What registers the rules of layers above this one: filled from there, called when all rules are asked for.
RULES_ABOVE: list[Callable[[], object]] = []
# The order in which rules of one phase are tried: files are imported in an order of their own, this one is meant.
ORDER: Sequence[str] = (
    "inline_subgraphs",
    "merge_residuals",
    "remove_barriers",
    "resolve_shapes",
    "constant_folding",
    "simplify_arithmetic",
    "unsafe_arithmetic",
    "simplify_axes",
    "subtensor_chains",
    "subtensor_lift",
    "simplify_reductions",
    "unfill",
    "merge_equal",
    "remove_constants_and_unused_inputs_scan",
    "split_factorisation",
    "PushOutNonSeqScan",
    "batch_draws",  # before what is computed of them
    "PushOutDot1",  # before rows of factors are moved about
    "PushOutSeqScan",
    "PushOutScanOutput",
    "mitmot_to_sitsot",
    "ScanMerge",
    "scan_merge_inouts",
    "count_steps",
    "ScanSaveMem",  # before rows from the end are asked for by numbers that only a call knows
    "fewer_steps",
    "share_state_history",
    "ScanInplaceOptimizer",
    "lay_rows_backwards",
    "rows_over_sequences",
    "fuse_elementwise",
    "reuse_buffers",
)


# Names of rules written outside of scanviz, in the order they were registered: tried last.
OUTSIDE: list[str] = []
_PACKAGE = __file__.replace("\\", "/").rpartition("/scanviz/")[0] + "/scanviz/"


def rule(
    *,
    name: str,
    phase: Phase | Sequence[Phase],
    on: Collection[Declaration],
    single: bool = False,
    tags: Collection[str] = (),
) -> Callable[[NodeAct], NodeAct]:
    """Register a rule about a node; the function itself is unchanged."""
    return lambda act: _registered(act, name, phase, tags, frozenset(on), single=single)


def graph_rule(
    *, name: str, phase: Phase | Sequence[Phase], outermost_first: bool = False, tags: Collection[str] = ()
) -> Callable[[GraphAct], GraphAct]:
    """Register a rule about a whole graph; the function itself is unchanged."""
    return lambda act: _registered(act, name, phase, tags, outermost_first=outermost_first)


def program_rule(*, name: str, tags: Collection[str] = ()) -> Callable[[ProgramAct], ProgramAct]:
    """Register a rule about a Program, of the phase ``memory``; the function itself is unchanged."""
    return lambda act: _registered(act, name, "memory", tags)


def _registered(
    act: Act,
    name: str,
    phase: Phase | Sequence[Phase],
    tags: Collection[str],
    on: frozenset[Declaration] = frozenset(),
    *,
    single: bool = False,
    outermost_first: bool = False,
) -> Act:
    if name in RULES and is_in_use(RULES[name].act.__globals__):
        raise InternalError(f"the rule {name!r} is written twice")
    phases: tuple[Phase, ...] = (phase,) if isinstance(phase, str) else tuple(phase)
    code, tagged = act.__code__, frozenset((*phases, *tags))
    path = code.co_filename.replace("\\", "/")
    inside = path.startswith(_PACKAGE)
    file = "scanviz/" + path.removeprefix(_PACKAGE) if inside else "/".join(path.split("/")[-2:])
    if name not in ORDER:
        if inside:
            raise InternalError(f"the rule {name!r} has no place in rewrites.rule.ORDER")
        tagged |= {FROM_OUTSIDE}
        OUTSIDE[:] = [*(one for one in OUTSIDE if one != name), name]
    doc = (act.__doc__ or "").strip().partition("\n")[0]
    line = code.co_firstlineno
    RULES[name] = Rule(name, phases, on, act, single, outermost_first, tagged, file, line, doc)
    return act


LISTED = 4  # names in a line


def counted(names: Iterable[str]) -> str:
    """Return names with how often they occur, the most frequent first.

    Examples
    --------
    >>> counted(["tanh", "dot", "tanh"])
    '2 tanh, 1 dot'
    """
    found = Counter(names).most_common()
    shown = [f"{count} {name}" for name, count in found[:LISTED]]
    rest = sum(count for _, count in found[LISTED:])
    return ", ".join([*shown, f"{rest} more"] if rest else shown)


def named(names: Iterable[str]) -> str:
    """Return names as they are quoted in a line, the first few of them.

    Examples
    --------
    >>> named(["W", "U"])
    '`W`, `U`'
    """
    listed = list(dict.fromkeys(names))
    shown = [f"`{text}`" for text in listed[:LISTED]]
    return ", ".join([*shown, f"{len(listed) - LISTED} more"] if len(listed) > LISTED else shown)


def listed(words: Iterable[str]) -> str:
    """Return words as a sentence lists them, the first few of them.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"]), listed("abcdefg")
    ('a, b and c', 'a', 'a, b, c, d and 3 more')
    """
    given = list(words)
    if len(given) > LISTED + 1:
        given = [*given[:LISTED], f"{len(given) - LISTED} more"]
    return given[0] if len(given) == 1 else f"{', '.join(given[:-1])} and {given[-1]}"
