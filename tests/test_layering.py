"""Imports between layers, as in DESIGN.md: upper layers import lower ones, never the reverse.

Imports are read from the source, so one hidden in a function, under ``if TYPE_CHECKING`` or in
``import_module("...")`` counts like any other.  Layers are listed from top to bottom; modules of one row know nothing
of each other.  A module that stands in no row fails the test: give it a place here first.
"""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.sources import statements

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "scanviz"

LAYERS = (
    ("__main__", "notebook"),
    ("cli",),
    ("lessons",),
    ("tui",),
    ("render", "profiler"),
    ("record",),
    ("compat",),
    ("tensor",),
    ("engine",),
    ("startup", "plugins", "child_process"),
)
ENGINE_LAYERS = (
    ("measurement",),
    ("function",),
    ("backends",),
    ("runtime",),
    ("observation",),
    ("program", "mode"),
    ("rewrites",),
    ("gradient",),
    ("scan",),
    ("ops",),
    ("scalar", "cost"),
    ("building",),
    ("observe",),
    ("graph",),
    ("sizes",),
    ("display",),
    ("traceback_hooks",),
    ("tracebacks",),
    ("other_keywords",),
    ("other_names",),
    ("config", "strict"),
    ("errors",),
    ("locks",),
)
PROFILER_LAYERS = (
    ("run",),
    ("recording",),
    ("values",),
    ("advice", "compare", "export"),
    ("report",),
)
# Free of rank as importers (they gather everything), and imported by no module of the package.
GATHERERS = ("scanviz", "scanviz.testing")
# Importable by every layer of the engine: the observers, and events as data.
FOR_EVERYONE = ("scanviz.engine.observe", "scanviz.engine.observation.events")
# Views show records: they never see a live engine object or a symbolic tensor.
VIEWS = (
    "scanviz.render",
    "scanviz.tui",
    *(f"scanviz.profiler.{v}" for v in ("report", "compare", "advice", "export")),
)
UNSEEN_BY_VIEWS = ("scanviz.engine", "scanviz.tensor", "scanviz.compat")
UNKNOWN_TO_ENGINE = ("rich", "networkx", "graphviz", "resvg_py", "textual")
HEAVY = (
    "rich",
    "networkx",
    "graphviz",
    "resvg_py",
    "textual",
    "llvmlite",
    "cupy",
    "scipy",
    "hypothesis",
    "pytest",
    "sqlite3",
    "importlib.metadata",
)


# Types that are defined by one another stand in files of their own; the lower one names the upper in annotations alone.
RECURSIVE_TYPES = {
    ("engine.graph.facts", "engine.graph.declaration"),
    ("engine.graph.declaration", "engine.graph.notation"),
    ("engine.graph.declaration", "engine.graph.nodes"),
    ("engine.graph.syntax", "engine.graph.nodes"),
    ("engine.scan.properties", "engine.scan.layout"),
    ("engine.scan.properties", "engine.scan.loop"),
}


@dataclass(frozen=True, slots=True)
class Violation:
    module: str
    line: int
    imported: str
    why: str

    def __str__(self) -> str:
        path = self.module.replace(".", "/")
        return f"{path}:{self.line}: imports {self.imported}: {self.why}"


def ranks(prefix: str, layers: tuple[tuple[str, ...], ...]) -> dict[str, int]:
    return {f"{prefix}.{name}": height for height, row in enumerate(reversed(layers)) for name in row}


RANKS = ranks("scanviz", LAYERS)
ENGINE_RANKS = ranks("scanviz.engine", ENGINE_LAYERS)
PROFILER_RANKS = ranks("scanviz.profiler", PROFILER_LAYERS)
INSIDE = {"scanviz.engine": ENGINE_RANKS, "scanviz.profiler": PROFILER_RANKS}


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def is_view(module: str) -> bool:
    return any(within(module, view) for view in VIEWS)


def unit(module: str, ranked: Collection[str]) -> str | None:
    """Return the ranked package or module that `module` is part of."""
    return next((name for name in ranked if within(module, name)), None)


def has_place(module: str) -> bool:
    for package, inside in INSIDE.items():
        if within(module, package):
            return module == package or unit(module, inside) is not None
    return module == "scanviz" or within(module, "scanviz.testing") or unit(module, RANKS) is not None


