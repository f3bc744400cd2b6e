"""Corners of running programs faithfully: archives, processes, signals, streams, and where the profile goes."""

import json
import signal
import sys
import textwrap
import zipapp

import pytest

import scanviz
from scanviz.cli import main
from scanviz.engine import observe
from scanviz.record.storage.file import load
from tests.cli.test_fidelity import LOOP, both, fresh, launch, script  # noqa: F401  # the fixture is used by name

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks are not Windows'")

PROGRAMS = {
    "a broken pipe": "raise BrokenPipeError('mine')",
    "an interrupt": "raise KeyboardInterrupt",
    "a group of errors": "raise ExceptionGroup('several', [ValueError(1), KeyError(2)])",
    "an odd exit code": "import sys; sys.exit(-1)",
    "an exit with a list": "import sys; sys.exit([1])",
    "an error in a thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='t'); t.start(); t.join()",
    "the last traceback": """
        import sys, traceback
        def hook(kind, value, trace):
            print(len(traceback.extract_tb(sys.last_traceback)), len(traceback.extract_tb(trace)))
        sys.excepthook = hook
        1 / 0
        """,
    "warnings": "import warnings\nwarnings.warn('old', DeprecationWarning)\nwarnings.warn('odd')",
    "processes that spawn": """
        import multiprocessing, sys
        def square(x):
            return x * x, __name__, sys.argv[1:]
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(square, [1, 2]))
        """,
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nested.py", "a b"], "there is no command 'nested.py'; write: scanviz profile nested.py 'a b'"),
        (["nested", "8"], "write: scanviz profile nested.py 8"),
        (["missing.py"], "write: scanviz profile missing.py"),
        (["-m", "nested"], "write: scanviz profile -m nested"),
        (["package"], "write: scanviz profile package"),
        (["run.scanviz"], "write: scanviz report run.scanviz"),
        (["-o", "x", "nested.py"], "options follow the command: scanviz COMMAND -o …"),
        (["reprot", "nested.py"], "there is no command 'reprot'; did you mean report?"),
        (["folder"], "there is no command 'folder'; commands: profile, check"),
        (["\x1b[31mred.py"], r"write: scanviz profile '\x1b[31mred.py'"),
    ],
)
def test_a_script_without_a_command_gets_the_command(tmp_path, monkeypatch, capsys, words, expected):
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "package"):
        (tmp_path / folder).mkdir()
    for name in ("nested.py", "package/__main__.py"):
        (tmp_path / name).write_text("raise SystemExit('ran')")
    assert main(words) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_behaves_as_under_python(script, name):  # noqa: F811
    path = script(PROGRAMS[name])
    plain, run = fresh(script.folder, path.name), fresh(script.folder, "-m", "scanviz", "run", path.name)
    profiled = launch(script.folder, "profile", "--quiet", path.name)
    for done in (run, profiled):
        assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_a_program_that_removes_scanviz_from_sys_modules_keeps_its_profile(script):  # noqa: F811
    path = script(LOOP + "f(np.ones(5))\ndel sys.modules['scanviz']\n")
    done = launch(script.folder, "profile", path.name)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert load(path.with_suffix(".scanviz")).scanviz == scanviz.__version__


