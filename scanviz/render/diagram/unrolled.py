"""A loop drawn step by step: time from left to right, a cell per buffer row, its back-propagation below.

The picture shows a run with the drawn number of steps.  Cells and steps have a place in a grid: a column for each step and one
for the rows of states between two steps.  Step s of a back-propagation of T steps stands under its forward step T-1-s.  So do
the cells of its mitmot buffers: cell c holds the gradient of the state's row of step T-1-c, and has that row's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from scanviz.record.errors import ScanvizValueError
from scanviz.record.graphs.graph import GraphSnapshot, PlacedScan, ScanRecord
from scanviz.record.graphs.plumbing import plumbing as plumbing_of_step
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord
from scanviz.record.traces.model import TraceRecord
from scanviz.render.diagram.build import plumbing_note, unknown_loop, whole_picture
from scanviz.render.diagram.cell_values import traces_of_run, with_cell_values
from scanviz.render.diagram.cells import Drawn, SequenceRows, Side, rows_of_sequences
from scanviz.render.diagram.folding import close_loops, with_nodes
from scanviz.render.diagram.heat import HeatMap, function_of
from scanviz.render.diagram.model import Cluster, Diagram, Node
from scanviz.render.diagram.stepwise import draw

MOST_STEPS = 8  # side by side
MOST_IN_ALL = 500  # most of them folded


def unrolled(
    graph: GraphSnapshot,
    scan: str | None,
    steps: int,
    record: ProfileRecord | None = None,
    *,
    plumbing: bool = False,
    most: int = MOST_STEPS,
    built: GraphSnapshot | None = None,
    values: bool = False,
) -> Diagram:
    """Return the first steps of a loop side by side.

    Parameters
    ----------
    graph : GraphSnapshot
        The graph that the loop is in.
    scan : str or None
        The loop's name; None takes the one that took most time, or the first that is no back-propagation.
    steps : int
        Number of steps.
    record : ProfileRecord, optional
        A run, for the times of steps.
    plumbing : bool
        Whether sizes, broadcasts and other plumbing are drawn.
    most : int
        Most steps: 8 if all of them are drawn.
    built : GraphSnapshot, optional
        The graph before its rewrites, with the tensors that sequences were cut from.
    values : bool
        Whether rows have the values of the run, instead of times.

    Raises
    ------
    ScanvizValueError
        If there is no such loop, there are too many steps, or the run's values were not kept.
    """
    if not 1 <= steps <= most:
        raise ScanvizValueError(
            f"{steps} steps of a loop can't be drawn side by side",
            expected=f"1 to {most}",
            fix="fewer steps show the same: a loop's steps are alike",
        )
    picture = whole_picture(graph, HeatMap(record, function_of(record, None, graph)), folded=not plumbing)
    loops = _loops(graph, picture)
    box = _chosen(picture, scan)
    loop, records = loops[box.id], {loop.key: loop for loop in record.loops} if record is not None else {}
    times = records.get(box.loop) if box.loop is not None else None
    run = _kept_run(record, box) if values else []
    notes, whole = [], run[0].total_steps if values else steps
    longest = whole if values else times.longest_run if times is not None else 0
    if 0 < longest < steps:
        notes.append(f"the run had {longest} steps" if values else f"no run had more than {longest} steps")
        steps = longest
    below = _gradient(picture, box, records)
    before = _times_before(loop.loop, loops[below.id].loop if below is not None else None)
    rows = rows_of_sequences(built or graph)
    forward = Side("", loop.loop, loop.step, box, _alone(picture, box), steps, before, 0, rows)
    drawn = draw(forward, None)
    parts = [(forward, drawn, times)]
    if below is not None:
        side = _gradient_side(picture, loops, (box, below), steps, before, drawn.next_row + 1, rows)
        parts.append((side, draw(side, drawn), records.get(below.loop) if below.loop is not None else None))
        last = f"step {max(steps, whole) - 1}" if max(steps, whole) > 1 else "the step"
        notes.append(f"{below.label} goes back over them, and begins with {last}; + adds to what is there")
    unread = list(dict.fromkeys(name for _, part, _ in parts for name in part.unread))
    if unread:
        notes.append(f"not drawn, for no step reads it: {', '.join(unread)}")
    hidden = 0 if plumbing else sum(len(plumbing_of_step(loops[one.id].step)) for one in (box, below) if one)
    if hidden:
        notes.append(plumbing_note(hidden))
    shown = f"{steps} step{'s' if steps > 1 else ''} of {box.label}"
    first = f"a run of {shown}" if whole <= steps else f"the first {steps} of {whole:,} steps of {box.label}"
    return Diagram(
        f"{graph.title}: {shown}" if graph.title else shown,
        tuple(node for part in parts for node in _nodes(part, record, run)),
        tuple(
            cluster
            for _, part, of in parts
            for cluster in (part.clusters if values else _timed(part.clusters, of))
        ),
        tuple(edge for _, part, _ in parts for edge in part.edges),
        (f"{first}, in the order of time", *notes),
    )


def _kept_run(record: ProfileRecord | None, box: Cluster) -> list[TraceRecord]:
    """Return the values of the loop's first kept run.

    Raises
    ------
    ScanvizValueError
        If there is none.
    """
    run = traces_of_run(record.traces if record is not None else (), box.loop)
    if not run:
        raise ScanvizValueError(
            f"no values of {box.label} were kept", fix="record them: scanviz profile --values SCRIPT"
        )
    return run


def _nodes(
    part: tuple[Side, Drawn, LoopRecord | None], record: ProfileRecord | None, run: Sequence[TraceRecord]
) -> Sequence[Node]:
    """Return the nodes of a loop, with the values of a run if there is one."""
    side, drawn, loop = part
    if record is None or loop is None or not run:
        return drawn.nodes
    return with_cell_values(drawn, side, loop, traces_of_run(record.traces, loop.key, run[0].run))


def _gradient_side(
    picture: Diagram,
    loops: dict[str, PlacedScan],
    pair: tuple[Cluster, Cluster],
    steps: int,
    before: int,
    row: int,
    rows: Mapping[str, SequenceRows],
) -> Side:
    """Return the drawing of a loop's back-propagation: below the loop, in the same columns."""
    box, below = pair
    return Side(
        "back/",
        loops[below.id].loop,
        loops[below.id].step,
        below,
        _alone(picture, below),
        steps,
        before,
        row,
        rows,
        of=box.label,
        states=frozenset(variable.name for variable in loops[box.id].loop.variables),
        reads=_reads_of_forward(picture, below, box),
    )


