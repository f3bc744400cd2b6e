"""The tree on the left: functions, loops, nested loops, and backward loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.message import Message
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from scanviz.profiler.report.units import duration, share
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.tui.model.place import Scrolled, place_words
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import GREEN, share_style

Key = tuple[str, int]  # ("function" or "loop", key)
MOST = 2_000  # loops that are shown
ENDING = 8  # letters of a name's end that stay
MARGIN, STEP = 10, 2  # columns of a share and what is left of it; of each loop around


class RunTree(Tree[Key]):
    """Functions and loops, slowest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
        Binding("l,right", "open", "open", show=False),
        Binding("h,left", "close", "close", show=False),
        Binding("g", "end(0)", "first", show=False),
        Binding("G", "end(1)", "last", show=False),
        Binding("b", "app.other", "forward/backward loop"),
        Binding("enter", "enter", "go to the tab", show=False),
    ]
    ABOUT: ClassVar[str] = (
        "Functions and their loops, slowest first, with their shares of the run. ↩ marks a loop of back-propagation;"
        " b goes from a loop to its gradient and back. Enter goes to the tabs. / finds loops by their names."
    )

    class Chosen(Message):
        """A function or loop was chosen."""

        def __init__(self, key: Key, *, entered: bool = False) -> None:
            super().__init__()
            self.key, self.entered = key, entered

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("profile", id=id)
        self.show_root = False
        self.auto_expand = False  # choosing a function does not close it; its triangle, h and l do
        self.guide_depth = 2
        self._shown_record: ProfileRecord | None = None
        self._written_for = 0  # columns
        self._names: dict[Key, str] = {}  # whole, as they are searched
        self._by_key: dict[Key, TreeNode[Key]] = {}
        self._found: list[TreeNode[Key]] = []
        self._found_at = -1
        self._by_key_press = False
        self.at_work: tuple[int, ...] = ()  # loops of a script that runs which took time lately
        self.sign = ""  # what marks them

    def show(self, state: ViewState) -> None:
        """Show the record's loops, with the cursor on the selected one."""
        if self._shown_record is not state.record:
            self._shown_record = state.record
            if list(self._by_key) != _keys(state.record):
                self._fill_in(state)
            self._show_times(state.record)
        key: Key = ("loop", state.loop) if state.loop is not None else ("function", state.function or 0)
        node = self._by_key.get(key)
        if node is not None and node is not self.cursor_node:
            self.call_after_refresh(self._go_to, node)  # a new tree has its size only then

    def _go_to(self, node: TreeNode[Key]) -> None:
        if self.last_line >= 0:  # asked first: it counts the lines anew where loops have changed places
            self.move_cursor(node)

    def _fill_in(self, state: ViewState) -> None:
        closed = {key for key, node in self._by_key.items() if not node.is_expanded}
        self.clear()
        self._by_key, self._found = {}, []
        parents = {loop.key: loop.parent for loop in state.record.loops}
        around = set(parents.values())
        functions = {loop.key: loop.function for loop in state.record.loops}
        for key in _keys(state.record):
            kind, number = key
            parent = None if kind == "function" else parents[number]
            above: Key = (
                ("loop", parent) if parent is not None else ("function", functions.get(number, number))
            )
            node = self.root if kind == "function" else self._by_key[above]
            inside = kind == "function" or number in around
            self._by_key[key] = node.add("", key, expand=key not in closed, allow_expand=inside)

    def _show_times(self, record: ProfileRecord) -> None:
        """Update changed labels; loops keep their places while a script runs."""
        functions = {function.key: function for function in record.functions}
        times = OperationTimes(parts_of(record))
        labels: dict[Key, Text] = {
            ("function", key): self._function_label(function, times) for key, function in functions.items()
        }
        around: dict[int | None, int] = {}
        for loop in record.loops[:MOST]:
            around[loop.key] = around.get(loop.parent, 0) + 1
            if loop.function in functions:
                labels["loop", loop.key] = self._loop_label(loop, times, around[loop.key])
        self._names = {("function", key): function.name for key, function in functions.items()}
        self._names |= {("loop", loop.key): loop.name for loop in record.loops}
        for key, node in self._by_key.items():
            if node.label != labels[key]:
                node.set_label(labels[key])

    def place(self) -> str:
        """Return the cursor's position."""
        return place_words(self.cursor_line, self.last_line + 1)

    def on_resize(self, event: Resize) -> None:
        """Cut names for another width."""
        if self._shown_record is not None and self.size.width != self._written_for:
            self._show_times(self._shown_record)

    def _fitted(self, name: str, around: int) -> str:
        """Shorten a name to fit beside its share, at a nesting depth of ``around``."""
        self._written_for = self.size.width
        return shortened(sanitize(name), max(12, self.size.width - MARGIN - STEP * around))

    def _function_label(self, function: FunctionRecord, times: OperationTimes) -> Text:
        taken = times.whole(function)
        label = _share(taken, times.run_ns)
        label.append(self._fitted(function.name, 0), style="bold")
        if function.origin:
            label.append(f"  {sanitize(function.origin)}", style="not bold italic")
        return self._with_time(label, taken, 0)

    def _loop_label(self, loop: LoopRecord, times: OperationTimes, around: int) -> Text:
        taken = times.whole(loop)
        label = _share(taken, times.run_ns, self.sign if loop.key in self.at_work else " ")
        label.append("↩ " if loop.gradient_of is not None else "")
        name = self._fitted(loop.name, around + (loop.gradient_of is not None))
        return self._with_time(label.append(name), taken, around)

    def _with_time(self, label: Text, time_ns: int, around: int) -> Text:
        """Return a label with its time, or without it if it does not fit."""
        time = f"  {duration(time_ns)}"
        room = self.size.width - STEP * (around + 1)
        return label.append(time, style="not bold dim") if label.cell_len + len(time) <= room else label

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Key]) -> None:
        """Show the node under the cursor."""
        event.stop()
        self.post_message(Scrolled())
        if event.node.data is not None and self.has_focus:
            self.post_message(self.Chosen(event.node.data))

    def on_tree_node_selected(self, event: Tree.NodeSelected[Key]) -> None:
        """Show the clicked node; enter also focuses the tab."""
        event.stop()
        if event.node.data is not None:
            self.post_message(self.Chosen(event.node.data, entered=self._by_key_press))
        self._by_key_press = False

    def action_enter(self) -> None:
        """Choose a loop and go to its tab."""
        self._by_key_press = True
        self.action_select_cursor()

    # searching: n and N go through the loops and functions that match

    def search(self, text: str) -> int:
        """Find loops and functions by name and go to the first; return their number."""
        wanted = text.casefold()
        nodes = [(node, self._names.get(key, "").casefold()) for key, node in self._by_key.items()]
        self._found = [node for node, label in nodes if wanted and wanted in label]
        self._found_at = -1
        self.next_found(1)
        return len(self._found)

    def next_found(self, by: int) -> None:
        """Go to the next match, or the one before."""
        if self._found:
            self._found_at = (self._found_at + by) % len(self._found)
            node = self._found[self._found_at]
            above = node.parent
            while above is not None:
                above.expand()
                above = above.parent
            self.call_after_refresh(self.move_cursor, node)

    def action_end(self, last: int) -> None:
        """Go to the first or the last line."""
        if self.last_line >= 0:  # a script that has just begun has no functions yet
            self.move_cursor_to_line(self.last_line if last else 0)

    def action_open(self) -> None:
        """Open the node."""
        if self.cursor_node is not None:
            self.cursor_node.expand()

    def action_close(self) -> None:
        """Close the node, or go to the one around it."""
        node = self.cursor_node
        if node is None:
            return
        if node.is_expanded and node.children:
            node.collapse()
        elif node.parent is not None and node.parent is not self.root:
            self.move_cursor(node.parent)


