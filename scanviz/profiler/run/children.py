"""Record the processes that a program starts with multiprocessing: one profile each, merged into the program's own at its end.

A process is recorded from start to end with every start method.  A forked process inherits the recording.  A spawned process, or
one forked by a server, receives it with multiprocessing's preparation data, and unpickling starts the recording (as in
coverage.py).  So nested processes are recorded too, and pool workers, which save their profile before SIGTERM ends them.  A worker
without a task at that moment does not count as interrupted: its stack shows it (:func:`waits_for_a_task`).

Limits: processes started by ``os.fork`` or ``subprocess`` are not recorded; a killed process (``Process.kill``, ``os._exit``)
leaves no profile; values of loops are kept only for the program's own process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.process
import multiprocessing.spawn
import os
import re
import signal
import site
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from scanviz.engine import observe
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.run.exits import answer
from scanviz.record.model import OutcomeRecord, ProfileRecord
from scanviz.record.storage.file import load, save
from scanviz.record.storage.merging import merged
from scanviz.record.storage.writing import signals_wait

# Deliver a signal to Python's handler even if it arrives just before the main thread begins to wait.
#
# C only notes a signal; Python calls the handler before its next instruction.  If a wait for a lock begins in between, nothing
# wakes it and the handler never runs.  A pool would then wait for ever for a terminated worker, which the default handler ends.
# So a thread receives the signal too (``signal.set_wakeup_fd``) and sends it again until the handler has run.
#
# Limits: programs with a wakeup descriptor of their own, such as asyncio's, go without.

PAUSE = 0.1  # seconds between two sendings, more than Python needs to handle a signal


def insist_on(number: int, handler: Callable[[int, FrameType | None], None]) -> None:
    """Repeat a signal until its handler changes; call this in the main thread, after setting the handler."""
    if not hasattr(os, "register_at_fork"):
        return  # a system without such signals
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)  # a forked process must not report its own signals here
    main = threading.get_ident()

    def insist() -> None:
        while number not in os.read(reading, 64):
            pass
        while True:
            time.sleep(PAUSE)
            if signal.getsignal(number) is not handler:
                return
            signal.pthread_kill(main, number)

    threading.Thread(target=insist, name="scanviz signals", daemon=True).start()


def _forget() -> None:
    signal.set_wakeup_fd(-1)


_OWN = __name__.rpartition(".")[0]  # package whose signal handlers a forked process may replace


class ChildOptions(NamedTuple):
    """Options for recording child processes.

    Attributes
    ----------
    folder : str
        The folder of their profiles; created by the first process.
    script : str
        The program's name.
    arguments : tuple of str
        The program's arguments.
    detail : str
        ``"steps"`` or ``"ops"``.
    steps_a_stamp : int
        Number of very short steps that may share one time.
    """

    folder: str
    script: str
    arguments: tuple[str, ...]
    detail: Literal["steps", "ops"]
    steps_a_stamp: int


class _CalledThere:
    """A call that a process makes which does not inherit the recording: unpickling makes it."""

    def __init__(self, function: Callable[..., object], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[Any, ...]]:
        return self.call


_own_options: dict[str, ChildOptions] = {}  # of this process, under "options": there is one program


def record_children(options: ChildOptions) -> None:
    """Record every process that multiprocessing starts from now on.

    Parameters
    ----------
    options : ChildOptions
        The options of the recordings.
    """
    if not _own_options:
        _record_bootstraps()
        _send_with_preparation()
    _own_options["options"] = options


def free_folder(output: Path) -> Path:
    """Return an unused folder name next to a profile, for the profiles of its processes.

    Examples
    --------
    >>> free_folder(Path("nothing-here.scanviz"))
    PosixPath('nothing-here-children')
    """
    folder, count = output.with_name(f"{output.stem}-children"), 1
    while folder.exists():
        count += 1
        folder = output.with_name(f"{output.stem}-children-{count}")
    return folder


def end_children() -> None:
    """End child processes as python does at exit: terminate daemons and wait for the others."""
    for process in multiprocessing.active_children():
        if process.daemon:
            process.terminate()
        process.join()


def with_children(record: ProfileRecord, folder: Path) -> ProfileRecord:
    """Merge a program's profile with those of its processes; return it unchanged if there are none."""
    paths = sorted(folder.glob("*.scanviz"), key=_in_order) if folder.exists() else []
    if not paths:
        return record
    whole = merged([("main", record), *((path.stem, load(path)) for path in paths)])
    return replace(whole, started=record.started, outcome=record.outcome)


