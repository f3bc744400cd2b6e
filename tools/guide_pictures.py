"""Make the pictures of ``docs/pictures.md`` and ``docs/page.md``, from runs made on the spot.

    python tools/guide_pictures.py [FOLDER]

FOLDER is ``docs/pictures`` by default.  The program is the one that ``docs/pictures.md`` shows first.  Times are those of
the machine at hand, so the pictures differ from run to run.  The page is looked at in Chromium; without it, or without
Pillow, its pictures stay as they are.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tui_screenshots import NAN, ROOT

GUIDE = ROOT / "docs" / "pictures.md"
COLOURS = 32  # of a screenshot
PICTURES = {
    "graph-loop.svg": ("--scan", "rnn"),
    "graph-unrolled.svg": ("--unrolled", "3"),
    "graph-diff.svg": ("--diff", "PushOutSeqScan"),
    "graph-mappings.svg": ("--mappings", "--scan", "rnn"),
}
PAGES = {"page-report.png": "training.html", "page-nan.png": "nan.html#view=player&step=23"}
WINDOW = (1100, 700)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def scanviz(folder: Path, *arguments: str) -> None:
    """Run a command of scanviz in a folder."""
    subprocess.run(
        [sys.executable, "-m", "scanviz", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def program() -> str:
    """Return the program that the guide shows first."""
    block = re.search(r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert block is not None
    return block.group(1)


def graphs(work: Path, folder: Path) -> None:
    """Draw the guide's program as the guide does."""
    (work / "rnn.py").write_text(program(), encoding="utf-8")
    scanviz(work, "profile", "-q", "rnn.py")
    for name, options in PICTURES.items():
        scanviz(work, "graph", *options, "--engine", "own", "-o", name, "rnn.scanviz")
        (folder / name).write_text((work / name).read_text("utf-8"), encoding="utf-8")
        print(f"{name}: {(folder / name).stat().st_size} bytes")


def page(work: Path, folder: Path) -> None:
    """Take screenshots of two views of pages: the report of a training, and the step that made a NaN."""
    browser = next(filter(None, map(shutil.which, CHROMIUM)), None)
    try:
        from PIL import Image
    except ImportError:
        browser = None
    if browser is None:
        print("no Chromium or no Pillow: pictures of the page stay as they are")
        return
    (work / "planted_nan.py").write_text(NAN, encoding="utf-8")
    training = ROOT / "examples" / "train_char_lstm.py"
    scanviz(work, "profile", "-q", "--html", "-o", "training.scanviz", str(training))
    scanviz(work, "profile", "-q", "--html", "--values", "-o", "nan.scanviz", "planted_nan.py")
    for name, place in PAGES.items():
        width, height = WINDOW
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
        with Image.open(work / name) as taken:
            taken.convert("RGB").quantize(COLOURS).save(folder / name, optimize=True)
        print(f"{name}: {(folder / name).stat().st_size} bytes")


def main() -> None:
    """Make all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as found:
        graphs(Path(found), folder)
        page(Path(found), folder)


if __name__ == "__main__":
    main()
