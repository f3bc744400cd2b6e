"""Build the site: reference pages from the program itself, then Sphinx over docs/, with warnings as errors; then check it.

    pip install ".[docs]" && python tools/build_site.py [FOLDER]          # this version, beside those that are there
    python tools/build_site.py FOLDER --from v0.1                         # the version of a tag or commit
    python tools/build_site.py FOLDER --check                             # what is there: links, anchors, nothing from the network

Each version has a folder of its own (``0.2/``), and the first page of the site leads to the newest.  Which versions there are, and
which pages they have, is in ``versions.js``: a script and no JSON, since pages that are opened as files may not fetch anything.
"""

from __future__ import annotations

import argparse
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from site_links import problems  # noqa: E402


def main() -> int:
    """Build a version of the site, or only check it; return 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", nargs="?", default=str(ROOT / "build" / "site"), type=Path)
    parser.add_argument("--from", dest="commit", help="a tag or commit; without it, what lies here")
    parser.add_argument("--check", action="store_true", help="build nothing")
    given = parser.parse_args()
    site = Path(given.folder).resolve()
    if not given.check:
        code = build_commit(given.commit, site) if given.commit else build(site)
        if code:
            return code
    found = problems(site)
    print("\n".join(found) if found else f"{site}: links lead somewhere, and nothing comes from the network")
    return 1 if found else 0


def build(site: Path) -> int:
    """Build the version that lies here; return Sphinx's exit code."""
    import site_pages  # needs scanviz, which a check does not

    site_pages.write_pages()
    target = site / short_version()
    shutil.rmtree(target, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", str(ROOT / "build" / "doctrees"), str(ROOT / "docs"), str(target)], check=False
    )
    if target.is_dir():  # not where Sphinx is missing
        write_front(site)
    return done.returncode


def build_commit(commit: str, site: Path) -> int:
    """Build the version of a tag or commit by its own tool, from a copy of its files."""
    files = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            archive.extractall(folder, filter="data")
        command = [sys.executable, str(Path(folder, "tools", "build_site.py")), str(site)]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": folder}, check=False).returncode


def short_version() -> str:
    """Return the version that lies here as its folder is called: ``0.2`` of ``0.2.1``."""
    text = (ROOT / "scanviz" / "__init__.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+)', text, re.MULTILINE)
    return found[1] if found else "dev"


def versions(site: Path) -> list[str]:
    """Return the versions that are there, the newest first."""
    names = [path.name for path in site.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")], reverse=True)


def write_front(site: Path) -> None:
    """Write what all versions share: the list that their switchers read, and the page that leads to the newest."""
    known = {
        name: sorted(page.relative_to(site / name).as_posix() for page in (site / name).rglob("*.html"))
        for name in versions(site)
    }
    (site / "versions.js").write_text(f"window.scanvizVersions = {json.dumps(known)};\n", "utf-8")
    newest = next(iter(known), "")
    entries = "".join(
        f'<li><a href="{html.escape(name)}/index.html">scanviz {html.escape(name)}</a></li>' for name in known
    )
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>scanviz: versions</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        "<style>:root{color-scheme:light dark}body{font:1.1rem sans-serif;margin:3rem auto;max-width:40rem;padding:0 1rem}"
        "</style></head>\n"
        f'<body><h1>scanviz</h1><p><a href="{newest}/index.html">The newest version</a>, or one of these:</p>'
        f"<ul>{entries}</ul></body></html>\n"
    )
    (site / "index.html").write_text(page, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
