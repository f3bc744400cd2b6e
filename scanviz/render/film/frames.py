"""A film of rewrites as data: one picture with every part of all versions, and the parts that each frame shows.

All versions are laid out as one picture, so a node stands where it stands from its first frame to its last.  An operation that goes
into a loop or out of one is gone at one place and new at another.  Rewrites that change nothing that is drawn have no frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from scanviz.record.errors import ScanvizValueError
from scanviz.record.graphs.rewrites import RewriteRecord, RewritesRecord
from scanviz.record.plain_text import sanitize
from scanviz.render.characters import Moment
from scanviz.render.diagram.build import unknown_loop, whole_picture
from scanviz.render.diagram.chips import with_chips
from scanviz.render.diagram.difference import overlaid, parents_first, with_loops_of, with_names
from scanviz.render.diagram.folding import only_loops
from scanviz.render.diagram.heat import HeatMap
from scanviz.render.diagram.model import Change, Cluster, Diagram, Edge, Node
from scanviz.render.diagram.summary import READABLE

# A film as rows of characters: the parts of the picture in each frame.


def moment_of(film: Film, number: int) -> Moment:
    """Return the parts of the picture in a frame, with the added and removed ones."""
    frame = film.frames[number]
    before = film.frames[number - 1].shown if number else frame.shown
    changes: dict[str, Change] = dict.fromkeys(frame.shown - before, "added")
    changes.update(dict.fromkeys(before - frame.shown, "removed"))
    return Moment(frame.shown, frame.edges, changes)


class FilmFrame(Struct, frozen=True):
    """The picture after a rewrite.

    Attributes
    ----------
    after : int
        Number of applied rewrites.
    caption : str
        Name of the last of them.
    text : str
        Its effect in words.
    operations : int
        Operations of one step, of the only loop shown or of all loops; without loops, operations of the graph.
    shown : frozenset of str
        Ids of nodes and loops of the whole picture that are there.
    edges : frozenset of int
        Its edges that are there, by number.
    flops : int or None
        Floating-point operations of the same, with those of loops inside; None where unknown.
    """

    after: int
    caption: str
    text: str
    operations: int
    shown: frozenset[str]
    edges: frozenset[int]
    flops: int | None = None


class Film(Struct, frozen=True):
    """A film.

    Attributes
    ----------
    whole : Diagram
        All that is shown in any frame.
    frames : tuple of FilmFrame
        In order; the first shows the graph as it was built.
    counted : str
        Owner of the frames' numbers of operations, such as a loop.
    """

    whole: Diagram
    frames: tuple[FilmFrame, ...]
    counted: str = "operations of one step, all loops"

    @property
    def floating(self) -> list[int]:
        """The floating-point operations of each frame; empty if any is unknown."""
        known = [frame.flops for frame in self.frames if frame.flops is not None]
        return known if len(known) == len(self.frames) else []

    def opacity(self, frame: int, name: str | int) -> float:
        """Return the opacity of a part in a frame: a removed part stays faintly visible for one frame."""
        if self._has(frame, name):
            return 1.0
        return 0.25 if frame and self._has(frame - 1, name) else 0.0

    def change(self, frame: int, name: str) -> str:
        """Return whether a node or a loop is ``"added"`` or ``"removed"`` by the frame's rewrite; empty otherwise."""
        here, before = self._has(frame, name), frame > 0 and self._has(frame - 1, name)
        return "" if here == before or not frame else "added" if here else "removed"

    def _has(self, frame: int, name: str | int) -> bool:
        found = self.frames[frame]
        return name in (found.edges if isinstance(name, int) else found.shown)


class GraphVersions(Struct, frozen=True):
    """All versions of a function's graph as pictures with stable ids.

    Attributes
    ----------
    rewrites : RewritesRecord
        All that rules did to the function.
    pictures : tuple of Diagram
        The graph as it was built, and after each of them.
    """

    rewrites: RewritesRecord
    pictures: tuple[Diagram, ...]

    def film(self, scan: str | None = None, *, chips: bool = False) -> Film:
        """Return the film of the function, or of one loop; with ``chips``, large films draw inputs beside their readers.

        Raises
        ------
        ScanvizValueError
            If there was never a loop of that name.
        """
        pictures = self.pictures
        if scan is not None:
            pictures = tuple(_alone(picture, scan) for picture in pictures)
            if not any(picture.clusters for picture in pictures):
                raise unknown_loop(scan, self.rewrites.loops())
        whole, names, edges = _united(pictures)
        if chips and len(whole.nodes) > READABLE:
            whole, names, edges = _united([with_chips(picture, 0) for picture in pictures])
        frames: list[FilmFrame] = []
        for after, shown in enumerate(names):
            caption, text = _words(self.rewrites.applications[after - 1] if after else None)
            operations = _operations(self.rewrites, after, scan)
            flops = _flops(self.rewrites, after, scan)
            frame = FilmFrame(after, caption, text, operations, shown, edges[after], flops)
            if not frames or (frame.shown, frame.edges) != (frames[-1].shown, frames[-1].edges):
                frames.append(frame)
        whole = replace(whole, notes=("; ".join(_notes(len(names) - len(frames))),))
        return Film(whole, tuple(frames), _counted(scan, self.rewrites))