@functools.cache
def parts_of(source: str) -> list[ast.AST]:
    """Return what is looked at of a source: imports, conditions and calls that import; files are parsed once for all tests."""
    tree = ast.parse(source)
    calls = ast.walk(tree) if re.search("import_module|__import__", source) else ()
    return [
        *(node for node in statements(tree) if isinstance(node, (ast.Import, ast.ImportFrom, ast.If))),
        *(node for node in calls if isinstance(node, ast.Call)),
    ]


def imports_of(source: str, modules: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, full name) of each module that `source` imports; `modules` distinguishes submodules from attributes.

    Names are full ones: Ruff bans relative imports.
    """
    for node in parts_of(source):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    yield node.lineno, name if name in modules else str(node.module)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
                called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                if called in ("import_module", "__import__"):
                    yield node.lineno, name


def complaint(module: str, imported: str) -> str | None:
    """Say why `module` may not import `imported`, or None where it may."""
    if within(module, "scanviz.engine") and any(within(imported, name) for name in UNKNOWN_TO_ENGINE):
        return "the engine knows nothing of what shows it"
    if not within(imported, "scanviz") or module == "scanviz" or within(module, "scanviz.testing"):
        return None
    if imported == "scanviz" or within(imported, "scanviz.testing"):
        return "only users import it; import the module that defines the name"
    if not has_place(imported):
        return "it has no place in the layers"
    if is_view(module) and any(within(imported, name) for name in UNSEEN_BY_VIEWS):
        return "a view reads records only"
    mine, theirs = unit(module, RANKS), unit(imported, RANKS)
    if mine == theirs == "scanviz.engine":
        return complaint_inside_engine(module, imported)
    if mine == theirs == "scanviz.profiler" and module != mine:
        return wrong_direction(unit(module, PROFILER_RANKS), unit(imported, PROFILER_RANKS), PROFILER_RANKS)
    return wrong_direction(mine, theirs, RANKS)


def complaint_inside_engine(module: str, imported: str) -> str | None:
    if imported == "scanviz.engine":
        return "inside the engine, import the module that defines the name"
    if module == "scanviz.engine" or any(within(imported, name) for name in FOR_EVERYONE):
        return None if unit(module, ENGINE_RANKS) != "scanviz.engine.errors" else "errors imports nothing"
    return wrong_direction(unit(module, ENGINE_RANKS), unit(imported, ENGINE_RANKS), ENGINE_RANKS)


def wrong_direction(mine: str | None, theirs: str | None, rank: dict[str, int]) -> str | None:
    if mine is None or theirs is None or mine == theirs:  # a module without a place is reported on its own
        return None
    if rank[mine] > rank[theirs]:
        return None
    relation = "beside" if rank[mine] == rank[theirs] else "above"
    return f"{theirs} stands {relation} {mine}"


def violations(source: str, module: str, modules: Collection[str] = ()) -> Iterator[Violation]:
    if not has_place(module):
        yield Violation(
            module, 1, "nothing yet", "it has no place in the layers: give it one in tests/test_layering.py"
        )
    known = {*modules, *RANKS, *ENGINE_RANKS, *PROFILER_RANKS, "scanviz.testing"}
    for line, imported in imports_of(source, known):
        if (why := complaint(module, imported)) is not None:
            yield Violation(module, line, imported, why)


def modules_on_disk() -> dict[str, Path]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def test_no_layer_imports_a_layer_above_or_beside_it() -> None:
    modules = modules_on_disk()
    assert "scanviz.engine.errors" in modules, "the package was not found"
    found = [
        violation
        for module, path in modules.items()
        for violation in violations(path.read_text("utf-8"), module, modules)
    ]
    assert not found, "\n".join(["imports against DESIGN.md, 'Who may import whom':", *map(str, found)])


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("scanviz.engine.graph.nodes", "from scanviz.engine.ops import shape"),
        ("scanviz.engine.graph.nodes", "def f():\n    from scanviz.engine.function import function"),
        ("scanviz.engine.graph.nodes", "if TYPE_CHECKING:\n    import scanviz.engine.scan.loop"),
        ("scanviz.engine.graph.nodes", "import importlib\nimportlib.import_module('scanviz.record')"),
        ("scanviz.engine.errors", "from scanviz.engine import observe"),
        ("scanviz.engine.mode", "from scanviz.engine.program import lower"),
        ("scanviz.engine.scan.loop", "from scanviz.engine import scan_everything"),
        ("scanviz.engine.scan.loop", "from scanviz import scan"),
        ("scanviz.engine.scan.loop", "from scanviz import tensor as T"),
        ("scanviz.engine.scan.loop", "def f():\n    from textual import app"),
        ("scanviz.engine.scan.loop", "from scanviz.testing import random_loops"),
        ("scanviz.profiler.report.text", "from scanviz.profiler.run import runner"),
        ("scanviz.profiler.advice.rules", "from scanviz.profiler.compare import compare"),
        ("scanviz.profiler.export.speedscope", "from scanviz.engine import observe"),
        ("scanviz.cli.run", "from scanviz.colours import red"),
        ("scanviz.engine.helpers", "RED = 1"),
    ],
)
def test_an_import_against_the_design_is_reported(module: str, source: str) -> None:
    [violation] = violations(source, module, modules=["scanviz.engine.ops.shape"])
    assert violation.module == module
    assert 1 <= violation.line <= 2
    assert violation.why


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("scanviz", "from scanviz.engine.function import function\nfrom scanviz.cli import main"),
        ("scanviz.testing.loops", "import scanviz\nfrom scanviz.testing import graphs\nimport hypothesis"),
        ("scanviz.cli.profile", "import rich\nfrom scanviz.profiler.run import runner"),
        ("scanviz.profiler.recording.recorder", "from scanviz.engine.observe import Observer"),
        ("scanviz.engine", "from scanviz.engine.function import function"),
        ("scanviz.engine.graph.nodes", "from scanviz.engine.observe import notify"),
        ("scanviz.engine.observe", "from scanviz.engine.graph.nodes import Apply"),
    ],
)
def test_an_import_that_the_design_allows_is_not_reported(module: str, source: str) -> None:
    assert list(violations(source, module)) == []


def lines_for_types(source: str) -> set[int]:
    """Return the lines that only type checkers look at."""
    found: set[int] = set()
    for node in parts_of(source):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            found.update(*(range(each.lineno, (each.end_lineno or each.lineno) + 1) for each in node.body))
    return found


def imports_between(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Return which of the modules, given with their sources, each imports, lazily too, but for annotations of recursive types."""
    found: dict[str, set[str]] = {}
    for module, source in modules.items():
        quiet = lines_for_types(source)
        short = module.removeprefix("scanviz.")
        found[module] = {
            imported
            for line, imported in imports_of(source, modules)
            if imported in modules
            and imported != module
            and not (line in quiet and (short, imported.removeprefix("scanviz.")) in RECURSIVE_TYPES)
        }
    return found


