"""Build a release and check it: sdist and wheel, the wheel in an empty environment without the network, and the site.

    pip install build twine ".[docs]" && python tools/release.py

It publishes nothing. What it built lies in dist/ and build/site/, and is right where it ends with "ready".
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
    problem = _built(version) or _described() or _complete(version) or _works(version) or _site()
    if problem:
        print(f"not ready: {problem}")
        return 1
    print(f"scanviz {version} is ready in {DIST.name}/, its site in build/site/")
    return 0


def _version() -> str:
    """Return the version, which stands in four places that have to agree."""
    places = {
        "pyproject.toml": r'^version = "([^"]+)"',
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
    """Return the missing and the unwanted entries of an archive."""
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
    """Return the failures in an empty environment with the wheel and its requirements, without network."""
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


def _site() -> str:
    """Return the problems of the site: warnings of Sphinx, dead links, network resources."""
    return _failure([str(ROOT / "tools" / "build_site.py")])


def _failed(module: str, *arguments: str) -> str:
    """Return a tool's output if it fails."""
    return _failure(["-m", module, *arguments])


def _failure(command: list[str]) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    message = (done.stderr.strip() or done.stdout.strip())[-400:]
    name = command[1] if command[0] == "-m" else Path(command[0]).name
    return f"{name}: {message}" if done.returncode else ""


if __name__ == "__main__":
    sys.exit(main())