def _share(time_ns: float, whole: float, sign: str = " ") -> Text:
    """Return a share; its sign stands in a column of its own before the number."""
    text = f"{share(time_ns, whole):>6}"
    begin, rest = (sign, text[1:]) if text[0] == " " or (text[0] == "<" and sign != " ") else ("", text)
    return Text().append(begin, f"bold {GREEN}").append(f"{rest} ", share_style(time_ns, whole))


def shortened(name: str, room: int) -> str:
    """Return a name cut in the middle to fit: names from source lines end with the line.

    Examples
    --------
    >>> shortened("grad_of_scan at loops.py:11", 18), shortened("rnn", 12)
    ('grad_of_s…ps.py:11', 'rnn')
    """
    return name if len(name) <= room else f"{name[: room - ENDING - 1]}…{name[-ENDING:]}"


def _keys(record: ProfileRecord) -> list[Key]:
    """Return the tree's keys from the top down: siblings by decreasing time."""
    children: dict[tuple[int, int | None], list[LoopRecord]] = {}
    for loop in record.loops[:MOST]:
        children.setdefault((loop.function, loop.parent), []).append(loop)
    found: list[Key] = []
    for function in sorted(record.functions, key=lambda function: -function.total_ns):
        found.append(("function", function.key))
        waiting = _slowest_last(children.get((function.key, None), ()))
        while waiting:
            loop = waiting.pop()
            found.append(("loop", loop.key))
            waiting += _slowest_last(children.get((function.key, loop.key), ()))
    return found


def _slowest_last(loops: Iterable[LoopRecord]) -> list[LoopRecord]:
    return sorted(loops, key=lambda loop: (loop.total_ns, -loop.key))
