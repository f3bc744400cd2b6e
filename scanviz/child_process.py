"""Command lines of Python processes that import no file of the working folder.

``python -m`` and ``python -c`` put the working folder first on ``sys.path``: a file ``json.py`` there would be executed in place of
Python's module.  A helper process is started by code that sets ``sys.path`` to that of this process, less what stands on it for the
working folder or the script.
"""

from __future__ import annotations

import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # scanviz is imported from this folder


def isolated_code(code: str, *arguments: str) -> list[str]:
    """Return the command line of Python code that imports nothing from the working folder.

    Examples
    --------
    >>> isolated_code("print(sys.argv)", "--fast")[-1]
    '--fast'
    """
    return [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {_search_path()!r}\n{code}", *arguments]


def isolated_module(module: str, *arguments: str) -> list[str]:
    """Return the command line of ``python -m module`` that imports nothing from the working folder."""
    return isolated_code(
        f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)", *arguments
    )


def scanviz_command(*arguments: str, flags: tuple[str, ...] = ()) -> list[str]:
    """Return the command line of ``scanviz``, which runs a user's program: its flags and ``sys.path`` are those of Python.

    Parameters
    ----------
    *arguments : str
        The command and its arguments.
    flags : tuple of str
        Options of Python.
    """
    code = f"""import sys
if not sys.flags.safe_path: sys.path[0] = {os.path.dirname(sys.executable)!r}
if {_ROOT!r} not in sys.path: sys.path.append({_ROOT!r})
from scanviz.cli import main
sys.exit(main())"""
    return [sys.executable, *flags, "-c", code, *arguments]


def _search_path() -> list[str]:
    """Return ``sys.path`` less its first entry (the folder of the script) and less relative entries of ``PYTHONPATH``."""
    given = os.environ.get("PYTHONPATH", "")
    relative = {
        os.path.abspath(entry) for entry in given.split(os.pathsep) if given and not os.path.isabs(entry)
    }
    found = sys.path[0 if sys.flags.safe_path else 1 :]
    path = [entry for entry in found if os.path.isabs(entry) and entry not in relative]
    return path if _ROOT in path else [*path, _ROOT]
