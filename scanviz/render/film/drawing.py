"""A film as SVG: the whole picture once, the opacity of each part in each frame, and the curve of operations below it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from importlib import resources
from string import Template

from msgspec import Struct
from msgspec.structs import replace

from scanviz.record.plain_text import sanitize
from scanviz.render.colours import CHANGE_SIGNS, CHANGES, EDGES, FAINT, INK, PAPER, Paint, darkened
from scanviz.render.film.frames import Film
from scanviz.render.labels import short, text_width
from scanviz.render.layout.layered import layered
from scanviz.render.layout.placed import LETTER, Box, Placed
from scanviz.render.marks import MARK
from scanviz.render.svg import document, rect, svg_head, svg_parts, text_at

# Films as files: an SVG that plays by itself, a page with a scrubber that needs no network.


def film_file(drawing: FilmDrawing, form: str, *, dark: bool = False) -> bytes:
    """Return a film as a file.

    Parameters
    ----------
    drawing : FilmDrawing
        The film.
    form : {"html", "svg"}
        Format.
    dark : bool
        Whether in the colours of the dark, whatever its reader prefers.
    """
    markup = drawing.moving() if form == "svg" else _page(drawing)
    return (darkened(markup) if dark else markup).encode("utf-8", "backslashreplace")


def _page(drawing: FilmDrawing) -> str:
    svg, seen = drawing.marked()
    count = len(drawing.film.frames)
    return Template((resources.files("scanviz.render.film") / "film.html").read_text("utf-8")).substitute(
        mark=MARK,
        title=html.escape(sanitize(drawing.film.whole.title)),
        last=count - 1,
        count=count,
        svg=svg,
        seen=json.dumps(seen, separators=(",", ":")),
        pause=int(SECONDS * 1000),
    )


SECONDS = 1.8  # a frame
_FADE = 0.2  # seconds
_CURVE_HEIGHT = 90.0
_LEAST_WIDTH = 720.0
_CURVE_SIDES = 60.0  # left and right of the curve

Seen = tuple[float, ...]  # how clearly something is seen, frame by frame
Wrap = Callable[[Seen, str], str]


class FilmDrawing(Struct, frozen=True):
    """A film with its layout, ready to be drawn in several ways.

    Attributes
    ----------
    film : Film
        The film.
    placed : Placed
        Places of all parts, the same in every frame.
    """

    film: Film
    placed: Placed

    def moving(self) -> str:
        """Return an animated SVG without a script; where animation is off, it shows the last frame."""
        styles: dict[Seen, str] = {}

        def wrap(seen: Seen, markup: str) -> str:
            name = styles.setdefault(seen, f"sv-f{len(styles)}")
            return f'<g class="{name}" opacity="{seen[-1]:g}">{markup}</g>'

        drawn = self._drawn(wrap)
        sheet = "".join(_keyframes(name, seen) for seen, name in styles.items())
        still = "@media(prefers-reduced-motion:reduce){svg *{animation:none!important}}"
        sheet += "svg:hover *{animation-play-state:paused}" + still
        return drawn.replace("</style>", f"{sheet}</style>", 1)

    def marked(self, *, bare: bool = False) -> tuple[str, list[Seen]]:
        """Return an SVG of the last frame with parts marked by ``data-seen``, and the opacities of each mark.

        A ``bare`` one is the graph alone: without title, captions, and the curve.
        """
        kinds: dict[Seen, int] = {}

        def wrap(seen: Seen, markup: str) -> str:
            return f'<g data-seen="{kinds.setdefault(seen, len(kinds))}" opacity="{seen[-1]:g}">{markup}</g>'

        return self._drawn(wrap, bare), list(kinds)

    def _drawn(self, wrap: Wrap, bare: bool = False) -> str:
        film, placed, count = self.film, self.placed, len(self.film.frames)
        always = (1.0,) * count
        body = []
        for name, markup in svg_parts(film.whole, self.placed):
            seen = tuple(film.opacity(k, name) for k in range(count))
            body.append(markup if seen == always else wrap(seen, markup))
            if isinstance(name, str):
                body += self._signs(name, wrap)
        head, below = svg_head(film.whole), 0.0
        if bare:
            head = head[1 + len(film.whole.notes) :]
        else:
            head.insert(1, self._captions(wrap))
            aside = max(
                0.0, (_LEAST_WIDTH - placed.width) / 2
            )  # of a narrow picture, over the middle of the curve
            picture = "\n".join(body)
            body = [f'<g transform="translate({aside:.1f},0)">{picture}</g>', _curve(film, placed, wrap)]
            placed = replace(placed, width=max(placed.width, _LEAST_WIDTH))
            below = _CURVE_HEIGHT + 52.0
        return document(film.whole.title, head, "\n".join(body), placed, below)

    def _signs(self, name: str, wrap: Wrap) -> list[str]:
        """Return the borders of added and removed parts in their frames."""
        found = []
        box = self.placed.boxes.get(name)
        for change in ("added", "removed"):
            when = tuple(float(self.film.change(k, name) == change) for k in range(len(self.film.frames)))
            if any(when) and box is not None:
                found.append(wrap(when, _border(box, change)))
        return found

    def _captions(self, wrap: Wrap) -> tuple[str, float]:
        """Return the captions of the frames, centred in a row, and the row's width."""
        texts = [short(frame.text, 150) for frame in self.film.frames]
        pairs = list(zip(self.film.frames, texts, strict=True))
        starts = [text_width(frame.caption, 12.5) + 12 for frame, _ in pairs]
        widths = [start + text_width(text, LETTER) for start, text in zip(starts, texts, strict=True)]
        row = max(_LEAST_WIDTH, *widths)
        words = []
        for k, (frame, text) in enumerate(pairs):
            left = (row - widths[k]) / 2
            caption = text_at(left, 11, frame.caption, anchor="start", extra=' font-weight="bold"')
            after = text_at(left + starts[k], 11, text, anchor="start", colour=FAINT)
            words.append(wrap(_only(k, len(pairs)), caption + after))
        return "".join(words), row


