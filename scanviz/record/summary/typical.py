"""The typical step of a loop in words: its parts in one unit, with printed numbers that add up."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.record.loops import FEW_NS, LoopRecord

BELOW = "below resolution"
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_DIGITS = 3  # of the whole
FEW_STEPS = 32  # below, a loop may never have reached steps that are timed in detail
LEAST_NS = 1e-3  # a shorter step is nothing that was measured


def sum_in_words(whole_ns: float, parts_ns: Sequence[float]) -> tuple[str, list[str]]:
    """Return a time and its parts as text in one unit; the printed parts add up to the printed whole.

    Parameters
    ----------
    whole_ns : float
        The whole, more than 0.
    parts_ns : sequence of float
        Its parts; 0 for one below resolution.

    Examples
    --------
    >>> sum_in_words(886.0, [833.4, 0.0, 52.6])
    ('886 ns', ['833 ns', 'below resolution', '53 ns'])
    >>> sum_in_words(1456.0, [1354.6, 0.9, 100.5])
    ('1.46 µs', ['1.36 µs', '<0.01 µs', '0.10 µs'])
    >>> sum_in_words(1.625, [1.5, 0.125, 0.0])
    ('1.6 ns', ['1.5 ns', '0.1 ns', 'below resolution'])
    """
    scale, unit = next(((size, name) for size, name in _UNITS if whole_ns >= size), _UNITS[-1])
    decimals = max(0, _DIGITS - len(str(int(whole_ns / scale)))) if unit != "ns" else int(whole_ns < FEW_NS)
    grain = scale / 10**decimals
    whole = max(1, round(whole_ns / grain))
    shares = [part / grain * (whole * grain / whole_ns) for part in parts_ns]
    counts = [int(share) for share in shares]
    largest = sorted(range(len(shares)), key=lambda k: counts[k] - shares[k])  # remainders, the largest first
    for k in [k for k in largest if shares[k] > 0][: whole - sum(counts)]:
        counts[k] += 1
    texts = [
        BELOW
        if not part
        else f"{count * grain / scale:.{decimals}f} {unit}"
        if count
        else f"<{grain / scale:.{decimals}f} {unit}"
        for part, count in zip(parts_ns, counts, strict=True)
    ]
    return f"{whole * grain / scale:.{decimals}f} {unit}", texts


def typical_step(loop: LoopRecord) -> str:
    """Return the parts of a loop's typical step in words, or why it was not divided; nothing if no step was timed.

    Examples
    --------
    >>> loop = LoopRecord(1, 1, None, "rnn", None, steps=900, sampled_steps=64, body_ns=833.0, overhead_ns=53.0)
    >>> typical_step(loop)
    'typical step 886 ns = operations 833 ns + storing rows below resolution + the loop itself 53 ns (64 timed)'
    >>> typical_step(LoopRecord(1, 1, None, "rnn", None, steps=6, sampled_steps=2))
    'too few steps (2) had their operations timed to divide a step into its parts'
    """
    if not loop.sampled_steps:
        return ""
    if loop.typical_ns < LEAST_NS:
        return (
            f"too few steps ({loop.sampled_steps}) had their operations timed to divide a step into its parts"
        )
    whole, parts = sum_in_words(loop.typical_ns, (loop.body_ns, loop.copy_ns, loop.overhead_ns))
    names = ("operations", "storing rows", "the loop itself")
    named = " + ".join(f"{name} {text}" for name, text in zip(names, parts, strict=True))
    left_out = f", {loop.disturbed_steps:,} disturbed left out" if loop.disturbed_steps else ""
    return f"typical step {whole} = {named} ({loop.sampled_steps:,} timed{left_out})"


def why_untimed(loop: LoopRecord) -> str:
    """Return why the operations of a loop's step were not timed.

    Examples
    --------
    >>> why_untimed(LoopRecord(1, 1, None, "rnn", None, steps=6))
    'too few steps to time its operations one by one (--detail ops times all)'
    >>> why_untimed(LoopRecord(1, 1, None, "rnn", None, steps=9000))
    'operations were not timed one by one in this tier'
    """
    if loop.steps < FEW_STEPS:
        return "too few steps to time its operations one by one (--detail ops times all)"
    return "operations were not timed one by one in this tier"
