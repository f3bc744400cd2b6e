"""One tool's loop in a process of its own that imports nothing else: ``first.py MODULE MODE ENDING FAMILY SIZES``.

It prints when the first result was there, by the system's clock, the seconds of building and the first call, those that drawing the
inputs took, which are no tool's work, and the bytes that the process held at most beyond what it held with its inputs alone: to
the first result, and after two more calls.  Of scanviz also the bytes that a call may take by its forecast; and 1 if LLVM was
loaded for the first result, or 0.
"""

import sys
import time
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from peer_programs import inputs


def most_held() -> int:
    """Return the bytes that this process held at most so far; other systems than Linux do not say.

    Pages of the files of libraries are not counted: processes share them, and they can be read again.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    told = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return 1024 * (int(told["VmHWM"].split()[0]) - int(told["RssFile"].split()[0]))


def main() -> None:
    module, mode, ending, family, sizes = sys.argv[1:]
    numbers = [int(each) for each in sizes.split(",")]
    begun = time.perf_counter()
    given = getattr(inputs, family)(*numbers)
    drawing = time.perf_counter() - begun
    before = most_held()
    found = import_module(f"peer_programs.{module}")
    if mode:
        found.MODE = mode
    begun = time.perf_counter()
    call = getattr(found, family + ending)(*numbers)
    call(*given)
    ended = time.perf_counter()
    held = most_held() - before
    native = sys.modules.get("scanviz.engine.backends.native.cache.llvm")
    compiled = int(native is not None and native.is_loaded())
    call(*given)
    call(*given)
    forecast = call.memory_forecast(*given).peak_bytes if hasattr(call, "memory_forecast") else 0
    print(ended, ended - begun, drawing, held, most_held() - before, forecast, compiled)


if __name__ == "__main__":
    main()
