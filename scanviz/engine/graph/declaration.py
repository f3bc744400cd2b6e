"""Declarations of operations, and operations with parameters.

An op is declared once, in its family's file under ``engine/ops/``: name, inference of types and shapes, the NumPy
meaning that all tiers are measured against, and documentation.  An :class:`Op` is a declaration with parameters (an
axis, an index pattern); equal parameters make equal ops.  Every further meaning (a pullback, CUDA code) is a row of a
table (:mod:`scanviz.engine.graph.meaning_table`) keyed by the declaration, in the file of the same family name in its layer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from operator import attrgetter
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from scanviz.engine.errors import InternalError, PluginError, ScanvizNotImplementedError, ScanvizTypeError
from scanviz.engine.graph.facts import NOTHING_KNOWN, Facts

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Apply, Variable
    from scanviz.engine.graph.notation import Parts, Shorthand, WrittenTerm
    from scanviz.engine.graph.types import Type
    from scanviz.engine.sizes.dims import Dims

Infer = Callable[["Op", Sequence["Variable"]], Sequence["Type"]]
Perform = Callable[["Op", Sequence[Any]], Sequence[Any]]
Count = int | tuple[int, int | None]  # so many, or from so many up to so many; None: any number
Arity = Count | Callable[["Op"], Count]
ShapeRule = Callable[["Op", "Dims"], Sequence[tuple[Any, ...]]]
Notation = Callable[[Any, Sequence["WrittenTerm"]], "WrittenTerm"]  # of an Op with its operands


def fitted(op: object, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Write the operand alone, for operations that expressions leave out: shape fits, prints, checks."""
    return operands[0]


# Functions that are made of several operations: by the outermost, a test of its inputs that recognizes the function.
SHORTHANDS: dict[str, Callable[[Sequence[Any], Parts[Any]], Shorthand | None]] = {}


