"""Tests are distributed over processes, except under a debugger; each process has one thread for products."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.conftest import last_first, pytest_xdist_auto_num_workers


def processes(**given):
    """Return the number of processes for a command line: one more than there are cores."""
    usual = dict(capture="fd", trace=False, collectonly=False, file_or_dir=[])
    return pytest_xdist_auto_num_workers(SimpleNamespace(option=SimpleNamespace(**{**usual, **given})))


@pytest.fixture(autouse=True)
def no_debugger(monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: None)
    monkeypatch.delitem(sys.modules, "pydevd", raising=False)


@pytest.mark.parametrize("given", [[], ["tests"], ["tests/test_docs.py", "tests/cli"]])
def test_folders_are_shared_out(given, request, monkeypatch):
    monkeypatch.chdir(request.config.rootpath)
    assert processes(file_or_dir=given) >= 2


@pytest.mark.parametrize(
    "given",
    [
        dict(file_or_dir=["tests/test_docs.py"]),
        dict(file_or_dir=["tests/test_docs.py::test_x", "tests/test_examples.py"]),
        dict(capture="no"),
        dict(trace=True),
        dict(collectonly=True),
    ],
)
def test_single_files_and_interactive_runs_take_one_process(given, request, monkeypatch):
    monkeypatch.chdir(request.config.rootpath)
    assert processes(**given) == 0


def test_a_debugger_finds_the_tests_in_its_own_process(monkeypatch):
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    assert processes() == 0
    monkeypatch.setattr(sys, "gettrace", lambda: None)
    monkeypatch.setitem(sys.modules, "pydevd", SimpleNamespace())
    assert processes() == 0


@pytest.mark.parametrize("last", [0, 2, 3, 5, 11])
def test_one_process_begins_with_the_tests_that_wait(last):
    found = last_first(list(range(11)), last, 3)
    begun = min(8, 11 - last)  # of 11 three go to the last process, or all that wait
    assert found[begun : begun + last] == list(range(11 - last, 11))
    assert found[:begun] + found[begun + last :] == list(range(11 - last))


def test_products_run_on_one_thread_in_tests_and_child_processes():
    assert os.environ["OPENBLAS_NUM_THREADS"]  # another number is set on purpose


def test_compiled_bytecode_is_shared_between_processes(request):
    """Else each of hundreds of processes compiles all of scanviz, which takes longer than importing it."""
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ
    code = "import scanviz.tensor, os; print(os.path.exists(scanviz.tensor.__cached__))"
    environment = {**os.environ, "PYTHONPATH": str(request.config.rootpath)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
