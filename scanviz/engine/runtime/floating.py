"""Silence NumPy's floating-point warnings while a program runs, since NaN and infinity are ordinary values.

``with np.errstate(all="ignore")`` takes a tenth of a short call.  NumPy keeps this state in a context variable, which is found here
by setting the state in an empty context.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import Any

import numpy as np


def _found() -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Return a function that silences warnings, and one that takes its result and restores the state."""
    context = Context()
    context.run(np.seterr, all="ignore")
    held = list(context.items())
    if len(held) != 1:  # a NumPy that keeps it elsewhere
        return partial(np.seterr, all="ignore"), lambda before: np.seterr(**before)
    ((variable, value),) = held
    return partial(variable.set, value), variable.reset


ignore_errors, as_before = _found()
