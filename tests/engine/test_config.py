"""Settings take what they can mean, from the environment and by assignment."""

import os
import subprocess
import sys

import numpy as np
import pytest

from scanviz.engine.config import Config
from scanviz.engine.errors import ScanvizValueError


@pytest.mark.parametrize(
    ("variable", "given", "expected"),
    [
        ("SCANVIZ_NATIVE_THREADS", "many", "a whole number from 0 on"),
        ("SCANVIZ_NATIVE_THREADS", "1.5", "a whole number from 0 on"),
        ("SCANVIZ_NATIVE_THREADS", "-1", "a number from 0 on"),
        ("SCANVIZ_NATIVE_PAYS_AFTER", "soon", "a number from 0 on"),
        ("SCANVIZ_NATIVE_PAYS_AFTER", "nan", "a number from 0 on"),
        ("SCANVIZ_KEPT_MEMORY", "64 MB", "a whole number from 0 on"),
    ],
)
def test_a_variable_that_is_no_number_is_named(monkeypatch, variable, given, expected):
    monkeypatch.setenv(variable, given)
    with pytest.raises(ScanvizValueError, match=f"{variable} cannot be set") as error:
        Config()
    assert error.value.expected == expected and given in str(error.value)


def test_an_empty_environment_variable_counts_as_unset(monkeypatch):
    for name in (
        "FLOATX",
        "MODE",
        "REWRITES",
        "TRACEBACK",
        "NATIVE_THREADS",
        "NATIVE_PAYS_AFTER",
        "KEPT_MEMORY",
    ):
        monkeypatch.setenv(f"SCANVIZ_{name}", "")
    made = Config()
    assert (made.floatX, made.mode, made.rewrites, made.traceback) == ("float64", "auto", "auto", "short")
    assert (made.native.threads, made.native.pays_after, made.kept_memory) == (0, 0.01, 64_000_000)


def test_settings_accept_infinity_and_refuse_negative_numbers(monkeypatch):
    monkeypatch.setenv("SCANVIZ_NATIVE_PAYS_AFTER", "inf")
    made = Config()
    assert made.native.pays_after == float("inf")
    for of, name in ((made.native, "threads"), (made.native, "pays_after"), (made, "kept_memory")):
        for value in (-1, float("nan"), "2", None):
            with pytest.raises(ScanvizValueError, match=f"{name} cannot be set"):
                setattr(of, name, value)


def test_numbers_of_numpy_are_numbers():
    made = Config()
    made.native.threads, made.native.pays_after, made.kept_memory = np.int64(2), np.float32(0.5), np.uint32(9)
    assert (made.native.threads, made.native.pays_after, made.kept_memory) == (2, 0.5, 9)


def test_a_wrong_variable_ends_a_program_with_one_error():
    environment = {**os.environ, "SCANVIZ_NATIVE_THREADS": "two"}
    done = subprocess.run(
        [sys.executable, "-c", "import scanviz"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "SCANVIZ_NATIVE_THREADS cannot be set" in done.stderr
    assert "found:    'two'" in done.stderr
