"""Make the moving picture at the top of README: the terminal application, then a loop's steps with their gradients below.

    python tools/tui_screenshots.py && python tools/readme_picture.py

It is one SVG that needs no script: frames lie on one another, and a style sheet shows each for some seconds.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
SCREENS = ("tui-profile", "tui-steps", "tui-values")
SECONDS = 4  # that a frame is shown
WIDTH, HEIGHT = 1180, 700
RNN = """import numpy as np
import scanviz
from scanviz import tensor as T

x, h0, w = T.vector("x"), T.scalar("h0"), T.scalar("w")
h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(w * h + x_t), x, h0, w, name="rnn")
f = scanviz.function([x, h0, w], scanviz.grad(h[-1] ** 2, [w, h0]))
f([0.5, -0.1, 0.3], 0.2, 0.9)
"""


def main() -> None:
    """Write docs/pictures/scanviz.svg."""
    frames = [(PICTURES / f"{name}.svg").read_text("utf-8") for name in SCREENS]
    frames.append(unrolled())
    part = 100 / len(frames)
    style = (
        f".frame{{opacity:0;animation:show {SECONDS * len(frames)}s step-end infinite}}"
        f"@keyframes show{{0%{{opacity:1}}{part:g}%{{opacity:0}}}}"
        "@media (prefers-reduced-motion:reduce){.frame{animation:none}.frame:last-of-type{opacity:1}}"
    )
    body = "".join(
        f'<g class="frame" style="animation-delay:{SECONDS * k}s">{placed(own_names(frame, k))}</g>'
        for k, frame in enumerate(frames)
    )
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' aria-label="scanviz: the terminal application, and the steps of a loop with their gradients below">'
        f"<style>{style}</style>{body}</svg>\n"
    )
    ElementTree.fromstring(text)
    (PICTURES / "scanviz.svg").write_text(text, "utf-8")


def unrolled() -> str:
    """Return three steps of a loop, with its back-propagation below."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "rnn.py"
        script.write_text(RNN, "utf-8")
        command = [
            sys.executable,
            "-m",
            "scanviz",
            "graph",
            "--mode",
            "reference",
            "--scan",
            "rnn",
            "--unrolled",
            "3",
        ]
        subprocess.run([*command, "-o", "rnn.svg", script.name], cwd=folder, check=True, capture_output=True)
        return (Path(folder) / "rnn.svg").read_text("utf-8")


def own_names(svg: str, number: int) -> str:
    """Return a screenshot with names of its own: a style of one frame would colour all of them.

    Examples
    --------
    >>> own_names('<style>.t-r1 {fill: red}</style><text class="t-r1">h[t-1]</text>', 2)
    '<style>.t2-r1 {fill: red}</style><text class="t2-r1">h[t-1]</text>'
    """
    return re.sub(r"(?<=[.\"# (])t-(?=[a-z])", f"t{number}-", svg)


def placed(svg: str) -> str:
    """Return an SVG as a part of another, as large as fits, on a ground of its own."""
    start = svg.index("<svg")
    inner = re.sub(r'<svg\b([^>]*?)\s(?:width|height)="[^"]*"', r"<svg\1", svg[start:], count=1)
    inner = re.sub(r'<svg\b([^>]*?)\s(?:width|height)="[^"]*"', r"<svg\1", inner, count=1)
    sized = inner.replace(
        "<svg", f'<svg width="{WIDTH}" height="{HEIGHT}" preserveAspectRatio="xMidYMid meet"', 1
    )
    return f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>{sized}'


if __name__ == "__main__":
    main()