def _times_before(loop: ScanRecord, below: ScanRecord | None) -> int:
    """Return the number of columns before time 0, for initial rows and their gradients."""
    found = [0]
    for variable in loop.variables:
        if variable.kind not in ("sequence", "non_sequence", "nitsot"):
            found.append((variable.kind == "mitmot") - min([0, *variable.reads, *variable.writes]))
    for variable in below.variables if below is not None else ():
        if variable.kind == "mitmot":
            found.append(max([*variable.reads, *variable.writes, 0]))
    return max(found)


def _loops(graph: GraphSnapshot, picture: Diagram) -> dict[str, PlacedScan]:
    """Return loops by the ids of their boxes, in drawing order: a loop before its inner loops."""
    return dict(zip((box.id for box in picture.clusters), graph.all_loops(), strict=True))


def _chosen(picture: Diagram, scan: str | None) -> Cluster:
    if scan is not None:
        named = [cluster for cluster in picture.clusters if cluster.label == scan]
        if not named:
            raise unknown_loop(scan, [cluster.label for cluster in picture.clusters])
        return named[0]
    own = [cluster for cluster in picture.clusters if not cluster.gradient_of] or list(picture.clusters)
    if not own:
        raise ScanvizValueError("the graph has no loop to unroll")
    outermost = [cluster for cluster in own if cluster.parent is None] or own
    return max(outermost, key=lambda cluster: cluster.time_ns or 0.0)


def _gradient(picture: Diagram, box: Cluster, records: dict[int, LoopRecord]) -> Cluster | None:
    """Return the back-propagation of a loop: the one named by the run, or the first that reads the loop."""
    named = [
        cluster for cluster in picture.clusters if cluster.gradient_of == box.label and cluster.id != box.id
    ]
    for cluster in named:
        found = records.get(cluster.loop) if cluster.loop is not None else None
        if found is not None and box.loop is not None and found.gradient_of == box.loop:
            return cluster
    reading = [cluster for cluster in named if _reads_of_forward(picture, cluster, box)]
    return next(iter([*reading, *named]), None)


def _alone(picture: Diagram, box: Cluster) -> Diagram:
    """Return the inside of a loop, with the loops in it closed."""
    closed = close_loops(picture, [cluster.id for cluster in picture.clusters if cluster.parent == box.id])
    return with_nodes(closed, (node for node in closed.nodes if node.cluster == box.id))


def _reads_of_forward(picture: Diagram, below: Cluster, box: Cluster) -> dict[int, int]:
    """Return, for each sequence of a loop's back-propagation, the loop variable that it has rows of.

    Rows come to it through views alone: parts of an array, and the initial rows put before a result.
    """
    nodes = {node.id: node for node in picture.nodes}
    before: dict[str, list[str]] = {}
    for edge in picture.edges:
        if edge.role == "data" and (edge.place == 0 or nodes[edge.target].kind == "port"):
            before.setdefault(edge.target, []).append(edge.source)
    found = {}
    for port in picture.nodes:
        if port.cluster == below.id and port.side == "in" and port.loop_kind == "sequence":
            made = _root(port.id, before, nodes)
            if made is not None and made.cluster == box.id and made.side == "out":
                assert port.variable is not None and made.variable is not None
                found[port.variable] = made.variable
    return found


def _root(start: str, before: dict[str, list[str]], nodes: dict[str, Node]) -> Node | None:
    seen = {start}
    here = next(iter(before.get(start, ())), None)
    while here is not None and here not in seen:
        seen.add(here)
        node = nodes[here]
        if node.kind != "operation" or not node.op.startswith(("index[", "state_history", "first_rows")):
            return node
        here = next(iter(before.get(here, ())), None)
    return None


def _timed(clusters: list[Cluster], loop: LoopRecord | None) -> list[Cluster]:
    """Return steps with their times: averages over the kept runs, and shares of the drawn steps."""
    if loop is None or not len(loop.series):
        return clusters
    means = []
    for step in range(len(clusters)):
        times = [timed_steps.time_ns for timed_steps in loop.at(step)]
        means.append(sum(times) / len(times) if times else None)
    whole = sum(number for number in means if number is not None)
    return [
        replace(cluster, time_ns=mean, share=mean / whole if mean is not None and whole else None)
        for cluster, mean in zip(clusters, means, strict=True)
    ]
