"""Rows of a loop variable's buffer that a step reads and writes, and the reason of its kind, in words.

A state's buffer holds the rows that are there before the first step, then one row a step.  With the deepest tap ``-d`` there are
``d`` rows before, so the tap ``r`` at step ``t`` is row ``t + r + d`` of the buffer.  A loop of back-propagation counts its own
steps; its step ``s`` belongs to step ``steps - 1 - s`` of the loop that it is the gradient of.
"""

from __future__ import annotations

from scanviz.record.graphs.graph import LoopVariableRecord, cell_name, goes_backwards


def rows_before(variable: LoopVariableRecord) -> int:
    """Return the number of rows before that of step 0 in a loop variable's buffer.

    Examples
    --------
    >>> rows_before(LoopVariableRecord("mitsot", "x", reads=(-3, -1), writes=(0,)))
    3
    """
    if variable.kind == "sequence":
        return 0  # it is cut for its tap before the loop begins
    return max(0, -min((*variable.reads, *variable.writes), default=0))


def rows_read(variable: LoopVariableRecord, step: int) -> tuple[int, ...]:
    """Return the rows of the buffer that a step reads, in the order of the taps.

    Examples
    --------
    >>> rows_read(LoopVariableRecord("mitsot", "x", reads=(-3, -1), writes=(0,)), 7)
    (7, 9)
    """
    if variable.kind == "sequence":
        return (step,)
    before = rows_before(variable)
    return tuple(step + tap + before for tap in variable.reads)


def rows_written(variable: LoopVariableRecord, step: int) -> tuple[int, ...]:
    """Return the rows of the buffer that a step writes, in the order of the taps.

    Examples
    --------
    >>> rows_written(LoopVariableRecord("mitsot", "x", reads=(-3, -1), writes=(0,)), 7)
    (10,)
    """
    if variable.kind == "nitsot":
        return (step,)
    before = rows_before(variable)
    return tuple(step + tap + before for tap in variable.writes)


def backward_name(variable: LoopVariableRecord, row: int, steps: int) -> str:
    """Return the name of a gradient's row in the time of the forward loop; else nothing.

    Examples
    --------
    >>> slopes = LoopVariableRecord("mitmot", "∂h", reads=(0, 1), writes=(1,), inner_inputs=("∂h[t]", "∂h[t-1]"))
    >>> [backward_name(slopes, row, 3) for row in range(4)]
    ['∂h[2]', '∂h[1]', '∂h[0]', '∂h[-1]']
    """
    if rows_before(variable) or not goes_backwards(zip(variable.reads, variable.inner_inputs, strict=False)):
        return ""
    return f"{variable.name or 'it'}[{steps - 1 - row}]"


def carried(variable: LoopVariableRecord, step: int, steps: int) -> str:
    """Return, in words, which later steps read or overwrite the rows that a step writes; nothing where none does.

    Examples
    --------
    >>> state = LoopVariableRecord("mitsot", "x", reads=(-3, -1), writes=(0,), inner_inputs=("x[t-3]", "x[t-1]"))
    >>> carried(state, 7, 20)
    'row 10 is read by step 8 as x[t-1], by step 10 as x[t-3]'
    >>> carried(state, 18, 20)
    'row 21 is read by step 19 as x[t-1]'
    """
    found = []
    for row, uses in later_uses(variable):
        verbs = []
        for verb, readers in uses:
            later = [f"by step {step + after} as {name}" for after, name in readers if step + after < steps]
            verbs += [f"{verb} {', '.join(later)}"] if later else []
        found += [f"row {step + row} is {' and '.join(verbs)}"] if verbs else []
    return "; ".join(found)


