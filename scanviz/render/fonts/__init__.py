"""The font of PNG and PDF that scanviz makes itself: they look alike on every machine, also on one without fonts.

It is a part of DejaVu Sans Condensed, about as wide as :func:`scanviz.render.labels.text_width` takes text to be.  How it was cut
is in ``tools/make_font.py``, and under which terms it goes along in LICENSE beside it.  What a PDF needs of a TrueType file is read
here (the OpenType specification: ``head``, ``hhea``, ``hmtx`` and ``cmap`` of format 4).
"""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

FAMILY = "scanviz Sans"
_FILES = {False: "scanviz-sans.ttf", True: "scanviz-sans-bold.ttf"}


@dataclass(frozen=True, slots=True)
class Face:
    """One face of the font.

    Attributes
    ----------
    name : str
        Its name in a PDF.
    data : bytes
        The TrueType file.
    units : int
        Units that a letter's size has; the widths are in them.
    ascent, descent : int
        How far letters go above and below their line.
    box : tuple of int
        Left, bottom, right and top of a box that holds any letter.
    glyphs : dict of int to int
        The glyph of each character.
    widths : tuple of int
        The width of each glyph.
    """

    name: str
    data: bytes
    units: int
    ascent: int
    descent: int
    box: tuple[int, int, int, int]
    glyphs: dict[int, int]
    widths: tuple[int, ...]

    def width(self, text: str, size: float) -> float:
        """Return how wide text is; a character that is not there is as wide as what stands for it.

        Examples
        --------
        >>> face(bold=True).width("scan", 10) > face(bold=False).width("scan", 10) > 20
        True
        """
        return size * sum(self.widths[self.glyph(char)] for char in text) / self.units

    def glyph(self, letter: str) -> int:
        """Return a character's glyph, or that of U+FFFD, which stands for what is not there."""
        return self.glyphs.get(ord(letter), self.glyphs[0xFFFD])


def files() -> tuple[Traversable, ...]:
    """Return where the font's files are."""
    return tuple(resources.files(__name__) / name for name in _FILES.values())


def covers(text: str) -> bool:
    """Return whether the font has every character of a text.

    Examples
    --------
    >>> covers("grad_θ[t-1] ← dot · ∂"), covers("日本")
    (True, False)
    """
    return all(ord(char) in face(bold=False).glyphs for char in text)


@functools.cache
def face(*, bold: bool) -> Face:
    """Return a face of the font, read once."""
    data = (resources.files(__name__) / _FILES[bold]).read_bytes()
    tables = _tables(data)
    head, hhea, hmtx = tables["head"], tables["hhea"], tables["hmtx"]
    (units,) = struct.unpack_from(">H", head, 18)
    ascent, descent = struct.unpack_from(">hh", hhea, 4)
    (count,) = struct.unpack_from(">H", hhea, 34)  # glyphs after these are as wide as the last of them
    (glyphs,) = struct.unpack_from(">H", tables["maxp"], 4)
    widths = [struct.unpack_from(">H", hmtx, 4 * min(number, count - 1))[0] for number in range(glyphs)]
    name = "ScanvizSans-Bold" if bold else "ScanvizSans-Regular"
    box = struct.unpack_from(">4h", head, 36)
    return Face(name, data, units, ascent, descent, box, _characters(tables["cmap"]), tuple(widths))


def _tables(data: bytes) -> dict[str, bytes]:
    (count,) = struct.unpack_from(">H", data, 4)
    found = {}
    for number in range(count):
        tag, _, start, length = struct.unpack_from(">4sLLL", data, 12 + 16 * number)
        found[tag.decode("ascii")] = data[start : start + length]
    return found


def _characters(cmap: bytes) -> dict[int, int]:
    """Return the glyphs of characters: runs of characters whose glyphs follow one another, or stand in a list."""
    (count,) = struct.unpack_from(">H", cmap, 2)
    starts = [struct.unpack_from(">L", cmap, 8 + 8 * number)[0] for number in range(count)]
    start = next(start for start in starts if struct.unpack_from(">H", cmap, start)[0] == 4)
    (twice,) = struct.unpack_from(">H", cmap, start + 6)
    column = f">{twice // 2}H"
    ends = struct.unpack_from(column, cmap, start + 14)
    firsts, shifts, places = (
        struct.unpack_from(column, cmap, start + 16 + twice * (1 + number)) for number in range(3)
    )
    found = {}
    for run, (first, last) in enumerate(zip(firsts, ends, strict=True)):
        for code in range(first, min(last, 0xFFFE) + 1):
            glyph = code
            if places[run]:  # the distance, from where it stands itself, to the run's glyphs
                here = start + 16 + twice * 3 + 2 * run
                (glyph,) = struct.unpack_from(">H", cmap, here + places[run] + 2 * (code - first))
            if glyph or not places[run]:
                found[code] = (glyph + shifts[run]) & 0xFFFF
    return found
