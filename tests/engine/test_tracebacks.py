"""Printed tracebacks end in the user's frame; debuggers still see every frame."""

import os
import re
import subprocess
import sys

import pytest

import scanviz
from scanviz.engine.tracebacks import program_frames

SCRIPT = """
import scanviz, sys, threading
from scanviz import tensor as T
x = T.vector("x")

def identity():
    return x * (x == 1)

def in_step():
    def step(x_t):
        return 1 / 0
    return scanviz.scan(step, sequences=x)

def at_run_time():
    f = scanviz.function([x], x[3])
    return f([1.0])

def attribute():
    return x.nonsense

def name():
    return scanviz.nonsense

def interrupted_soon():
    import _thread, time
    main = threading.get_ident()

    def interrupt():
        while not in_engine(sys._current_frames()[main]):
            time.sleep(0.01)
        while True:  # Python swallows an interrupt that a weakref's callback hears
            _thread.interrupt_main()
            time.sleep(20)

    threading.Thread(target=interrupt, daemon=True).start()

def in_engine(frame):
    while frame and "engine" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame

def deep_loop(h):
    for _ in range(200):
        h = T.tanh(h)
    return h

def ctrl_c_while_building():
    interrupted_soon()
    while True:
        scanviz.scan(deep_loop, outputs_info=T.zeros(3), n_steps=9)

def ctrl_c_while_compiling():
    h, _ = scanviz.scan(deep_loop, outputs_info=T.zeros(3), n_steps=9)
    interrupted_soon()
    while True:
        scanviz.function([], h)

def ctrl_c_while_running():
    h, _ = scanviz.scan(T.cos, outputs_info=T.zeros(3), n_steps=10**9)
    f = scanviz.function([], h[-1], mode="numpy")
    interrupted_soon()
    f()

def ctrl_c_in_machine_code():
    n = T.lscalar("n")
    h, _ = scanviz.scan(T.cos, outputs_info=T.zeros(3), n_steps=n)
    f = scanviz.function([n], h[-1], mode="native")
    f(9)
    interrupted_soon()
    f(10**12)

def ctrl_c_in_llvm():
    from llvmlite.binding import targets
    scanviz.config.native.cache = "off"
    handles = "try: {}[0]\\n except KeyError: raise KeyboardInterrupt"  # an error of its own, when ctrl+c comes
    exec(f"def emit_object(*given):\\n {handles}", vars(targets))
    targets.TargetMachine.emit_object = targets.emit_object
    h, _ = scanviz.scan(T.cos, outputs_info=T.zeros(3), n_steps=9)
    scanviz.function([], h[-1], mode="native")()

def of_numpy():
    import numpy
    return numpy.tanh(x)

def chained():
    try:
        identity()
    except scanviz.ScanvizError as error:
        raise KeyError("mine") from error

def in_thread():
    thread = threading.Thread(target=identity)
    thread.start()
    thread.join()

def hooked():
    before = sys.excepthook
    sys.excepthook = lambda *error: (print("mine", file=sys.stderr), before(*error))
    identity()

globals()[sys.argv[1]]()
"""

# what Python itself prints of an interrupt in a callback of a weakref, before the next one comes
SWALLOWED = re.compile(r"Exception ignored in: .*\n(?:Traceback .*\n)?(?:  .*\n)*KeyboardInterrupt: ?\n")


def printed(tmp_path, what, *command, **environment):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = os.path.dirname(os.path.dirname(os.path.abspath(scanviz.__file__)))
    given = {**os.environ, "PYTHONPATH": root, **environment}
    done = subprocess.run(
        [sys.executable, *command, script, what], capture_output=True, text=True, env=given, cwd=tmp_path
    )
    text = SWALLOWED.sub("", done.stderr)
    frames = [line.split(" in ")[1] for line in text.splitlines() if line.startswith("  File ")]
    return frames, text


