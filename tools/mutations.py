"""Put wrong lines into a copy of the tree, one at a time, and list the tests that fail: what can these tests find?

The lines are ``[[mutation]]`` tables of ``tests/mutations.toml``.  Run it on the same tests before and after a change of theirs,
and compare::

    python tools/mutations.py tests/engine/gradient/test_loop_mixed.py -- -k second
    python tools/mutations.py --tree OLD tests/engine/gradient/test_loop_mixed.py -- -k second
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".git", ".hypothesis", ".*_cache")


def failing(tree: Path, words: list[str]) -> tuple[str, ...]:
    """Return the tests that fail in a tree, or pytest's last line where it could not begin."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--tb=no", *words]
    environment = {**os.environ, "PYTHONPATH": str(tree), "CI": "true"}  # the same examples in every run
    done = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    ).stdout
    found = re.findall(r"^(?:FAILED|ERROR) \S+?::(\S+)|^ERROR (\S+)", done, re.MULTILINE)
    return tuple(sorted(named or whole for named, whole in found))


def main() -> int:
    """Print a line for each mutation, and how many were found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="+", help="what to run, and options of pytest after --")
    parser.add_argument(
        "--tree", type=Path, default=ROOT, help="the tree to test; its own lines are made wrong"
    )
    parser.add_argument("--only", default="", help="mutations of files whose path contains this")
    given = parser.parse_args()
    mutations = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text(encoding="utf-8"))["mutation"]
    chosen = [mutation for mutation in mutations if given.only in mutation["file"]]
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(given.tree, tree, ignore=LEFT_OUT)
        for each in chosen:
            path = tree / each["file"]
            right = path.read_text(encoding="utf-8")
            if right.count(each["old"]) != 1:
                print(f"{each['file']}: {right.count(each['old'])} times {each['old']!r}", flush=True)
                continue
            path.write_text(right.replace(each["old"], each["new"]), encoding="utf-8")
            failed = failing(tree, given.tests)
            path.write_text(right, encoding="utf-8")
            found += bool(failed)
            print(
                f"{each['file']}: {each['new'].strip()}\n    {', '.join(failed) or 'NOT FOUND'}", flush=True
            )
    print(f"{found} of {len(chosen)} found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
