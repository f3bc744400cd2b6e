"""NumPy's masked arrays: ``np.asarray`` takes no notice of a mask, and would compute with what lies below it."""

from __future__ import annotations

import sys
from typing import Any

from scanviz.engine.errors import ScanvizTypeError


def refuse_masked(value: Any, what: str) -> None:
    """Raise an error of an array that masks some of its values; one that could but masks none is taken as it is.

    Parameters
    ----------
    value : object
        What was given.
    what : str
        What it was given for, as the message calls it.
    """
    module = sys.modules.get("numpy.ma")  # without it there is no masked array
    if module is None or not isinstance(value, module.MaskedArray) or not module.is_masked(value):
        return
    raise ScanvizTypeError.here(
        f"{what} has masked values, of which there is no notion here",
        expected="an array without a mask",
        found=f"{int(module.getmaskarray(value).sum())} of {value.size} values masked",
        fix="value.filled(0), and numpy.ma.getmaskarray(value) as an input of its own",
    )


__all__ = ["refuse_masked"]
