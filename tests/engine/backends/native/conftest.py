"""Tests of native code are skipped where there is none; LLVM verifies all modules that they compile."""

import pytest

from scanviz.engine.backends.native.cache import jit, llvm
from scanviz.engine.backends.registry import availability


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    """Fail where a value is used that need not have been found before."""
    if not availability("native").works:
        pytest.skip(availability("native").why)
    compile_text = jit.object_of

    def object_of(text):
        llvm.binding().parse_assembly(text).verify()
        return compile_text(text)

    monkeypatch.setattr(jit, "object_of", object_of)
