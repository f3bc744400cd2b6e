"""A film as SVG: the whole picture once, how clearly each part is seen in each frame, and the curve of operations below it."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from scanviz.record.plain_text import sanitize
from scanviz.render.colours import CHANGE_SIGNS, CHANGES, EDGES, FAINT, INK, PAPER, darkened
from scanviz.render.film.frames import Film
from scanviz.render.labels import short, text_width
from scanviz.render.layout.layered import layered
from scanviz.render.layout.placed import SMALL, Box, Placed
from scanviz.render.marks import MARK
from scanviz.render.svg import document, svg_head, svg_parts, text_at

# Films as files: an SVG that plays by itself, a page with a scrubber that needs no network.

_STYLE = """
body{font-family:Helvetica,Arial,sans-serif;margin:1em;background:#ffffff;color:#1f2328}
svg{max-width:100%;height:auto}svg [data-seen]{transition:opacity .2s}
form{display:flex;gap:.6em;align-items:center;position:sticky;top:0;background:inherit;padding:.5em 0}
input{flex:1;max-width:44em}button{font:inherit;padding:.2em .8em}output{min-width:5em}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}}
"""
_SCRIPT = """
const seen = SEEN, count = COUNT, pause = PAUSE;
const parts = [...document.querySelectorAll("[data-seen]")];
const range = document.querySelector("input"), number = document.querySelector("output");
const button = document.querySelector("button");
let timer = null;
function show(frame) {
  range.value = frame;
  number.textContent = `${frame + 1} of ${count}`;
  for (const part of parts) part.style.opacity = seen[part.dataset.seen][frame];
}
function stop() { clearInterval(timer); timer = null; button.textContent = "play"; }
function move(by) { stop(); show(Math.max(0, Math.min(count - 1, +range.value + by))); }
function play() {
  if (timer !== null) return stop();
  button.textContent = "pause";
  show(+range.value + 1 < count ? +range.value : 0);
  timer = setInterval(() => (+range.value + 1 < count ? show(+range.value + 1) : stop()), pause);
}
button.addEventListener("click", play);
range.addEventListener("input", () => { stop(); show(+range.value); });
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = { ArrowLeft: -1, "[": -1, ArrowRight: 1, "]": 1, Home: -count, End: count };
  if (event.key in keys) { event.preventDefault(); move(keys[event.key]); }
  else if (event.key === " " && event.target !== button) { event.preventDefault(); play(); }
});
show(0);
"""


def film_file(drawing: FilmDrawing, form: str, *, dark: bool = False) -> bytes:
    """Return a film as a file.

    Parameters
    ----------
    drawing : FilmDrawing
        The film.
    form : {"html", "svg"}
        As what.
    dark : bool
        Whether in the colours of the dark, whatever its reader prefers.
    """
    markup = drawing.moving() if form == "svg" else _page(drawing)
    return (darkened(markup) if dark else markup).encode("utf-8", "backslashreplace")


def _page(drawing: FilmDrawing) -> str:
    svg, seen = drawing.marked()
    count = len(drawing.film.frames)
    script = _SCRIPT.replace("SEEN", json.dumps(seen, separators=(",", ":")), 1).replace(
        "COUNT", str(count), 1
    )
    script = script.replace("PAUSE", str(int(SECONDS * 1000)), 1)
    title = html.escape(sanitize(drawing.film.whole.title))
    return (
        f'<!DOCTYPE html>\n<!-- {MARK} -->\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline';"
        " script-src 'unsafe-inline'\">\n"
        f"<title>{title}: film of its rewrites</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        '<form onsubmit="return false"><button type="button">play</button>'
        f'<input type="range" min="0" max="{count - 1}" value="0" aria-label="rewrite"><output>1 of {count}</output></form>\n'
        f"{svg}\n<script>{script}</script>\n</body>\n</html>\n"
    )


SECONDS = 1.8  # a frame
_FADE = 0.2  # seconds
_CURVE_HEIGHT = 90.0
_LEAST_WIDTH = 720.0
_CURVE_SIDES = 60.0  # left and right of the curve

Seen = tuple[float, ...]  # how clearly something is seen, frame by frame
Wrap = Callable[[Seen, str], str]


class FilmDrawing(Struct, frozen=True):
    """A film that is laid out, to be drawn in several ways.

    Attributes
    ----------
    film : Film
        What it shows.
    placed : Placed
        Where everything stands, in every frame.
    """

    film: Film
    placed: Placed

    def moving(self) -> str:
        """Return an SVG that plays by itself, without a script; where nothing moves it shows the last frame."""
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
        """Return an SVG of the last frame whose parts say by ``data-seen`` which of the lists of opacities is theirs, and these.

        What is ``bare`` is the graph alone: without title, captions, and the curve.
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
            )  # a narrow picture stands over the middle of the curve
            picture = "\n".join(body)
            body = [f'<g transform="translate({aside:.1f},0)">{picture}</g>', _curve(film, placed, wrap)]
            placed = replace(placed, width=max(placed.width, _LEAST_WIDTH))
            below = _CURVE_HEIGHT + 52.0
        return document(film.whole.title, head, "\n".join(body), placed, below)

    def _signs(self, name: str, wrap: Wrap) -> list[str]:
        """Return the borders that show what is new, and what is gone, in the frames in which it is."""
        found = []
        box = self.placed.boxes.get(name)
        for change in ("added", "removed"):
            when = tuple(float(self.film.change(k, name) == change) for k in range(len(self.film.frames)))
            if any(when) and box is not None:
                found.append(wrap(when, _border(box, change)))
        return found

    def _captions(self, wrap: Wrap) -> tuple[str, float]:
        """Return what is written over the frames, each in its own, in the middle of a row, and how wide this is."""
        texts = [short(frame.text, 150) for frame in self.film.frames]
        pairs = list(zip(self.film.frames, texts, strict=True))
        starts = [text_width(frame.caption, 12.5) + 12 for frame, _ in pairs]
        widths = [start + text_width(text, SMALL + 1) for start, text in zip(starts, texts, strict=True)]
        row = max(_LEAST_WIDTH, *widths)
        words = []
        for k, (frame, text) in enumerate(pairs):
            seen = tuple(float(j == k) for j in range(len(pairs)))
            left = (row - widths[k]) / 2
            caption = text_at(left, 11, frame.caption, anchor="start", extra=' font-weight="bold"')
            after = text_at(left + starts[k], 11, text, size=SMALL + 1, anchor="start", colour=FAINT)
            words.append(wrap(seen, caption + after))
        return "".join(words), row