def _in_order(path: Path) -> list[tuple[str, int]]:
    """Return a sort key of a path that compares numbers in its name as numbers."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", path.stem)]


def _record_bootstraps() -> None:
    process = multiprocessing.process.BaseProcess
    bootstrap: Callable[..., int] = process._bootstrap  # type: ignore[attr-defined]  # what every process runs

    def recorded_bootstrap(self: multiprocessing.process.BaseProcess, *args: Any, **kwargs: Any) -> int:
        with _recorded(self, _own_options["options"]) as outcome:
            code = bootstrap(self, *args, **kwargs)
            outcome.append(OutcomeRecord("ok" if code == 0 else "exit", code))
        return code

    process._bootstrap = recorded_bootstrap  # type: ignore[attr-defined]


def _send_with_preparation() -> None:
    prepared = multiprocessing.spawn.get_preparation_data

    def with_options(name: str) -> dict[str, Any]:
        data = prepared(name)
        root = str(Path(__file__).parents[3])
        if root not in (*site.getsitepackages(), site.getusersitepackages()):
            data["scanviz_path"] = _CalledThere(
                site.addsitedir, root
            )  # unpickled first: the process has python's own path yet
        data["scanviz"] = _CalledThere(record_children, _own_options["options"])
        return data

    multiprocessing.spawn.get_preparation_data = with_options


@contextmanager
def _recorded(
    process: multiprocessing.process.BaseProcess, options: ChildOptions
) -> Iterator[list[OutcomeRecord]]:
    """Record this process during the block, and save its profile however the block ends."""
    for inherited in observe.observers():
        observe.detach(inherited)
    recorder = Recorder(options.detail, steps_a_stamp=options.steps_a_stamp)
    recorder.describe_script(options.script, options.arguments)
    outcome: list[OutcomeRecord] = []
    saved: list[Path] = []

    def finish(ended: OutcomeRecord) -> None:
        with signals_wait():
            if saved:
                return
            saved.append(_place(Path(options.folder), process.name))
            observe.detach(recorder)
            recorder.finish(ended)
            with contextlib.suppress(Exception):  # the process's own work comes first
                save(recorder.record(), saved[0])

    def terminated(number: int, frame: FrameType | None) -> None:
        code = 128 + number
        if waits_for_a_task(frame, getattr(process, "_target", None)):
            finish(OutcomeRecord("ok", code, "ended by its pool"))
        else:
            finish(OutcomeRecord("interrupted", code, "terminated in the middle of its work"))
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    _catch_termination(terminated)
    observe.attach(recorder)
    try:
        yield outcome
    finally:
        finish(outcome[0] if outcome else OutcomeRecord("error", 1, "the process did not end by itself"))


def _catch_termination(handler: Callable[[int, FrameType | None], None]) -> None:
    number = getattr(signal, "SIGTERM", None)
    if number is None:
        return
    before = signal.getsignal(number)
    if before is signal.SIG_DFL or getattr(before, "__module__", "").startswith(_OWN):
        answer(number, handler)
        insist_on(number, handler)


# Worker functions of pools: module and name → their variables that hold the current task and its result.
_WORKERS = {
    ("multiprocessing.pool", "worker"): ("task", "result"),
    ("concurrent.futures.process", "_process_worker"): ("call_item", "r"),
}


def waits_for_a_task(frame: FrameType | None, target: object) -> bool:
    """Return whether a process interrupted here is an idle worker of one of Python's pools.

    ``target`` is the function of the process: a worker that has not begun or has ended is idle too.  The sender of the signal is
    unknown.  With a Python version that names the variables differently, no worker counts as idle.
    """
    while frame is not None:
        names = _WORKERS.get((frame.f_globals.get("__name__", ""), frame.f_code.co_name))
        if names is not None:
            task, result = map(frame.f_locals.get, names)
            return (task is None or result is not None) and set(names) <= set(frame.f_code.co_varnames)
        frame = frame.f_back
    return (getattr(target, "__module__", ""), getattr(target, "__name__", "")) in _WORKERS


def _place(folder: Path, name: str) -> Path:
    """Return an unused file name for this process."""
    folder.mkdir(exist_ok=True)
    plain = re.sub(r"[^\w.-]+", "-", name)[:80] or "process"
    path = folder / f"{plain}.scanviz"
    return folder / f"{plain}-{os.getpid()}.scanviz" if path.exists() else path
