"""What can be run, how it is found, and which frames of a traceback are the program's."""

import sys
import zipapp

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.profiler.run.load import CannotRunError, Script, load
from scanviz.profiler.run.runner import show_program_only


@pytest.fixture(autouse=True)
def _process_is_left_as_it_was(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["scanviz"])
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)


@pytest.mark.parametrize(
    ("kind", "target", "stem"),
    [
        ("script", "folder/rnn.py", "rnn"),
        ("script", "folder", "folder"),
        ("script", "app.pyz", "app"),
        ("script", "-", "command"),
        ("module", "package.rnn", "rnn"),
        ("code", "print(1)", "command"),
    ],
)
def test_a_profile_is_named_after_the_program(kind, target, stem):
    assert Script(kind, target, []).stem == stem


def test_a_script_that_begins_like_an_archive_is_a_script(tmp_path):
    (tmp_path / "script.py").write_text("PK = 3\n")
    loaded = load(Script("script", "script.py", []))
    assert loaded.code.co_names == ("PK",) and loaded.attributes["__file__"] == str(tmp_path / "script.py")
    assert (loaded.argv0, loaded.path0) == ("script.py", str(tmp_path))


def test_folders_and_archives_run_their_main(tmp_path):
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "__main__.py").write_text("x = 1\n")
    zipapp.create_archive(folder, tmp_path / "app.pyz", interpreter="/usr/bin/env python3")
    for name in ("app", "app.pyz"):
        loaded = load(Script("script", name, []))
        assert loaded.path0 == str(tmp_path / name) and loaded.attributes["__package__"] == ""
        assert loaded.attributes["__file__"] == str(tmp_path / name / "__main__.py")


def test_future_statements_of_scanviz_do_not_leak(tmp_path):
    (tmp_path / "script.py").write_text("x: undefined = 1\n")
    for program in (Script("script", "script.py", []), Script("code", "x: undefined = 1", [])):
        with pytest.raises(NameError):
            exec(load(program).code, {"__annotations__": {}})


@pytest.mark.parametrize(
    ("kind", "target", "code", "part"),
    [
        ("script", "missing.py", 2, "can't open file"),
        ("script", ".", 1, "can't find '__main__' module"),
        ("module", "no_such_module", 1, "No module named no_such_module"),
        ("module", "no_such_module.py", 1, "Try using 'no_such_module'"),
        ("module", ".relative", 1, "Relative module names not supported"),
        ("module", "sys", 1, "No code object available for sys"),
        ("module", "email", 1, "'email' is a package and cannot be directly executed"),
    ],
)
def test_a_missing_program_gives_pythons_message(kind, target, code, part):
    with pytest.raises(CannotRunError) as caught:
        load(Script(kind, target, []))
    assert caught.value.code == code and part in str(caught.value)


def test_a_saved_profile_is_distinguished_from_a_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with scanviz.profile() as recorded:
        pass
    recorded.save("old run.scanviz")
    with pytest.raises(
        CannotRunError, match="a saved profile, not a script; scanviz report 'old run.scanviz'"
    ):
        load(Script("script", "old run.scanviz", []))


def test_a_damaged_profile_is_not_run_as_a_script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for content in (b"print('run')", b"PK\x03\x04\0\0"):
        (tmp_path / "old.scanviz").write_bytes(content)
        with pytest.raises(CannotRunError, match="old.scanviz is no script, and no saved profile either"):
            load(Script("script", "old.scanviz", []))


def shown(action):
    """Return the error of an action as the hook would print it, from this function's callee on."""
    try:
        action()
    except BaseException as error:
        printed = []
        sys.excepthook = lambda kind, value, trace: printed.append(value)
        show_program_only(error, shown.__code__)
        sys.excepthook(type(error), error, error.__traceback__)
        return printed[0]
    raise AssertionError("nothing was raised")


def names(error):
    found, trace = [], error.__traceback__
    while trace is not None:
        found.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return found


def wrong_scan():
    scanviz.scan(lambda a, b: a, sequences=T.vector("x"))


def test_an_error_of_scanviz_ends_in_the_program():
    error = shown(wrong_scan)
    assert isinstance(error, scanviz.ScanvizError) and names(error) == ["wrong_scan"]


def test_an_error_in_a_step_hides_scanviz_frames():
    def step(x):
        raise KeyError("mine")

    def program():
        scanviz.scan(step, sequences=T.vector("x"))

    assert names(shown(program)) == ["program", "step"]


def test_an_error_of_the_program_before_one_of_scanviz_is_kept():
    def program():
        try:
            raise KeyError("first")
        except KeyError:
            wrong_scan()

    error = shown(program)
    assert isinstance(error.__context__, KeyError) and not error.__suppress_context__
    assert names(error) == ["program", "wrong_scan"] and names(error.__context__) == ["program"]


def test_an_error_of_scanviz_behind_one_of_the_program_is_tidied_too():
    def program():
        try:
            wrong_scan()
        except scanviz.ScanvizError as error:
            raise KeyError("mine") from error

    error = shown(program)
    assert names(error) == ["program"] and names(error.__cause__) == ["program", "wrong_scan"]


def test_the_full_traceback_setting_keeps_every_frame(monkeypatch):
    monkeypatch.setattr(scanviz.config, "traceback", "full")
    error = shown(wrong_scan)
    assert names(error)[:1] == ["wrong_scan"] and len(names(error)) > 1
