"""Standard input for several runs: each reads it from its beginning, and nobody waits for what no run asks for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scanviz.profiler.run.repeated_input import RepeatedInput, kind_of_input


@pytest.fixture
def pipe() -> Iterator[tuple[int, IO[bytes]]]:
    read, write = os.pipe()
    with open(write, "wb", buffering=0) as end:
        yield read, end
    os.close(read)


def all_of(descriptor: int | None) -> bytes:
    assert descriptor is not None
    return b"".join(iter(lambda: os.read(descriptor, 2**20), b""))


def test_a_pipe_that_is_larger_than_its_buffer_is_read_whole_by_every_run(
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


def test_a_run_that_reads_less_leaves_the_rest_to_one_that_reads_more(pipe: tuple[int, IO[bytes]]) -> None:
    read, end = pipe
    end.write(b"one\n")
    runs = RepeatedInput(read)
    with runs.of_run(0) as descriptor:
        assert descriptor is not None and os.read(descriptor, 4) == b"one\n"  # and does not wait for the end
    end.write(b"two\n")
    end.close()
    with runs.of_run(1) as descriptor:
        assert all_of(descriptor) == b"one\ntwo\n"
    runs.close()


def test_input_that_never_comes_keeps_no_run_from_ending(pipe: tuple[int, IO[bytes]]) -> None:
    runs = RepeatedInput(pipe[0])
    for number in range(3):
        with runs.of_run(number) as descriptor:
            done = subprocess.run(
                [sys.executable, "-c", "print(1)"], stdin=descriptor, timeout=300, check=False
            )
            assert done.returncode == 0
    runs.close()
    pipe[1].close()  # lets the feeders end


def test_no_more_is_read_than_runs_ask_for(pipe: tuple[int, IO[bytes]]) -> None:
    read, end = pipe
    os.set_blocking(end.fileno(), False)
    runs = RepeatedInput(read)
    sent = 0
    with runs.of_run(0):  # reads nothing: what a pipe or two hold is taken, and then no more
        waited = 0
        while waited < 20:
            try:
                sent += os.write(end.fileno(), bytes(2**14))
                waited = 0
            except BlockingIOError:
                waited += 1
                threading.Event().wait(0.005)
    assert 2**16 <= sent < 2**19
    runs.close()


def test_nobody_reads_the_descriptor_of_what_was_closed(pipe: tuple[int, IO[bytes]]) -> None:
    read, end = pipe
    before = set(threading.enumerate())
    runs = RepeatedInput(read)
    with runs.of_run(0), runs.of_run(1):  # nothing comes: both wait
        runs.close()
    for feeder in set(threading.enumerate()) - before:
        feeder.join(120)
        assert not feeder.is_alive()
    end.write(b"another's")
    assert os.read(read, 100) == b"another's"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=6), st.lists(st.integers(0, 2000), min_size=1, max_size=4))
def test_runs_that_read_any_part_read_the_beginning(pieces: list[bytes], wanted: list[int]) -> None:
    whole = b"".join(pieces)
    read, write = os.pipe()
    for piece in pieces:
        os.write(write, piece)
    os.close(write)
    runs = RepeatedInput(read)
    for number, size in enumerate(wanted):
        with runs.of_run(number) as descriptor:
            assert descriptor is not None
            found = b""
            while len(found) < min(size, len(whole)):
                part = os.read(descriptor, size - len(found))
                assert part
                found += part
        assert found == whole[:size]
    runs.close()
    os.close(read)


def test_a_file_is_gone_back_to_and_what_is_neither_is_left_as_it_is(tmp_path: Path) -> None:
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
def test_a_terminal_is_the_first_runs_alone() -> None:
    primary, secondary = os.openpty()
    runs = RepeatedInput(secondary)
    assert runs.kind == "terminal"
    with runs.of_run(0) as first, runs.of_run(1) as second:
        assert first is None and second == subprocess.DEVNULL
    runs.close()
    os.close(primary)
    os.close(secondary)
