"""What every test gets: Hypothesis profiles, processes that share the work, and a clean skip where a GPU is missing."""

from __future__ import annotations

import compileall
import contextlib
import functools
import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

import tests.support.same_draws  # noqa: F401

# One thread a product: arrays here are small, and threads of BLAS that wait for one another took four fifths of the time.  It is read
# when NumPy is imported, here and in the processes that tests start.
for _library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
os.environ["SCANVIZ_NATIVE_CACHE"] = "off"  # the user's cache is none of the tests' business

# Where Python may write no byte code beside the sources, it goes where pytest keeps what it knows: hundreds of processes are started, here
# and by tests, and each would compile all that it imports.  Python compiles again what has changed since.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in os.environ:
    sys.pycache_prefix = str(Path(__file__).resolve().parents[1] / ".pytest_cache" / "byte-code")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    sys.dont_write_bytecode = False

# The machine's speed is no property of the code: no deadlines, no complaint about slow generation.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
_NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
settings.register_profile("default", max_examples=16, **_PATIENT)
settings.register_profile("ci", max_examples=16, derandomize=True, print_blob=True, **_PATIENT)
settings.register_profile(
    "first", max_examples=16, phases=_NO_SHRINKING, **_PATIENT
)  # the first failure, as it is
settings.register_profile("nightly", max_examples=1000, print_blob=True, **_PATIENT)
# `pytest --hypothesis-profile=nightly` is applied after this and wins.
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer to stop after a while: `tools/quick.py` does."""
    parser.addoption(
        "--seconds", type=float, help="start no test after so many seconds; what was reached counts"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Stop after a while: the process that hands out tests, and each that was given some; hear ctrl+c as in the foreground."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job in the background, as all that it starts
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.seconds is not None:
        config.pluginmanager.register(_Stops(config.option.seconds))


class _Stops:
    """Ends a run of tests after some seconds, which is no failure."""

    def __init__(self, seconds: float) -> None:
        self.ends, self.reason = time.monotonic() + seconds, f"{seconds:.0f} s are over"

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self.session = session

    def pytest_runtest_logfinish(self) -> None:
        if time.monotonic() > self.ends and not self.session.shouldstop:
            self.session.shouldstop = self.reason

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.shouldstop == self.reason and not session.testsfailed:
            session.exitstatus = pytest.ExitCode.OK


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Read a share of the sources and import a share of the tests first, another one in each process that shares the work.

    In a fresh copy of the repository pytest has to rewrite and compile every test file, and Python to compile the package, which takes
    them longer than some hundred tests: this way each file is done by one process, and what came of it is read by the others,
    instead of by all of them at once.
    """
    gc.disable()  # almost no collected object is freed
    count = _processes_of_all(session.config)
    if not count:
        return
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    folder = Path(__file__).parent
    for path in sorted((folder.parent / "scanviz").rglob("*.py"))[number::count]:
        with contextlib.suppress(Exception):
            compileall.compile_file(path, quiet=2)
    for path in sorted(folder.rglob("test_*.py"))[number::count]:
        with contextlib.suppress(Exception, pytest.skip.Exception):  # as reported by the collection
            importlib.import_module(".".join(path.relative_to(folder.parent).with_suffix("").parts))


def _processes_of_all(config: pytest.Config) -> int:
    """Return how many processes share all tests; 0 where only some were asked for, or in one process."""
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")) if everything else 0


