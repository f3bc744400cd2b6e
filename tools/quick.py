"""Run within a minute the tests that a change touches: those of what changed since main, then those of the layers above.

First come tests that were changed and tests named after what was, then the rest of their folders and the laws, then the layers
above, the nearest first (``tests/test_layering.py`` knows them).  After ``--seconds`` no test is started any more, and what was
reached must pass.  Everything runs with ``pytest``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LAWS = "tests/testing/test_laws.py"


def changed_since(base: str) -> list[str]:
    """Return the files that differ from where this branch left another, those that git does not know yet included."""
    begun = _git("merge-base", base, "HEAD") or [base]
    return [*_git("diff", "--name-only", begun[0]), *_git("ls-files", "--others", "--exclude-standard")]


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode and words[0] != "merge-base":
        sys.exit(done.stderr)
    return done.stdout.split("\n")[:-1]


def packages() -> list[str]:
    """Return the packages and modules of scanviz from the lowest layer to the highest, as paths below ``scanviz``."""
    sys.path.insert(0, str(ROOT))
    from tests.test_layering import ENGINE_LAYERS, LAYERS

    engine = [f"engine/{name}" for row in reversed(ENGINE_LAYERS) for name in row]
    return [*engine, *(name for row in reversed(LAYERS) for name in row if name != "engine")]


def package_of(path: str, order: list[str]) -> str | None:
    """Return the package that a file of ``scanviz`` or ``tests`` stands in or is about."""
    below = path.partition("/")[2].removesuffix(".py")
    return next((name for name in order if below == name or below.startswith(f"{name}/")), None)


def chosen(changed: Iterable[str], tests: list[str], order: list[str]) -> list[str]:
    """Return the test files to run for what changed, the likeliest to fail first.

    Parameters
    ----------
    changed : iterable of str
        Paths below the root of the repository.
    tests : list of str
        All test files.
    order : list of str
        Packages from the lowest layer to the highest.
    """
    changed = list(changed)
    found = [each for each in changed if each in tests]
    for each in changed:
        stem = Path(each).stem
        found += [test for test in tests if Path(test).name == f"test_{stem}.py"]
    touched = [package_of(each, order) for each in changed if each.startswith(("scanviz/", "tests/"))]
    ranks = sorted({order.index(each) for each in touched if each is not None})
    found += [test for rank in ranks for test in tests if test.startswith(f"tests/{order[rank]}/")]
    if any(each.startswith("scanviz/") for each in changed):
        found.append(LAWS)
        above = order[ranks[0] :] if ranks else order  # what stands in no layer gathers all of them
        found += [test for name in above for test in tests if test.startswith(f"tests/{name}/")]
    outside = any(not each.startswith(("scanviz/", "tests/")) for each in changed)
    if found or outside:
        found += [test for test in tests if test.count("/") == 1]
    return list(dict.fromkeys(found))


def all_tests() -> list[str]:
    """Return all files of tests, as paths below the root."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py"))


def main() -> int:
    """Run the tests and return pytest's exit code."""
    begun = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="main", help="the branch to compare with")
    parser.add_argument("--seconds", type=float, default=50.0, help="start no test after so many seconds")
    parser.add_argument("--list", action="store_true", help="only print the files of tests, in their order")
    parser.add_argument("pytest", nargs="*", help="more options of pytest, after --")
    given = parser.parse_args()
    files = chosen(changed_since(given.base), all_tests(), packages())
    if given.list or not files:
        print("\n".join(files) or f"nothing differs from {given.base}")
        return 0
    processes = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    left = given.seconds - (time.monotonic() - begun)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "--seconds", f"{left:.0f}"]
    shared = ["-n", str(processes), "--dist", "load", "--maxschedchunk", "2"]  # in the order of the files
    return subprocess.run([*command, *shared, *given.pytest, *files], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
