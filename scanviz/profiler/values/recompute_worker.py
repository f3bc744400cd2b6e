"""The process that recomputes values: ``python -m scanviz.profiler.values.recompute_worker FILE SECONDS BYTES``.

A line ``[loop, run, first, last]`` of JSON on standard input is a request, a line ``{"trace": …}`` or ``{"error": …}`` on
standard output its answer.  Where the system allows it (not on Windows), BYTES limits the growth of the process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from scanviz.profiler.values.replay import Replayer
from scanviz.record.errors import ScanvizError
from scanviz.record.plain_text import write_text
from scanviz.record.storage.codec import encode
from scanviz.record.storage.file import load


def main(arguments: list[str]) -> None:
    """Answer requests until the input ends."""
    path, seconds, memory = arguments
    replayer = Replayer(load(path), float(seconds))
    limit_memory(int(memory))
    for line in sys.stdin.buffer:
        write_text(json.dumps(answer(replayer, json.loads(line))) + "\n", sys.stdout)
        sys.stdout.flush()


def answer(replayer: Replayer, request: list[int]) -> dict[str, Any]:
    """Return the answer to a request.

    Examples
    --------
    >>> from scanviz.record.model import ProfileRecord
    >>> answer(Replayer(ProfileRecord()), [1, 0, 0, 0])
    {'error': 'there is no loop 1 in the record'}
    """
    try:
        return {"trace": encode(replayer.window(*request))}
    except ScanvizError as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "there is too little memory to compute these values again"}
    except Exception as error:  # a damaged record may raise anything
        return {"error": f"these values cannot be computed again: {type(error).__name__}: {str(error)[:200]}"}


def limit_memory(more: int) -> None:
    """Limit the growth of the process to a number of bytes."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):  # other systems
        return
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    main(sys.argv[1:])
