"""scanviz: scan loops you can look inside.

Write a loop step as a Python function, run it on NumPy (or another tier), and see where each step spends its time.

Examples
--------
>>> import scanviz
>>> from scanviz import tensor as T
>>> x = T.vector("x")
>>> sums, updates = scanviz.scan(lambda x_t, so_far: so_far + x_t, sequences=x, outputs_info=0.0, name="sums")
>>> scanviz.function([x], sums)([1.0, 2.0, 3.0])
array([1., 3., 6.])
"""

from __future__ import annotations

from scanviz import startup  # noqa: F401  # isort: skip  # ctrl+c may come any moment

# isort: split
import importlib
from typing import TYPE_CHECKING, Any, TextIO

from scanviz import tensor
from scanviz.engine.config import config
from scanviz.engine.display import PICTURES, WRITERS
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Constant, Variable
from scanviz.engine.graph.shared import SharedVariable, shared
from scanviz.engine.mode import Mode
from scanviz.engine.observe import PROFILER
from scanviz.engine.rewrites.rule import RULES_ABOVE
from scanviz.engine.scan.build import scan
from scanviz.engine.scan.returns import until
from scanviz.engine.scan.updates import Updates
from scanviz.engine.traceback_hooks import install as _shorten_tracebacks

if TYPE_CHECKING:
    from scanviz.engine.function import Function, In, Out, function
    from scanviz.engine.gradient.grad import grad
    from scanviz.engine.gradient.jacobian import hessian, hessian_vector_product, jacobian
    from scanviz.engine.gradient.operators import Lop, Rop, jvp, vjp
    from scanviz.engine.observe import Observer
    from scanviz.engine.ops.clone import clone, equal_computations
    from scanviz.engine.ops.control import consider_constant, disconnected_grad, grad_clip, zero_grad
    from scanviz.engine.ops.effects import Assert, Print
    from scanviz.engine.ops.subgraph import named_subgraph
    from scanviz.engine.rewrites.batching.vmap import vmap
    from scanviz.engine.scan.args import ScanArgs
    from scanviz.engine.scan.checkpoints import scan_checkpoints
    from scanviz.engine.scan.layout import Layout
    from scanviz.engine.scan.loop import Scan
    from scanviz.engine.scan.views import filter, foldl, foldr, map, reduce
    from scanviz.profiler import profile
    from scanviz.profiler.recording.traced import trace
    from scanviz.render.draw import draw
    from scanviz.render.text import dprint
    from scanviz.tensor import dot, ifelse

__version__ = "0.2.0"

# Names that are imported when first used, so that `import scanviz` stays fast.
_LAZY = {
    "Assert": "scanviz.engine.ops.effects",
    "clone": "scanviz.engine.ops.clone",
    "consider_constant": "scanviz.engine.ops.control",
    "disconnected_grad": "scanviz.engine.ops.control",
    "dot": "scanviz.engine.ops.linalg",
    "dprint": "scanviz.render.text",
    "draw": "scanviz.render.draw",
    "equal_computations": "scanviz.engine.ops.clone",
    "filter": "scanviz.engine.scan.views",
    "foldl": "scanviz.engine.scan.views",
    "foldr": "scanviz.engine.scan.views",
    "Function": "scanviz.engine.function",
    "function": "scanviz.engine.function",
    "grad": "scanviz.engine.gradient.grad",
    "grad_clip": "scanviz.engine.ops.control",
    "hessian": "scanviz.engine.gradient.jacobian",
    "hessian_vector_product": "scanviz.engine.gradient.jacobian",
    "ifelse": "scanviz.engine.ops.control",
    "In": "scanviz.engine.function",
    "jacobian": "scanviz.engine.gradient.jacobian",
    "jvp": "scanviz.engine.gradient.operators",
    "Layout": "scanviz.engine.scan.layout",
    "load_ipython_extension": "scanviz.notebook",
    "Lop": "scanviz.engine.gradient.operators",
    "map": "scanviz.engine.scan.views",
    "named_subgraph": "scanviz.engine.ops.subgraph",
    "Out": "scanviz.engine.function",
    "Print": "scanviz.engine.ops.effects",
    "profile": "scanviz.profiler",
    "reduce": "scanviz.engine.scan.views",
    "Rop": "scanviz.engine.gradient.operators",
    "Scan": "scanviz.engine.scan.loop",
    "scan_checkpoints": "scanviz.engine.scan.checkpoints",
    "ScanArgs": "scanviz.engine.scan.args",
    "trace": "scanviz.profiler.recording.traced",
    "vjp": "scanviz.engine.gradient.operators",
    "vmap": "scanviz.engine.rewrites.batching.vmap",
    "zero_grad": "scanviz.engine.ops.control",
}


def __getattr__(name: str) -> Any:
    place = _LAZY.get(name)
    if place is None:
        from scanviz.engine.other_names import missing

        raise missing(__name__, name, f"T.{name}" if name in tensor.__all__ else None)
    found = globals()[name] = getattr(importlib.import_module(place), name)
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})


def _make_profiler() -> Observer:
    from scanviz.profiler.recording.recorder import Recorder

    made: Observer = Recorder()
    return made


PROFILER.append(_make_profiler)


def _print_line(line: str, stream: TextIO) -> None:
    from scanviz.record.plain_text import sanitize, write_text

    write_text(sanitize(line) + "\n", stream)


WRITERS.append(_print_line)


def _picture(what: Any) -> dict[str, str]:
    from scanviz.notebook.shown import bundle

    return bundle(what)


PICTURES.append(_picture)
RULES_ABOVE.append(lambda: importlib.import_module("scanviz.engine.program.rules"))
_shorten_tracebacks()

__all__ = [
    "Assert",
    "Constant",
    "Function",
    "In",
    "Layout",
    "Lop",
    "Mode",
    "Out",
    "Print",
    "Rop",
    "Scan",
    "ScanArgs",
    "ScanvizError",
    "SharedVariable",
    "Updates",
    "Variable",
    "clone",
    "config",
    "consider_constant",
    "disconnected_grad",
    "dot",
    "dprint",
    "draw",
    "equal_computations",
    "filter",
    "foldl",
    "foldr",
    "function",
    "grad",
    "grad_clip",
    "hessian",
    "hessian_vector_product",
    "ifelse",
    "jacobian",
    "jvp",
    "map",
    "named_subgraph",
    "profile",
    "reduce",
    "scan",
    "scan_checkpoints",
    "shared",
    "tensor",
    "trace",
    "until",
    "vjp",
    "vmap",
    "zero_grad",
]
