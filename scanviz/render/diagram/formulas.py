"""Fold operations into formulas, so that a step is a few equations: an operation joins its only reader.

A value with a name in the user's code or with several readers stays a node of its own, and so does one that makes a formula too
long.  A weight that a formula names needs no node either; states keep their lines from step to step.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from scanviz.render.diagram.folding import fold
from scanviz.render.diagram.model import Diagram, Edge, Node
from scanviz.render.labels import short

_SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "**",
    "matmul": "@",
    "dot": "@",
}
_TRANSPOSED = "dimshuffle{order=(1, 0)}"
_PARAMETERS = re.compile(r"(\w+)=(\([^()]*\)|[^,{}]*)")
_IN_WORDS = {
    "state_history": "initial rows, then steps",
    "first_rows": "first rows",
    "state_shape": "shaped as",
    "dimension": "size",
}
SHORT = 12  # characters of a constant that is written into its reader's label
_NUMBER = re.compile(r"-?\d+\.\d+(e-?\d+)?")


def operation_label(op: str, constants: Sequence[str | None], operands: Sequence[str], name: str = "") -> str:
    """Return the label of an operation.

    Parameters
    ----------
    op : str
        The operation with its parameters.
    constants : sequence of str or None
        The text of each input that is a small constant; None for an input that an arrow brings.
    operands : sequence of str
        The names of the inputs that arrows bring, in order.
    name : str
        The result's name in the user's code, or empty.

    Examples
    --------
    >>> operation_label("subtract", ["1.0", None], ["h"]), operation_label("tanh", [None], ["h"], "x_t")
    ('1 - h', 'x_t = tanh')
    >>> operation_label("index[::-1]", [None], ["u"]), operation_label("index[4:]", [None], ["u"], "u[4:]")
    ('[::-1]', 'u[4:]')
    >>> operation_label("assign[:, 192:]+=", [None, None], ["dot", "g"], "∂gates")
    '∂gates = [:, 192:] +='
    >>> operation_label("dimshuffle{order=(1, 0)}", [None], ["W"]), operation_label("cast{dtype=float64}", [None], ["k"])
    ('transpose', 'cast to float64')
    >>> operation_label("sum{axes=(0,), keepdims=False}", [None], ["x"]), operation_label("clip", [None, "0.0", "1.0"], ["x"])
    ('sum over axis 0', 'clip(x, 0, 1)')
    >>> operation_label("subtract", [None, None], ["a", "b"], "updates[0][1]")
    'subtract'
    """
    label, name = _plain(op), "" if _is_place(name) else name
    if any(constants):
        label = _with_constants(op, constants, operands)
    elif name and label.startswith("[") and name.endswith(label):
        return name
    return f"{name} = {label}" if name else label


def _with_constants(op: str, constants: Sequence[str | None], operands: Sequence[str]) -> str:
    """Return an operation with the texts of all inputs."""
    others = iter(operands)
    texts = [next(others) if text is None else text.removesuffix(".0") for text in constants]
    sign = _SIGNS.get(op) if len(texts) == 2 else None
    return _between(sign, texts) if sign else f"{_plain(op)}({', '.join(texts)})"


def operand_name(name: str, op: str, place: int) -> str:
    """Return the text of an operation's input: its name, the function that computes it, or its place among the inputs.

    Examples
    --------
    >>> operand_name("h[t-1]", "", 0), operand_name("", "sum{axes=(0,), keepdims=False}", 0), operand_name("", "", 1)
    ('h[t-1]', 'sum', 'input 2')
    """
    function = "transpose" if op == _TRANSPOSED else re.split(r"[{\[]", op)[0]
    return short(name, _LONGEST_NAME) or function or f"input {place + 1}"


def constant_text(label: str) -> str:
    r"""Return a constant's value on one line; a long number has six digits.

    Examples
    --------
    >>> constant_text("0.09999999999999998"), constant_text("[[4. 0.]\n [0. 4.]]"), constant_text("0.25")
    ('≈0.1', '[[4. 0.] [0. 4.]]', '0.25')
    """
    if len(label) > SHORT and _NUMBER.fullmatch(label):
        return f"≈{float(label):.6g}"
    return " ".join(label.split())


def _plain(op: str) -> str:
    """Return an operation without its obvious parameters."""
    if op.startswith("index["):
        return op.removeprefix("index")
    if op.startswith("assign["):
        place, _, sign = op.removeprefix("assign").rpartition("]")
        return f"{place}] {sign}"
    return "transpose" if op == _TRANSPOSED else _in_words(op)


def _is_place(name: str) -> bool:
    """Return whether a name is only a place: among the outputs, or in a list of tuples such as ``updates[0][1]``."""
    return re.fullmatch(r"output \d+|\w+(\[\d+\]){2,}", name) is not None


def _in_words(op: str) -> str:
    """Return an operation with its important parameters in words.

    Examples
    --------
    >>> _in_words("max{axes=(0, 1), keepdims=True}"), _in_words("concatenate{axis=1}"), _in_words("state_shape{∂W of grad}")
    ('max over axes 0, 1', 'concatenate along axis 1', 'shaped as ∂W')
    >>> _in_words("draw_normal{sizes=2, dtype=float64, replace=True}"), _in_words("dimension{axis=0}")
    ('draw normal', 'size of axis 0')
    """
    name, _, inside = op.partition("{")
    known = dict(_PARAMETERS.findall(inside))
    axes = re.findall(r"-?\d+", known.get("axes", ""))
    words = _IN_WORDS.get(name, name.replace("draw_", "draw "))
    if name == "state_shape":
        return f"{words} {inside.partition(' of ')[0]}"
    if name == "first_rows":
        return f"{words} {inside.rstrip('}')}"
    if axes:
        return f"{words} over {'axis' if len(axes) == 1 else 'axes'} {', '.join(axes)}"
    axis = known.get("axis", "0")
    if name == "dimension" or (axis != "0" and name != "reshape"):
        return f"{words} {'of' if name == 'dimension' else 'along'} axis {axis}"
    if name == "cast":
        return f"{words} to {known.get('dtype', 'another dtype')}"
    return f"{name} {known['order']}" if "order" in known else words


LONGEST = 48  # characters of a formula
_LONGEST_NAME = 16  # of a name in a formula
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "@": 2}
_ATOM = 3
_UNCLEAR = re.compile(r"…|[a-z] [a-z]|\w \d")  # words, not a formula


class _Formula(Struct):
    """The text of an operation, and the operations folded into it."""

    text: str
    members: list[str]
    named: set[str]  # leaves that the text calls by their names
    names: bool  # whether the text names any value: functions alone are less clear than the operation's label


def with_formulas(diagram: Diagram, longest: int = LONGEST) -> Diagram:
    """Return a picture with operations folded into formulas of limited length.

    Parameters
    ----------
    diagram : Diagram
        Any picture; one with changes comes back as it is.
    longest : int
        Characters of a formula.

    Examples
    --------
    >>> nodes = (
    ...     Node("h", "inner_input", "h[t-1]"),
    ...     Node("U", "shared", "U"),
    ...     Node("a", "operation", "matmul", op="matmul"),
    ...     Node("b", "operation", "h_t = tanh", op="tanh"),
    ... )
    >>> edges = (Edge("h", "a", place=0), Edge("U", "a", place=1), Edge("a", "b", place=0))
    >>> small = with_formulas(Diagram("f", nodes, (), edges))
    >>> [(node.label, node.note) for node in small.nodes]
    [('h[t-1]', ''), ('h_t', 'tanh(h[t-1] @ U)')]
    """
    if any(node.change for node in diagram.nodes):
        return diagram
    found = _Formulas(diagram, longest)
    groups = [found.group(node) for node in diagram.nodes if node.id in found.roots()]
    gone = found.leaves()
    count = sum(len(members) - 1 for _, members in groups)
    if not count and not gone:
        return diagram
    small = fold(diagram, groups)
    note = f"{count} operation{'s are' if count > 1 else ' is'} part of their readers' formulas"
    return replace(
        small,
        nodes=tuple(node for node in small.nodes if node.id not in gone),
        edges=_once(
            (edge for edge in small.edges if edge.source not in gone), {node.id for node, _ in groups}
        ),
        notes=(*diagram.notes, note) if count else diagram.notes,
    )


def _once(edges: Iterable[Edge], formulas: Collection[str]) -> tuple[Edge, ...]:
    """Return edges without repeats into a formula: its text shows how often it reads a value."""
    found: dict[tuple[str, str, str], Edge] = {}
    for number, edge in enumerate(edges):
        found.setdefault((edge.source, edge.target, "" if edge.target in formulas else str(number)), edge)
    return tuple(found.values())


class _Formulas:
    """Writes the formulas of one picture, in the order of computation."""

    def __init__(self, diagram: Diagram, longest: int) -> None:
        self.longest = longest
        self.nodes = {node.id: node for node in diagram.nodes}
        self.owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
        self.ports = {port.id: port.label for node in diagram.nodes for port in node.ports}
        self.given: dict[str, list[Edge]] = defaultdict(list)
        self.readers: dict[str, set[str]] = defaultdict(set)
        for edge in diagram.edges:
            self.given[edge.target].append(edge)
            self.readers[edge.source].add(edge.target)
        self.home: dict[str, str] = {}  # operation → the one whose formula it is in
        self.formulas: dict[str, _Formula] = {}
        for node in diagram.nodes:
            if node.kind == "operation":
                formula = self._formula(node)
                if formula is not None:
                    self.formulas[node.id] = formula

    def roots(self) -> set[str]:
        """Return the operations whose formulas are drawn."""
        return {name for name, formula in self.formulas.items() if formula.names} - self.home.keys()

    def group(self, node: Node) -> tuple[Node, list[str]]:
        """Return the drawn node of an operation, and the ids of the operations in its formula."""
        formula = self.formulas[node.id]
        parts = [self.nodes[name] for name in (*formula.members, node.id)]
        name, _ = _name_and_text(node)
        times = [part.time_ns for part in parts if part.time_ns is not None]
        shares = [part.share for part in parts if part.share is not None]
        drawn = replace(
            node,
            label=name or formula.text,
            note=formula.text if name else node.note,
            time_ns=sum(times) if times else None,
            share=min(1.0, sum(shares)) if shares else None,
            operations=len(parts),
        )
        return drawn, [part.id for part in parts]

    def leaves(self) -> set[str]:
        """Return the weights that all their readers call by name."""
        roots = self.roots()
        found = set()
        for node in self.nodes.values():
            readers = {self.home.get(name, name) for name in self.readers[node.id]}
            named = readers <= roots and all(node.id in self.formulas[name].named for name in readers)
            weight = node.kind in ("shared", "constant") or node.loop_kind == "non_sequence"
            if weight and readers and named and not self.given[node.id] and not node.ports:
                found.add(node.id)
        return found

    def _formula(self, node: Node) -> _Formula | None:
        """Return the formula of an operation, with as many operands folded in as fit; None if it has none."""
        edges = sorted(self.given[node.id], key=lambda edge: edge.place if edge.place is not None else -1)
        if not edges or any(edge.place is None for edge in edges):
            return None
        inside = {edge.source: self._fits_into(edge.source, node) for edge in edges}
        while True:
            operands = [
                self.formulas[edge.source].text if inside[edge.source] else self._operand(edge)
                for edge in edges
            ]
            text = _written(node, operands)
            if text is None:
                return None
            names = any(
                self.formulas[edge.source].names if inside[edge.source] else self._name(edge)
                for edge in edges
            )
            if (len(text) <= self.longest and names) or not any(inside.values()):
                break
            largest = max(
                (name for name in inside if inside[name]), key=lambda name: len(self.formulas[name].text)
            )
            inside[largest] = False
        if len(text) > self.longest:
            return None
        members: list[str] = []
        named = {edge.source for edge in edges if not inside[edge.source] and self._name(edge)}
        for source in (name for name in inside if inside[name]):
            formula = self.formulas[source]
            members += [*formula.members, source]
            named |= formula.named
        self.home.update(dict.fromkeys(members, node.id))
        return _Formula(text, members, named, names)

    def _fits_into(self, source: str, reader: Node) -> bool:
        """Return whether an operation may be folded into a reader: its only one, and the user gave it no name."""
        node = self.nodes.get(source)
        if node is None or source not in self.formulas or self.readers[source] != {reader.id}:
            return False
        place = (node.cluster, node.column, node.band)
        return not _name_and_text(node)[0] and place == (reader.cluster, reader.column, reader.band)

    def _source(self, edge: Edge) -> Node:
        return self.nodes.get(edge.source) or self.nodes[self.owner[edge.source]]

    def _name(self, edge: Edge) -> str:
        """Return the name of an operand in a formula; empty without a short one."""
        node = self._source(edge)
        name = self.ports.get(edge.source, node.label)
        if node.kind == "operation":
            formula = self.formulas.get(node.id)
            name = _name_and_text(node)[0] or (formula.text if formula is not None and formula.names else "")
        if edge.label.startswith("result ") or node.kind == "summary":
            return ""
        if not 0 < len(name) <= _LONGEST_NAME or _UNCLEAR.search(name):
            return ""
        return name.removesuffix(".0") if node.kind == "constant" else name

    def _operand(self, edge: Edge) -> str:
        """Return the text of an operand that is not part of the formula."""
        node = self._source(edge)
        named = not node.op and node.kind != "summary" and not (node.type and node.type in node.label)
        leaf = self.ports.get(edge.source, node.label) if named else ""
        text = operand_name(self._name(edge) or leaf, node.op, edge.place or 0)
        return f"{text}[{edge.label.removeprefix('result ')}]" if edge.label.startswith("result ") else text


def _name_and_text(node: Node) -> tuple[str, str]:
    """Return the user's name of an operation's result, and the rest of its label."""
    name, sign, text = node.label.partition(" = ")
    if sign:
        return name, text
    indexed = node.op.startswith("index[") and not node.label.startswith("[")
    return (node.label, "") if indexed else ("", node.label)


def _written(node: Node, operands: Sequence[str]) -> str | None:
    """Return an operation with its operands in mathematical notation; None if it has no short notation."""
    if any(node.constants):
        arrows = node.constants.count(None)
        return _with_constants(node.op, node.constants, operands) if arrows == len(operands) else None
    _, text = _name_and_text(node)
    sign = _SIGNS.get(node.op)
    if sign:
        return _between(sign, operands) if len(operands) == 2 else None
    if text == "transpose" and len(operands) == 1:
        return f"{_bracketed(operands[0], _ATOM)}.T"
    if text.startswith("[") and len(operands) == 1 and text.endswith("]"):
        return f"{_bracketed(operands[0], _ATOM)}{text}"
    if not text or " " in text or text.startswith("["):
        return None
    return f"{text}({', '.join(operands)})"


def _between(sign: str, operands: Sequence[str]) -> str:
    """Return a sign between two operands, with brackets where they are needed."""
    if sign == "**":
        return f"{_bracketed(operands[0], _ATOM)} ** {_bracketed(operands[1], _ATOM)}"
    strength = _STRENGTH[sign]
    right = strength if sign == "+" else strength + 1
    if sign == "*" and "@" not in operands[1] and "/" not in operands[1]:
        right = strength
    if operands[1].startswith("-"):
        right = _ATOM
    left = strength if sign != "@" or not _has_outside(operands[0], "*/") else strength + 1
    return f"{_bracketed(operands[0], left)} {sign} {_bracketed(operands[1], right)}"


def _bracketed(text: str, least: int) -> str:
    return text if _strength(text) >= least else f"({text})"


def _strength(text: str) -> int:
    """Return how strongly the outermost sign of a formula binds.

    Examples
    --------
    >>> _strength("a + b"), _strength("a * (b + c)"), _strength("tanh(a + b)"), _strength("-1")
    (1, 2, 3, 1)
    """
    found = 1 if text.startswith("-") else _ATOM
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in _STRENGTH and text[k - 1 : k] == " " and text[k + 1 : k + 2] in " *":
            found = min(found, _STRENGTH[letter])
    return found


def _has_outside(text: str, signs: str) -> bool:
    """Return whether any of some signs stands outside all brackets."""
    depth = 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and letter in signs:
            return True
    return False
