"""What `scanviz rewrites` writes where: JSON alone, readers that go away, names that hold control characters."""

import json
import subprocess
import sys

from tests.cli.commands import command as scanviz_
from tests.cli.scripts import folder_of_script  # noqa: F401  # the fixture is used by name


def test_standard_output_holds_json_alone_and_the_script_prints_to_stderr(script):
    with (script / "rnn.py").open("a") as file:
        file.write("import os, subprocess, sys\nos.write(1, b'raw\\n')\nsys.stdout.flush()\n")
        file.write("subprocess.run([sys.executable, '-c', 'print(1 + 1)'])\n")
    done = scanviz_("rewrites", "--json", "rnn.py", cwd=script)
    assert done.returncode == 0
    (train,) = json.loads(done.stdout)
    assert train["function"] == "train" and train["rewrites"]["applications"]
    assert set(done.stderr.split("\n")) == {"ran (3,)", "raw", "2", ""}
    saved = scanviz_("profile", "-q", "rnn.py", cwd=script)
    assert saved.returncode == 0
    (of_file,) = json.loads(scanviz_("rewrites", "--json", "rnn.scanviz", cwd=script).stdout)
    assert [each["message"] for each in of_file["rewrites"]["applications"]] == [
        each["message"] for each in train["rewrites"]["applications"]
    ]


def test_json_is_written_for_scripts_that_fail_or_have_no_functions(script):
    with (script / "rnn.py").open("a") as file:
        file.write("raise ValueError('later')\n")
    failed = scanviz_("rewrites", "--json", "rnn.py", cwd=script)
    assert failed.returncode == 1 and "ValueError: later" in failed.stderr
    assert json.loads(failed.stdout)[0]["function"] == "train"
    (script / "none.py").write_text("print('hi')\n")
    none = scanviz_("rewrites", "--json", "none.py", cwd=script)
    assert (none.returncode, json.loads(none.stdout), none.stderr) == (0, [], "hi\n")
    missing = scanviz_("rewrites", "--json", "nothing.py", cwd=script)
    assert missing.returncode == 2 and missing.stdout == "" and "nothing.py" in missing.stderr


def test_a_closed_pipe_prints_no_message(script):
    assert scanviz_("profile", "-q", "rnn.py", cwd=script).returncode == 0
    for arguments in ("rnn.scanviz", "--json rnn.scanviz", "--json rnn.py", "rnn.scanviz --step 2 --tree"):
        command = f"{sys.executable} -m scanviz rewrites {arguments} | head -c 5"
        done = subprocess.run(["sh", "-c", command], cwd=script, capture_output=True, text=True, timeout=300)
        assert len(done.stdout) == 5 and done.stderr.replace("ran (3,)\n", "") == "", arguments