def laid_out(film: Film) -> FilmDrawing:
    """Return a film with a place for everything that it ever shows."""
    return FilmDrawing(film, layered(film.whole))


def _border(box: Box, change: str) -> str:
    colour = CHANGES[change]
    dashes = ' stroke-dasharray="4 3"' if change == "removed" else ""
    shape = (
        f'<rect class="sv-line sv-{change}" x="{box.x - 2:.1f}" y="{box.y - 2:.1f}" width="{box.width + 4:.1f}"'
        f' height="{box.height + 4:.1f}" rx="4" fill="none" stroke="{colour}" stroke-width="2.4"{dashes}/>'
    )
    sign = text_at(
        box.x - 5, box.y + 6, CHANGE_SIGNS[change], anchor="end", colour=colour, classes=f"sv-{change}"
    )
    return shape + sign


def _keyframes(name: str, seen: Seen) -> str:
    """Return the rules by which a part is seen as clearly as it is in each frame, again and again."""
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
    values = [frame.operations for frame in film.frames]
    floating = film.floating
    most, count = max(values, default=0) or 1, len(values)
    top, left = placed.height, _CURVE_SIDES
    floor, end = top + _CURVE_HEIGHT + 34.0, max(placed.width, _LEAST_WIDTH) - _CURVE_SIDES
    across = [left + (end - left) * k / max(1, count - 1) for k in range(count)]
    parts = [
        text_at(14, top + 12, film.counted, size=SMALL, anchor="start", colour=FAINT),
        f'<path class="sv-line sv-edge-data" d="M{left:.1f} {floor:.1f}L{end:.1f} {floor:.1f}" fill="none" stroke="{FAINT}"/>',
        text_at(left - 6, floor + 3, "0", size=SMALL, anchor="end", colour=FAINT),
        text_at(left - 6, floor - _CURVE_HEIGHT + 3, str(most), size=SMALL, anchor="end", colour=FAINT),
    ]
    if floating:
        height = max(floating) or 1
        behind = _points(across, floating, height, floor)
        dashed = f'<polyline class="sv-line sv-edge-recurrence" points="{behind}" fill="none" stroke="{EDGES["recurrence"]}"'
        parts.append(f'{dashed} stroke-width="1.2" stroke-dasharray="5 4"/>')
        parts.append(
            text_at(
                end + 6,
                floor - _CURVE_HEIGHT + 3,
                _thousands(height),
                size=SMALL,
                anchor="start",
                colour=FAINT,
            )
        )
        for k, value in enumerate(floating):
            told = f"floating-point operations: {value:,}"
            seen = tuple(float(j == k) for j in range(count))
            parts.append(wrap(seen, text_at(end, top + 12, told, size=SMALL, anchor="end", colour=FAINT)))
    points = _points(across, values, most, floor)
    parts.append(
        f'<polyline class="sv-line sv-edge-connection" points="{points}" fill="none" stroke="#1d4ed8" stroke-width="1.6"/>'
    )
    for k, (x, value) in enumerate(zip(across, values, strict=True)):
        y = floor - _CURVE_HEIGHT * value / most
        parts.append(_dot(x, y, 2.2))
        seen = tuple(float(j == k) for j in range(count))
        parts.append(wrap(seen, _dot(x, y, 5.0) + text_at(x, y - 9, str(value), colour=INK)))
    return "".join(parts)


def _points(across: Sequence[float], values: Sequence[int], most: int, floor: float) -> str:
    up = [floor - _CURVE_HEIGHT * value / most for value in values]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))


def _thousands(value: int) -> str:
    """Return a number in few characters.

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
    return (
        f'<rect class="sv-edge-connection" x="{x - radius:.1f}" y="{y - radius:.1f}" width="{2 * radius:.1f}"'
        f' height="{2 * radius:.1f}" rx="{radius:g}" fill="#1d4ed8" stroke="{PAPER}"/>'
    )
