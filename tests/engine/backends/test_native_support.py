"""The list of operations with native code agrees with the emitter."""

import importlib
import pkgutil

import pytest

from scanviz.engine import ops
from scanviz.engine.backends import native_support
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration

operations = pytest.importorskip("scanviz.engine.backends.native.emit.instructions")
for _module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"{ops.__name__}.{_module.name}")
DECLARED = [one for one in declarations() if not one.name.startswith("test_") and one.family != "loop"]


def has_none(declaration):
    return native_support._WHY_NOT.get(declaration.name) is native_support._why_none


@pytest.mark.parametrize("declaration", DECLARED, ids=lambda one: one.name)
def test_native_support_lists_exactly_the_operations_of_the_emitter(declaration):
    text = declaration.family in native_support.FAMILIES and not has_none(declaration)
    is_size = not callable(declaration.facts) and declaration.facts.size == "is"
    if not (is_size or declaration.views is not None) and declaration.name != "polygamma":
        assert text == (declaration in operations.WRITE)


def primitives_of(block):
    return {line.op for line in block.lines} | {
        op for line in block.lines for one in line.blocks for op in primitives_of(one)
    }


def test_formulas_are_written_but_for_those_that_are_named():
    from scanviz.engine.backends.native.kernels import formulas
    from scanviz.engine.scalar.primitives import PRIMITIVES

    written = {*formulas._ARITHMETIC, *formulas._TESTS, *formulas._INTRINSICS, *formulas.FUNCTIONS}
    unwritten = set(PRIMITIVES) - written - {"negate", "bit_not", "multiply_high"}
    for declaration in DECLARED:
        if not isinstance(declaration, ElementwiseDeclaration):
            continue
        for dtype in DTYPES:
            try:
                _, block = declaration.block(*[dtype] * declaration.arity)
            except Exception:  # it takes no such numbers
                continue
            if primitives_of(block) & unwritten:
                assert has_none(declaration)
