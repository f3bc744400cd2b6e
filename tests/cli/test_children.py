"""`scanviz profile --children`: processes made by multiprocessing leave a profile each, merged with the program's."""

import multiprocessing
from pathlib import Path

import pytest

from scanviz.record.storage.file import load
from tests.cli.commands import command

SCRIPT = """
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import scanviz
from scanviz import tensor as T

x = T.vector("x")
s, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, 0.0, name="sums")
f = scanviz.function([x], s[-1], name="work")


def work(n):
    return float(f(np.ones(n)))


def outer(n):
    inner = context().Process(target=work, args=(n,), name="inner one")
    inner.start()
    inner.join()
    work(n + 1)


def context():
    return multiprocessing.get_context(sys.argv[1])


def unfinished():
    work(6)
    open("begun", "w").close()
    time.sleep(60)


def failing():
    work(5)
    sys.exit(3)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        process = context().Process(target=outer, args=(7,), name="outer")
        process.start()
        process.join()
    if "pool" in sys.argv:
        with context().Pool(2) as pool:
            print(len(pool.map(work, [20] * 4)))
        with ProcessPoolExecutor(1, mp_context=context()) as pool:
            print(len(list(pool.map(work, [20] * 2))))
    if "cut" in sys.argv:
        with context().Pool(1) as pool:
            pool.apply_async(unfinished)
            while not os.path.exists("begun"):
                time.sleep(0.01)
    if "fail" in sys.argv:
        process = context().Process(target=failing, name="failing")
        process.start()
        process.join()
    work(10)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "many.py").write_text(SCRIPT)
    return tmp_path


def steps_by_origin(path: Path) -> dict[str, int]:
    record = load(path)
    origins = {function.key: function.origin for function in record.functions}
    found: dict[str, int] = {origin.name: 0 for origin in record.origins}
    for loop in record.loops:
        found[origins[loop.function]] += loop.steps
    return found


def needs(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_child_and_grandchild_processes_save_profiles_that_are_merged(folder: Path, method: str) -> None:
    needs(method)
    done = command("profile", "--children", "many.py", method, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "erged from" in done.stderr
    expected = {"main": 10, "inner-one": 7, "outer": 8}
    assert steps_by_origin(folder / "many.scanviz") == expected
    record = load(folder / "many.scanviz")
    assert record.outcome.status == "ok"
    assert {origin.script for origin in record.origins} == {"many.py"}
    assert {origin.outcome.status for origin in record.origins} == {"ok"}
    assert {path.stem for path in (folder / "many-children").iterdir()} == {"inner-one", "outer"}
    assert load(folder / "many-children" / "outer.scanviz").loops[0].steps == 8


@pytest.mark.parametrize(
    "method", ["fork", *(pytest.param(each, marks=pytest.mark.slow) for each in ("spawn", "forkserver"))]
)
def test_pool_workers_save_complete_profiles_with_the_reason_of_their_end(folder: Path, method: str) -> None:
    needs(method)
    done = command("profile", "-q", "--children", "many.py", method, "pool", "cut", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "4\n2\n"), done.stderr
    found, record = steps_by_origin(folder / "many.scanviz"), load(folder / "many.scanviz")
    assert (sum(found.values()), found["main"]) == (4 * 20 + 2 * 20 + 6 + 10, 10)
    ended = [(found[each.name] == 6, each.outcome.status, each.outcome.message) for each in record.origins]
    assert ended.count((True, "interrupted", "terminated in the middle of its work")) == 1
    whole = {(False, "ok", ""), (False, "ok", "ended by its pool")}  # by its last message or by SIGTERM
    assert len([one for one in ended if one in whole]) == len(ended) - 1


def test_a_failed_child_process_is_recorded_and_does_not_fail_the_program(folder: Path) -> None:
    needs("fork")
    done = command("profile", "-q", "--children", "many.py", "fork", "fail", cwd=folder)
    assert done.returncode == 0, done.stderr
    record = load(folder / "many.scanviz")
    assert {o.name: o.outcome.code for o in record.origins}["failing"] == 3
    assert record.outcome.status == "ok"


def test_child_processes_are_recorded_only_with_the_option(
    folder: Path,
) -> None:
    needs("fork")
    for _ in range(2):
        assert command("profile", "-q", "--children", "many.py", "fork", cwd=folder).returncode == 0
    assert sorted(path.name for path in folder.glob("many-children*")) == ["many-children", "many-children-2"]
    assert command("profile", "-q", "-o", "alone.scanviz", "many.py", "fork", cwd=folder).returncode == 0
    assert load(folder / "alone.scanviz").origins == ()
    assert len(list(folder.glob("*children*"))) == 2
