"""Compiled loops on disk: shared by processes, whole or absent, bounded, and private to the user."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native.cache import entries, jit
from scanviz.engine.backends.registry import availability
from scanviz.engine.config import config

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the cache needs owners of files")
needs_llvm = pytest.mark.skipif(not availability("native").works, reason=availability("native").why)
KEY = hashlib.sha256(b"a key").hexdigest()
PROCESS = """
import sys
from scanviz.engine.backends.native.cache import entries, jit
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Keep entries in a folder of the test's, here and in the processes that it starts."""
    found = tmp_path / "kept"
    monkeypatch.setattr(config.native, "cache", str(found))
    monkeypatch.setenv("SCANVIZ_NATIVE_CACHE", str(found))
    return found


def keys(place):
    return sorted(entry.name for entry in place.iterdir())


def run_a_loop(factor=2.0):
    """Return a new function's results and the reason for its loop's code."""
    x = T.vector("x")
    y, _ = scanviz.scan(lambda x_t, y: T.exp(x_t - y * factor), x, np.float64(0))
    f = scanviz.function([x], y, mode="native")
    found = f(np.linspace(-1, 1, 7))
    (runner,) = f.executable.flat.runners.values()
    (made,) = runner.all_made()
    return found, made.why


@needs_llvm
def test_a_loop_is_compiled_once_and_then_read(place):
    first, why = run_a_loop()
    assert why == "machine code for the shapes met"
    (key,) = keys(place)
    second, why = run_a_loop()
    assert why == "machine code for the shapes met, kept on disk from an earlier run"
    np.testing.assert_array_equal(first, second)
    run_a_loop(3.0)
    assert len(keys(place)) == 2 and key in keys(place)


@needs_llvm
def test_the_key_has_the_code_and_the_processor_but_not_the_lines_of_the_user(monkeypatch):
    from scanviz.engine.backends.native.cache import jit

    text = "define i64 @scanviz_loop() {\n  ; mul  mine.py:3: x * 2\n  ret i64 0\n}\n"
    same, other = text.replace("mine.py:3", "yours.py:4"), text.replace("i64 0", "i64 1")
    assert jit._key(text) == jit._key(same) != jit._key(other)
    known = jit._key(text)
    monkeypatch.setattr(jit, "target", lambda: jit.Processor("x86-64", "", 16))
    assert jit._key(text) != known


def test_a_stored_entry_is_loaded_and_is_private_to_the_user(place):
    assert entries.load(KEY) is None and not place.exists()
    entries.store(KEY, b"code")
    assert entries.load(KEY) == b"code"
    assert place.stat().st_mode & 0o777 == 0o700 and (place / KEY).stat().st_mode & 0o777 == 0o600


def test_no_code_is_cached_when_the_cache_is_off(place, monkeypatch):
    monkeypatch.setattr(config.native, "cache", "off")
    entries.store(KEY, b"code")
    assert entries.load(KEY) is None and not place.exists()


def test_the_usual_folder_is_the_platforms(monkeypatch, tmp_path):
    monkeypatch.setattr(config.native, "cache", "auto")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert entries.folder() == str(tmp_path / "scanviz" / "native")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tmp_path in Path(entries.folder()).parents


@pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can give a folder to somebody else"
)
def test_a_folder_of_another_user_is_neither_read_nor_written(place):
    entries.store(KEY, b"code")
    os.chown(place, 1234, -1)
    assert entries.load(KEY) is None
    entries.store(hashlib.sha256(b"another").hexdigest(), b"code")
    assert keys(place) == [KEY]
    config.native.cache = str(place / "below")
    entries.store(KEY, b"code")
    assert not (place / "below").exists()


def test_a_read_only_folder_is_still_read(place, monkeypatch):
    entries.store(KEY, b"code")
    open_file, other = os.open, hashlib.sha256(b"another").hexdigest()

    def refused(path, flags, *rest, **named):  # root may write to any folder
        if flags & os.O_WRONLY:
            raise PermissionError(13, "Permission denied")
        return open_file(path, flags, *rest, **named)

    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr(os, "utime", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "no")))
    entries.store(other, b"code")
    assert entries.load(KEY) == b"code" and entries.load(other) is None


