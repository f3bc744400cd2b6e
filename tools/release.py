"""Build a release and check it: sdist and wheel, their metadata, and the wheel in an empty environment without the network.

    pip install build twine && python tools/release.py

It publishes nothing. What it built lies in dist/, and is right where it ends with "ready".
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
WANTED = (
    "scanviz/py.typed",
    "scanviz/lessons/texts/06_folding_the_backward_walk.md",
    "scanviz/render/page/assets/page.html",
)


def main() -> int:
    """Build, check, and try; return 1 with the reason where something is wrong."""
    version = _version()
    for problem in (_built(version) or _described() or _complete(version) or _works(version),):
        if problem:
            print(f"not ready: {problem}")
            return 1
    print(f"scanviz {version} is ready in {DIST.name}/")
    return 0


def _version() -> str:
    """Return the version, which stands in three places that have to agree."""
    places = {
        "scanviz/__init__.py": r'^__version__ = "([^"]+)"',
        "CITATION.cff": r"^version: (\S+)",
        "CHANGELOG.md": r"^## (?:\[)?(\d+\.\d+\.\d+)",
    }
    found = {}
    for name, pattern in places.items():
        matched = re.search(pattern, (ROOT / name).read_text("utf-8"), re.MULTILINE)
        found[name] = matched[1] if matched else "none"
    if len(set(found.values())) > 1:
        sys.exit(f"not ready: versions differ: {found}")
    return next(iter(found.values()))


def _built(version: str) -> str:
    for file in DIST.glob(f"scanviz-{version}*"):
        file.unlink()
    return _failed("build", str(ROOT), "--outdir", str(DIST))


def _described() -> str:
    return _failed("twine", "check", "--strict", *map(str, DIST.glob("scanviz-*")))


def _complete(version: str) -> str:
    """Return what an archive lacks that is needed, or has that nobody wants."""
    with zipfile.ZipFile(DIST / f"scanviz-{version}-py3-none-any.whl") as wheel:
        names = wheel.namelist()
    missing = [name for name in WANTED if name not in names]
    stray = [name for name in names if not name.startswith(("scanviz/", f"scanviz-{version}.dist-info/"))]
    with tarfile.open(DIST / f"scanviz-{version}.tar.gz") as source:
        inside = {name.partition("/")[2] for name in source.getnames()}
    missing += [
        name for name in ("README.md", "LICENSE", "CHANGELOG.md", "tests/conftest.py") if name not in inside
    ]
    return f"missing {missing}, stray {stray[:5]}" if missing or stray else ""


def _works(version: str) -> str:
    """Return what fails in an empty environment that has the wheel and what it needs, and no network."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        wheel = str(DIST / f"scanviz-{version}-py3-none-any.whl")
        wheels = str(Path(folder) / "wheels")
        for command in (
            [python, "-m", "pip", "download", "-q", "-d", wheels, wheel],
            [python, "-m", "pip", "install", "-q", "--no-index", "--find-links", wheels, wheel],
            [python, "-m", "scanviz", "doctor"],
            [
                python,
                "-m",
                "scanviz",
                "profile",
                "-o",
                str(Path(folder) / "power.scanviz"),
                str(ROOT / "examples" / "power.py"),
            ],
        ):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"{' '.join(command[2:5])}: {done.stderr.strip().splitlines()[-1:]}"
    return ""


def _failed(module: str, *arguments: str) -> str:
    """Return what a tool says where it fails."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
    )
    return f"{module}: {(done.stderr or done.stdout).strip()[-400:]}" if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