@posix
def test_processes_that_fork_end_by_themselves_and_save_nothing(script):  # noqa: F811
    path = script(
        LOOP + "import os\nsys.stdout.flush()\nif os.fork() == 0:\n    f(np.ones(5)); sys.exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    done = launch(script.folder, "profile", path.name)
    assert done.returncode == 0 and done.stdout == "(200,)\n3\n"
    assert done.stderr.count("Saved") == 1
    assert load(script.folder / "script.scanviz").loops[0].steps == 200


@posix
def test_processes_that_fork_and_are_ended_at_once_end_as_under_python(script):  # noqa: F811
    path = script(
        LOOP
        + """
import os, signal, time
for _ in range(20):
    child = os.fork()
    if child == 0:
        time.sleep(60)
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == -signal.SIGTERM
assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
"""
    )
    done = launch(script.folder, "profile", "--quiet", path.name)
    assert (done.returncode, done.stderr) == (0, "")


@posix
def test_a_program_that_catches_a_signal_behaves_as_under_python(script):  # noqa: F811
    path = script(
        LOOP + "import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(4))\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    done = launch(script.folder, "profile", "-q", path.name)
    assert done.returncode == 4 and load(script.folder / "script.scanviz").outcome.code == 4


def test_archives_run_as_under_python(script):  # noqa: F811
    script("import sys\nprint(sys.argv, sys.path[0], __file__, __package__)\n", "app/__main__.py")
    zipapp.create_archive(
        script.folder / "app", script.folder / "app.pyz", interpreter="/usr/bin/env python3"
    )
    for target in ("app.pyz", "./app/"):
        plain, run = both(script.folder, target, "one")
        assert plain.returncode == run.returncode == 0 and run.stdout == plain.stdout


def test_a_program_is_read_from_standard_input(script):  # noqa: F811
    source = "import sys\nprint(sys.argv, sys.path[0], sorted(globals()))\n1 / 0\n"
    plain, run = both(script.folder, "-", "one", input=source)
    assert plain.returncode == run.returncode == 1
    assert (run.stdout, run.stderr) == (plain.stdout, plain.stderr)


def test_steps_of_a_thread_that_outlives_the_script_are_in_the_profile(script):  # noqa: F811
    path = script(
        LOOP + "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.3), f(np.ones(50)))).start()\n"
    )
    done = launch(script.folder, "profile", "-q", path.name)
    assert done.returncode == 0 and load(script.folder / "script.scanviz").loops[0].steps == 250


def test_nothing_to_run_leaves_an_earlier_profile_alone(script):  # noqa: F811
    path = script(LOOP)
    launch(script.folder, "profile", "-q", path.name)
    before = (script.folder / "script.scanviz").read_bytes()
    path.unlink()
    done = launch(script.folder, "profile", path.name)
    assert done.returncode == 2 and "can't open file" in done.stderr and "Saved" not in done.stderr
    assert (script.folder / "script.scanviz").read_bytes() == before


def test_a_profile_that_cannot_be_saved_hides_neither_report_nor_exit_code(script):  # noqa: F811
    path = script(LOOP + "import os\nos.rmdir('gone')\nsys.exit(5)\n")
    (script.folder / "gone").mkdir()
    done = launch(script.folder, "profile", "-o", "gone/p.scanviz", path.name)
    assert done.returncode == 5 and "could not be saved" in done.stderr
    assert "wave" in done.stderr and "Traceback" not in done.stderr


def test_the_report_is_written_to_the_original_standard_error(script):  # noqa: F811
    path = script(LOOP + "sys.stderr = open('log', 'w')\nsys.stdout = sys.stderr\n")
    done = launch(script.folder, "profile", path.name)
    assert done.returncode == 0 and "wave" in done.stderr
    assert (script.folder / "log").read_text() == ""


def test_options_after_the_script_are_passed_to_the_script(script):  # noqa: F811
    path = script("import sys; print(sys.argv[1:])")
    arguments = ["--quiet", "-o", "x", "--bogus", "--", "-h"]
    done = launch(script.folder, "profile", "-q", "--", path.name, *arguments)
    assert done.returncode == 0 and done.stdout == f"{arguments}\n" and done.stderr == ""


def test_a_report_of_an_unknown_loop_names_the_known_ones(script):  # noqa: F811
    path = script(LOOP)
    launch(script.folder, "profile", "-q", "-op.scanviz", path.name)
    done = launch(script.folder, "report", "p.scanviz", "--scan", "wav")
    assert done.returncode == 2 and "did you mean wave?" in done.stderr and done.stdout == ""
    one = launch(script.folder, "report", "p.scanviz", "--scan", "wave")
    assert one.returncode == 0 and "wave" in one.stdout
    two = launch(script.folder, "report", "p.scanviz", "q.scanviz")
    assert two.returncode == 2 and "takes one FILE, a saved profile, found 2" in two.stderr


def test_doctor_as_json_lists_the_install_command_of_missing_parts(tmp_path):
    done = launch(tmp_path, "doctor", "--json")
    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert found["numpy"]["works"] and {"dot", "GPU driver", "cupy", "textual-serve"} <= set(found)
    assert all(each["works"] or each["how_to_get"] for each in found.values())


def test_version_is_printed_without_an_installation(tmp_path):
    done = launch(tmp_path, "--version")
    assert done.returncode == 0 and done.stdout.startswith("scanviz 0.")


@pytest.fixture
def this_process():
    """A program is recorded to the end of its process; here that is the end of the test."""
    yield
    for observer in observe.observers():
        observe.detach(observer)


@pytest.mark.usefixtures("this_process")
def test_a_second_command_in_a_process_still_reports_errors(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "power.py").write_text(textwrap.dedent(LOOP))
    assert main(["graph", "-o", "out.json", "power.py"]) == 0
    (tmp_path / "damaged.scanviz").write_bytes(b"no profile")
    assert main(["report", "damaged.scanviz"]) == 1
    assert "damaged.scanviz" in capsys.readouterr().err


@pytest.mark.usefixtures("this_process")
def test_a_scanviz_command_run_by_a_program_does_not_change_the_programs_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "from scanviz.cli import main\nmain(['report', 'missing.scanviz'])\nraise scanviz.ScanvizError('mine')\n"
    (tmp_path / "program.py").write_text(textwrap.dedent(LOOP) + text)
    with pytest.raises(scanviz.ScanvizError, match="mine"):
        main(["graph", "-o", "out.json", "program.py"])


NO_DESCRIPTORS = (
    LOOP
    + """
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(open(os.devnull))
except OSError:
    pass
"""
)


@posix
@pytest.mark.parametrize("ending, code", [("sys.exit(7)", 7), ("os.kill(os.getpid(), 15)", -signal.SIGTERM)])
@pytest.mark.parametrize("options", [[], ["--html=page.html"]])
def test_a_program_that_closes_all_descriptors_keeps_its_profile_and_exit_code(script, options, ending, code):  # noqa: F811
    path = script(NO_DESCRIPTORS + ending)
    done = fresh(script.folder, "-m", "scanviz", "profile", *options, path.name)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    assert (
        load(path.with_suffix(".scanviz")).loops[0].name == "wave" and "Saved script.scanviz" in done.stderr
    )
    assert not options or (script.folder / "page.html").exists()


@posix
@pytest.mark.parametrize("words", ["rewrites", "program", "memory", "native", "graph -o wave.png"])
def test_output_after_the_program_needs_no_file_descriptor_of_the_program(script, words):  # noqa: F811
    path = script(NO_DESCRIPTORS + "sys.exit(7)")
    done = fresh(script.folder, "-m", "scanviz", *words.split(), path.name)
    assert done.returncode == 7 and "Traceback" not in done.stderr, done.stderr
    assert (done.stdout + done.stderr).count("\n") > 2 or (script.folder / "wave.png").exists()


@posix
def test_files_of_a_program_in_place_of_the_held_descriptors_stay_open(script):  # noqa: F811
    path = script(
        """
        import os
        os.closerange(3, 100)
        files = [open(f"{number}.txt", "w") for number in range(40)]
        for file in files:
            file.write("to be flushed")
        """
    )
    done = fresh(script.folder, "-m", "scanviz", "profile", "-q", path.name)
    assert done.returncode == 0 and not done.stderr
    assert {(script.folder / f"{number}.txt").read_text() for number in range(40)} == {"to be flushed"}