def later_uses(variable: LoopVariableRecord) -> list[tuple[int, list[tuple[str, list[tuple[int, str]]]]]]:
    """Return the later uses of each row that a step writes: the verb, and how many steps later under which names.

    Rows are counted from the step's number.

    Examples
    --------
    >>> state = LoopVariableRecord("mitsot", "x", reads=(-3, -1), writes=(0,), inner_inputs=("x[t-3]", "x[t-1]"))
    >>> later_uses(state)
    [(3, [('read', [(1, 'x[t-1]'), (3, 'x[t-3]')]), ('written again', [])])]
    """
    if variable.kind not in ("mitmot", "mitsot", "sitsot"):
        return []
    before = rows_before(variable)
    doing = (("read", variable.reads), ("written again", variable.writes))
    return [
        (
            written + before,
            [
                (verb, sorted((written - tap, called(variable, tap)) for tap in taps if tap < written))
                for verb, taps in doing
            ],
        )
        for written in variable.writes
    ]


def why_kind(variable: LoopVariableRecord) -> str:
    """Return in a sentence or two why a loop variable is of its kind.

    Examples
    --------
    >>> print(why_kind(LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,))))
    The step reads h[t-1] alone, the row of the step before, and writes h[t]: single input tap, single output tap.
    >>> print(why_kind(LoopVariableRecord("mitmot", "g", reads=(0, 1), writes=(1, 3))))
    The step writes several rows, g[t+1], g[t+3], and reads g[t], g[t+1]: multiple input taps, multiple output taps. Counted in
    its own steps, row t+3 is written by step t (as g[t+3]) and again by step t+2 (as g[t+1]): the additions of several steps
    to one row are summed, as back-propagation needs where several steps read a row.
    """
    name = variable.name or "it"
    reads = ", ".join(called(variable, tap) for tap in variable.reads)
    writes = ", ".join(called(variable, tap) for tap in variable.writes)
    match variable.kind:
        case "sequence":
            return f"The step reads {', '.join(variable.inner_inputs) or name}, one row a step, and writes nothing to it."
        case "non_sequence":
            return f"Every step reads the whole of {name}, which stays the same."
        case "carry":
            return "Each step takes the value that the step before left, and only the last is kept."
        case "nitsot":
            return f"The step gives a row of {name}, which no step reads: no input tap, single output tap."
        case "sitsot":
            return (
                f"The step reads {reads} alone, the row of the step before, and writes {writes}: single input tap,"
                " single output tap."
            )
        case "mitsot":
            return f"The step reads {reads} and writes {writes}: multiple input taps, single output tap."
        case _:
            return f"{_mitmot(variable, reads, writes)}{_written_again(variable)}"


def _mitmot(variable: LoopVariableRecord, reads: str, writes: str) -> str:
    kinds = "multiple input taps, multiple output taps."
    if len(variable.writes) == 1:
        return f"The step reads {reads}, where a row was filled before the loop began, and writes {writes}: {kinds}"
    return f"The step writes several rows, {writes}, and reads {reads}: {kinds}"


def _written_again(variable: LoopVariableRecord) -> str:
    """Return the row that several steps write, in words, for the first such pair of taps."""
    first, last = min(variable.writes), max(variable.writes)
    if first == last:
        return ""
    row = f"t{last:+d}" if last else "t"
    return (
        f" Counted in its own steps, row {row} is written by step t (as {called(variable, last)}) and again by step"
        f" t+{last - first} (as {called(variable, first)}): the additions of several steps to one row are"
        " summed, as back-propagation needs where several steps read a row."
    )


def called(variable: LoopVariableRecord, tap: int) -> str:
    """Return the name of a tap's row in the loop's step.

    A loop of back-propagation goes backwards, so its own tap +3 is called ``g[t-3]``, as time goes in the loop that it is the
    gradient of.

    Examples
    --------
    >>> called(LoopVariableRecord("mitmot", "g", reads=(0, 3), writes=(3,), inner_inputs=("g[t]", "g[t-3]")), 3)
    'g[t-3]'
    """
    return cell_name(variable.name or "it", tap, zip(variable.reads, variable.inner_inputs, strict=False))
