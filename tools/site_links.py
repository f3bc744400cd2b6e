"""Problems of built pages: dead links and anchors, and network resources.

    python tools/site_links.py FOLDER

Links to other sites are left alone (a reader follows them or not); what a page *loads* has to lie beside it.
"""

from __future__ import annotations

import functools
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# element → its attribute that is loaded with the page
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "use": "href",
    "image": "href",
}
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "shortcut"}
IN_STYLE = re.compile(r"@import\s+[\"']?([^\"';)]+)|url\(\s*[\"']?([^\"')]+)")


class Page(HTMLParser):
    """The contents of a page: its anchors, its links, and its resources."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self._in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in an element."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        self._in_style = tag == "style"
        self.loaded.update(_in_style(given.get("style", "")))
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & LOADED_LINKS:
            self.loaded.add(given.get("href", ""))
        if tag in LOADED and LOADED[tag] in given:
            self.loaded.add(given[LOADED[tag]])

    def handle_data(self, data: str) -> None:
        """Take in the text of a style."""
        if self._in_style:
            self.loaded.update(_in_style(data))
            self._in_style = False


def _in_style(text: str) -> list[str]:
    return [first or second for first, second in IN_STYLE.findall(text)]


@functools.cache
def page_of(path: Path) -> Page:
    """Return the contents of a page."""
    return Page(path.read_text("utf-8"))


def problems(site: Path) -> list[str]:
    """Return the problems of the pages below a folder, one per line.

    Parameters
    ----------
    site : pathlib.Path
        The folder.  A link that leaves it leads nowhere.

    Returns
    -------
    list of str
        Page and link, in the order of pages; empty where all is well.
    """
    site, found = site.resolve(), []
    for path in sorted(site.rglob("*.html")):
        page = page_of(path)
        where = path.relative_to(site).as_posix()
        for link in sorted(page.links | page.loaded):
            loads = link in page.loaded
            why = _problem(link, path, site, loads)
            if why:
                found.append(f"{where}: {link}: {why}")
    for path in sorted(site.rglob("*.css")):
        where = path.relative_to(site).as_posix()
        for link in sorted(set(_in_style(path.read_text("utf-8")))):
            why = _problem(link, path, site, True)
            if why:
                found.append(f"{where}: {link}: {why}")
    return found


def _problem(link: str, path: Path, site: Path, loads: bool) -> str:
    """Return why a link of a page is wrong, nothing where it is right."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return "comes from the network" if loads and parts.scheme != "data" else ""
    target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if not target.is_relative_to(site):
        return "leads out of the site"
    if not target.is_file():
        return "there is no such file"
    fragment = unquote(parts.fragment)
    if target.suffix == ".html" and not loads and fragment not in page_of(target).anchors:
        return "there is no such anchor"
    return ""


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
