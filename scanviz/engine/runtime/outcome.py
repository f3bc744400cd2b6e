"""How the code of a loop says that it ended (:mod:`scanviz.engine.runtime.calling`), and a run that an error ended."""

from __future__ import annotations

from typing import Final, NamedTuple, NoReturn

DONE: Final = 0
STOPPED: Final = 1
FAILED: Final = 2
Outcome = tuple[int, int, int]


class FailedRun(NamedTuple):
    """How a run ended that an error ended.

    Attributes
    ----------
    step : int
        The step that failed.
    error : BaseException
        What to raise, in the user's words.
    cause : BaseException or None
        What that came of.
    tier : str
        Whose code it was.
    """

    step: int
    error: BaseException
    cause: BaseException | None
    tier: str = "numpy"

    def reraise(self) -> NoReturn:
        """Raise what ended the run."""
        raise self.error from self.cause
