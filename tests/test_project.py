"""The files around the package agree: README's commands, what CI runs, the version and its place in the changelog."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def readme_commands() -> list[str]:
    readme = (ROOT / "README.md").read_text("utf-8")
    return [
        line for block in re.findall(r"^```sh\n(.*?)^```", readme, re.M | re.S) for line in block.splitlines()
    ]


def test_ci_runs_the_first_two_commands_of_the_readme_letter_by_letter() -> None:
    profile, test = readme_commands()[:2]
    assert profile.startswith("pip install")
    assert test.endswith("pytest")
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    for command in (profile, test):
        assert re.search(rf"^step \w+ '{re.escape(command)}'$", script, re.M), (
            f".ci/run does not run: {command}"
        )


def test_the_readme_profiles_an_example_that_exists() -> None:
    [example] = re.findall(r"scanviz profile (\S+)", readme_commands()[0])
    assert (ROOT / example).is_file()


def test_ci_is_an_executable_script_without_syntax_errors() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    checked = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    headings = re.findall(r"^## \[([^]]+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    released = [heading for heading in headings if heading.lower() != "unreleased"]
    assert released[0] == PROJECT["version"]


def test_scanviz_tells_its_own_version() -> None:
    import scanviz

    assert scanviz.__version__ == PROJECT["version"]


def test_the_package_is_marked_as_typed() -> None:
    assert (ROOT / "scanviz" / "py.typed").is_file()