def versions_of(rewrites: RewritesRecord, *, plumbing: bool = False) -> GraphVersions:
    """Return all versions of a function's graph.

    Parameters
    ----------
    rewrites : RewritesRecord
        All that rules did to a function, with all versions of its graph.
    plumbing : bool
        Whether sizes, broadcasts and other plumbing are drawn.

    Raises
    ------
    ScanvizValueError
        If the versions were not kept.
    """
    if not rewrites.has_versions:
        raise ScanvizValueError(
            "only the list of this function's rewrites was kept: there are no graphs to film",
            fix="profile the script again, with fewer functions called",
        )
    nothing = HeatMap(None, None)
    found: list[Diagram] = []
    for after in range(len(rewrites.applications), -1, -1):
        graph = rewrites.snapshot(after)
        assert graph is not None
        picture = whole_picture(graph, nothing, folded=not plumbing)
        # Loops that were built anew are called as later ones of their name.
        found.insert(0, with_loops_of(picture, found[0]) if found else picture)
    return GraphVersions(rewrites, tuple(found))


def film_of(
    rewrites: RewritesRecord, scan: str | None = None, *, plumbing: bool = False, chips: bool = False
) -> Film:
    """Return the film of a function's rewrites, or of one loop alone (`GraphVersions.film`)."""
    return versions_of(rewrites, plumbing=plumbing).film(scan, chips=chips)


def _notes(left_out: int) -> list[str]:
    if not left_out:
        return ["+ is new, − is gone"]
    rewrites = f"{left_out} rewrite{'s' if left_out > 1 else ''}"
    return ["+ is new, − is gone", f"{rewrites} without a frame: nothing drawn here changed"]


def _alone(picture: Diagram, scan: str) -> Diagram:
    return only_loops(picture, [cluster.id for cluster in picture.clusters if cluster.label == scan])


def _words(rewrite: RewriteRecord | None) -> tuple[str, str]:
    if rewrite is None:
        return "as it was built", ""
    return f"{rewrite.index}: {sanitize(rewrite.rule)} ({sanitize(rewrite.phase)})", sanitize(rewrite.message)


def _operations(rewrites: RewritesRecord, after: int, scan: str | None) -> int:
    steps = rewrites.steps(after)
    if scan is not None:
        return sum(many for path, many in steps.items() if _is_path_of(scan, path))
    if steps:
        return sum(steps.values())
    graph = rewrites.snapshot(after)
    return len(graph.nodes) if graph is not None else 0


def _flops(rewrites: RewritesRecord, after: int, scan: str | None) -> int | None:
    """Return the floating-point operations of one step of a loop or of all outermost loops; without loops, of a call."""
    numbers = rewrites.numbers(after)
    if numbers is None:
        return None
    steps, outer = numbers.per_step, _outermost(numbers.per_step)
    wanted = outer if scan is None else [path for path in steps if _is_path_of(scan, path)]
    if not steps:
        return numbers.flops
    found = [steps[path].flops for path in wanted]
    known = [flops for flops in found if flops is not None]
    return sum(known) if len(known) == len(found) else None


def _outermost(paths: Collection[str]) -> list[str]:
    """Return the outermost loops; a loop's name may contain a ``/``."""
    return [path for path in paths if not any(path.startswith(f"{other}/") for other in paths)]


def _is_path_of(scan: str, path: str) -> bool:
    return path == scan or path.endswith(f"/{scan}")


def _counted(scan: str | None, rewrites: RewritesRecord) -> str:
    if scan is not None:
        return f"operations of one step of {sanitize(scan)}"
    return "operations of one step, all loops" if rewrites.loops() else "operations"


def _united(pictures: Sequence[Diagram]) -> tuple[Diagram, list[frozenset[str]], list[frozenset[int]]]:
    """Return one picture of all versions, and the nodes, loops and edges that each version shows."""
    nodes: list[Node] = []
    clusters: list[Cluster] = []
    edges: dict[tuple[object, ...], Edge] = {}
    shown, joined = [], []
    for picture in _with_distinct_ids(pictures):
        nodes, clusters = overlaid(nodes, picture.nodes), overlaid(clusters, picture.clusters)
        shown.append(
            frozenset(node.id for node in picture.nodes) | {cluster.id for cluster in picture.clusters}
        )
        counts: Counter[tuple[object, ...]] = Counter()
        for edge in picture.edges:
            same = edge.source, edge.target, edge.role, edge.label, edge.place
            counts[same] += 1
            edges.setdefault((*same, counts[same]), edge)
        joined.append({(*same, k + 1) for same, count in counts.items() for k in range(count)})
    numbers = {key: number for number, key in enumerate(edges)}
    whole = Diagram(
        pictures[-1].title,
        tuple(replace(node, change="", note="") for node in nodes),
        parents_first([replace(cluster, change="") for cluster in clusters]),
        tuple(edges.values()),
    )
    return whole, shown, [frozenset(map(numbers.__getitem__, keys)) for keys in joined]


def _with_distinct_ids(pictures: Sequence[Diagram]) -> Iterator[Diagram]:
    """Iterate over pictures in which a relabelled node has a new id."""
    looks: dict[str, list[tuple[str, str]]] = {}
    for picture in pictures:
        names: dict[str, str] = {}
        for node in picture.nodes:
            known, look = looks.setdefault(node.id, []), (node.kind, node.label)
            if look not in known:
                known.append(look)
            names[node.id] = node.id + "'" * known.index(look)
        yield with_names(picture, lambda name, names=names: names.get(name, name))  # type: ignore[misc]  # bound now
