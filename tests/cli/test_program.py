"""`scanviz program` in processes of their own."""

import json
import os
import zipfile

import pytest

from scanviz.engine.backends.registry import availability
from tests.cli.commands import command
from tests.cli.scripts import RUN_ONCE

SCRIPT = RUN_ONCE + 'g = scanviz.function([x], T.exp(x), name="apart")\n'


def scanviz_(*arguments, cwd, **environment):
    return command(*arguments, cwd=cwd, COLUMNS="", **environment)  # to a pipe, whatever the tests run in


@pytest.fixture
def script(tmp_path):
    (tmp_path / "rnn.py").write_text(SCRIPT)
    return tmp_path


def test_only_the_programs_of_a_script_are_printed(script):
    done = scanviz_("program", "rnn.py", cwd=script)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "ran (3,)\n"
    assert "program train(" in done.stdout and "program apart(" in done.stdout
    assert "loop `rnn`" in done.stdout and "loop `grad_of_rnn`" in done.stdout
    assert "# rnn.py:5" in done.stdout and "state h (sitsot), tap -1" in done.stdout
    assert "buffer 0" in done.stdout and "row of h  " in done.stdout


COMPILED = """
import numpy as np, scanviz
from scanviz import tensor as T
scanviz.config.native.pays_after = 0.0
x = T.matrix("x")
rows, _ = scanviz.scan(lambda x_t, h: T.tanh(0.9 * h + T.exp(0.5 * x_t) + 0.1), x, T.zeros(8), name="smooth")
f = scanviz.function([x], [rows, scanviz.grad((rows**2).sum(), x)], name="f")
f(np.ones((200_000, 8)))
"""


def test_a_saved_program_contains_its_source_lines(script):
    scanviz_("program", "-o", "f.program", "--function", "train", "rnn.py", cwd=script)
    scanviz_("profile", "-q", "rnn.py", cwd=script)
    (script / "elsewhere").mkdir()
    (script / "rnn.py").write_text("root:x:0:0\n" * 20)
    (script / "elsewhere" / "rnn.py").write_text("root:x:0:0\n" * 20)
    for name in ("f.program", "rnn.scanviz"):
        done = scanviz_("program", f"../{name}", cwd=script / "elsewhere")
        assert done.returncode == 0 and "# " in done.stdout, done.stderr
        assert "root:" not in done.stdout and "h, _ = scanviz.scan(lambda x_t, h, w:" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="devices and FIFOs are POSIX")
