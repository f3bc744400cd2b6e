"""Make the pictures of the guides, from runs made on the spot.

    python tools/guide_pictures.py [FOLDER]

FOLDER is ``docs/pictures`` by default.  Each picture shows the first program of its guide.  Times are those of
the machine at hand, so the pictures differ from run to run.  Pages are looked at in Chromium; without it, or without
Pillow, their pictures stay as they are.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tui_screenshots import NAN, ROOT

DOCS = ROOT / "docs"
COLOURS = 32  # of a screenshot
PICTURES = {  # by guide and the name of its program
    ("scan.md", "power.py"): {"graph-power.svg": ("--before", "--unrolled", "3")},
    ("pictures.md", "rnn.py"): {
        "graph-loop.svg": ("--scan", "rnn"),
        "graph-unrolled.svg": ("--before", "--unrolled", "2"),
        "graph-diff.svg": ("--diff", "PushOutSeqScan"),
        "graph-mappings.svg": ("--mappings", "--scan", "rnn"),
    },
}
PAGES = {  # the visible part, in a window of this width and height
    "page-report.png": ("training.html", 1100, 700),
    "page-nan.png": ("nan.html#view=player&step=23", 1100, 700),
    "notebook.png": ("notebook.html", 900, 600),
}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def scanviz(folder: Path, *arguments: str) -> None:
    """Run a command of scanviz in a folder."""
    subprocess.run(
        [sys.executable, "-m", "scanviz", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def program(guide: Path) -> str:
    """Return the program that a guide shows first."""
    block = re.search(r"^```python\n(.*?)^```", guide.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert block is not None
    return block.group(1)


def graphs(work: Path, folder: Path) -> None:
    """Draw the program of each guide as the guide does."""
    for (guide, script), pictures in PICTURES.items():
        (work / script).write_text(program(DOCS / guide), encoding="utf-8")
        scanviz(work, "profile", "-q", "-o", f"{script}.scanviz", script)
        for name, options in pictures.items():
            scanviz(work, "graph", *options, "-o", name, f"{script}.scanviz")
            (folder / name).write_text((work / name).read_text("utf-8"), encoding="utf-8")
            print(f"{name}: {(folder / name).stat().st_size} bytes")


def pages(work: Path, folder: Path) -> None:
    """Take screenshots of two views of pages (a training's report, the step with a NaN) and of a notebook's output."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if browser is None or importlib.util.find_spec("PIL") is None:
        print("no Chromium or no Pillow: pictures of pages stay as they are")
        return
    (work / "planted_nan.py").write_text(NAN, encoding="utf-8")
    training = ROOT / "examples" / "train_char_lstm.py"
    scanviz(work, "profile", "-q", "--html", "-o", "training.scanviz", str(training))
    scanviz(work, "profile", "-q", "--html", "--values", "-o", "nan.scanviz", "planted_nan.py")
    (work / "notebook.html").write_text(notebook(), encoding="utf-8")
    for name, (place, width, height) in PAGES.items():
        subprocess.run(
            [
                browser,
                *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *("--virtual-time-budget=3000", f"--window-size={width},{height}"),
                f"--screenshot={work / name}",
                f"file://{work}/{place}",
            ],
            stderr=subprocess.DEVNULL,
            check=True,
        )
        smaller(work / name, folder / name)


def notebook() -> str:
    """Return the output of the guide's recording and loop cells, as a page."""
    cells: dict[str, Any] = {}
    exec(compile(program(DOCS / "notebook.md"), "In[1]", "exec"), cells)
    shown = [cells["recorded"], *cells["recorded"].record.loops]
    parts = [thing._repr_mimebundle_()["text/html"] for thing in shown]
    return f'<meta charset="utf-8"><body style="font-family: sans-serif">{"<hr>".join(parts)}'


def smaller(taken: Path, kept: Path) -> None:
    """Keep a screenshot in few colours."""
    from PIL import Image

    with Image.open(taken) as picture:
        picture.convert("RGB").quantize(COLOURS).save(kept, optimize=True)
    print(f"{kept.name}: {kept.stat().st_size} bytes")


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(
        description="Make the pictures of the guides, from runs made on the spot."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "pictures", metavar="FOLDER")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as found:
        graphs(Path(found), folder)
        pages(Path(found), folder)


if __name__ == "__main__":
    main()
