"""Films as files: SVG that moves by itself, a page with a scrubber that needs no network, an animated GIF."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scanviz.record.plain_text import sanitize
from scanviz.render.colours import DARK_PAPER, PAPER, darkened
from scanviz.render.film.drawing import SECONDS, FilmDrawing, frames_of
from scanviz.render.marks import MARK
from scanviz.render.png import to_png

if TYPE_CHECKING:
    from PIL import Image

FORMS = ("html", "svg", "gif")
_WIDEST = 1400.0  # pixels of a GIF

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
    form : {"html", "svg", "gif"}
        As what.
    dark : bool
        Whether in the colours of the dark, whatever its reader prefers.
    """
    match form:
        case "svg":
            return _toned(drawing.moving(), dark).encode()
        case "html":
            return _toned(_page(drawing), dark).encode("utf-8", "backslashreplace")
        case _:
            return _gif(drawing, dark)


def _toned(markup: str, dark: bool) -> str:
    return darkened(markup) if dark else markup


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


def _gif(drawing: FilmDrawing, dark: bool) -> bytes:
    from PIL import Image

    wide = max(drawing.placed.width, 1.0)
    pictures: list[Image.Image] = []
    for svg in frames_of(drawing):
        data, _ = to_png(_toned(svg, dark).encode(), min(1.5, _WIDEST / wide))
        pictures.append(Image.open(io.BytesIO(data)).convert("RGB"))
    # One palette of the colours that are drawn: one found by counting loses those of thin lines.
    palette = _palette(_toned(drawing.moving(), dark), DARK_PAPER if dark else PAPER)
    pictures = [_in_colours(picture, palette) for picture in pictures]
    pause = int(SECONDS * 1000)
    out = io.BytesIO()
    pictures[0].save(
        out,
        "GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=[pause] * (len(pictures) - 1) + [2 * pause],
        loop=0,
        comment=MARK.encode(),
    )
    return out.getvalue()


def _palette(markup: str, ground: str) -> Sequence[tuple[int, ...]]:
    """Return the colours of a picture and steps from each to the ground, where lines are smooth: 256 at most."""
    colours = list(dict.fromkeys([ground, *re.findall("#[0-9a-f]{6}", markup)]))
    steps = max(1, 255 // len(colours))
    paper = _channels(ground)
    shades = [
        tuple(round(p + (c - p) * (steps - k) / steps) for c, p in zip(_channels(colour), paper, strict=True))
        for k in range(steps)
        for colour in colours
    ]
    return list(dict.fromkeys([paper, *shades]))[:256]


def _in_colours(picture: Image.Image, palette: Sequence[tuple[int, ...]]) -> Image.Image:
    """Return a picture in the nearest colours of a palette; Pillow's own way takes a neighbour of white for white."""
    import numpy as np
    from PIL import Image

    pixels = np.asarray(picture).reshape(-1, 3).astype(np.int64)
    packed = pixels[:, 0] * 65536 + pixels[:, 1] * 256 + pixels[:, 2]
    found, places = np.unique(packed, return_inverse=True)
    channels = np.stack([found // 65536, found // 256 % 256, found % 256], axis=1)
    known = np.array(palette, dtype=np.int64)
    distances = (known**2).sum(
        axis=1
    ) - 2 * channels @ known.T  # less what is the same for all of the palette
    nearest = distances.argmin(axis=1).astype(np.uint8)[places.ravel()]
    nearest = nearest.reshape(picture.height, picture.width)
    drawn = Image.fromarray(nearest)
    drawn.putpalette([channel for shade in palette for channel in shade])
    return drawn


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))
