"""LLVM verifies all modules compiled in tests of native code."""

import pytest

from scanviz.engine.backends.native.cache import jit, llvm


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    """Fail where a value is used that need not have been found before."""
    compile_text = jit.object_of

    def object_of(text):
        llvm.binding().parse_assembly(text).verify()
        return compile_text(text)

    monkeypatch.setattr(jit, "object_of", object_of)
