"""The left panel: the tree, and below it facts about the selected loop or function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.events import Resize
from textual.widgets import Tree

from scanviz.profiler.report.loops import headings, tier
from scanviz.profiler.report.units import counted, duration, share, size
from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import CONTAINERS, parts_of, run_time_ns
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import CYAN, RED, share_style
from scanviz.tui.tree import RunTree
from scanviz.tui.views.base import TextBlock
from scanviz.tui.views.steps import all_steps
from scanviz.tui.views.tables import place_cell

# What there is to know of the loop or function that is looked at, in a few lines below the tree: seen beside every tab.
#
# A line is a word and what it stands for; what matters least comes last, and is left out first.

WORD = 9  # columns of the word before
LEAST = 5  # lines below which the panel is not worth its rule
LOWEST, HIGHEST = 4, 14  # rows of the chart of steps
LINES, BAR = 8, 8  # how many of the user's lines are listed, and columns of their bars
_WORDS = {
    "reads": ("sequence",),
    "carries": ("mitmot", "mitsot", "sitsot", "carry"),
    "gives": ("nitsot",),
    "shares": ("non_sequence",),
}


def facts(state: ViewState, width: int, most: int) -> Text:
    """Return facts about the selected loop or function, in at most ``width`` columns and ``most`` lines."""
    loop, function = state.loop_record, state.function_record
    if loop is not None:
        lines = list(_of_loop(state, loop, width))
        if len(loop.series) > 1 and loop.longest_run > 1:
            tall = max(LOWEST, min(HIGHEST, most - len(lines)))
            lines[1:1] = all_steps(state, width, tall, axis=0)
    elif function is not None:
        lines = list(_of_function(function, width))
    else:
        return Text("")
    for line in lines[:most]:
        line.truncate(width, overflow="ellipsis")
    return Text("\n", no_wrap=True).join(lines[:most])


def _line(word: str, text: str, style: str = "") -> Text:
    return Text(f"{word:<{WORD}}", "dim").append(text, style or "not dim")


def _numbers(word: str, width: int, *texts: str) -> Text:
    """Return a line of as many texts as fit, without cutting one."""
    kept = list(texts)
    while len(kept) > 1 and len(" · ".join(kept)) > width - WORD:
        kept.pop()
    return _line(word, " · ".join(kept))


def _of_loop(state: ViewState, loop: LoopRecord, width: int) -> Iterator[Text]:
    """Iterate over the facts about a loop."""
    yield _heading(loop.name, str(loop.source or ""), width)
    yield _numbers(
        "took", width, duration(loop.total_ns), counted(loop.runs, "run"), counted(loop.steps, "step")
    )
    if loop.step_times.count:
        median, p95, longest = map(duration, loop.step_quantiles_ns)
        yield _numbers("a step", width, median, f"p95 {p95}", f"max {longest}")
    found = state.first_bad()
    if found is not None:
        bad = _numbers("NaN", width, f"step {found[1].step}", sanitize(found[1].variable.name))
        bad.stylize(f"bold {RED}", WORD)
        yield bad
    forward = [other for other in state.record.loops if other.key in loop.forward_keys]
    backward = [other for other in state.record.loops if loop.key in other.forward_keys]
    if forward:
        yield _numbers(
            "gradient", width, "of " + sanitize(", ".join(other.name for other in forward)), "b: there"
        )
    if backward:
        yield _numbers("gradient", width, sanitize(", ".join(other.name for other in backward)), "b: there")
    for word, kinds in _WORDS.items():
        names = [_named(variable) for variable in loop.variables if variable.kind in kinds]
        if names:
            yield _line(word, _listed(names, width - WORD))
    yield from _rewritten(state.function_record, loop, width)
    if loop.buffer_bytes:
        yield _numbers("memory", width, size(loop.buffer_bytes))
    if loop.tiers:
        made = sum(tier.total_ns for tier in loop.tiers)
        yield _numbers("code", width, sanitize(loop.tiers[-1].tier), f"made in {duration(made)}")
    yield from _hot_lines(state, loop, width)


def _hot_lines(state: ViewState, loop: LoopRecord, width: int) -> Iterator[Text]:
    """Iterate over the user's lines that take most of a loop, each with its share of the run."""
    spent: Counter[str] = Counter()
    parts = parts_of(state.record)
    for part in parts:
        if (
            part.loop == loop.key
            and part.source is not None
            and part.kind not in (*CONTAINERS, "recording", "code")
        ):
            spent[sanitize(str(part.source))] += part.own_ns
    whole = run_time_ns(parts) if spent.total() else 0
    for place, time in spent.most_common(LINES):
        if not whole:  # no operation has a time
            return
        bar = f"{'█' * round(BAR * time / whole):<{BAR}}"
        text = Text(f"{share(time, whole):>6} ", share_style(time, whole)).append(
            bar, f"not bold not dim {CYAN}"
        )
        yield text.append(" " + place_cell(place, max(8, width - BAR - 8)).text, "not bold not dim default")