@pytest.mark.parametrize(
    ("what", "frames"),
    [
        ("identity", ["<module>", "identity"]),
        ("in_step", ["<module>", "in_step", "step"]),
        ("at_run_time", ["<module>", "at_run_time"]),
        ("attribute", ["<module>", "attribute"]),
        ("name", ["<module>", "name"]),
        ("of_numpy", ["<module>", "of_numpy"]),
        ("chained", ["chained", "identity", "<module>", "chained"]),
        ("hooked", ["<module>", "hooked", "identity"]),
    ],
)
def test_the_users_frame_is_the_last_one(tmp_path, what, frames):
    found, text = printed(tmp_path, what)
    assert found == frames, text
    assert ("mine" in text) == (what in ("hooked", "chained"))


@pytest.mark.parametrize(
    ("what", "command"),
    [
        ("ctrl_c_while_building", []),
        ("ctrl_c_while_compiling", []),
        ("ctrl_c_in_llvm", []),
        ("ctrl_c_in_machine_code", []),
        ("ctrl_c_while_running", []),
        ("ctrl_c_while_running", ["-m", "scanviz", "run"]),
        ("ctrl_c_while_running", ["-m", "scanviz", "profile"]),
    ],
)
def test_ctrl_c_shows_the_users_line_last(tmp_path, what, command):
    found, text = printed(tmp_path, what, *command)
    assert found[:2] == ["<module>", what] and found[2:] in ([], ["deep_loop"]), text
    assert "KeyboardInterrupt" in text


def test_a_thread_shows_the_users_frame_last_too(tmp_path):
    found, text = printed(tmp_path, "in_thread")
    assert found[-1] == "identity" and "scanviz/engine" not in text.replace("scanviz.engine", "")


@pytest.mark.parametrize("switch", ["SCANVIZ_TRACEBACK", "SCANVIZ_DEBUG"])
def test_all_frames_are_shown_on_request(tmp_path, switch):
    found, _ = printed(tmp_path, "identity", **{switch: "full"})
    assert len(found) > 3


def test_frames_come_back_when_the_traceback_is_printed():
    x = scanviz.tensor.vector("x")
    with pytest.raises(scanviz.ScanvizError) as caught:
        _ = x * (x == 1)
    error = caught.value
    whole = error.__traceback__
    with program_frames(error):
        assert error.__traceback__.tb_next is None
    assert error.__traceback__ is whole and whole.tb_next is not None


@pytest.mark.parametrize(
    ("module", "expected", "start"),
    [
        ("theano.tensor", "from scanviz import tensor as T: docs/moving.md", []),
        ("pytensor", "from scanviz import tensor as T: docs/moving.md", ["-m", "scanviz", "run"]),
        ("aesara", "a Theano script", ["-m", "scanviz", "check"]),
        ("jax.numpy", "scanviz.scan(step, sequences=xs, outputs_info=init) in place of lax.scan", []),
        ("jaxlib", "docs/moving.md", []),
    ],
)
def test_a_script_of_another_system_gets_the_place_of_names(tmp_path, module, expected, start):
    script = tmp_path / "script.py"
    script.write_text(
        f"import scanviz, sys\nsys.modules[{module.partition('.')[0]!r}] = None\nimport {module}\n"
    )
    done = subprocess.run([sys.executable, *start, script], capture_output=True, text=True)
    assert done.returncode == 1 and "\n  write:    " in done.stderr and expected in done.stderr


def test_an_installed_library_that_lacks_a_name_gets_no_advice(tmp_path):
    (tmp_path / "jax.py").write_text("")
    script = tmp_path / "script.py"
    script.write_text("import scanviz\nfrom jax import nothing\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1 and "cannot import name 'nothing' from 'jax'" in done.stderr
    assert "write:" not in done.stderr


def test_a_missing_foreign_module_has_pythons_message(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import scanviz, jax_of_mine\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'jax_of_mine'\n")


def test_the_traceback_setting_has_two_values():
    assert scanviz.config.traceback in ("short", "full")
    with pytest.raises(ValueError, match="'short' or 'full'"):
        scanviz.config.traceback = "long"


def test_an_error_is_shown_unchanged_when_traceback_code_cannot_be_imported():
    code = """
import sys, scanviz
sys.modules["scanviz.engine.tracebacks"] = None  # as where no file can be opened
raise ValueError("shown")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.endswith("ValueError: shown\n")
    assert "Error in sys.excepthook" not in done.stderr
