"""Films as files: an SVG that plays by itself, a page with a scrubber that needs no network."""

from __future__ import annotations

import html
import json

from scanviz.record.plain_text import sanitize
from scanviz.render.colours import darkened
from scanviz.render.film.drawing import SECONDS, FilmDrawing
from scanviz.render.marks import MARK

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
