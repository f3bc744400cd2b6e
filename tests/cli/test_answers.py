"""The profile of a real program names its slow line first, in at most twenty lines."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent.parent / "programs" / "answers"


@pytest.mark.parametrize("script", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_the_first_line_named_is_the_one_marked_as_slow(script: Path, tmp_path: Path) -> None:
    marked = next(k for k, text in enumerate(script.read_text().splitlines(), 1) if text.endswith("# slow"))
    command = [sys.executable, "-m", "scanviz", "profile", "-o", "answer.scanviz", str(script)]
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        "COLUMNS": "100",
    }  # BLAS threads of busy machines wait
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=True)
    lines = done.stderr.strip("\n").splitlines()
    named = re.findall(rf"(?<! at ){script.name}:(\d+)", done.stderr)  # not where compilation takes long
    assert int(named[0]) == marked, done.stderr
    assert len(lines) <= 20 and all(len(line) <= 100 for line in lines), done.stderr
    assert lines[-1].split()[-1] == "answer.scanviz"
