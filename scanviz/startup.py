"""State of the import of scanviz.

Ctrl+c ends the command at once and quietly, as any other command.

Importing NumPy and scanviz takes a third of a second, in which python would answer ctrl+c with a traceback through its import
machinery.  So where this process is the ``scanviz`` command, and nothing else, SIGINT has the system's own meaning from the
import of this module until :func:`scanviz.cli.main` takes over.  ``import scanviz`` in a user's program changes nothing.

``python -m`` has put the working folder first on ``sys.path``.  The command leaves it: ``json`` is Python's module, whatever files
lie there, and a program that is run gets its own folder in that place.

Python's own ``signal`` is not imported for that: it takes half a millisecond, in which ctrl+c would find it at work.
"""

import os
import sys


def is_the_command() -> bool:
    """Return whether this process was started as ``scanviz …`` or ``python -m scanviz …``, and is being imported for that."""
    first = os.path.basename(sys.argv[0]) if sys.argv else ""
    if first in ("scanviz", "scanviz.exe"):
        return True
    words = sys.orig_argv
    return first == "-m" and "-m" in words and words[words.index("-m") + 1 :][:1] == ["scanviz"]


def interrupts_are_raised() -> None:
    """Let ctrl+c raise ``KeyboardInterrupt`` again, where it was made to end the process quietly."""
    if not QUIET:
        return
    import signal

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end_quietly() -> bool:
    """Let ctrl+c end the process quietly, if it is not ignored, as in a shell's background job; return whether it does."""
    import _signal  # type: ignore[import-not-found]  # what Python's own consists of, already there

    if _signal.getsignal(_signal.SIGINT) is not _signal.default_int_handler:
        return False
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    return True


if is_the_command() and sys.argv[0] == "-m" and not sys.flags.safe_path:
    sys.path[0] = os.path.dirname(sys.executable)

QUIET = is_the_command() and _end_quietly()
