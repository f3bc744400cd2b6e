"""Graphs as text: a tree from outputs to inputs, and below it each loop's step linked to the variables around it.

A computed value carries a letter, ``[A]``; where it is used again only the letter stands, with ``···``.  Lines are data first:
colour is added at the end, where the terminal wants it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord, ScanRecord
from scanviz.record.plain_text import sanitize, write_text
from scanviz.record.snapshot import snapshot

# ``scanviz.dprint``: a graph as text.


def dprint(
    what: Any, file: TextIO | None = None, *, print_type: bool = False, print_source: bool = False
) -> None:
    """Print the graph of a variable, several, a function or a Scan as a tree, with the steps of its loops below.

    Parameters
    ----------
    what : Variable, list of Variable, Function, Apply or Scan
        A function is shown as rewritten.
    file : text file, optional
        ``sys.stdout`` by default; coloured if it is a terminal.
    print_type : bool
        Whether to show dtypes and shapes.
    print_source : bool
        Whether to show the line that built each operation.

    Raises
    ------
    ScanvizTypeError
        If it has no graph.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> sums, _ = scanviz.scan(lambda x_t, total: total + x_t * 2, sequences=x, outputs_info=0.0, name="sums")
    >>> scanviz.dprint(sums)
    scan{sums} [B] total
      ├─ dimension{axis=0} [A]
      │  └─ x
      ├─ x
      └─ 0.0
    <BLANKLINE>
    loop sums
      sequence     x[t] ← x
      sitsot       total[t-1] ← 0.0; total[t] is read again as total[t-1]; gives total [B]
      total[t] = add [D]
        ├─ total[t-1]
        └─ multiply [C]
           ├─ x[t]
           └─ 2.0
    """
    print_graph(
        snapshot(what), file if file is not None else sys.stdout, types=print_type, lines=print_source
    )


_KINDS = ("sequence", "mitmot", "mitsot", "sitsot", "carry", "nitsot", "non_sequence")
_STYLES = {
    "op": "cyan",
    "name": "green",
    "letter": "dim",
    "type": "magenta",
    "line": "dim",
    "kind": "yellow",
    "title": "bold",
}

Part = tuple[str, str]  # (text, style name or "")
TextLine = list[Part]


def graph_text(graph: GraphSnapshot, *, types: bool = False, lines: bool = False) -> str:
    """Return a graph as plain text.

    Parameters
    ----------
    graph : GraphSnapshot
        The graph.
    types : bool
        Whether each value shows dtype and shape.
    lines : bool
        Whether each operation shows the user's line.
    """
    return "".join("".join(text for text, _ in line) + "\n" for line in graph_lines(graph, types, lines))


def graph_lines(graph: GraphSnapshot, types: bool, lines: bool) -> Iterator[TextLine]:
    """Iterate over the lines of a graph, each a list of styled parts."""
    tree = _Tree(graph, types, lines, "")
    yield from tree.all_lines()
    yield from _loops(tree, types, lines)


def _loops(tree: _Tree, types: bool, lines: bool) -> Iterator[TextLine]:
    """Iterate over the lines of loops, those inside a loop after it."""
    for loop in tree.graph.loops:
        yield []
        inner = _Tree(tree.graph.step(loop), types, lines, "  ", tree.letter_count)
        yield [
            ("loop ", ""),
            (sanitize(loop.name), "title"),
            (", ends by until" if loop.until is not None else "", ""),
            (
                f", back-propagation of {sanitize(loop.gradient_of)}" if loop.gradient_of is not None else "",
                "",
            ),
        ]
        yield from _variable_lines(loop, tree, inner)
        yield from inner.all_lines()
        yield from _loops(inner, types, lines)
        tree.letter_count = inner.letter_count


def _variable_lines(loop: ScanRecord, outer: _Tree, inner: _Tree) -> Iterator[TextLine]:
    """Iterate over one line per loop variable: its values in the step and around the loop, and its result."""
    for kind in _KINDS:
        for variable in loop.variables:
            if variable.kind == kind:
                yield [("  ", ""), (f"{kind:<13}", "kind"), *_links(variable, outer, inner)]


def _links(variable: LoopVariableRecord, outer: _Tree, inner: _Tree) -> TextLine:
    parts: TextLine = []
    reads = [inner.call(key) for key in variable.inner_inputs]
    if reads and variable.outer_input is not None:
        parts += [(", ".join(reads), "name"), (" ← ", ""), (outer.call(variable.outer_input), "name")]
    if variable.kind in ("sitsot", "mitsot", "mitmot"):
        targets = [f"{variable.name}[t{tap:+d}]" if tap else f"{variable.name}[t]" for tap in variable.writes]
        parts += [
            ("; ", ""),
            (", ".join(targets), "name"),
            (" is read again as ", ""),
            (", ".join(reads), "name"),
        ]
    if variable.outer_output is not None:
        kept = f" (last {variable.keep_last} rows)" if variable.keep_last is not None else ""
        parts += [
            ("; " if parts else "", ""),
            ("gives ", ""),
            (outer.call(variable.outer_output) + kept, "name"),
        ]
    return [(sanitize(text), style) for text, style in parts]


class _Tree:
    """The lines of one graph, and the letters of its computed values."""

    def __init__(self, graph: GraphSnapshot, types: bool, lines: bool, indent: str, letters: int = 0) -> None:
        self.graph, self.types, self.lines, self.indent = graph, types, lines, indent
        self.maker = {output: k for k, node in enumerate(graph.nodes) for output in node.outputs}
        self.letters: dict[str, str] = {}
        self.letter_count = letters
        self.shown: set[str] = set()
        self._give_letters()

    def _give_letters(self) -> None:
        for node in self.graph.nodes:
            for output in node.outputs:
                self.letters[output] = _letter(self.letter_count)
                self.letter_count += 1

    def call(self, key: str) -> str:
        """Return the name of a variable: its name or value, with its letter if it is computed."""
        variable = self.graph.variables[key]
        letter = self.letters.get(key)
        if letter is None:
            return variable.label
        return f"{variable.name} [{letter}]".strip()

    def all_lines(self) -> Iterator[TextLine]:
        """Iterate over the trees of all outputs."""
        for key, name in zip(self.graph.outputs, self.graph.output_names, strict=True):
            prefix: TextLine = [(self.indent, "")]
            if name:
                prefix += [(sanitize(name), "name"), (" = ", "")]
            yield from self._subtree(key, prefix, self.indent + "  ")

    def _subtree(self, key: str, prefix: TextLine, below: str) -> Iterator[TextLine]:
        """Iterate over a value's lines, with an explicit stack: a graph may be deeper than Python's."""
        stack: list[tuple[str, TextLine, str]] = [(key, prefix, below)]
        while stack:
            current, start, indent = stack.pop()
            made = self.maker.get(current)
            yield [*start, *self._own(current, made)]
            if made is None or current in self.shown:
                continue
            self.shown.update(self.graph.nodes[made].outputs)
            inputs = self.graph.nodes[made].inputs
            for k in reversed(range(len(inputs))):
                last = k == len(inputs) - 1
                branch: TextLine = [(indent + ("└─ " if last else "├─ "), "")]
                stack.append((inputs[k], branch, indent + ("   " if last else "│  ")))

    def _own(self, key: str, made: int | None) -> TextLine:
        variable = self.graph.variables[key]
        parts: TextLine = []
        if made is None:
            parts.append((sanitize(variable.label), "name"))
        else:
            node = self.graph.nodes[made]
            op = node.op if len(node.outputs) == 1 else f"{node.op}.{node.outputs.index(key)}"
            parts += [(sanitize(op), "op"), (f" [{self.letters[key]}]", "letter")]
            if variable.name:
                parts.append((f" {sanitize(variable.name)}", "name"))
            if key in self.shown:
                parts.append((" ···", "letter"))
        if self.types:
            parts.append((f" {variable.type}", "type"))
        if self.lines and made is not None and key not in self.shown and self.graph.nodes[made].source:
            node = self.graph.nodes[made]
            parts.append((f"  {sanitize(node.source)}: {sanitize(self.graph.text(node))}", "line"))
        return parts


def _letter(number: int) -> str:
    """Return A, B, …, Z, AA, AB, …"""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(65 + rest) + text
    return text


def print_graph(graph: GraphSnapshot, file: TextIO, *, types: bool = False, lines: bool = False) -> None:
    """Print a graph, coloured on terminals that support it."""
    tty = hasattr(file, "isatty") and file.isatty()
    if not tty or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        write_text(graph_text(graph, types=types, lines=lines), file)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, soft_wrap=True)
    for line in graph_lines(graph, types, lines):
        console.print(Text.assemble(*((text, _STYLES.get(style, "")) for text, style in line)))
