"""The files around the package agree: README's commands, what CI runs, the version and its place in the changelog."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.sources import imported_names

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


def test_scanviz_prints_its_version() -> None:
    import scanviz

    assert scanviz.__version__ == PROJECT["version"]


def test_the_citation_names_this_version() -> None:
    found = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert found and found[1] == PROJECT["version"]


def test_the_readme_is_under_110_lines_and_its_links_lead_to_files() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(readme.splitlines()) < 110
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", readme)
    assert len(links) > 20 and all((ROOT / link).is_file() for link in links)


def test_the_package_is_marked_as_typed() -> None:
    assert (ROOT / "scanviz" / "py.typed").is_file()


# imports, and what brings them where it is not a distribution of that name
BROUGHT_BY = {
    "resvg_py": "resvg-py",
    "markdown_it": "markdown-it-py",
    "IPython": "ipython",
    "textual_serve": "textual-serve",
    "aiohttp": "textual-serve",
    "cupy": "cupy-cuda12x",
    "cupyx": "cupy-cuda12x",
    "cuda": "cupy-cuda12x",  # CuPy brings cuda-pathfinder
    "cupy_backends": "cupy-cuda12x",
}
OPTIONAL = ("parquet", "tui-web", "jupyter", "cuda12", "test")


def distributions(*groups: str) -> set[str]:
    given = [each for name in groups for each in PROJECT["optional-dependencies"][name]]
    return {re.split(r"[<>=\[]", each)[0] for each in (*PROJECT["dependencies"], *given)}


OF_SOME_PYTHONS = {"_sha2", "_sha256"}  # one module under the names that it has before 3.12 and since


def third_party(folder: Path) -> set[str]:
    found = set()
    for path in folder.rglob("*.py"):
        found.update(name.partition(".")[0] for name in imported_names(path))
    return found - sys.stdlib_module_names - OF_SOME_PYTHONS - {"scanviz"}


def test_every_import_is_installed_with_scanviz_or_an_extra() -> None:
    imported = {BROUGHT_BY.get(each, each) for each in third_party(ROOT / "scanviz")}
    assert imported <= distributions(*OPTIONAL), imported - distributions(*OPTIONAL)


def test_the_readmes_examples_need_no_extra() -> None:
    for folder in ("engine/ops", "render", "tui/views", "record", "tensor"):
        imported = {BROUGHT_BY.get(each, each) for each in third_party(ROOT / "scanviz" / folder)}
        assert imported <= distributions(), folder


def test_every_extra_named_by_a_message_or_a_page_exists() -> None:
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    files += [*(ROOT / "scanviz").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    named = {
        extra
        for path in files
        for group in re.findall(r"scanviz\[([a-z0-9,-]+)\]", path.read_text("utf-8"))
        for extra in group.split(",")
    }
    assert named and named <= set(PROJECT["optional-dependencies"]), named


def test_the_font_is_shipped_with_its_licence() -> None:
    folder = ROOT / "scanviz" / "render" / "fonts"
    assert "Bitstream Vera Fonts Copyright" in (folder / "LICENSE").read_text("utf-8")
    assert "scanviz/render/fonts/LICENSE" in PROJECT["license-files"]


def test_the_stations_of_the_way_of_the_data_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    stations = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \| `([\w.]+)` \|", text, re.MULTILINE)
    assert 9 <= len(stations) <= 12
    for file, name in stations:
        source = (ROOT / "scanviz" / file).read_text()
        for part in name.split("."):
            assert re.search(rf"^ *(def|class) {part}\b", source, re.MULTILINE), (file, name)
