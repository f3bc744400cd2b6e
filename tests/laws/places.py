"""Laws of places: what stands where a command reads or writes is refused in words, or read, or replaced because it may be."""

import functools
import os
import stat
import tempfile
from pathlib import Path

from hypothesis import strategies as st

from tests.laws.law import law
from tests.laws.records import assert_harmless, output_of
from tests.support import hostile

_MINE = b"what a user made"
_WRITING = {
    "html -o": ".html",
    "export -f json -o": ".json",
    "export -f csv --table run -o": ".csv",
    "graph --engine own -o": ".svg",
    "graph -o": ".txt",
}
_READING = ("report", "advise", "rewrites", "compare REAL", "export -f json -o out.json", "html -o out.html")
_THERE = (
    "nothing", "a file", "ours", "a folder", "a fifo", "a device", "a link to a file", "a link to a device", "a link to nothing",
    "a link to itself", "no folder", "a file for a folder", "a long name", "an odd name",
)  # fmt: skip


@functools.cache
def _device() -> str:
    """Return a device of our own, the end of a pseudo-terminal.

    No command gets a device of the system as its output: root would replace it by a file if the command failed to refuse.
    """
    return os.ttyname(os.openpty()[1])


def _put(kind: str, folder: Path, suffix: str, ours: bytes) -> Path:
    """Put something of a kind into a folder and return where."""
    place = folder / f"place{suffix}"
    target = folder / "target"
    if kind == "a file":
        place.write_bytes(_MINE)
    elif kind == "ours":
        place.write_bytes(ours)
    elif kind == "a folder":
        place.mkdir()
    elif kind == "a fifo":
        os.mkfifo(place)
    elif kind == "a device":
        place.symlink_to(_device())
    elif kind == "a link to a file":
        target.write_bytes(_MINE)
        place.symlink_to(target)
    elif kind == "a link to a device":
        target.symlink_to(_device())
        place.symlink_to(target)
    elif kind == "a link to nothing":
        place.symlink_to(target)
    elif kind == "a link to itself":
        place.symlink_to(place)
    elif kind == "no folder":
        return folder / "no" / f"place{suffix}"
    elif kind == "a file for a folder":
        target.write_bytes(_MINE)
        return target / f"place{suffix}"
    elif kind == "a long name":
        return folder / f"{'x' * 300}{suffix}"
    elif kind == "an odd name":
        return folder / f"\x1b[2J\n\u202e\udcff{suffix}"
    return place


def _listing(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    """Return the entries of a folder by name: mode, and bytes or link target."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in folder.iterdir():
        mode = path.lstat().st_mode
        data = path.read_bytes() if stat.S_ISREG(mode) else os.readlink(path) if stat.S_ISLNK(mode) else ""
        found[path.name] = (mode, data)
    return found


@law(
    sample=8,
    there=st.sampled_from(_THERE),
    words=st.sampled_from([*_WRITING, *_READING]),
    force=st.booleans(),
)
def commands_read_only_files_and_replace_only_their_own(there: str, words: str, force: bool) -> None:
    """A command reads and writes regular files alone, replaces its own or any by force, and explains refusals."""
    if not hasattr(os, "mkfifo"):
        return
    real = hostile.archive_of(hostile.entries())
    writes = words in _WRITING
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as around:
        folder = Path(name)
        (Path(around) / "real.scanviz").write_bytes(real)
        place = _put(there, folder, _WRITING.get(words, ".scanviz"), _MINE if writes else real)
        before = _listing(folder)
        command = f"{words} PLACE{' --force' if force and writes else ''}{' REAL' if writes else ''}"
        code, message = output_of(command, Path(around), {"REAL": "real.scanviz", "PLACE": str(place)})
        after = _listing(folder)
        assert code in (0, 1, 2) and "Traceback" not in message and (code == 0 or message.strip()), (
            code,
            message,
        )
        assert_harmless(message)
        if not writes:
            assert before == after and (code == 0) == (there == "ours"), (code, message)
            return
        same = {key: value for key, value in after.items() if before.get(key) == value}
        changed = set(before) - set(same)
        may_change = force and there in ("a file", "ours", "a link to a file")
        assert not changed or may_change, (changed, message)
        news = set(after) - set(before)
        assert len(news) <= 1 and not any(text.startswith(".scanviz-") for text in news), news
        assert (code == 0) == bool(changed or news), (code, message, changed, news)
