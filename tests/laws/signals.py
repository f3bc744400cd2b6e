"""Laws of signals: at any moment they leave a whole profile, or a message and an exit code without one.

A small script is profiled in a process of its own and sent a signal at a moment that is drawn: while it is imported, while it
runs, and above all while its profile is saved, which begins when the script's last handler has run.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from hypothesis import strategies as st

from scanviz.record.model import ProfileRecord
from scanviz.record.storage.file import load, save
from tests.laws.law import law

_SCRIPT = """
import atexit, sys, time
import numpy as np, scanviz
from scanviz import tensor as T
x = T.vector("x")
h, _ = scanviz.scan(lambda x_t, h: T.tanh(h + x_t), sequences=x, outputs_info=0.0, name="wave")
f = scanviz.function([x], scanviz.grad(h[-1], x))
f(np.ones(200))
print("ran", flush=True)
atexit.register(print, "ended", flush=True)
time.sleep(float(sys.argv[1]))
"""
_EARLIER = ProfileRecord(script="of an earlier run")
_PATIENCE = 60.0
_NUMBERS = [number for number in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, number)]
_COMMANDS = ("profile wave.py 0", "profile --html --quiet wave.py 0", "profile --values wave.py 0")


def _moments() -> st.SearchStrategy[tuple[str, float]]:
    """After which word of the process, and how many seconds later: most while it ends, when it saves."""
    saving = st.tuples(st.just("ended"), st.floats(0, 0.15))
    running = st.tuples(st.just("ran"), st.floats(0, 0.3))
    starting = st.tuples(st.just(""), st.floats(0.05, 1.5))
    return saving | saving | running | starting


@law(
    sample=1,
    moment=_moments(),
    name=st.sampled_from(_NUMBERS),
    words=st.sampled_from(_COMMANDS),
    earlier=st.booleans(),
    again=st.booleans(),
)
def a_signal_loses_no_profile(
    moment: tuple[str, float], name: str, words: str, earlier: bool, again: bool
) -> None:
    """A signal to ``scanviz profile`` leaves the profile or the whole earlier one, and exit code 0 only with a profile."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "wave.scanviz"
        (Path(folder) / "wave.py").write_text(_SCRIPT, "utf-8")
        if earlier:
            save(_EARLIER, place)
        code, text, errors = _interrupted(folder, words.split(), moment, name, again)
        saved = place.exists() and load(place).script != _EARLIER.script
        seen = f"exit code {code}, printed {text!r}, errors {errors!r}"
        assert saved or code != 0, f"no profile, and {seen}"
        assert saved or "ended" not in text, f"the run is over and its profile is lost: {seen}"
        assert place.exists() or not earlier, f"the earlier profile is lost: {seen}"
        of_python = "wave.py" in errors or _came_before_scanviz(
            errors
        )  # ctrl+c in the script, or before we could answer it
        assert "Traceback" not in errors or of_python, seen
        assert "Exception ignored in atexit" not in errors, seen
        left = {path.name for path in Path(folder).iterdir()} - {"wave.py", "wave.scanviz", "wave.html"}
        assert not left, f"left behind: {left}; {seen}"


def _came_before_scanviz(errors: str) -> bool:
    """Return whether a traceback ends before ``scanviz.startup`` has run, the first of ours that does."""
    files = (Path(file) for file in re.findall(r'File "([^"]+)"', errors))
    return {file.name for file in files if "scanviz" in file.parts} <= {"__init__.py", "startup.py"}


def _interrupted(
    folder: str, words: list[str], moment: tuple[str, float], name: str, again: bool
) -> tuple[int, str, str]:
    """Run a command, send it a signal at a moment, perhaps twice, and return its exit code and output."""
    process = subprocess.Popen(
        [sys.executable, "-m", "scanviz", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
    )
    assert process.stdout is not None
    word, wait = moment
    text = _read_until(process.stdout, word)
    time.sleep(wait)
    for _ in range(1 + again):
        if process.poll() is None:
            process.send_signal(getattr(signal, name))
        time.sleep(0.01)
    try:
        rest, errors = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise AssertionError(f"no end {_PATIENCE:.0f} s after {name}") from None
    return process.returncode, text + rest.decode(), errors.decode()


def _read_until(stream: IO[bytes], word: str) -> str:
    """Return the output up to a word, or to the end."""
    text = ""
    while word and word not in text:
        line = stream.readline().decode()
        if not line:
            break
        text += line
    return text


@law(
    sample=1,
    words=st.sampled_from(_COMMANDS),
    room=st.integers(0, 30_000),
    earlier=st.booleans(),
)
def a_full_disk_loses_no_profile(words: str, room: int, earlier: bool) -> None:
    """A full disk leaves the earlier profile whole and no other file; the exit code is not 0."""
    if sys.platform == "win32":
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "wave.scanviz"
        (Path(folder) / "wave.py").write_text(_SCRIPT, "utf-8")
        if earlier:
            save(_EARLIER, place)
        limited = "import resource, runpy, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        limited += f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room})); runpy.run_module('scanviz', run_name='__main__')"
        done = subprocess.run(
            [sys.executable, "-c", limited, *words.split()],
            cwd=folder,
            env=_environment(),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        saved = place.exists() and load(place).script != _EARLIER.script
        page = "--html" not in words or (Path(folder) / "wave.html").exists()
        assert (done.returncode == 0) == (saved and page), done
        assert done.returncode == 0 or "cannot be written" in done.stderr, done
        assert "Traceback" not in done.stderr and (place.exists() or not earlier), done
        left = {path.name for path in Path(folder).iterdir()} - {"wave.py", "wave.scanviz", "wave.html"}
        assert not left, f"left behind: {left}"


def _environment() -> dict[str, str]:
    """Return the environment of a command that imports what this process does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_COLOR": "1"}
