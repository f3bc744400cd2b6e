"""``scan``: a step function and its arguments become a Scan in the graph.

The way: canonical arguments → ``fn`` called once on symbolic slices → types of states agreed → captured variables found → loop
variables → one Apply.  A loop of one known step becomes the step itself in the outer graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scanviz.engine.building import building
from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.provenance import short_path, user_line
from scanviz.engine.ops.support import constant_integer, truth
from scanviz.engine.scan import assemble
from scanviz.engine.scan.arguments import cut_sequences, number_of_steps
from scanviz.engine.scan.loop import Scan, results_of
from scanviz.engine.scan.properties import LAYOUT
from scanviz.engine.scan.settings import ScanSettings
from scanviz.engine.scan.updates import ScanResult, Updates, updates_of_loop

if TYPE_CHECKING:
    from scanviz.engine.scan.layout import Layout


def _layout(loop: Scan | Apply) -> Layout:
    from scanviz.engine.scan.layout import Layout  # when somebody asks for flat orders

    return Layout(loop)


LAYOUT.append(_layout)


def scan(
    fn: Callable[..., Any],
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: str | None = None,
    name: str | None = None,
    profile: bool | str = False,
    allow_gc: bool | None = None,
    strict: bool | str = False,
    return_list: bool = False,
    return_updates: bool = True,
) -> Any:
    """Apply a step function once for each row of sequences, with results fed back.

    Parameters
    ----------
    fn : callable
        The step.  Called once, on symbolic variables, in this order: each sequence's taps, each output's taps,
        non-sequences, each in the order given.  Returns outputs (a variable or a list of them), updates (a dict or a
        list of pairs of shared variables and their new values), and :class:`until` (condition) last.  Each may be missing;
        outputs and updates may come in either order.
    sequences : variable, array, dict or list of these, optional
        Arrays to run over, along the first dimension.  ``dict(input=x, taps=[-2, 0])`` passes ``x[t-2]`` and ``x[t]``.
    outputs_info : variable, array, number, dict, None or list of these, optional
        One item an output: None for a result that is not fed back; an initial state for one whose previous value is
        passed to ``fn``; ``dict(initial=x0, taps=[-3, -1])`` for other taps, where ``x0`` has one row for each step back to
        the deepest tap, oldest first.  A Python number, or a list of one for each row, takes the dtype that NumPy gives it
        beside what the step reads: ``0`` and ``0.0`` become float32 where the step adds float32.
    non_sequences : variable or list, optional
        Values that are the same at every step.  ``fn`` is called with the variables themselves, so a gradient in the step may be
        taken of them and with respect to them.  Variables used in ``fn`` without being passed are found by themselves.
    n_steps : int or integer scalar variable, optional
        Number of steps (the largest, with ``until``); by default as many as the shortest sequence allows.
    truncate_gradient : int
        Number of steps that gradients go back in time, -1 for all.
    go_backwards : bool
        Whether to run over the sequences from their ends; taps keep their meaning in the original index.
    mode : str, optional
        Name of the tier to run this loop with; by default the function's.
    name : str, optional
        Name in profiles, pictures and messages; by default made of the source line.
    profile : bool or str
        Whether to record this loop; a string also names it.
    allow_gc : bool, optional
        True frees the loop's buffers after each call, unless they are a few kilobytes; False keeps them for the next one;
        by default ``config.scan.allow_gc``.
    strict : bool or "all"
        True refuses shared variables used in ``fn`` but not passed; ``"all"`` refuses any variable not passed.
    return_list : bool
        Whether a single output comes in a list too.
    return_updates : bool
        False returns the outputs alone, and refuses loops that have updates.

    Returns
    -------
    outputs : Variable, list of Variable or None
        One result an output, in the order of ``outputs_info``, with one row a step.
    updates : Updates
        New values of shared variables, for ``function(updates=…)``.

    Raises
    ------
    ScanvizError
        For arguments that do not fit together; the message names them and the code to write.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> k, A = T.iscalar("k"), T.vector("A")
    >>> powers, updates = scanviz.scan(lambda p, a: p * a, outputs_info=T.ones_like(A), non_sequences=A, n_steps=k)
    >>> power = scanviz.function([A, k], powers[-1], updates=updates)
    >>> power([0.0, 1.0, 2.0, 3.0], 4)
    array([ 0.,  1., 16., 81.])
    """
    with building("scan"):
        if isinstance(profile, str) and profile and name is None:
            name = profile
        profile = bool(profile) if isinstance(profile, str) else truth(profile, "profile")
        return_list, return_updates = (
            truth(return_list, "return_list"),
            truth(return_updates, "return_updates"),
        )
        go_backwards = truth(go_backwards, "go_backwards")
        settings = loop_settings(name, truncate_gradient, mode, allow_gc, profile, strict)
        wanted = assemble.scan_request(fn, sequences, outputs_info, non_sequences, strict)
        steps = number_of_steps(wanted.sequences, n_steps, settings.name)
        step = assemble.build_step(wanted, settings.name)
        cuts = cut_sequences(wanted.sequences, go_backwards)
        parts = assemble.loop_parts(wanted, step, cuts)
        of_one_step = _unrolled(parts, settings.name) if constant_integer(steps) == 1 else None
        results, updates = of_one_step or _apply(parts, steps, settings)
        return _returned(results, updates, return_list, return_updates, settings)


def loop_settings(
    name: str | None,
    truncate_gradient: int,
    mode: str | None,
    allow_gc: bool | None,
    profile: bool,
    strict: Any,  # checked here
) -> ScanSettings:
    """Check and return the settings of a loop."""
    if type(truncate_gradient) is not int or truncate_gradient < -1 or truncate_gradient == 0:
        raise ScanvizValueError.here(
            "truncate_gradient cannot be used",
            expected="a number of steps, or -1 for all",
            found=repr(truncate_gradient),
        )
    if not isinstance(strict, bool | int | str) or strict not in (True, False, "all"):
        raise ScanvizValueError.here(
            "strict cannot be used", expected="True, False or 'all'", found=repr(strict)
        )
    if name is None:
        line = user_line()
        name = f"scan at {short_path(line.file)}:{line.line}" if line else "scan"
    tier = getattr(mode, "backend", mode)  # a Mode of the layer above, or a name
    if tier is not None and not isinstance(tier, str):
        raise ScanvizTypeError.here(
            "mode cannot be used", expected="the name of a tier, or a Mode", found=repr(mode)
        )
    keep = config.scan.allow_gc if allow_gc is None else truth(allow_gc, "allow_gc")
    return ScanSettings(str(name), truncate_gradient, tier, keep, profile, bool(strict))


def _unrolled(parts: assemble.ScanParts, name: str) -> tuple[list[Variable], Updates] | None:
    """Return the results of a one-step loop without a loop, or None if only a loop checks its rows."""
    from scanviz.engine.scan.unroll import (  # few loops have one step
        unchecked_sequence,
        unchecked_state,
        unroll_one_step,
    )

    if unchecked_sequence(parts.variables, parts.outer.get) or unchecked_state(
        parts.variables, parts.outer.get
    ):
        return None
    return unroll_one_step(parts, name)


def _apply(
    parts: assemble.ScanParts, steps: Variable, settings: ScanSettings
) -> tuple[list[Variable], Updates]:
    op = Scan(parts.variables, parts.until, settings)
    outer = [parts.outer[variable] for variable in parts.variables if variable in parts.outer]
    results = results_of(op, [steps, *outer])
    final = {
        shared_variable: parts.final_value(variable, results[variable])
        for variable, shared_variable in parts.shared
    }
    return [results[output] for output in parts.outputs], updates_of_loop(final)


def _returned(
    results: list[Variable], updates: Updates, return_list: bool, return_updates: bool, settings: ScanSettings
) -> Any:
    outputs: Any = results
    if not return_list:
        outputs = None if not results else results[0] if len(results) == 1 else results
    if return_updates:
        return ScanResult(outputs, updates)
    if updates:
        names = ", ".join(f"`{describe(update)}`" for update in updates)
        raise ScanvizValueError.here(
            f"loop `{settings.name}` updates {names}, which return_updates=False would lose",
            fix="outputs, updates = scan(…)",
        )
    return outputs
