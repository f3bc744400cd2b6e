"""Make the pictures of ``docs/tui.md``: screenshots of tabs as SVG, from runs made on the spot.

    python tools/tui_screenshots.py [FOLDER]

FOLDER is ``docs/pictures`` by default.  Times are those of the machine at hand, so the pictures differ from run to run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from scanviz.record.storage.file import load
from scanviz.tui.app import ScanvizApp
from scanviz.tui.model.source import Source

ROOT = Path(__file__).resolve().parent.parent
SIZE = (118, 26)
LARGEST = 70_000  # bytes of a picture
NAN = """import numpy as np
import scanviz
from scanviz import tensor as T

inflow = T.vector("inflow")


def step(inflow_t, level):
    outflow = T.sqrt(level)  # of a negative level: not a number
    return level + inflow_t - 0.1 * outflow


level, _ = scanviz.scan(step, inflow, 1.0, name="tank")
f = scanviz.function([inflow], level, name="run")
inflow = np.full(40, 0.08)
inflow[22] = -1.0  # planted
f(inflow)
"""
# Keys pressed before each picture.
TRAINING = {
    "profile": ["t", "g", "down", "1"],  # the first loop of the function that took the most time
    "steps": ["t", "g", "down", "2", "s"],
    "rewrites": ["5", *["right_square_bracket"] * 8, "v"],
}
PLANTED = {"values": ["7", "f", "v"], "nan": ["7", "f", "e", *"level[t-1]<0", "enter"]}


def profiled(script: Path, folder: Path, *options: str) -> Path:
    """Run a script under the profiler and return its profile."""
    target = folder / f"{script.stem}.scanviz"
    subprocess.run(
        [sys.executable, "-m", "scanviz", "profile", "-q", "-o", str(target), *options, script.name],
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return target


async def pictures(profile: Path, wanted: dict[str, list[str]], folder: Path) -> None:
    """Take screenshots of a profile."""
    for name, keys in wanted.items():
        app = ScanvizApp(Source(load(profile), profile.name))
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause(0.05)
            picture = small(app.export_screenshot(title=f"scanviz tui {profile.name}"))
        path = folder / f"tui-{name}.svg"
        path.write_text(picture, encoding="utf-8")
        print(f"{path.name}: {len(picture.encode())} bytes")
        if len(picture.encode()) > LARGEST:
            raise SystemExit(f"{path} is larger than {LARGEST} bytes")


def small(picture: str) -> str:
    """Return a picture without fonts from elsewhere and with short names and numbers."""
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = picture.replace("Fira Code", "DejaVu Sans Mono")
    names = re.search(r"terminal-(\d+)", picture)
    if names is not None:
        picture = picture.replace(f"terminal-{names.group(1)}", "t")
    picture = re.sub(r'<clipPath id="t-line-\d+">.*?</clipPath>', "", picture, flags=re.DOTALL)
    picture = re.sub(r' clip-path="url\(#t-line-\d+\)"', "", picture)
    picture = re.sub(r"<text[^>]*>(?:&#160;|\s)*</text>", "", picture)  # invisible blanks
    picture = re.sub(r'(="-?\d+\.\d)\d+"', r'\1"', picture)
    picture = picture.replace("&#160;", "\u00a0")
    picture = picture.replace(' shape-rendering="crispEdges"', "")
    return re.sub(r"\n\s*", "\n", picture)


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description="Make the pictures of the terminal application.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "pictures", metavar="FOLDER")
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as found:
        place = Path(found)
        script = place / "planted_nan.py"
        script.write_text(NAN)
        training = profiled(ROOT / "examples" / "train_char_lstm.py", place)
        asyncio.run(pictures(training, TRAINING, folder))
        asyncio.run(pictures(profiled(script, place, "--values"), PLANTED, folder))


if __name__ == "__main__":
    main()
