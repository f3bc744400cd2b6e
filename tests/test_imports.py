"""``import scanviz`` loads what building a graph needs, and nothing of what compiling, running, profiling or showing it needs."""

import json
import subprocess
import sys

LATER = (
    "scanviz.cli",
    "scanviz.engine.backends",
    "scanviz.engine.function",
    "scanviz.engine.measurement",
    "scanviz.engine.program",
    "scanviz.engine.rewrites.batching",
    "scanviz.engine.rewrites.pipeline",
    "scanviz.engine.runtime",
    "scanviz.profiler",
    "scanviz.record",
    "scanviz.render",
    "scanviz.testing",
    "scanviz.tui",
)
MOST = 75  # modules of scanviz: a time would depend on the machine; benchmarks/import_time.py measures it
BESIDE = 21  # third-party modules without NumPy and its imports: msgspec is most

CODE = """
import sys, numpy, json
before = set(sys.modules)
import scanviz
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded(code=CODE):
    """Return the modules that ``import scanviz`` loads after NumPy."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_scanviz_loads_only_modules_for_building_graphs():
    found = loaded()
    early = [name for name in found if any(name == later or name.startswith(f"{later}.") for later in LATER)]
    assert early == [], "import them where they are used, or through scanviz._LAZY"
    own = [name for name in found if name.partition(".")[0] == "scanviz"]
    assert len(own) <= MOST, "what is imported by all that import scanviz is waited for by all"
    assert len(found) - len(own) <= BESIDE, sorted(set(found) - set(own))


def test_a_first_result_on_numpy_loads_no_heavy_library_and_nothing_that_shows_it():
    code = CODE.replace(
        "import scanviz\n",
        "import scanviz\nfrom scanviz import function, tensor as T\nx = T.vector('x')\n"
        "function([x], scanviz.scan(lambda x_t, s: s + x_t, x, 0.0)[0], mode='numpy')([1.0, 2.0])\n",
    )
    unused = ("llvmlite", "scipy", "rich", "textual", "networkx", "scanviz.profiler", "scanviz.record")
    found = loaded(code)
    assert [name for name in found if any(f"{name}.".startswith(f"{other}.") for other in unused)] == []


def test_lazily_imported_names_are_found_in_any_working_directory():
    code = """
import os, sys, json, scanviz
os.chdir("/")
sys.path[:] = [each for each in sys.path if os.path.isabs(each) and not os.path.isdir(os.path.join(each, "scanviz"))]
found = [scanviz.function, scanviz.Function, scanviz.In, scanviz.Out, scanviz.vmap, scanviz.profile]
assert found == [getattr(scanviz, each.__name__) for each in found]
print(json.dumps([each.__name__ for each in found]))
"""
    assert loaded(code) == ["function", "Function", "In", "Out", "vmap", "profile"]
