"""``--verify``, ``--bisect`` and ``--ablate`` of ``scanviz rewrites``: a script's functions again, on the inputs it gave them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from scanviz.profiler.ablation import Effect, ablate
from scanviz.profiler.captured_calls import CapturedCall, CapturedCalls
from scanviz.profiler.report_text import HEADING, QUIET, TITLE, WARNING, Line, styled, table
from scanviz.profiler.units import duration
from scanviz.profiler.verification import Checked, Verification, bisect, verify
from scanviz.record.plain_text import plain


def show_measured(
    captured: CapturedCalls,
    flags: frozenset[str],
    function: str | None,
    seconds: int,
    stream: TextIO,
    width: int,
    color: bool,
) -> bool:
    """Do what was asked for with the calls of a run, print it, and return whether all rewrites were right."""
    right = True
    chosen = [each for each in captured.calls if function in (None, each.function.name)]
    for call in chosen:
        for line in _of_function(call, flags, seconds / max(1, len(chosen))):
            stream.write(styled(line, width, color) + "\n")
            stream.flush()
            right = right and line.style != WARNING
    for name in captured.left_out:
        stream.write(f"{plain(name)}: its inputs were too large to be kept\n")
    if not chosen:
        stream.write("no call of a function was seen\n")
    return right


def _of_function(call: CapturedCall, flags: frozenset[str], seconds: float) -> Iterator[Line]:
    name = plain(call.function.name)
    yield Line(f"{name}, on the inputs of one of its calls ({call.calls} in all)", TITLE)
    if "verify" in flags:
        yield from _verified(verify(call.function, call.arrays))
    if "bisect" in flags:
        yield from _bisected(bisect(call.function, call.arrays))
    if "ablate" in flags:
        yield from _ablated(ablate(call.function, call.arrays, seconds))


def _verified(found: Verification) -> Iterator[Line]:
    wrong = found.first_wrong
    if wrong is not None:
        yield _wrong(wrong)
        return
    exact = sum(each.exact for each in found.checked)
    total = len(found.checked)
    yield Line(
        f"  values agree before and after each rewrite ({total} in all), to the last bit for {exact} of them",
        wraps=True,
    )
    if found.skipped:
        yield Line(f"  gradients were not compared: {plain(found.skipped)}", QUIET, wraps=True)
    else:
        yield Line(f"  gradients agree after {len(found.gradients)} of them")


def _wrong(wrong: Checked) -> Line:
    assert wrong.difference is not None
    where = f"{plain(wrong.difference.output)}: {wrong.difference.what}"
    return Line(
        f"  rewrite {wrong.index}, {wrong.rule} ({plain(wrong.says)}), changed {where}", WARNING, wraps=True
    )


def _bisected(wrong: Checked | None) -> Iterator[Line]:
    yield Line("  no rewrite changed a value") if wrong is None else _wrong(wrong)


def _ablated(effects: list[Effect]) -> Iterator[Line]:
    rows = [["without", "a call", "with it", "gain", "quartiles", "peak", "with it"]]
    for each in sorted(effects, key=lambda one: -one.ratio):
        gain = "noise" if each.is_noise else f"{each.ratio:.2f}"
        rows.append(
            [
                each.rule,
                duration(each.without_ns),
                duration(each.with_ns),
                gain,
                f"{each.low:.2f}–{each.high:.2f}",
                _bytes(each.without_bytes),
                _bytes(each.with_bytes),
            ]
        )
    for k, text in enumerate(table(rows, 1, 110)):
        yield Line(f"  {text}", HEADING if k == 0 else "")
    for each in effects:
        if not each.agrees:
            yield Line(f"  without {each.rule} the results are not the same", WARNING)


def _bytes(count: int) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count //= 1024
    return f"{count} GiB"
