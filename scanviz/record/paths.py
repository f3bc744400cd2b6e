"""File names as records show them: never with a path of the machine that ran the program."""

from __future__ import annotations

import os
import sys


def recorded_path(file: str) -> str:
    """Return a file name relative to the working folder or a folder of modules, else its last part.

    Examples
    --------
    >>> recorded_path(os.path.join(os.getcwd(), "models", "rnn.py")).replace(os.sep, "/")
    'models/rnn.py'
    >>> recorded_path("/nowhere/at/all/rnn.py"), recorded_path("<string>")
    ('rnn.py', '<string>')
    """
    cell = _notebook_cell(file)
    if cell or file.startswith("<"):
        return cell or file
    try:
        full, here = os.path.abspath(file), os.getcwd()
    except OSError:  # the working folder is gone
        return os.path.basename(file)
    inside_here = _inside(full, here)
    if inside_here is not None:
        return inside_here
    found = [_inside(full, os.path.abspath(text)) for text in sys.path if text]
    return min((text for text in found if text), key=len, default=os.path.basename(file))


def working_folder() -> str:
    """Return the working folder of the process; nothing if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def seen_from(folder: str, file: str) -> str:
    """Return a file name relative to a folder; the whole name where the file is elsewhere.

    Examples
    --------
    >>> inside = os.path.join("/home", "me", "runs", "rnn.scanviz")
    >>> seen_from("/home/me", inside).replace(os.sep, "/"), seen_from("/tmp", inside).replace(os.sep, "/")
    ('runs/rnn.scanviz', '/home/me/runs/rnn.scanviz')
    """
    return _inside(file, folder) or file


def _notebook_cell(file: str) -> str:
    """Return the notebook's name of a cell, such as ``In[3]``; nothing for other files."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    named = shell.compile.format_code_name(file) if shell is not None else None
    return named[1] if named else ""


def _inside(file: str, folder: str) -> str | None:
    """Return a file name relative to a folder; None if it lies elsewhere, or the folder is the root."""
    start = folder.rstrip(os.sep) + os.sep
    return file[len(start) :] if file.startswith(start) and start != os.sep else None
