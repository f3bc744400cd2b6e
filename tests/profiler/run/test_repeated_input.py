"""Each of several runs reads standard input from its beginning."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from scanviz.profiler.run.repeats import RepeatedInput, kind_of_input


@pytest.fixture
def pipe() -> Iterator[tuple[int, IO[bytes]]]:
    read, write = os.pipe()
    with open(write, "wb", buffering=0) as end:
        yield read, end
    os.close(read)


def all_of(descriptor: int | None) -> bytes:
    assert descriptor is not None
    return b"".join(iter(lambda: os.read(descriptor, 2**20), b""))


def test_every_run_reads_a_whole_long_pipe(
    pipe: tuple[int, IO[bytes]],
) -> None:
    sent = os.urandom(500_000)
    read, end = pipe
    sender = threading.Thread(target=lambda: (end.write(sent), end.close()))
    sender.start()
    runs = RepeatedInput(read)
    for number in range(3):
        with runs.of_run(number) as descriptor:
            assert all_of(descriptor) == sent
    runs.close()
    sender.join()


def test_runs_that_read_nothing_end_without_waiting_for_input(pipe: tuple[int, IO[bytes]]) -> None:
    runs = RepeatedInput(pipe[0])
    for number in range(3):
        with runs.of_run(number) as descriptor:
            done = subprocess.run(
                [sys.executable, "-c", "print(1)"], stdin=descriptor, timeout=300, check=False
            )
            assert done.returncode == 0
    runs.close()
    pipe[1].close()  # lets the feeders end


def test_file_input_is_rewound_and_other_input_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_bytes(b"skipped read")
    with path.open("rb") as file:
        os.lseek(file.fileno(), 8, os.SEEK_SET)
        runs = RepeatedInput(file.fileno())
        for number in range(2):
            with runs.of_run(number) as descriptor:
                assert descriptor is None and os.read(file.fileno(), 100) == b"read"
        runs.close()
    with open(os.devnull) as nothing:
        assert kind_of_input(nothing.fileno()) == "other"


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
def test_only_the_first_run_reads_a_terminal() -> None:
    primary, secondary = os.openpty()
    runs = RepeatedInput(secondary)
    assert runs.kind == "terminal"
    with runs.of_run(0) as first, runs.of_run(1) as second:
        assert first is None and second == subprocess.DEVNULL
    runs.close()
    os.close(primary)
    os.close(secondary)
