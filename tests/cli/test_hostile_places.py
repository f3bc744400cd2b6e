"""Commands on devices, FIFOs, folders, full disks, odd names and odd clocks."""

import io
import os
import resource
import signal
import subprocess
import sys
import time
import zipfile

import pytest

from scanviz.record.model import ProfileRecord
from scanviz.record.storage.file import load, save
from tests.cli.commands import command
from tests.cli.test_fidelity import ENVIRONMENT, LOOP, fresh, launch, script  # noqa: F401  # the fixture is used by name
from tests.support import hostile

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="devices and FIFOs are POSIX")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.scanviz").write_bytes(hostile.archive_of(hostile.entries()))
    (tmp_path / "s.py").write_text("")
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


def names(place):
    return sorted(each.name for each in place.iterdir())


@pytest.mark.parametrize(
    "words", ["tui fifo", "learn 1 --check fifo", "profile --force -o fifo s.py", "profile --html=fifo s.py"]
)
def test_a_pipe_is_neither_read_nor_written(folder, words):
    """Other commands and places: a law."""
    before = names(folder)
    done = command(*words.split(), cwd=folder, NO_COLOR="1")
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    assert "it is a FIFO" in done.stderr or "needs a terminal" in done.stderr
    assert names(folder) == before


@pytest.mark.parametrize(
    "command", ["report p.scanviz", "html -o - p.scanviz", "export -f json -o /dev/stdout p.scanviz"]
)
def test_a_full_disk_behind_standard_output_is_reported(folder, command):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "scanviz", *command.split()],
            cwd=folder, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "scanviz: standard output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    "command", ["html -o out.x", "export -f json -o out.x", "graph --engine own -o out.svg", "profile"]
)
def test_a_full_disk_keeps_the_old_file_and_exits_with_an_error(folder, command):
    target = folder / {"graph": "out.svg", "profile": "s.scanviz"}.get(command.split()[0], "out.x")
    save(ProfileRecord(script="before"), target)
    before, there = target.read_bytes(), names(folder)
    (folder / "s.py").write_text(LOOP)
    words = [
        *command.split(),
        *(["--force"] if command != "profile" else []),
        "s.py" if command == "profile" else "p.scanviz",
    ]

    def little():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    done = fresh(folder, "-m", "scanviz", *words, preexec_fn=little)
    assert done.returncode in (1, 2), done
    assert (
        "cannot be written" in done.stderr
        and "File too large" in done.stderr
        and "Traceback" not in done.stderr
    )
    assert target.read_bytes() == before and names(folder) == there


def test_a_saved_link_is_followed_and_stays_one(folder):
    (folder / "elsewhere").mkdir()
    (folder / "s.scanviz").symlink_to("elsewhere/real.scanviz")
    done = launch(folder, "profile", "-q", "s.py")
    assert done.returncode == 0 and (folder / "s.scanviz").is_symlink()
    assert load(folder / "elsewhere" / "real.scanviz").script == "s.py"


def test_a_file_created_meanwhile_is_not_replaced(folder):
    (folder / "s.py").write_text("open('s.scanviz', 'w').write('mine')")
    done = launch(folder, "profile", "s.py")
    assert done.returncode == 0 and "Saved " in done.stderr and "s-1.scanviz" in done.stderr
    assert (folder / "s.scanviz").read_text() == "mine" and load(folder / "s-1.scanviz").script == "s.py"


def test_a_clock_before_1980_saves_profiles_too(tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: -1e9)
    monkeypatch.setattr("time.localtime", lambda *_: (1938, 4, 24, 22, 13, 20, 6, 114, 0))
    save(ProfileRecord(script="old.py"), tmp_path / "old.scanviz")
    assert load(tmp_path / "old.scanviz").script == "old.py"
    with zipfile.ZipFile(io.BytesIO((tmp_path / "old.scanviz").read_bytes())) as archive:
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_a_script_in_a_fifo_runs_and_an_endless_one_is_refused(tmp_path):
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m scanviz run <(echo 'print(6 * 7)'); {sys.executable} -m scanviz run /dev/zero"],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.stdout == "42\n" and done.returncode == 2 and "too large for a program" in done.stderr


STARTED = """
import runpy, sys
class Told:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print("importing", flush=True)
sys.meta_path.insert(0, Told())
sys.orig_argv[1:], sys.argv = ["-m", "scanviz"], ["-m", "report", "p.scanviz"]
runpy.run_module("scanviz", run_name="__main__", alter_sys=True)
"""


def reported(folder):
    """Return the output of an interrupted command."""
    command = [sys.executable, "-m", "scanviz", "report", "p.scanviz"]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("wait", [0.0, 0.05, 0.15, 0.3])
def test_ctrl_c_while_the_command_is_imported_is_quiet(folder, wait):
    process = subprocess.Popen(
        [sys.executable, "-c", STARTED], cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdout.readline() == "importing\n"
    time.sleep(wait)
    process.send_signal(signal.SIGINT)
    message, errors = process.communicate(timeout=300)
    assert errors == ""
    if process.returncode == 0:  # the command had finished, as on a fast machine
        assert wait > 0 and message == reported(folder)
    else:
        assert process.returncode in (130, -signal.SIGINT)