def test_a_full_disk_leaves_no_partial_entry(place, monkeypatch):
    entries.store(KEY, b"code")
    monkeypatch.setattr(os, "rename", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left")))
    entries.store(hashlib.sha256(b"another").hexdigest(), b"code")
    assert keys(place) == [KEY]


def test_the_folder_stays_below_its_bound_and_keeps_recent_entries(place, monkeypatch):
    monkeypatch.setattr(config.native, "cache_bytes", 100_000)
    entries.store(KEY, b"c" * 1000)
    for number in range(400):
        entries.store(hashlib.sha256(b"%d" % number).hexdigest(), b"c" * 1000)
        os.utime(place / KEY) if number % 20 else entries.load(KEY)
    held = sum(entry.stat().st_size for entry in place.iterdir())
    assert held < 100_000 * 1.6  # the folder is looked through now and then
    assert entries.load(KEY) is not None


def test_folders_above_the_cache_are_private_to_the_user(place):
    config.native.cache = str(place / "scanviz" / "native")
    entries.store(KEY, b"code")
    assert {
        each.stat().st_mode & 0o777 for each in (place, place / "scanviz", place / "scanviz" / "native")
    } == {0o700}


def test_a_dead_processs_temporary_file_is_removed_later(place):
    entries.store(KEY, b"code")
    left, young, foreign = (place / f"{entries.TEMPORARY}1-{digit * 16}" for digit in "123")
    left.write_bytes(entries.MAGIC + b"half")
    young.write_bytes(entries.MAGIC)
    foreign.write_bytes(b"a thesis")
    for old in (left, foreign):
        os.utime(old, (0, 0))
    entries.store("0" * 64, b"code")
    assert not left.exists() and young.exists() and foreign.exists()


def started(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS + code, *arguments], stdout=subprocess.PIPE, text=True
    )


def test_many_processes_read_and_write_one_entry_at_once(place):
    code = """
wrong = 0
for number in range(80):
    content = bytes([int(sys.argv[1])]) * 50_000
    entries.store(sys.argv[2], content)
    found = entries.load(sys.argv[2])
    wrong += found is not None and (len(found) != 50_000 or len(set(found)) != 1)
    wrong += found is None
print(wrong)
"""
    processes = [started(code, str(number), KEY) for number in range(3)]
    assert [process.communicate(timeout=300)[0].strip() for process in processes] == ["0"] * 3
    assert keys(place) == [KEY]


def test_a_killed_process_leaves_complete_entries(place):
    code = """
import itertools
for number in itertools.count():
    entries.store(f"{number % 8:064x}", bytes([number % 251]) * 100_000)
    if not number:
        print("begun", flush=True)
"""
    for _ in range(4):
        process = started(code)
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.03)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        names = [name for name in keys(place) if re.fullmatch("[0-9a-f]{64}", name)]
        assert names
        for name in names:
            found = entries.load(name)
            assert found is not None and len(found) == 100_000 and len(set(found)) == 1


def gates(bias=0.5, name="gates"):
    x, W = T.matrix("x"), T.matrix("W")

    def step(x_t, h, W):
        inside, _ = scanviz.scan(lambda g: T.tanh(g * bias), None, h, n_steps=3, name="within")
        return inside[-1] + T.dot(x_t, W) * np.arange(4.0)

    rows, _ = scanviz.scan(step, x, T.zeros(4), [W], name=name)
    return scanviz.function([x, W], rows, mode="native")


def why_of(f):
    (runner,) = f.executable.flat.runners.values()
    return runner.all_made()[0].why


VALUES = np.linspace(-1, 1, 12).reshape(3, 4), np.linspace(0, 1, 16).reshape(4, 4)
FROM_DISK = "machine code for the shapes met, kept on disk from an earlier run"


@needs_llvm
def test_the_key_depends_on_constants_but_not_on_names():
    expected = gates()(*VALUES)
    again, other = gates(name="under another name"), gates(bias=0.25)
    np.testing.assert_array_equal(again(*VALUES), expected)
    assert why_of(again) == FROM_DISK
    assert not np.array_equal(other(*VALUES), expected)
    assert why_of(other) == "machine code for the shapes met"


@needs_llvm
@pytest.mark.parametrize("what", ["versions", "target"])
def test_code_of_another_version_or_processor_is_not_loaded(monkeypatch, what):
    gates()(*VALUES)
    if what == "versions":
        monkeypatch.setattr(jit.llvm, "versions", lambda: ("another",))
    else:
        monkeypatch.setattr(jit, "target", lambda: jit.Processor("x86-64", "", 16))
    f = gates()
    f(*VALUES)
    assert why_of(f) == "machine code for the shapes met"


@needs_llvm
def test_special_functions_are_found_by_code_from_disk():
    def made():
        x = T.vector("x")
        rows, _ = scanviz.scan(
            lambda x_t, h: T.erf(x_t + h) + T.fmod(x_t, 0.3) if hasattr(T, "fmod") else T.erf(x_t + h), x, 0.0
        )
        return scanviz.function([x], rows, mode="native")

    given = np.linspace(-2, 2, 9)
    first, again = made(), made()
    np.testing.assert_array_equal(first(given), again(given))
    assert why_of(again) == FROM_DISK