def laid_out(film: Film) -> FilmDrawing:
    """Return a film with a place for every part of every frame."""
    return FilmDrawing(film, layered(film.whole))


def _border(box: Box, change: str) -> str:
    colour = CHANGES[change]
    dashes = ' stroke-dasharray="4 3"' if change == "removed" else ""
    around = Box(box.x - 2, box.y - 2, box.width + 4, box.height + 4)
    shape = rect(around, Paint("none", colour), radius=4, extra=f' stroke-width="2.4"{dashes}')
    sign = CHANGE_SIGNS[change]
    return shape + text_at(box.x - 5, box.y + 6, sign, anchor="end", colour=colour)


def _keyframes(name: str, seen: Seen) -> str:
    """Return the CSS rules of a part's opacity over the frames, repeated."""
    whole = SECONDS * (len(seen) + 1)  # the last frame stays twice as long
    stops = [f"0%{{opacity:{seen[0]:g}}}"]
    for k in range(1, len(seen)):
        if seen[k] != seen[k - 1]:
            start = 100 * SECONDS * k / whole
            stops.append(f"{start:.2f}%{{opacity:{seen[k - 1]:g}}}")
            stops.append(f"{start + 100 * _FADE / whole:.2f}%{{opacity:{seen[k]:g}}}")
    stops.append(f"100%{{opacity:{seen[-1]:g}}}")
    return f"@keyframes {name}{{{''.join(stops)}}}.{name}{{animation:{name} {whole:.2f}s linear infinite}}"


def _curve(film: Film, placed: Placed, wrap: Wrap) -> str:
    """Return the curve of operations over the frames, with a point at each and its number in its frame.

    Where they are known, floating-point operations are a dashed curve of their own height behind it.
    """
    values, floating, count = [frame.operations for frame in film.frames], film.floating, len(film.frames)
    most, top, left = max(values, default=0) or 1, placed.height, _CURVE_SIDES
    floor, end = top + _CURVE_HEIGHT + 34.0, max(placed.width, _LEAST_WIDTH) - _CURVE_SIDES
    across = [left + (end - left) * k / max(1, count - 1) for k in range(count)]

    def small(x: float, y: float, text: str, anchor: str) -> str:
        return text_at(x, y, text, anchor=anchor, colour=FAINT)

    def line(values: Sequence[int], most: int, role: str, extra: str) -> str:
        points = " ".join(
            f"{x:.1f},{floor - _CURVE_HEIGHT * y / most:.1f}" for x, y in zip(across, values, strict=True)
        )
        look = f'fill="none" stroke="{EDGES[role]}"'
        return f'<polyline {look} points="{points}" {extra}/>'

    parts = [
        small(14, top + 12, film.counted, "start"),
        f'<path d="M{left:.1f} {floor:.1f}L{end:.1f} {floor:.1f}" fill="none" stroke="{FAINT}"/>',
        small(left - 6, floor + 3, "0", "end"),
        small(left - 6, floor - _CURVE_HEIGHT + 3, str(most), "end"),
    ]
    if floating:
        height = max(floating) or 1
        parts.append(line(floating, height, "recurrence", 'stroke-width="1.2" stroke-dasharray="5 4"'))
        parts.append(small(end + 6, floor - _CURVE_HEIGHT + 3, _thousands(height), "start"))
        for k, value in enumerate(floating):
            text = small(end, top + 12, f"floating-point operations: {value:,}", "end")
            parts.append(wrap(_only(k, count), text))
    parts.append(line(values, most, "connection", 'stroke-width="1.6"'))
    for k, (x, value) in enumerate(zip(across, values, strict=True)):
        y = floor - _CURVE_HEIGHT * value / most
        number = _dot(x, y, 5.0) + text_at(x, y - 9, str(value), colour=INK)
        parts += [_dot(x, y, 2.2), wrap(_only(k, count), number)]
    return "".join(parts)


def _only(frame: int, count: int) -> Seen:
    """Return the opacity of a part that is in one frame only."""
    return tuple(float(k == frame) for k in range(count))


def _thousands(value: int) -> str:
    """Return a number in a few characters.

    Examples
    --------
    >>> _thousands(960), _thousands(20736), _thousands(1686593)
    ('960', '21 k', '1.7 M')
    """
    for scale, sign in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if value >= scale:
            return f"{value / scale:.2g} {sign}" if value < 100 * scale else f"{value / scale:.0f} {sign}"
    return str(value)


def _dot(x: float, y: float, radius: float) -> str:
    box = Box(x - radius, y - radius, 2 * radius, 2 * radius)
    return rect(box, Paint(EDGES["connection"], PAPER), radius=radius)
