"""Laws of names in views: pictures with their heat, the file of an ongoing run, the application's tree."""

import asyncio
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from scanviz.engine.mode import Mode
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.run.live import LiveFile
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.storage.file import load
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.model import Diagram
from scanviz.render.draw import written
from tests.laws.law import law
from tests.laws.names import NamedFunction, alike_loops, named_functions, recorded

_CASES = st.lists(named_functions(), min_size=1, max_size=3)
_REWRITES = st.sampled_from(["all", "all,-ScanMerge", "none"])


def _record(cases: list[NamedFunction], rewrites: str) -> ProfileRecord:
    return recorded([named_function.build(Mode("numpy", rewrites)) for named_function in cases], cases)


@law(sample=2, cases=_CASES, rewrites=_REWRITES)
def each_loop_is_in_its_functions_picture_once_with_its_own_time(
    cases: list[NamedFunction], rewrites: str
) -> None:
    """A picture of a function shows each loop once, with its own heat, in every format."""
    record = _record(cases, rewrites)
    for function in record.functions:
        graph = function.graph
        assert graph is not None
        loops = [loop for loop in record.loops if loop.function == function.key]
        picture = diagram_of(graph, record=record, function=function.key)
        _check_boxes(picture, loops)
        for loop in loops if _distinguished(loops) else []:
            alone = diagram_of(graph, record=record, function=function.key, scan=loop.name)
            _check_boxes(alone, [loop, *_inside(loop, loops)])
            closed = diagram_of(graph, record=record, function=function.key, closed=[loop.name])
            _check_boxes(closed, [other for other in loops if other not in (loop, *_inside(loop, loops))])
        for form in ("txt", "dot", "svg", "json", "graphml"):
            assert written(picture, form).text


def _distinguished(loops: list[LoopRecord]) -> bool:
    """Return whether no two loops have one name; a gradient's forward loop, made again, has the name of the loop it is."""
    return len({loop.name for loop in loops}) == len(loops)


def _inside(loop: LoopRecord, loops: list[LoopRecord]) -> list[LoopRecord]:
    found = [inner for inner in loops if inner.parent == loop.key]
    return [*found, *(deeper for inner in found for deeper in _inside(inner, loops))]


def _check_boxes(picture: Diagram, loops: list[LoopRecord]) -> None:
    boxes = {cluster.loop: cluster for cluster in picture.clusters}
    assert Counter(cluster.loop for cluster in picture.clusters) == Counter(loop.key for loop in loops)
    assert len({cluster.id for cluster in picture.clusters}) == len(loops)
    for loop in loops:
        box = boxes[loop.key]
        assert box.label == loop.name and box.time_ns == (loop.total_ns if loop.runs else None)
        around = next((other.loop for other in picture.clusters if other.id == box.parent), None)
        assert around == loop.parent or all(other.key != loop.parent for other in loops)
        forward = next((other.name for other in loops if other.key == loop.gradient_of), None)
        assert forward is None or box.gradient_of in (
            forward,
            *forward.split("&"),
        )  # one of those that were merged


@law(sample=2, cases=_CASES, rewrites=_REWRITES)
def the_file_of_a_run_has_each_loop_with_its_own_numbers(cases: list[NamedFunction], rewrites: str) -> None:
    """The file of a running script holds each loop once, with the numbers of the record."""
    record = _record(cases, rewrites)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "live.scanviz"
        LiveFile(Recorder(), path).stop(record)
        text = load(path)
    assert [_numbers(loop) for loop in text.loops] == [_numbers(loop) for loop in record.loops]
    assert [(function.key, function.name, function.calls) for function in text.functions] == [
        (function.key, function.name, function.calls) for function in record.functions
    ]


def _numbers(loop: LoopRecord) -> tuple[object, ...]:
    place = (loop.key, loop.name, loop.function, loop.parent, loop.gradient_of)
    return (*place, loop.runs, loop.steps, loop.total_ns, [variable.name for variable in loop.variables])


@law(sample=1, cases=_CASES, rewrites=_REWRITES)
def the_applications_tree_has_each_loop_once_at_its_place(cases: list[NamedFunction], rewrites: str) -> None:
    """The tree holds each function and under it each loop, with distinct labels; selecting one shows that one."""
    record = _record(cases, rewrites)
    asyncio.run(_check_tree(record))


async def _check_tree(record: ProfileRecord) -> None:
    from scanviz.tui.app import ScanvizApp
    from scanviz.tui.model.source import Source
    from scanviz.tui.tree import RunTree
    from tests.support.idle import unseen

    app = unseen(ScanvizApp(Source(record, "p.scanviz")))
    async with app.run_test(size=(140, 60)) as pilot:
        await pilot.pause()
        tree = app.query_one(RunTree)
        for function in record.functions:
            _check_branch(tree, record, function)
        for loop in record.loops:
            tree.post_message(RunTree.Chosen(("loop", loop.key)))
            await pilot.pause()
            assert app.state.loop == loop.key


def _check_branch(tree: Any, record: ProfileRecord, function: FunctionRecord) -> None:
    nodes = {node.data: node for node in _all_nodes(tree.root)}
    loops = [loop for loop in record.loops if loop.function == function.key]
    titles = []
    for loop in loops:
        node = nodes["loop", loop.key]
        above = ("function", function.key) if loop.parent is None else ("loop", loop.parent)
        assert node.parent.data == above
        title = str(node.label)[7:]  # after the share
        assert title.startswith("↩ ") == (loop.gradient_of is not None)
        shown, _, time = title.removeprefix("↩ ").rpartition("  ")
        titles.append(shown or time)  # no time stands behind a name that leaves no room for all of it
    assert all(_is_shown_of(title, loop.name) for title, loop in zip(titles, loops, strict=True)), titles


def _is_shown_of(title: str, name: str) -> bool:
    """Return whether a title is a name, or a long name cut in the middle."""
    begin, cut, end = title.partition("…")
    return title == name or bool(cut and end and name.startswith(begin) and name.endswith(end))


def _all_nodes(node: Any) -> list[Any]:
    return [found for child in node.children for found in (child, *_all_nodes(child))]


@law(sample=4, cases=_CASES | alike_loops().map(lambda case: [case]), rewrites=_REWRITES)
def a_gradients_loop_is_joined_to_its_forward_loop_through_merging_and_nesting(
    cases: list[NamedFunction], rewrites: str
) -> None:
    """A gradient's loop names its forward loop, through merging and nesting."""
    users = set(re.findall(r"name='([^']*)'", repr(cases)))  # it may call any loop the gradient of one
    for function in (record := _record(cases, rewrites)).functions:
        loops = [loop for loop in record.loops if loop.function == function.key]
        of_part = {
            part: [loop for loop in loops if part in loop.name.split("&")]
            for loop in loops
            for part in loop.name.split("&")
        }
        for part, backward in of_part.items():
            forward = of_part.get(part.removeprefix("grad_of_"), [])
            if (
                part.startswith("grad_of_")
                and part not in users
                and "#" not in part
                and len(forward) == len(backward) == 1
            ):
                (loop,), (other,) = backward, forward
                assert other.key in loop.forward_keys, (loop.name, other.name, loop.forward_keys)
