"""Put bugs of the past back, one at a time in a copy of the tree, and see whether the laws find them.

A bug is ``tests/planted_bugs/NAME.toml``: a ``description``, optionally the ``laws`` (names or families) that should find it, and
``[[edit]]`` tables with ``file``, ``old`` and ``new``.  Laws are searched until one fails or ``--minutes`` have passed; a bug that
none finds makes the exit code 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Errors of an edit, not of the bug.  A SyntaxError is the bug's: tests/testing/test_planted_bugs.py parses each edit.
BROKEN = ("NameError", "ImportError", "ModuleNotFoundError")


def planted(bug: dict, tree: Path) -> None:
    """Write a copy of the package and of its laws, with a bug put back, into ``tree``."""
    for name in ("scanviz", "tests/laws", "tests/support", "tests/engine/backends/cupy"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for edit in bug["edit"]:
        path = tree / edit["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(edit["old"]) != 1:
            sys.exit(f"{edit['file']}: {text.count(edit['old'])} times {edit['old']!r}")
        path.write_text(text.replace(edit["old"], edit["new"]), encoding="utf-8")


def search(tree: Path, minutes: float, laws: list[str], jobs: int) -> str | None:
    """Return which law was broken and by what error, None where none was; leave where the bug keeps the laws from running."""
    limits = ["--first", "--minutes", str(minutes), "--jobs", str(jobs)]
    command = [sys.executable, "-m", "tests.laws", *limits, *laws]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    _, found, message = done.stdout.partition("FOUND by ")
    if done.returncode not in (0, 1) or (done.returncode and not found):
        sys.exit(done.stderr)
    if not found:
        return None
    law, _, trace = message.partition("\n")
    error = next(iter(re.findall(r"^[ |]*([\w.]+Error\b.*)$", trace, re.MULTILINE)), "")
    if error.startswith(BROKEN):
        sys.exit(f"{law} the edit does not run: {error}")
    return f"FOUND by {law} {error[:100]}"


def main() -> int:
    """Plant each bug and print which law finds it and after how many seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="bugs to plant; all by default")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long to search for each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument(
        "--any-law", action="store_true", help="search all laws, not only those that the bug names"
    )
    given = parser.parse_args()
    missed = 0
    for path in sorted((ROOT / "tests" / "planted_bugs").glob("*.toml")):
        if given.names and path.stem not in given.names:
            continue
        bug = tomllib.loads(path.read_text(encoding="utf-8"))
        laws = [] if given.any_law else bug.get("laws", [])
        with tempfile.TemporaryDirectory() as folder:
            planted(bug, Path(folder))
            begun = time.monotonic()
            found = search(Path(folder), given.minutes, laws, given.jobs)
        missed += found is None
        print(f"{path.stem:40} {found or 'NOT FOUND'} after {time.monotonic() - begun:.0f} s", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
