"""Helpers of tests of errors: the error of a call, which names the call's line."""

from collections.abc import Callable
from typing import Any

import pytest

from scanviz.engine.errors import ScanvizError


def trapped(call: Callable[[], Any], kind: type[Exception]) -> ScanvizError:
    """Return the error of a call written on one line: of that built-in kind, naming that line."""
    with pytest.raises(ScanvizError) as caught:
        call()
    error = caught.value
    assert isinstance(error, kind), type(error)
    code = call.__code__
    assert (error.where.file, error.where.line) == (code.co_filename, code.co_firstlineno), str(error)
    assert error.fix, str(error)
    return error