def _module_running() -> dict[str, Any]:
    """Return the names of the module whose own lines are being run, further up."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return {} if frame is None else frame.f_globals


def is_in_use(module: dict[str, Any]) -> bool:
    """Return whether a module was imported completely; an interrupted import is repeated."""
    found = sys.modules.get(module.get("__name__", ""))
    return found is None or vars(found) is module


class Declaration:
    """An operation's definition, independent of its parameters.

    Attributes
    ----------
    name : str
        Unique name, used in dumps and files.
    family : str
        Name of the file of its family, the same in every layer.
    arity : int, (int, int or None), or callable
        Number of inputs, its range (None: no upper limit), or ``arity(op)``, which returns either.
    doc : str
        One line for the reference page.
    infer : callable
        ``infer(op, inputs)`` gives the output types; raises a ScanvizError that names what does not fit.
    perform : callable
        ``perform(op, values)`` gives the output arrays from input arrays with NumPy: the oracle of all tiers.
    shapes : callable or None
        ``shapes(op, dims)`` gives the output shapes from the inputs' shapes, with the arithmetic of ``dims``; None
        where a shape depends on values.
    symbol : str or None
        Its sign between its inputs, such as ``+``; None for a function call.
    notation : callable or None
        ``notation(op, operands)`` writes it over operands in another way (:mod:`scanviz.engine.graph.notation`).
    views : int or None
        The input whose memory the first output may share; None if every output is fresh.
    outputs : int
        Number of outputs.
    facts : Facts or callable
        Properties for the layers above, or ``facts(op)`` where they depend on parameters; read it of an op.
    may_have_effect : bool
        Whether any of its ops may print or check something.
    """

    __slots__ = (
        "__weakref__",
        "_module",
        "arity",
        "doc",
        "facts",
        "family",
        "infer",
        "may_have_effect",
        "name",
        "notation",
        "outputs",
        "perform",
        "shapes",
        "symbol",
        "views",
    )

    def __init__(
        self,
        name: str,
        family: str,
        *,
        arity: Arity,
        doc: str,
        infer: Infer,
        perform: Perform,
        shapes: ShapeRule | None = None,
        symbol: str | None = None,
        notation: Notation | None = None,
        views: int | None = None,
        outputs: int = 1,
        facts: Facts | Callable[[Op], Facts] = NOTHING_KNOWN,
    ) -> None:
        self._module = _module_running()
        if name in _REGISTRY and is_in_use(_REGISTRY[name]._module):
            raise InternalError(f"the op {name!r} is declared twice")
        self.name, self.family, self.doc = name, family, doc
        self.arity: Arity = arity
        self.infer, self.perform, self.shapes = infer, perform, shapes
        self.symbol, self.notation = symbol, notation
        self.views, self.outputs, self.facts = views, outputs, facts
        self.may_have_effect = facts.effect if isinstance(facts, Facts) else True
        _REGISTRY[name] = self

    @property
    def fresh(self) -> bool:
        """True if every output is a new array that nothing else holds."""
        return self.views is None

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[object, ...]:
        return (declared, (self.name,))  # a pickle names the op; the meaning is looked up where it is loaded


_REGISTRY: dict[str, Declaration] = {}
# What declares the ops whose files nothing has imported yet: filled by the layer that has them.
OTHERS: list[Callable[[], object]] = []


def declared(name: str) -> Declaration:
    """Return the declaration with this name."""
    found = _REGISTRY.get(name)
    if found is None:
        _declare_others()
        found = _REGISTRY.get(name)
    if found is None:
        found = _of_another_distribution(name)
    if found is None:
        raise ScanvizNotImplementedError(f"there is no op named {name!r} in this version of scanviz")
    return found


def _of_another_distribution(name: str) -> Declaration | None:
    """Return an op that another distribution declares, whose module was not imported yet."""
    from scanviz.plugins import PluginFailure, plugins  # seldom needed

    plugin = plugins("scanviz.ops").get(name)
    if plugin is None:
        return None
    try:
        plugin.load()
    except PluginFailure as failure:
        raise PluginError(str(failure)) from failure.__cause__
    if name not in _REGISTRY:
        raise PluginError(plugin.failed(f"importing {plugin.value} declared no operation of this name"))
    return _REGISTRY[name]


def declarations() -> Iterator[Declaration]:
    """Iterate over all declared ops by family and name, whatever was imported first; files that nothing has imported yet are."""
    _declare_others()
    return iter(sorted(declared_already(), key=attrgetter("family", "name")))


def declared_already() -> Iterator[Declaration]:
    """Iterate over the ops whose files are imported."""
    return iter(tuple(_REGISTRY.values()))


def _declare_others() -> None:
    for declare in OTHERS:  # each time: another thread may be in the middle of it
        declare()


class GraphPart(NamedTuple):
    """A part of an op that holds a graph: ops that share the object share it again when they are loaded.

    Attributes
    ----------
    whole : object
        The part itself, such as a loop variable.
    make : callable
        ``make(about, results)`` makes it again; a function that pickle finds by its name.
    about : object
        Argument of ``make`` beside variables that the graph computes; may hold leaves of the graph.
    results : sequence of Variable
        The variables that it takes from the graph.
    """

    whole: object
    make: Callable[[Any, Sequence[Variable]], object]
    about: Any
    results: Sequence[Variable]


class Held(NamedTuple):
    """Parts of an op that holds a graph, and how it is rebuilt: ``make(about, parts, node_ids)``.

    Attributes
    ----------
    make : callable
        A function that pickle finds by its name.
    about : object
        Argument of ``make`` beside the parts.
    parts : sequence of GraphPart
        In order; ``make`` is given the parts that were made again.
    node_ids : sequence of int
        Ids of other nodes that the op refers to; ``make`` receives their new ids.
    """

    make: Callable[[Any, Sequence[Any], Sequence[int]], Op]
    about: Any
    parts: Sequence[GraphPart]
    node_ids: Sequence[int] = ()


# Fields of parameters that messages are made of: what is computed does not hang on them.
WORDS = frozenset({"name", "loop", "state", "sequence", "where"})


class Op:
    """A declaration with its parameters.

    Attributes
    ----------
    declaration : Declaration
        The kind of operation.
    parameters : hashable
        A named tuple of the family's parameters, or None.
    """

    __slots__ = ("_facts", "_hash", "declaration", "parameters")
    declaration: Declaration
    parameters: Any  # each family has a named tuple of its own
    _facts: Facts | None

    def __init__(self, declaration: Declaration, parameters: Hashable = None) -> None:
        put = object.__setattr__
        put(self, "declaration", declaration)
        put(self, "parameters", parameters)
        put(self, "_hash", hash((declaration.name, parameters)))
        known = declaration.facts
        put(self, "_facts", known if isinstance(known, Facts) else None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"ops are immutable: make a new Op instead of setting {name}")

    @property
    def name(self) -> str:
        """Name of the declaration."""
        return self.declaration.name

    @property
    def asked_as(self) -> str:
        """Name in messages: the function that the user called, if it has another name."""
        return getattr(self.parameters, "asked_as", self.name)

    @property
    def facts(self) -> Facts:
        """Facts about the operation for other layers, found at first use if they depend on parameters."""
        found = self._facts
        if found is None:
            given = self.declaration.facts
            found = given if isinstance(given, Facts) else given(self)
            object.__setattr__(self, "_facts", found)
        return found

    def nodes_inside(self) -> Sequence[Apply] | None:
        """Return the nodes of the graph that it holds, in order of computation, if it keeps a list of them."""
        return None

    def infer(self, inputs: Sequence[Variable]) -> Sequence[Type]:
        """Return the output types for these inputs, or raise a type error.

        Raises
        ------
        ScanvizTypeError
            If the operation takes fewer inputs, or more.
        """
        if len(inputs) != self.declaration.arity:
            self._check_count(inputs)
        return self.declaration.infer(self, inputs)

    def _check_count(self, inputs: Sequence[Variable]) -> None:
        least, most = self.arity
        if len(inputs) < least or (most is not None and len(inputs) > most):
            raise ScanvizTypeError(
                f"{self.name} takes a different number of inputs",
                expected=least
                if least == most
                else f"{least} or more"
                if most is None
                else f"{least} to {most}",
                found=len(inputs),
            )

    @property
    def arity(self) -> tuple[int, int | None]:
        """The least and the greatest number of inputs; None for any number."""
        given = self.declaration.arity
        count = given(self) if callable(given) else given
        return (count, count) if isinstance(count, int) else count

    def perform(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the output arrays for these input arrays, by NumPy."""
        return self.declaration.perform(self, values)

    def subgraphs(self) -> Sequence[tuple[Sequence[Variable], Sequence[Variable]]]:
        """Return the graphs that the op holds, each with its inputs and outputs: a loop holds its step."""
        return ()

    def held(self) -> Held | None:
        """Return the parts of an op that holds a graph; None of one that holds none."""
        return None

    def does_the_same(self, other: Op) -> bool:
        """Return whether another op computes the same: equal up to texts of messages."""
        if self == other:
            return True
        plain = type(self) is type(other) is Op and self.declaration is other.declaration
        return plain and _without_words(self.parameters) == _without_words(other.parameters)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(other) is Op
            and self.declaration is other.declaration
            and self.parameters == other.parameters
        )

    def __hash__(self) -> int:
        return int(self._hash)  # type: ignore[attr-defined]  # set in __init__ behind the guard

    def __str__(self) -> str:
        if self.parameters is None:
            return self.declaration.name
        if "__str__" in type(self.parameters).__dict__:  # parameters that know better how they are written
            return f"{self.declaration.name}{self.parameters}"
        fields: dict[str, Any] = getattr(self.parameters, "_asdict", dict)()
        shown = ", ".join(f"{key}={value}" for key, value in fields.items() if value is not None)
        return f"{self.declaration.name}{{{shown}}}"

    def __repr__(self) -> str:
        return f"Op({self})"

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.declaration, self.parameters))


def _without_words(parameters: Any) -> dict[str, Any]:
    """Return the fields of an op's parameters that determine its computation."""
    fields: dict[str, Any] = getattr(parameters, "_asdict", dict)()
    return {name: value for name, value in fields.items() if name not in WORDS}
