"""A film as rows of characters: what there is of the picture in each frame."""

from __future__ import annotations

from scanviz.render.characters import Moment
from scanviz.render.diagram.model import Change
from scanviz.render.film.frames import Film


def moment_of(film: Film, number: int) -> Moment:
    """Return what there is of the picture in a frame, and what is new or just gone in it."""
    frame = film.frames[number]
    before = film.frames[number - 1].shown if number else frame.shown
    changes: dict[str, Change] = dict.fromkeys(frame.shown - before, "added")
    changes.update(dict.fromkeys(before - frame.shown, "removed"))
    return Moment(frame.shown, frame.edges, changes)