def circle(imports: Mapping[str, Collection[str]]) -> list[str]:
    """Return modules each of which imports the next, the last the first; none where there is no such circle."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1][:0:-1])
    return []


def sources_on_disk() -> dict[str, str]:
    return {module: path.read_text("utf-8") for module, path in modules_on_disk().items()}


def test_no_file_imports_itself_through_others() -> None:
    assert circle(imports_between(sources_on_disk())) == [], (
        "move what both need below them, or let the upper file fill a registration point of the lower"
    )


def test_only_mutually_dependent_annotations_are_excepted() -> None:
    sources = sources_on_disk()
    for lower, upper in RECURSIVE_TYPES:
        source = sources[f"scanviz.{lower}"]
        lines = [line for line, imported in imports_of(source, sources) if imported == f"scanviz.{upper}"]
        assert lines and set(lines) <= lines_for_types(source), (
            f"{lower} does not name {upper} in annotations alone"
        )


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ({"a": "import b", "b": "import c", "c": "def f():\n    import a"}, {"a", "b", "c"}),
        ({"a": "import b", "b": "if TYPE_CHECKING:\n    import a"}, {"a", "b"}),
        ({"a": "import b\nimport c", "b": "import c", "c": ""}, set()),
    ],
)
def test_circles_are_found_also_through_lazy_imports(sources: dict[str, str], expected: set[str]) -> None:
    assert set(circle(imports_between(sources))) == expected


def test_importing_scanviz_loads_no_heavy_library() -> None:
    code = f"import sys, scanviz; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == [], (
        "import them where they are used, so that `import scanviz` stays cheap"
    )
