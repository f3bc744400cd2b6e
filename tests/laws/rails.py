"""Laws of pictures in characters: lines join values with their readers, and rows stay in place in a film of rewrites."""

from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from scanviz.engine.rewrites.history import RewriteHistory
from scanviz.engine.rewrites.selection import Selection
from scanviz.record.graphs.rewrites_snapshot import rewrites_record
from scanviz.render.characters import SIGNS, CharacterDrawing, DrawnLine, Moment
from scanviz.render.diagram.build import diagram_of
from scanviz.render.film.frames import film_of, moment_of
from scanviz.testing.loop_case import LoopCase
from tests.laws.frame import built
from tests.laws.law import law
from tests.laws.pictures import LOOPS


@law(sample=4, case=LOOPS, width=st.sampled_from([20, 50, 90, 400]), plumbing=st.booleans())
def lines_beside_rows_join_readers_in_every_frame(case: LoopCase, width: int, plumbing: bool) -> None:
    """In whole graphs and films of a rewritten loop, lines join values with their readers, and no node moves."""
    history = rewrites_record(RewriteHistory(built(case).wanted, Selection("all")))
    film = film_of(history, plumbing=plumbing)
    moments = [moment_of(film, number) for number in range(len(film.frames))]
    for version in (0, len(history.applications)):
        graph = history.snapshot(version)
        assert graph is not None
        whole = CharacterDrawing(diagram_of(graph, plumbing=plumbing), width)
        assert all(ends is None or whole.rows[ends[0]] < whole.rows[ends[1]] for ends in _read(whole))
        _check(whole, None, list(whole.lines()))
    drawing = CharacterDrawing(film.whole, width, words=60, moments=moments)
    frames = [list(drawing.lines(moment)) for moment in moments]
    for moment, lines in zip(moments, frames, strict=True):
        _check(drawing, moment, lines)
        assert [line.part for line in lines] == [line.part for line in frames[0]]


def _read(drawing: CharacterDrawing) -> Iterator[tuple[str, str] | None]:
    """Iterate over pairs of reader and value in the same step."""
    for edge, ends in zip(drawing.diagram.edges, drawing.ends, strict=True):
        yield None if edge.role == "recurrence" else ends


def _check(drawing: CharacterDrawing, moment: Moment | None, lines: Sequence[DrawnLine]) -> None:
    nodes = {node.id: node for node in drawing.order}
    shown = set(nodes) if moment is None else set(nodes) & set(moment.shown)
    edges = range(len(drawing.ends)) if moment is None else moment.edges
    wanted = {
        ends
        for number, ends in enumerate(_read(drawing))
        if ends is not None and number in edges and not _has_no_line(drawing, *ends)
    }
    rows = [(line.text, line.part if line.part in shown else "") for line in lines if line.rails]
    signs = {name: SIGNS[nodes[name].kind] for name in shown}
    found = joined(rows, signs, drawing.room)
    assert found == wanted, ("\n".join(line.text for line in lines), found - wanted, wanted - found)


def _has_no_line(drawing: CharacterDrawing, source: str, reader: str) -> bool:
    return source in drawing.named or drawing.rows[source] > drawing.rows[reader]


def joined(rows: Sequence[tuple[str, str]], signs: dict[str, str], room: int) -> set[tuple[str, str]]:
    """Return the ends of the lines beside rows, as (source, target), from the characters alone.

    Parameters
    ----------
    rows : sequence of (str, str)
        Texts, and the owner of each row; empty for none.
    signs : dict of str to str
        The sign of each node.
    room : int
        Columns for lines.
    """
    holders: dict[int, str] = {}
    found: set[tuple[str, str]] = set()
    for text, name in rows:
        rail = text[:room]
        for place in [
            place
            for place in holders
            if place >= len(rail) or rail[place] not in "│├┤╰╯┼" + signs.get(name, "")
        ]:
            del holders[place]  # its line has ended above
        if not name:
            continue
        [own] = [place for place, sign in enumerate(rail) if sign in SIGNS.values()]
        assert rail[own] == signs[name], (text, name)
        left = own
        while left > 0 and rail[left - 1] in "─├╰┼":
            left -= 1
        right = own
        while right + 1 < len(rail) and rail[right + 1] in "─┤╯┼":
            right += 1
        for place in range(left, right + 1):
            if rail[place] in "├┤╰╯":
                found.add((holders[place], name))
            if rail[place] in "╰╯":
                del holders[place]
        if own in holders:
            found.add((holders[own], name))
        holders[own] = name
    return found
