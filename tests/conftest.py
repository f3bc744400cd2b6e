"""What every test gets: Hypothesis profiles, and a clean skip for tests that need a GPU that is not there."""

from __future__ import annotations

import functools
import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# The machine's speed is no property of the code: no deadlines, no complaint about slow generation.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
_NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
settings.register_profile("default", max_examples=40, **_PATIENT)
settings.register_profile("ci", max_examples=40, derandomize=True, print_blob=True, **_PATIENT)
settings.register_profile(
    "first", max_examples=40, phases=_NO_SHRINKING, **_PATIENT
)  # the first failure, as it is
settings.register_profile("nightly", max_examples=1000, print_blob=True, **_PATIENT)
# `pytest --hypothesis-profile=nightly` is applied after this and wins.
settings.load_profile("ci" if os.environ.get("CI") else "default")


@functools.cache
def missing_gpu() -> str | None:
    """Say why tests cannot use a GPU here, or None where they can."""
    try:
        import cupy
    except ImportError as error:
        return f"needs CuPy, which cannot be imported ({error})"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"needs a GPU, which CuPy cannot reach ({error})"
    return None if count else "needs a GPU, and CuPy finds none"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a gpu-marked test, before its fixtures run, where there is no usable GPU."""
    if item.get_closest_marker("gpu") is not None and (reason := missing_gpu()) is not None:
        pytest.skip(reason)