@pytest.mark.parametrize(
    "named", ["secret.txt", "fifo.py", "/dev/zero", "/proc/self/environ", "a\0b.py", "folder"]
)
def test_a_foreign_program_file_shows_no_local_file(script, named):
    (script / "secret.txt").write_text("root:x:0:0\n" * 20)
    os.mkfifo(script / "fifo.py")
    (script / "folder").mkdir()
    scanviz_("program", "-o", "f.program", "--function", "apart", "rnn.py", cwd=script)
    with zipfile.ZipFile(script / "f.program") as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(entries["program.json"])
    data["program"]["instructions"][0]["provenance"][0] = [named, 1, "g"]
    entries["program.json"] = json.dumps(data).encode()
    with zipfile.ZipFile(script / "f.program", "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    done = scanviz_("program", "f.program", cwd=script, SECRET="root:x:0:0")
    assert done.returncode == 0 and "root:" not in done.stdout + done.stderr
    assert named.replace("\0", "\\x00") in done.stdout


def test_one_loop_is_printed_and_an_unknown_name_is_refused(script):
    done = scanviz_("program", "--scan", "rnn", "rnn.py", cwd=script)
    assert done.stdout.startswith("loop `rnn`") and "grad_of_rnn" not in done.stdout
    done = scanviz_("program", "--scan", "rnm", "rnn.py", cwd=script)
    assert done.returncode == 2 and "did you mean rnn?" in done.stderr, done.stderr


HALF = """
from scanviz.engine.backends import registry, reference
from scanviz.engine.backends.base import supported_by
from scanviz.engine.graph.meaning_table import MeaningTable
class Half(reference.ReferenceBackend):
    name = "half"
    supports = staticmethod(supported_by(MeaningTable("row of half", "")))
registry.register("half", Half)
"""


def test_program_lists_the_tiers_that_cannot_run_an_operation(script):
    (script / "half.py").write_text(HALF + SCRIPT)
    done = scanviz_("program", "--scan", "rnn", "half.py", cwd=script)
    assert "steps, not on half: " in done.stdout.splitlines()[0], done.stdout
    assert "not on half: `tanh` has no row of half" in done.stdout
    assert "not on numpy" not in done.stdout and "not on cupy" not in done.stdout


def test_a_program_is_written_and_printed_again_with_the_same_hash(script):
    several = scanviz_("program", "-o", "x.program", "rnn.py", cwd=script)
    assert several.returncode == 2 and "--function" in several.stderr
    written = scanviz_("program", "-o", "x.program", "--function", "train", "rnn.py", cwd=script)
    assert written.returncode == 0 and "wrote x.program" in written.stderr, written.stderr
    again = scanviz_("program", "-o", "x.program", "--function", "train", "rnn.py", cwd=script)
    assert again.returncode == 0, again.stderr
    printed = scanviz_("program", "x.program", cwd=script)
    (script / "uncalled.py").write_text(SCRIPT.replace("print", "# "))  # a loop that never ran has no places
    assert printed.stdout == scanviz_(
        "program", "--function", "train", "uncalled.py", cwd=script
    ).stdout.replace("uncalled.py", "rnn.py")
    hashes = [
        scanviz_("program", "--hash", *rest, cwd=script).stdout
        for rest in (["x.program"], ["--function", "train", "rnn.py"])
    ]
    assert hashes[0] == hashes[1] and hashes[0].endswith("  train\n")


def test_a_file_that_holds_no_program_is_refused_in_one_line(script):
    (script / "bad.program").write_bytes(b"PK\x03\x04 and nothing more")
    (script / "folder.program").mkdir()
    os.mkfifo(script / "fifo.program")
    for name, text in (
        ("fifo.program", "it is a FIFO or pipe"),
        ("folder.program", "it is a folder"),
        ("bad.program", "no program that scanviz wrote"),
        ("none.program", "cannot be read"),
    ):
        done = scanviz_("program", name, cwd=script)
        assert done.returncode == 2 and text in done.stderr and "Traceback" not in done.stderr
    (script / "kept.program").write_text("not ours")
    done = scanviz_("program", "-o", "kept.program", "--function", "train", "rnn.py", cwd=script)
    assert done.returncode == 2 and (script / "kept.program").read_text() == "not ours"


def test_programs_of_a_failing_script_are_printed_and_its_exit_code_is_kept(script):
    (script / "fails.py").write_text(SCRIPT + "raise SystemExit(3)\n")
    done = scanviz_("program", "fails.py", cwd=script)
    assert done.returncode == 3 and "program train(" in done.stdout


def test_a_profile_holds_the_programs_of_its_functions(script):
    done = scanviz_("profile", "-q", "rnn.py", cwd=script)
    assert done.returncode == 0, done.stderr
    whole = scanviz_("program", "rnn.scanviz", cwd=script)
    assert whole.returncode == 0 and "program train(" in whole.stdout  # the other one was never called
    alone = scanviz_("program", "rnn.scanviz", "--scan", "rnn", cwd=script)
    assert alone.stdout.startswith("loop `rnn`") and "grad_of_rnn" not in alone.stdout
    assert "# rnn.py:5" in alone.stdout and str(script) not in whole.stdout
    hashes = [scanviz_("program", "--hash", each, cwd=script).stdout for each in ("rnn.scanviz", "rnn.py")]
    assert hashes[0] and hashes[0] in hashes[1]
    written = scanviz_("program", "rnn.scanviz", "-o", "train.program", cwd=script)
    assert written.returncode == 0, written.stderr
    assert scanviz_("program", "--hash", "train.program", cwd=script).stdout == hashes[0]
    wrong = scanviz_("program", "rnn.scanviz", "--scan", "rnm", cwd=script)
    assert wrong.returncode == 2 and "did you mean rnn?" in wrong.stderr


def test_a_profile_without_programs_or_with_a_damaged_one_is_refused_in_words(tmp_path):
    from scanviz.record.model import FunctionRecord, ProfileRecord
    from scanviz.record.storage.file import save

    for name, content, words in [
        ("none.scanviz", b"", "holds no Programs"),
        ("damaged.scanviz", b"no zip", "the Program of `f`: this is no program that scanviz wrote"),
    ]:
        function = FunctionRecord(1, "f", None, "numpy", program=content)
        save(ProfileRecord(script="x.py", functions=(function,)), tmp_path / name)
        done = scanviz_("program", name, cwd=tmp_path)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["program", "native"])
def test_a_listing_fits_a_narrow_terminal_and_keeps_its_width_in_a_pipe(script, name):
    if name == "native" and not availability("native").works:
        pytest.skip("no LLVM")
    narrow = command(name, "rnn.py", cwd=script, COLUMNS="80").stdout.splitlines()
    wide = command(name, "rnn.py", cwd=script, COLUMNS="").stdout.splitlines()
    assert all(
        len(line) <= 80 or len(line.split()) == 1 for line in narrow
    )  # a word of code is never taken apart
    assert max(map(len, wide)) > 80 and len(narrow) > len(wide) > 10
