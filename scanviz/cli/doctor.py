"""Show which backends, libraries and programs work here, and how to get the others."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from scanviz.child_process import isolated_code
from scanviz.cli.fitted import fitted_to
from scanviz.cli.options import Option, UsageError, parse
from scanviz.record.plain_text import write_json, write_text

USAGE = "doctor [--json]"
OPTIONS = (Option(("--json",), "", "print the findings as JSON"),)


class Finding(NamedTuple):
    """A backend, library or program, and whether it works here."""

    kind: str
    name: str
    works: bool
    version: str
    what: str
    how_to_get: str


_PATIENCE = 60  # seconds
# (import name, distribution, what it is for, the extra that brings it; empty where it comes with scanviz)
_LIBRARIES = (
    ("numpy", "numpy", "the arrays behind everything", ""),
    ("scipy", "scipy", "special functions, factorisations", ""),
    ("rich", "rich", "coloured dumps", ""),
    ("textual", "textual", "the terminal application", ""),
    ("networkx", "networkx", "analyses of pictures", ""),
    ("graphviz", "graphviz", "Graphviz pictures, with the `dot` program", ""),
    ("resvg_py", "resvg-py", "PNG without `dot`", ""),
    ("textual_serve", "textual-serve", "the terminal application in a browser", "tui-web"),
    ("jupyterlab", "jupyterlab", "pictures in notebooks", "jupyter"),
    ("pyarrow", "pyarrow", "export to Parquet", "parquet"),
)


def main(arguments: list[str]) -> int:
    """Print what works and return exit code 0."""
    given = parse(arguments, OPTIONS)
    if given.rest:
        raise UsageError(f"doctor takes no arguments, found {given.rest[0]!r}")
    findings = [*_backends(), *_libraries(), _dot(), _driver()]
    if given.json:
        write_json([finding._asdict() for finding in findings], sys.stdout, indent=1)
        return 0
    place = f"Python {platform.python_version()}, {platform.machine()} {platform.system()}"
    write_text(f"scanviz {sys.modules['scanviz'].__version__}, {place}\n", sys.stdout)
    for kind in dict.fromkeys(finding.kind for finding in findings):
        write_text(f"\n{kind}\n", sys.stdout)
        for finding in findings:
            if finding.kind == kind:
                write_text(fitted_to(_line(finding), sys.stdout), sys.stdout)
    return 0


def _line(found: Finding) -> str:
    mark = "works  " if found.works else "missing" if found.how_to_get else "unknown"
    shown = f"  {mark}  {found.name:<13} {found.version:<10} {found.what}".rstrip()
    return (
        shown
        + (f"\n             get it: {found.how_to_get}" if found.how_to_get and not found.works else "")
        + "\n"
    )


def _backends() -> list[Finding]:
    from scanviz.engine.backends.registry import availability, names

    found = []
    for name in names():
        tier = availability(name)
        if name == "native" and tier.works and _imports("llvmlite.binding") is False:
            why = "llvmlite is installed, but LLVM cannot be loaded"
            tier = tier._replace(works=False, why=why, how_to_get="pip install --force-reinstall llvmlite")
        found.append(Finding("backends", name, tier.works, tier.version, tier.why, tier.how_to_get))
    return found


def _libraries() -> list[Finding]:
    found = []
    for module, distribution, purpose, extra in _LIBRARIES:
        wanted = f'"scanviz[{extra}]"' if extra else distribution
        works, there = _imports(module), _version(distribution)
        if works is None:  # unknown: do not advise to install it
            late = f"{purpose} (importing it took longer than {_PATIENCE} s)"
            found.append(Finding("libraries", distribution, False, there, late, ""))
        else:
            found.append(Finding("libraries", distribution, works, there, purpose, f"pip install {wanted}"))
    return found


def _imports(module: str) -> bool | None:
    """Return whether a module can be imported, tested in another process, since a broken library may do anything.

    None if it took too long.
    """
    try:
        done = subprocess.run(
            isolated_code(f"import {module}"), capture_output=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError:
        return False
    return done.returncode == 0


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _dot() -> Finding:
    path = shutil.which("dot")
    return Finding(
        "programs",
        "dot",
        path is not None,
        "",
        "Graphviz layouts, PDF pictures",
        "your system's package graphviz, such as apt-get install graphviz",
    )


def _driver() -> Finding:
    """Ask NVIDIA's driver for its CUDA version."""
    number = ctypes.c_int(0)
    try:
        library = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        works = library.cuDriverGetVersion(ctypes.byref(number)) == 0 and number.value > 0
    except (OSError, AttributeError):  # no driver
        works = False
    shown = f"CUDA {number.value // 1000}.{number.value % 1000 // 10}" if works else ""
    return Finding(
        "programs",
        "GPU driver",
        works,
        shown,
        "loops on an NVIDIA GPU",
        "an NVIDIA GPU and its driver, from your system's packages or NVIDIA",
    )
