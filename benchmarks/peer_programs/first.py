"""One tool's loop in a process of its own that imports nothing else: ``first.py MODULE MODE ENDING FAMILY SIZES CALLS``.

It prints a line of JSON.  ``ended`` and ``processor`` have, by the number of each call in CALLS (``1,10,100``; 1 always), the
system's clock when its result was there, and the processor time that the process had used by then.  ``drawing`` has the seconds of
both that drawing the inputs took, which are no tool's work, and ``first_s`` those of building and the first call.  ``first_bytes``
and ``bytes`` are the most that the process held beyond what it held with its inputs alone, to the first result and to the last.
Of scanviz there is also ``forecast_bytes``, what a call may take by its forecast, and ``compiled``, whether LLVM was loaded for the
first result.
"""

import json
import sys
import time
from importlib import import_module
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from peer_programs import inputs


def most_held() -> int:
    """Return the peak bytes of this process so far; known on Linux alone.

    Pages of the files of libraries are not counted: processes share them, and they can be read again.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    text = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return 1024 * (int(text["VmHWM"].split()[0]) - int(text["RssFile"].split()[0]))


def main() -> None:
    module, mode, ending, family, sizes, counts = sys.argv[1:]
    numbers = [int(each) for each in sizes.split(",")]
    wanted = sorted({1, *map(int, counts.split(","))})
    begun = time.perf_counter(), time.process_time()
    given = getattr(inputs, family)(*numbers)
    drawing = time.perf_counter() - begun[0], time.process_time() - begun[1]
    before = most_held()
    found = import_module(f"peer_programs.{module}")
    if mode:
        found.MODE = mode
    building = time.perf_counter()
    call = getattr(found, family + ending)(*numbers)
    call(*given)
    ended, processor = {1: time.perf_counter()}, {1: time.process_time()}
    held = most_held() - before
    native = sys.modules.get("scanviz.engine.backends.native.cache.llvm")
    compiled = native is not None and native._loaded.cache_info().currsize > 0
    for done, count in pairwise(wanted):
        for _ in range(count - done):
            call(*given)
        ended[count], processor[count] = time.perf_counter(), time.process_time()
    forecast = call.memory_forecast(*given).peak_bytes if hasattr(call, "memory_forecast") else 0
    print(
        json.dumps(
            {
                "ended": ended,
                "processor": processor,
                "first_s": ended[1] - building,
                "drawing": drawing,
                "first_bytes": held,
                "bytes": most_held() - before,
                "forecast_bytes": forecast,
                "compiled": compiled,
            }
        )
    )


if __name__ == "__main__":
    main()
