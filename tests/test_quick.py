"""`python tools/quick.py` runs first what a change is likeliest to break, and ends in time."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_layering import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from quick import LAWS, all_tests, chosen, package_of, packages  # a tool is no package

TESTS = all_tests()
ORDER = packages()


def folders(files):
    """Return the folders of files in the order that they are first met in."""
    return list(dict.fromkeys(str(Path(file).parent) for file in files))


def test_packages_are_known_from_the_lowest_to_the_highest():
    assert ORDER.index("engine/graph") < ORDER.index("engine/rewrites") < ORDER.index("tensor")
    assert ORDER.index("record") < ORDER.index("profiler") < ORDER.index("tui") < ORDER.index("cli")
    assert package_of("scanviz/engine/rewrites/batching/operations.py", ORDER) == "engine/rewrites"
    assert package_of("scanviz/engine/errors.py", ORDER) == "engine/errors"
    assert package_of("scanviz/testing/loops.py", ORDER) is None


def test_tests_are_ordered_by_name_folder_laws_and_upper_layers():
    found = chosen(["scanviz/engine/rewrites/pipeline.py"], TESTS, ORDER)
    assert found[0] == "tests/engine/rewrites/test_pipeline.py"
    before_laws = found[: found.index(LAWS)]
    assert folders(before_laws) == ["tests/engine/rewrites"]
    after = folders(found[found.index(LAWS) + 1 :])
    assert after.index("tests/engine/function") < after.index("tests/tensor") < after.index("tests/cli")
    assert not any(each.startswith("tests/engine/graph/") for each in found)


def test_a_changed_test_comes_first_with_its_folder_alone():
    found = chosen(["tests/record/test_names.py"], TESTS, ORDER)
    assert found[0] == "tests/record/test_names.py"
    assert {each.split("/")[1] for each in found if each.count("/") > 1} == {"record"}


def test_modules_that_gather_layers_are_tested_by_laws_and_all_layers():
    found = chosen(["scanviz/testing/loops.py"], TESTS, ORDER)
    assert (
        found.index(LAWS)
        < found.index("tests/engine/graph/test_nodes.py")
        < found.index("tests/cli/test_graph.py")
    )


@pytest.mark.parametrize("changed", ["README.md", "docs/scan.md", ".ci/run"])
def test_documents_and_the_project_are_tested_by_the_tests_of_the_root(changed):
    assert folders(chosen([changed], TESTS, ORDER)) == ["tests"]


def test_every_file_is_named_once_and_no_change_asks_for_none():
    found = chosen(["scanviz/engine/graph/types.py", "tests/engine/graph/test_types.py"], TESTS, ORDER)
    assert len(found) == len(set(found)) > 100
    assert chosen([], TESTS, ORDER) == []


SLOW_ONE = """
import time, pytest
@pytest.mark.parametrize("number", range(100))
def test_a_while(number):
    time.sleep(0.2)
    assert number != {broken}
"""


@pytest.mark.parametrize("broken, code, expected", [(-1, 0, " passed"), (0, 2, "1 failed")])
def test_an_exceeded_time_limit_ends_a_run_without_failure(tmp_path, broken, code, expected):
    path = tmp_path / "test_slow_one.py"
    path.write_text(SLOW_ONE.format(broken=broken))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"),
         "--confcutdir", str(ROOT), "-p", "tests.conftest", "--seconds", "0.5", str(path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    assert "s are over" in done.stdout and expected in done.stdout
