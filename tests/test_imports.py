"""``import scanviz`` loads what building a graph needs, and nothing of what compiling, running, profiling or showing it needs."""

import json
import subprocess
import sys

import pytest

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
MOST = 69  # modules of scanviz: a time would depend on the machine; benchmarks/import_time.py measures it
BESIDE = 21  # modules of others, NumPy and what it imports not counted: msgspec is most

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


def test_importing_scanviz_loads_only_what_building_a_graph_needs():
    found = loaded()
    early = [name for name in found if any(name == later or name.startswith(f"{later}.") for later in LATER)]
    assert early == [], "import them where they are used, or through scanviz._LATER"
    own = [name for name in found if name.partition(".")[0] == "scanviz"]
    assert len(own) <= MOST, "what is imported by all that import scanviz is waited for by all"
    assert len(found) - len(own) <= BESIDE, sorted(set(found) - set(own))


# What a first result of a plain loop on NumPy needs nothing of: each has its place where it is imported.
UNUSED = (
    "dataclasses",
    "scanviz.engine.backends.base",
    "scanviz.engine.backends.native",
    "scanviz.engine.backends.numpy.added_to_zeros",
    "scanviz.engine.observation.calls",
    "scanviz.engine.observation.calls",
    "scanviz.engine.gradient",
    "scanviz.engine.graph.expressions",
    "scanviz.engine.graph.flatten",
    "scanviz.engine.graph.notation",
    "scanviz.engine.graph.refusals",
    "scanviz.engine.ops.assign",
    "scanviz.engine.ops.axes",
    "scanviz.engine.ops.current_step",
    "scanviz.engine.ops.first_rows",
    "scanviz.engine.ops.flops",
    "scanviz.engine.ops.formulas",
    "scanviz.engine.ops.ifelse",
    "scanviz.engine.ops.index_axes",
    "scanviz.engine.ops.join",
    "scanviz.engine.ops.linalg",
    "scanviz.engine.ops.random",
    "scanviz.engine.ops.reduce",
    "scanviz.engine.ops.scalar_functions",
    "scanviz.engine.ops.shape_notation",
    "scanviz.engine.ops.size_checks",
    "scanviz.engine.ops.state_shape",
    "scanviz.engine.program.memory",
    "scanviz.engine.program.plan.arena",
    "scanviz.engine.program.plan.merging",
    "scanviz.engine.program.work",
    "scanviz.engine.rewrites.after_loops",
    "scanviz.engine.rewrites.assignments",
    "scanviz.engine.rewrites.batch_draws",
    "scanviz.engine.rewrites.batching",
    "scanviz.engine.rewrites.buffers_of_zeros",
    "scanviz.engine.rewrites.first_steps",
    "scanviz.engine.rewrites.index_of_index",
    "scanviz.engine.rewrites.intervals",
    "scanviz.engine.rewrites.lifts",
    "scanviz.engine.rewrites.loop_groups",
    "scanviz.engine.rewrites.loops_of_derivatives",
    "scanviz.engine.rewrites.merged_loops",
    "scanviz.engine.rewrites.places",
    "scanviz.engine.rewrites.reductions",
    "scanviz.engine.rewrites.row_requests",
    "scanviz.engine.rewrites.rows",
    "scanviz.engine.rewrites.unsafe",
    "scanviz.engine.observation.call_sampler",
    "scanviz.engine.runtime.errors",
    "scanviz.engine.observation.probe",
    "scanviz.engine.observation.ledger",
    "scanviz.engine.runtime.observed",
    "scanviz.engine.runtime.pages",
    "scanviz.engine.observation.stamps",
    "scanviz.engine.scalar",
    "scanviz.engine.scan.shapes",
    "scanviz.engine.observation.events",
    "scanviz.engine.tracebacks",
    "scanviz.plugins",
    "scanviz.profiler",
    "scanviz.tensor.axes",
    "scanviz.tensor.methods",
    "scanviz.tensor.products",
    "scanviz.tensor.reductions",
)
# What machine code of a loop of few operations needs nothing of.
UNUSED_BY_CODE = (
    "dataclasses",
    "scanviz.engine.backends.native.emit.branch",
    "scanviz.engine.backends.native.kernels.circular",
    "scanviz.engine.backends.native.emit.inside",
    "scanviz.engine.backends.native.kernels.powers",
    "scanviz.engine.backends.native.kernels.reductions",
    "scanviz.engine.backends.native.stamps",
    "scanviz.engine.program.work",
    "scanviz.engine.runtime.errors",
    "scanviz.engine.observation.probe",
    "scanviz.engine.observation.events",
    "scanviz.engine.observation.step_sampler",
    "scanviz.profiler",
)
LOOPS = {  # and how many modules its first result may load
    "the last of some powers": (
        173,
        "x, n = T.vector('x'), T.lscalar('n')",
        "scanviz.scan(lambda p, x: p * x, outputs_info=T.ones_like(x), non_sequences=x, n_steps=n)[0][-1]",
        "function([x, n], rows, mode='numpy')([1.0, 2.0], 5)",
    ),
    "sums so far": (
        169,
        "x = T.vector('x')",
        "scanviz.scan(lambda x_t, s: s + x_t, x, 0.0)[0]",
        "function([x], rows, mode='numpy')([1.0, 2.0])",
    ),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_first_result_of_a_plain_loop_loads_what_it_needs(loop):
    most, variables, rows, call = LOOPS[loop]
    code = CODE.replace(
        "import scanviz\n",
        f"import scanviz\nfrom scanviz import function, tensor as T\n{variables}\nrows = {rows}\n{call}\n",
    )
    found = loaded(code)
    early = [name for name in found if any(name == other or name.startswith(f"{other}.") for other in UNUSED)]
    assert early == [], "import them where they are used"
    assert sum(name.partition(".")[0] == "scanviz" for name in found) <= most


def test_compiling_a_plain_loop_loads_what_writes_its_code():
    pytest.importorskip("llvmlite")
    code = CODE.replace(
        "import scanviz\n",
        "import scanviz\nfrom scanviz import function, tensor as T\nscanviz.config.native.cache = 'off'\nx = T.vector('x')\n"
        "rows = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, 0.0)[0]\n"
        "function([x], rows, mode='native')([1.0, 2.0])\n",
    )
    found = loaded(code)
    assert [name for name in found if name in UNUSED_BY_CODE] == [], "import them where they are used"
    assert sum(name.partition(".")[0] == "scanviz" for name in found) <= 219


def test_names_that_are_imported_when_first_used_are_found_wherever_the_program_is_then():
    code = """
import os, sys, json, scanviz
os.chdir("/")
sys.path[:] = [each for each in sys.path if os.path.isabs(each) and not os.path.isdir(os.path.join(each, "scanviz"))]
found = [scanviz.function, scanviz.Function, scanviz.In, scanviz.Out, scanviz.vmap, scanviz.profile]
assert found == [getattr(scanviz, each.__name__) for each in found]
print(json.dumps([each.__name__ for each in found]))
"""
    assert loaded(code) == ["function", "Function", "In", "Out", "vmap", "profile"]
