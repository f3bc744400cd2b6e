"""The tests as on a machine that is ten times as slow: ``python -m pytest -p tests.slow_machine tests/engine``.

What scanviz measures itself by follows clocks that run ten times as fast; nothing really takes longer, and nothing that waits waits
longer.  Processes that tests fork have these clocks, those that they start do not.  A test that fails so compares times, or counts
what is sampled without planting what it takes (the fixture ``planted``).
"""

import time
from collections.abc import Callable
from typing import Any

TIMES = 10


def _faster(clock: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: TIMES * clock()


# before anybody else has imported them by name
for _name in ("perf_counter", "thread_time", "process_time"):
    for _clock in (_name, f"{_name}_ns"):
        setattr(time, _clock, _faster(getattr(time, _clock)))
