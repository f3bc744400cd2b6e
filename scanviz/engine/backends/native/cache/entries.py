"""Cache of compiled loops on disk, shared by processes.

An entry is an object file; its name is a digest of the IR, the processor and the version of LLVM.  Entries are executed, so the
folder and each entry must belong to the user, and nobody else may write to them or replace the folder; otherwise there is no cache.

An entry is written under another name and renamed, so processes may read and write at once, and a killed process leaves no
partial entry.  A digest at its beginning detects damage; a damaged entry is compiled anew.  The size is bounded: least recently
used entries are removed.  Other files in the folder are neither counted nor touched.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from scanviz.engine.config import config

MAGIC = b"scanviz object 1\n"
TEMPORARY = "being-written-"
_ENTRY = re.compile("[0-9a-f]{64}")
_UNFINISHED = re.compile(f"{TEMPORARY}[0-9]+-[0-9a-f]{{16}}")
ABANDONED_S = 600  # older unfinished files belong to dead processes
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def key_of(*parts: str) -> str:
    """Return an entry's name: a digest of everything its code depends on."""
    contents = [part.encode() for part in parts]
    joined = b"".join(len(content).to_bytes(8, "little") + content for content in contents)
    return hashlib.sha256(joined).hexdigest()


def usual_folder() -> str | None:
    """Return the platform's cache folder; None if the user has no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        home = os.path.expanduser("~")
        if not os.path.isabs(home):  # a user without a home
            return None
        base = os.path.join(home, ".cache")
    return os.path.join(base, "scanviz", "native")


def folder() -> str | None:
    """Return the cache folder (``config.native.cache``, or the platform's); None if caching is off."""
    asked = config.native.cache
    if asked == "off" or not hasattr(os, "geteuid"):  # on Windows
        return None
    return usual_folder() if asked == "auto" else os.path.expanduser(asked)


def load(key: str) -> bytes | None:
    """Return the object file of a key; None unless it is intact and belongs to the user."""
    with suppress(OSError), _opened(create=False) as place:
        return None if place is None else _read(place, key)
    return None


def store(key: str, code: bytes) -> None:
    """Store an object file; a full disk or a read-only folder is ignored."""
    with suppress(OSError), _opened(create=True) as place:
        if place is not None:
            _write(place, key, code)
            if key.startswith("0"):  # one write in sixteen: enough to keep the folder near its limit
                _keep_bound(place, config.native.cache_bytes)


@contextmanager
def _opened(create: bool) -> Iterator[int | None]:
    """Open the folder; None if it is missing, or if another user could have put code into it."""
    path = folder()
    if path is None:
        yield None
        return
    path = os.path.abspath(path)
    if not _stays_in_place(path):
        yield None
        return
    if create:
        _make_private(path)
    place = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield place if _is_own(os.fstat(place)) else None
    finally:
        os.close(place)


def _stays_in_place(path: str) -> bool:
    """Return whether only the user and root can replace a folder or one of its parents."""
    user, linked, above = os.geteuid(), False, path
    while above != (above := os.path.dirname(above)):
        with suppress(FileNotFoundError):  # it does not exist yet
            found = os.lstat(above)
            # The user's own group has the user's number.  In a sticky folder, as /tmp, everybody keeps to their own files.
            written = found.st_mode & (stat.S_IWOTH if found.st_gid in (0, user) else OTHERS_WRITE)
            is_link = stat.S_ISLNK(found.st_mode)
            if found.st_uid not in (0, user) or (
                written and not is_link and not found.st_mode & stat.S_ISVTX
            ):
                return False
            linked = linked or is_link
    return not linked or _stays_in_place(os.path.realpath(path))


def _make_private(path: str) -> None:
    """Create a folder and its missing parents with access for the user alone."""
    if not os.path.lexists(path):
        _make_private(os.path.dirname(path))
        with suppress(FileExistsError):  # another process has made it
            os.mkdir(path, 0o700)


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & OTHERS_WRITE


@contextmanager
def _file(place: int, name: str) -> Iterator[BinaryIO | None]:
    """Open an entry; None for anything but a regular file that only the user may write."""
    entry = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
    with open(entry, "rb") as file:
        found = os.fstat(entry)
        yield file if stat.S_ISREG(found.st_mode) and _is_own(found) else None


def _read(place: int, key: str) -> bytes | None:
    with _file(place, key) as file:
        if file is None or os.fstat(file.fileno()).st_size > config.native.cache_bytes:
            return None
        content = file.read()
    begin = len(MAGIC) + hashlib.sha256().digest_size
    code = content[begin:]
    if content[:begin] != _header(key, code):
        return None  # the code is compiled and the entry replaced
    with suppress(OSError):  # the folder is not writable
        os.utime(key, dir_fd=place)  # recently used entries are removed last
    return code


def _header(key: str, code: bytes) -> bytes:
    return MAGIC + hashlib.sha256(key.encode() + code).digest()


def _write(place: int, key: str, code: bytes) -> None:
    name = f"{TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    entry = os.open(name, flags, 0o600, dir_fd=place)
    try:
        with open(entry, "wb") as file:
            file.write(_header(key, code) + code)
        os.rename(name, key, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=place)
        raise


def _keep_bound(place: int, most: int) -> None:
    """Remove least recently used entries down to three quarters of the bound, and files of dead processes."""
    found, abandoned = [], time.time() - ABANDONED_S
    with os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):  # another process has removed it
                about = entry.stat(follow_symlinks=False)
                if (
                    _UNFINISHED.fullmatch(entry.name)
                    and about.st_mtime < abandoned
                    and _is_ours(place, entry.name)
                ):
                    os.unlink(entry.name, dir_fd=place)
                elif _ENTRY.fullmatch(entry.name) and about.st_size and _is_ours(place, entry.name):
                    found.append((about.st_mtime_ns, entry.name, about.st_size))
    held = sum(size for _, _, size in found)
    if held <= most:
        return
    for _, name, size in sorted(found):
        if held <= most * 3 // 4:
            return
        with suppress(OSError):
            os.unlink(name, dir_fd=place)
        held -= size


def _is_ours(place: int, name: str) -> bool:
    """Return whether a file begins like a cache entry, of any version, finished or not."""
    with _file(place, name) as file:
        return file is not None and MAGIC.startswith(file.read(len(MAGIC) - 2))
