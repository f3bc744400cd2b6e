"""Kernels compiled by NVRTC for two generations of GPUs: no registers in memory, and few of them; no GPU is needed."""

import re
import sys

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.backends.cupy import compile_for, nvrtc
from scanviz.engine.errors import BackendError
from tests.engine.backends.cupy.fake_cupy import FakeCupy
from tests.engine.backends.cupy.stand_in import StandInBackend
from tests.engine.backends.cupy.test_kernels import DRAWS, ELEMENTWISE, GIVEN, ROW, ROWS, N

SOURCES = []
MOST_REGISTERS = 128
ARCHITECTURES = ("sm_80", "sm_90")


def has_nvrtc():
    """Return whether NVRTC is installed; that of tools/real_cupy compiles for the host."""
    if "host_cupy" in sys.modules:
        return False
    try:
        nvrtc.version()
    except BackendError:
        return False
    return True


pytestmark = pytest.mark.skipif(not has_nvrtc(), reason="NVRTC is not installed (nvidia-cuda-nvrtc)")


def keep_source(source, name):
    """Keep the source of a kernel, which does not run here."""
    SOURCES.append(source)
    raise BackendError("kernels are only compiled")


class OnlySourcesBackend(StandInBackend):
    """The CuPy backend on the stand-in for CuPy, which keeps the sources of kernels."""

    name = "stand-in-sources"

    def compile(self, program):
        return compile_for(program, FakeCupy(keep_source), self.name)


registry.register("stand-in-sources", OnlySourcesBackend)


def sources_of(results, inputs, values, **options):
    """Return the sources of a function's kernels."""
    SOURCES.clear()
    scanviz.function(inputs, results, mode="stand-in-sources", on_unused_input="ignore", **options)(*values)
    return list(SOURCES)


def check(sources):
    """Check that the sources compile to lean machine code."""
    assert sources
    for source in sources:
        for architecture in ARCHITECTURES:
            _, log = nvrtc.compiled(source, architecture, "--ptxas-options=-v")
            spilled = [int(count) for count in re.findall(r"(\d+) bytes spill", log)]
            used = [int(count) for count in re.findall(r"Used (\d+) registers", log)]
            assert spilled and not any(spilled), f"{architecture}: {log}\n{source}"
            assert used and max(used) <= MOST_REGISTERS, f"{architecture}: {log}\n{source}"


@pytest.mark.parametrize("name", [*ELEMENTWISE, *ROWS])
def test_a_kernel_keeps_its_values_in_few_registers(name):
    check(sources_of((ELEMENTWISE | ROWS)[name](), list(GIVEN), GIVEN.values()))


@pytest.mark.parametrize("name", DRAWS)
def test_a_kernel_that_draws_keeps_its_values_in_few_registers(name):
    streams = T.random.RandomStreams(3)
    rows, updates = scanviz.scan(lambda h: 0.1 * h + DRAWS[name](streams, h), outputs_info=ROW, n_steps=N)
    check(sources_of(rows, [ROW, N], [np.linspace(0.1, 0.9, 7), 4], updates=updates))
