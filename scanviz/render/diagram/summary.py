"""Summarise a large graph: close loops from the innermost out, then draw groups of operations as one node.

Neighbours in the order of computation stand as one group, so arrows keep pointing one way.  Ports and hot operations stay.  Notes
list the folded parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from scanviz.render.diagram.folding import close_loops, depths, fold, inside
from scanviz.render.diagram.model import Diagram, Node

USUAL_LIMIT = 400
READABLE = 80  # nodes of a picture that is read at a glance
_LEAST = 16  # nodes, below which no picture is squeezed
_HOT = 0.01  # part of the hottest node's time: nodes that take more stay
_LEAVES = ("input", "shared", "constant")  # that give a value and read none
_FOLDED = ("operation", "loop", "constant")


def summarised(diagram: Diagram, limit: int = USUAL_LIMIT) -> Diagram:
    """Return a picture with a limited number of nodes.

    Parameters
    ----------
    diagram : Diagram
        Any picture; one that is small enough comes back as it is.
    limit : int
        Most nodes; less than 16 counts as 16.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Edge
    >>> chain = tuple(Node(f"n{k}", "operation", "add") for k in range(1000))
    >>> edges = tuple(Edge(f"n{k}", f"n{k + 1}") for k in range(999))
    >>> small = summarised(Diagram("f", chain, (), edges), 16)
    >>> small.nodes[0].label, small.notes
    ('63 operations: 63 add', ('1,000 nodes are more than 16: 1,000 operations are drawn as 16 groups',))
    """
    limit = max(limit, _LEAST)
    count = len(diagram.nodes)
    if count <= limit:
        return diagram
    notes = diagram.notes
    diagram = close_loops(diagram, loops_to_close(diagram, limit))
    closed = diagram.notes[len(notes) :]
    hot = _hot(diagram, limit)
    folded = 0
    for choose in (_neighbours, _others):
        if len(diagram.nodes) > limit:
            chosen = choose(diagram, limit, hot)
            members = [text for _, together in chosen for text in together]
            summaries = {node.id for node in diagram.nodes if node.kind == "summary"}
            folded += sum(member not in summaries for member in members)
            diagram = fold(diagram, chosen)
    groups = sum(node.kind == "summary" for node in diagram.nodes)
    folding = list(closed)
    if folded:
        what = f"{_counted(folded, 'operation')} are drawn as {_counted(groups, 'group')}"
        folding.append(what + (f"; {len(hot)} hot ones stay" if hot else ""))
    note = f"{count:,} nodes are more than {limit}: {'; '.join(folding)}"
    return Diagram(diagram.title, diagram.nodes, diagram.clusters, diagram.edges, (*notes, note))


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def loops_to_close(diagram: Diagram, limit: int = READABLE) -> tuple[str, ...]:
    """Return the ids of the loops to close for a limited number of nodes.

    The innermost go first, of these those of least time.  A view that opens a large graph closes these, and opens one when it is
    asked to.

    Parameters
    ----------
    diagram : Diagram
        A picture with its loops open.
    limit : int
        Nodes that are read at a glance.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Cluster
    >>> nodes = tuple(Node(f"n{k}", "port" if k < 3 else "operation", "exp", "a" if k < 100 else None) for k in range(110))
    >>> loops_to_close(Diagram("f", nodes, (Cluster("a", "rnn"),)))
    ('a',)
    """
    deep = depths(diagram)
    sizes: Counter[str | None] = Counter(node.cluster for node in diagram.nodes)
    ports = {node.cluster for node in diagram.nodes if node.kind == "port"}
    alone = _alone(diagram, limit)
    parent = {cluster.id: cluster.parent for cluster in diagram.clusters}
    count, chosen = len(diagram.nodes), []
    order = sorted(
        diagram.clusters, key=lambda cluster: (-deep[cluster.id], cluster.share or 0.0, -sizes[cluster.id])
    )
    for box in order:
        if count <= limit:
            break
        if box.id in ports and box.id != alone:
            chosen.append(box.id)
            count -= sizes[box.id] - 1
            sizes[parent[box.id]] += 1
    return tuple(chosen)


def _alone(diagram: Diagram, limit: int) -> str | None:
    """Return the only outermost loop of a picture that shows nothing else; closed, the picture would be empty."""
    outermost = [cluster.id for cluster in diagram.clusters if cluster.parent is None]
    if len(outermost) != 1 or any(node.cluster not in inside(diagram, outermost) for node in diagram.nodes):
        return None
    kept = sum(node.cluster == outermost[0] and node.kind not in _FOLDED for node in diagram.nodes)
    return outermost[0] if kept <= limit // 2 else None


def _hot(diagram: Diagram, limit: int) -> frozenset[str]:
    """Return the ids of the most expensive nodes, at most a tenth of all."""
    most = max((node.share or 0.0 for node in diagram.nodes), default=0.0)
    timed = [node for node in diagram.nodes if node.share and node.share >= _HOT * most]
    timed.sort(key=lambda node: -(node.share or 0.0))
    return frozenset(node.id for node in timed[: limit // 10])


Groups = list[tuple[Node, list[str]]]


def _neighbours(diagram: Diagram, limit: int, hot: frozenset[str]) -> Groups:
    """Group consecutive operations in the order of computation into few enough groups."""
    runs: list[list[Node]] = []
    last: str | None = None
    begun = False
    for node in diagram.nodes:
        if node.kind in (*_FOLDED, "summary") and node.id not in hot:
            if not begun or last != node.cluster:
                runs.append([])
            runs[-1].append(node)
            begun, last = True, node.cluster
        elif node.kind not in _LEAVES:
            begun = False
    runs = [run for run in runs if len(run) > 1]
    foldable = sum(map(len, runs))
    room = max(len(runs), limit - (len(diagram.nodes) - foldable))
    return [group for run in runs for group in _cut(run, max(1, room * len(run) // max(foldable, 1)))]


def _cut(run: Sequence[Node], pieces: int) -> Groups:
    """Cut a run of nodes into groups of about the same size."""
    size = -(-len(run) // pieces)
    parts = [run[start : start + size] for start in range(0, len(run), size)]
    return [(_summary(part), [node.id for node in part]) for part in parts if len(part) > 1]


def _others(diagram: Diagram, limit: int, hot: frozenset[str]) -> Groups:
    """Group all nodes of one kind at one place, the largest kind first: the last resort."""
    kinds: dict[tuple[str | None, str], list[Node]] = {}
    for node in diagram.nodes:
        if node.kind != "port" and node.id not in hot:
            kinds.setdefault((node.cluster, node.kind), []).append(node)
    found: Groups = []
    count = len(diagram.nodes)
    for together in sorted(kinds.values(), key=len, reverse=True):
        if count > limit and len(together) > 1:
            kept = max(0, min(len(together) - 2, limit - (count - len(together)) - 1))
            members = together[kept:]
            found.append((_summary(members), [member.id for member in members]))
            count -= len(members) - 1
    return found


def _summary(members: Sequence[Node]) -> Node:
    """Return the node that replaces a group."""
    times = [member.time_ns for member in members if member.time_ns is not None]
    shares = [member.share for member in members if member.share is not None]
    changes = {member.change for member in members}
    first = members[0]
    return Node(
        f"summary/{first.id}",
        "summary",
        _label(members),
        first.cluster,
        loop=first.loop,
        time_ns=sum(times) if times else None,
        share=min(1.0, sum(shares)) if shares else None,
        change=changes.pop() if len(changes) == 1 else "",
        column=first.column,
        row=first.row,
        band=first.band,
    )


def _label(members: Sequence[Node]) -> str:
    """Return the label of a group: the number of operations, and the most frequent ones."""
    names: Counter[str] = Counter()
    total = 0
    for member in members:
        total += _size(member)
        if member.kind != "summary":
            names[_short(member)] += 1
    kinds = {"loop" if member.kind == "loop" else member.kind for member in members}
    noun = next(iter(kinds)).replace("_", " ") if len(kinds) == 1 and "summary" not in kinds else "operation"
    most = sorted(names.items(), key=lambda pair: (-pair[1], pair[0]))
    listed = ", ".join(f"{count:,} {name}" for name, count in most[:3]) + (", …" if len(most) > 3 else "")
    return f"{_counted(total, noun)}{f': {listed}' if listed else ''}"


def _size(node: Node) -> int:
    return int(node.label.split(" ", 1)[0].replace(",", "")) if node.kind == "summary" else 1


def _short(node: Node) -> str:
    """Return an operation without its parameters, constants and the name of its result."""
    label = node.op or node.label
    for sign in "{([":
        label = label.partition(sign)[0] or label
    return label[:24].replace(", ", " ")