# What waits for screens, browsers and commands half of its time.
WAITING = (
    "tests/tui/",
    "tests/cli/",
    "tests/render/page/",
    "tests/test_benchmarks.py",
    "tests/test_examples.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let one process begin with the tests that wait, while others compute, and none be waited for at the end."""
    if count := _processes_of_all(config):
        items.sort(key=lambda item: item.nodeid.startswith(WAITING))  # the last, and else as they were
        items[:] = last_first(items, sum(item.nodeid.startswith(WAITING) for item in items), count)


def last_first(items: list[pytest.Item], last: int, processes: int) -> list[pytest.Item]:
    """Order items so that the last of so many processes, each with an equal part, begins with the last ones."""
    begun = len(items) - max(last, len(items) // processes)
    others = items[: len(items) - last]
    return [*others[:begun], *items[len(items) - last :], *others[begun:]]


def pytest_collection_finish() -> None:
    """Leave thousands of collected tests out of garbage collections, and collect seldom: that took a tenth of the time, twice."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 10)  # so many young objects fit into the cache of a processor
    gc.callbacks.append(_full_collection)
    gc.enable()


_survived: list[int] = []  # full collections since objects were last left out


def _full_collection(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2:
        _survived.append(info["collected"])


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return the number of test processes: none for interactive runs or named files, else one more than there are cores.

    A third of the time of a process goes by in waiting for commands that it started.
    """
    option = config.option
    looked_at = option.capture == "no" or option.trace or option.collectonly or _debugger()
    return 0 if looked_at or _files_alone(option.file_or_dir) else _cores() + 1


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _debugger() -> bool:
    """Return whether a debugger watches this process; pydevd is PyCharm's and, inside debugpy, that of VS Code."""
    return sys.gettrace() is not None or "pydevd" in sys.modules


def _files_alone(given: list[str]) -> bool:
    """Return whether files or single tests are given and no folder: starting processes takes longer than they do."""
    return bool(given) and not any(Path(each.partition("::")[0]).is_dir() for each in given)


@functools.cache
def missing_gpu() -> str | None:
    """Return why tests cannot use a GPU here, or None."""
    try:
        import cupy
    except ImportError as error:
        return f"needs CuPy, which cannot be imported ({error})"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"needs a GPU, which CuPy cannot reach ({error})"
    return None if count else "needs a GPU, and CuPy finds none"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a gpu-marked test, before its fixtures run, where there is no usable GPU."""
    if item.get_closest_marker("gpu") is not None and (reason := missing_gpu()) is not None:
        pytest.skip(reason)


AT_WORK_S = 120.0  # seconds within which the engine's background work ends, however busy the machine


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let no test leave an observer behind: functions of later tests would be watched, take other paths and need more memory.

    Wait for the engine's threads after each test: they would take processors and memory from later tests.
    What outlived a full garbage collection outlives the others too, modules and caches mostly: it is left out from now on.
    """
    if _survived:
        _survived.clear()
        gc.freeze()
    busy = [thread for thread in threading.enumerate() if thread.name.startswith("scanviz: ")]
    for thread in busy:
        thread.join(AT_WORK_S)
        assert not thread.is_alive(), f"{item.nodeid} left the thread {thread.name} at work"
    if (observe := sys.modules.get("scanviz.engine.observe")) is None:
        return
    left = observe.observers()
    for each in left:
        observe.detach(each)
    assert not left, f"{item.nodeid} left {left} watching"


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that plants the nanoseconds of a step, a run or a call wherever samplers choose.

    How many steps and calls have times follows what they take, which machines disagree about.
    """
    from scanviz.engine.observation.sampling import CallSampler, StepSampler

    def plant(step_ns: int, call_ns: int = 20_000) -> None:
        took, ran, unseen = StepSampler.took, StepSampler.ran, StepSampler.passed
        call, passed = CallSampler.took, CallSampler.passed
        monkeypatch.setattr(
            StepSampler, "took", lambda self, steps, span_ns: took(self, steps, steps * step_ns)
        )
        monkeypatch.setattr(StepSampler, "ran", lambda self, steps, elapsed_ns: ran(self, steps, call_ns))
        monkeypatch.setattr(StepSampler, "passed", lambda self, elapsed_ns: unseen(self, call_ns))
        monkeypatch.setattr(
            CallSampler,
            "took",
            lambda self, _, observing=0: call(self, call_ns, 9_000),
        )
        monkeypatch.setattr(CallSampler, "passed", lambda self, _: passed(self, call_ns))

    return plant
