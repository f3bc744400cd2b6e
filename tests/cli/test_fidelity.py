"""``scanviz run`` and ``scanviz profile`` against plain python, in processes that started and end as that does where it matters."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from scanviz.record.storage.file import load
from tests.cli.commands import command

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}


def launch(folder, *arguments, input=None):  # as subprocess calls it
    """Run scanviz in a forked process, which is quick."""
    if input is None:
        return command(*arguments, cwd=folder, NO_COLOR="1")
    (folder / "typed").write_text(input)
    with (folder / "typed").open() as given:
        return command(*arguments, cwd=folder, stdin=given, NO_COLOR="1")


def fresh(folder, *arguments, **options):
    """Run Python in a process that starts from nothing."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


def both(folder, *arguments, **options):
    """Return what python and scanviz run do with the same arguments."""
    return fresh(folder, *arguments, **options), launch(folder, "run", *arguments, **options)


@pytest.fixture
def script(tmp_path):
    def write(source, name="script.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        return path

    write.folder = tmp_path
    return write


ENDINGS = {
    "normal": ("print('hi')", 0),
    "exit code": ("import sys; sys.exit(7)", 7),
    "exit text": ("import sys; sys.exit('bye')", 1),
    "exit None": ("raise SystemExit", 0),
    "an error": ("def f():\n    raise ValueError('no')\nf()", 1),
    "a chained error": ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e", 1),
    "a syntax error": ("x = = 3", 1),
    "a note": ("e = ValueError('no'); e.add_note('see here'); raise e", 1),
    "an excepthook": (
        "import sys\nsys.excepthook = lambda k, v, t: print('hook', k.__name__, t.tb_next is None)\n1 / 0",
        1,
    ),
    "atexit": ("import atexit; atexit.register(print, 'last'); print('first')", 0),
    "a thread": (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\nprint('main')",
        0,
    ),
    "a pool left open": (
        "from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(1)\nprint(p.submit(int, '3').result())",
        0,
    ),
    "a future import": ("def f(x: undefined): pass", 1),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_a_script_ends_as_under_python(script, name):
    source, code = ENDINGS[name]
    path = script(source)
    plain, run = fresh(script.folder, path.name), fresh(script.folder, "-m", "scanviz", "run", path.name)
    assert plain.returncode == run.returncode == code
    assert run.stdout == plain.stdout
    assert run.stderr == plain.stderr


def test_a_script_has_the_same_environment_as_under_python(script):
    path = script(
        """
        from __future__ import annotations
        import os, pickle, sys
        class Point:
            pass
        print(sys.argv, __file__, __name__, __package__, __spec__, __doc__, sorted(k for k in globals() if k.startswith("__")))
        print(sys.path[0], os.getcwd(), sys.modules["__main__"].Point is Point, type(pickle.loads(pickle.dumps(Point()))) is Point)
        print(sys.stdin.read(), file=sys.stderr)
        """,
        "sub/world.py",
    )
    plain, run = both(
        script.folder, str(path.relative_to(script.folder)), "-o", "--quiet", "x y", input="typed"
    )
    assert plain.returncode == run.returncode == 0
    assert run.stdout == plain.stdout
    assert run.stderr == plain.stderr == "typed\n"


def test_modules_and_code_run_as_under_python(script):
    show = "import sys\nprint(sys.argv[1:], sys.argv[0][-12:], __name__, __package__, __spec__ and __spec__.name, sys.path[0])\n"
    script(show, "package/__main__.py")
    script("", "package/__init__.py")
    script(show, "single.py")
    for arguments in (["-m", "package", "a"], ["-m", "single", "-b"], ["-c", show, "c"], ["package", "d"]):
        plain, run = both(script.folder, *arguments)
        assert plain.returncode == run.returncode == 0, arguments
        assert run.stdout == plain.stdout, arguments


def test_a_script_that_cannot_run_is_reported_with_pythons_exit_code(script):
    for arguments in (["missing.py"], ["-m", "missing_module"], [str(script.folder)]):
        plain, run = both(script.folder, *arguments)
        assert plain.returncode == run.returncode != 0, arguments
        assert run.stderr.startswith("scanviz: ") and "Traceback" not in run.stderr


LOOP = """
import sys
import numpy as np
import scanviz
from scanviz import tensor as T
x = T.vector("x")
rows, _ = scanviz.scan(lambda x_t, h: T.tanh(h + x_t), sequences=x, outputs_info=0.0, name="wave")
f = scanviz.function([x], rows, name="f")
print(f(np.ones(200)).shape)
"""


def test_profile_prints_a_report_and_saves_the_profile(script):
    path = script(LOOP)
    done = launch(script.folder, "profile", path.name, "argument")
    assert done.returncode == 0 and done.stdout == "(200,)\n"
    assert (
        "wave" in done.stderr and "Saved" in done.stderr and len(done.stderr.splitlines()) <= 23
    )  # a busy machine takes a few more lines
    record = load(script.folder / "script.scanviz")
    (loop,) = record.loops
    assert (loop.name, loop.steps, record.outcome.status) == ("wave", 200, "ok")
    again = launch(script.folder, "report", "script.scanviz")
    assert again.returncode == 0 and "wave" in again.stdout
    as_json = launch(script.folder, "report", "--json", "script.scanviz")
    assert '"name": "wave"' in as_json.stdout


def test_a_failing_script_still_leaves_its_profile(script):
    path = script(LOOP + "raise RuntimeError('late')\n")
    done = launch(script.folder, "profile", "--quiet", path.name)
    plain = fresh(script.folder, path.name)
    assert done.returncode == 1 and done.stderr == plain.stderr
    record = load(script.folder / "script.scanviz")
    assert record.outcome.status == "error" and "late" in record.outcome.message
    assert record.loops[0].steps == 200


def test_an_error_of_scanviz_shows_only_the_users_frames(script):
    path = script(LOOP + "bad, _ = scanviz.scan(lambda a, b: a, x)\n")
    done = launch(script.folder, "run", path.name)
    assert done.returncode == 1
    assert done.stderr.count("File ") == 1 and "scanviz/engine" not in done.stderr
    assert "scan passes" in done.stderr
    at_run_time = script(
        LOOP
        + "rows, _ = scanviz.scan(lambda h: h[1:], outputs_info=x, n_steps=2)\nscanviz.function([x], rows)([1.0])\n"
    )
    done = launch(script.folder, "run", at_run_time.name)
    assert (
        done.stderr.count("File ") == 1
        and "direct cause" not in done.stderr
        and "changed its shape" in done.stderr
    )


@pytest.mark.skipif(sys.platform == "win32", reason="signals are not Windows'")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_script_ended_by_a_signal_leaves_its_profile(script, number):
    path = script(LOOP + "print('ready', flush=True)\nimport time\ntime.sleep(600)\n")
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored:  # as in a shell's background job: the child would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [sys.executable, "-m", "scanviz", "profile", path.name],
        cwd=script.folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while "ready" not in process.stdout.readline():
        assert process.poll() is None
    time.sleep(0.2)
    process.send_signal(number)
    _, errors = process.communicate(timeout=300)
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert process.returncode == -number
    assert "wave" in errors
    record = load(script.folder / "script.scanviz")
    assert record.outcome.status == "interrupted" and record.loops[0].steps == 200


def test_a_file_that_is_no_profile_is_not_overwritten(script):
    script(LOOP)
    precious = script.folder / "script.scanviz"
    precious.write_text("not a profile")
    done = launch(script.folder, "profile", "script.py")
    assert done.returncode == 0 and precious.read_text() == "not a profile"
    assert (script.folder / "script-1.scanviz").exists() and "script-1.scanviz" in done.stderr
    refused = launch(script.folder, "profile", "-o", "script.scanviz", "script.py")
    assert refused.returncode == 2 and "--force" in refused.stderr
    forced = launch(script.folder, "profile", "--force", "-q", "-o", "script.scanviz", "script.py")
    assert forced.returncode == 0 and load(precious).loops


def test_help_imports_little(tmp_path):
    for arguments in (
        ["--help"],
        ["profile", "--help"],
        ["run", "-h"],
        ["report", "--help"],
        ["doctor", "--help"],
    ):
        done = fresh(tmp_path, "-X", "importtime", "-m", "scanviz", *arguments)
        assert done.returncode == 0 and "usage: scanviz" in done.stdout


def test_doctor_lists_every_backend_and_the_install_command_of_missing_ones(tmp_path):
    done = launch(tmp_path, "doctor")
    assert done.returncode == 0
    for name in ("reference", "numpy", "cupy", "textual"):
        assert name in done.stdout
    missing = [line for line in done.stdout.splitlines() if line.strip().startswith("missing")]
    assert done.stdout.count("get it:") >= len(missing) > 0 or not missing