def _of_function(function: FunctionRecord, width: int) -> Iterator[Text]:
    """Iterate over the facts about a function."""
    yield _heading(function.name, str(function.source or ""), width)
    yield _numbers("took", width, duration(function.total_ns), counted(function.calls, "call"))
    if function.first_ns:
        yield _line("first", duration(function.first_ns))
    if function.call_times.count > 1:
        times = function.call_times
        yield _numbers("a call", width, duration(times.p50_ns), f"p95 {duration(times.p95_ns)}")
    for stage, spent in function.build_ns.items():
        yield _line("built", f"{duration(spent)} {sanitize(stage)}")
    if function.rewrites is not None:
        yield _line("rewrites", counted(len(function.rewrites.applications), "application") + " (5)")
    for words in headings(function):
        yield _line("", words)
    yield _line("on", sanitize(tier(function)))


def _heading(name: str, place: str, width: int) -> Text:
    """Return a name, with its source line at the end of the row if both fit."""
    text = Text(sanitize(name), "bold")
    room = width - text.cell_len - 2
    if place and place not in name and room >= len(place.rpartition("/")[2]) // 2:
        end = place_cell(sanitize(place), room).text
        text.append(" " * (width - text.cell_len - len(end))).append(end, f"not bold {CYAN}")
    return text


def _named(variable: LoopVariableRecord) -> str:
    """Return a variable's name, with its taps unless it reads the previous step only."""
    far = [tap for tap in variable.reads if tap not in (-1, 0)]
    taps = (
        ",".join(f"t{tap:+d}" for tap in sorted(variable.reads)) if far and variable.kind != "mitmot" else ""
    )
    return sanitize(variable.name) + (f"[{taps}]" if taps else "")


def _listed(names: list[str], width: int) -> str:
    """Return as many names as fit, and the number of the others.

    Examples
    --------
    >>> _listed(["W", "U", "b", "scale"], 20), _listed(["W", "U", "b", "scale"], 8)
    ('W, U, b, scale', 'W, U +2')
    """
    kept = list(names)
    while len(kept) > 1 and len(_with_rest(kept, len(names))) > width:
        kept.pop()
    return _with_rest(kept, len(names))


def _with_rest(kept: list[str], count: int) -> str:
    return ", ".join(kept) + (f" +{count - len(kept)}" if len(kept) < count else "")


def _rewritten(function: FunctionRecord | None, loop: LoopRecord, width: int) -> Iterator[Text]:
    """Yield a line about rewriting: operations per step before and after."""
    rewrites = function.rewrites if function is not None else None
    if rewrites is None or rewrites.cost is None:
        return
    before, after = (
        rewrites.steps(0).get(loop.name),
        rewrites.steps(len(rewrites.applications)).get(loop.name),
    )
    if before is not None and after is not None:
        words = f"{before} → {after}" if after != before else f"{after}"
        long = f"{words} operations a step"
        yield _line("rewrites", long if len(long) <= width - WORD else f"{words} a step")


OF_THE_TREE = 2 / 3  # of the rows at the most, where facts could fill more: as in the style sheet


class LeftPanel(Vertical):
    """The tree and the facts."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._state: ViewState | None = None

    def compose(self) -> ComposeResult:
        """Lay the panel out."""
        yield RunTree(id="tree")
        yield TextBlock(id="facts")

    def show(self, state: ViewState) -> None:
        """Show a state in the tree and the facts."""
        self._state = state
        self.query_one("#tree", RunTree).show(state)
        self._show_facts()

    def _show_facts(self) -> None:
        inside = self.size
        if self._state is None or not inside.width:
            return
        tree, block = self.query_one("#tree", RunTree), self.query_one("#facts", TextBlock)
        room = inside.height - min(tree.last_line + 1, int(inside.height * OF_THE_TREE)) - 1  # less the rule
        text = facts(self._state, inside.width - 1, room) if room >= LEAST else None
        self.set_class(not text, "no-facts")
        if text:
            block.show(text)

    def on_resize(self, event: Resize) -> None:
        """Redraw for another size."""
        self.call_after_refresh(self._show_facts)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[object]) -> None:
        """Make room for an opened node."""
        self._show_facts()

    def on_tree_node_collapsed(self, event: Tree.NodeCollapsed[object]) -> None:
        """Give the rows of a closed node to the facts."""
        self._show_facts()
