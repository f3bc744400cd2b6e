"""Whether a step's function takes what scan passes: if not, each argument with where it comes from, and what is missing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.provenance import SourceLine

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional_parameters(fn: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function that take arguments by position; none where Python does not know them."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [parameter for parameter in parameters if parameter.kind in _POSITIONAL]


def check_signature(
    fn: Callable[..., Any], passed: Sequence[tuple[str, str]], where: SourceLine | None
) -> None:
    """Check that a step's function takes as many arguments as scan passes.

    Parameters
    ----------
    fn : callable
        The step.
    passed : sequence of (str, str)
        Name of each argument, and the argument of scan it comes from: ``("x[t]", "sequences")``.
    where : SourceLine or None
        Where ``fn`` is defined.

    Raises
    ------
    ScanvizTypeError
        That lists parameters beside arguments, and says which argument of scan would add or remove one.
    """
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*passed)
    except TypeError as error:
        called = getattr(fn, "__name__", "fn")
        names = [parameter.name for parameter in positional_parameters(fn)]
        raise ScanvizTypeError(
            f"the step function `{called}` takes {_count(names)}, scan passes {_count(passed)} ({error})",
            where=where,
            expected=f"parameters for {', '.join(f'{name} ({origin})' for name, origin in passed) or 'nothing'}",
            found=f"{'' if called.startswith('<') else called}{signature}" + _beside(names, passed),
            fix=_remedy(names, passed),
        ) from None


def _count(listed: Sequence[object]) -> str:
    return f"{len(listed)} argument{'' if len(listed) == 1 else 's'}"


def _beside(names: Sequence[str], passed: Sequence[tuple[str, str]]) -> str:
    """Return which parameter is given what, in order."""
    pairs = [f"{name} = {given}" for name, (given, _) in zip(names, passed, strict=False)]
    return f", called with {', '.join(pairs)}" if pairs else ""


def _remedy(names: Sequence[str], passed: Sequence[tuple[str, str]]) -> str:
    order = "the order is: sequences' taps, outputs' taps, non_sequences, each in the order given"
    if len(names) <= len(passed):
        more = ", ".join(f"{name} (from {origin})" for name, origin in passed[len(names) :])
        extra = f"a parameter more for {more}" if more else "a function that takes them by position"
        if any(origin.startswith("outputs_info") for _, origin in passed[len(names) :]):
            extra += "\nor None in outputs_info for a result that the step does not read back"
        return f"{extra}\n{order}"
    missing = ", ".join(f"`{name}`" for name in names[len(passed) :])
    lines = []
    if not any(origin.startswith("outputs_info") for _, origin in passed):
        lines.append(
            f"outputs_info=[…] in scan if {missing} is what the step before returned: its first value"
        )
    else:
        lines.append(f"outputs_info with a first value for each of {missing} that the step before returned")
    lines.append(f"sequences=[…, …] in scan if {missing} is a row of one more sequence")
    lines.append(f"non_sequences=[…] in scan if {missing} is the same at every step")
    return "\n".join([*lines, order])
