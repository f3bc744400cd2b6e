"""The one piece of advice that a report ends its verdict with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scanviz.profiler.report.units import share
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.verdict import VerdictSentence

if TYPE_CHECKING:
    from scanviz.profiler.advice.item import Advice

LONG_NS = 1_000_000_000  # of shorter runs, looking for advice would be a part worth noticing
WORTH = 0.05  # of the run


def to_try(record: ProfileRecord, advice: Sequence[Advice] | None = None) -> VerdictSentence | None:
    """Return in a sentence what saves most for sure; None where that is little, and of short runs.

    Parameters
    ----------
    record : ProfileRecord
        The run.
    advice : sequence of Advice, optional
        What it gives rise to, where that is known already.

    Examples
    --------
    >>> to_try(ProfileRecord(script="rnn.py", wall_ns=1_500_000)) is None
    True
    """
    if record.wall_ns < LONG_NS:
        return None
    if advice is None:
        from scanviz.profiler.advice.rules import advice_of  # much code, which reads graphs

        advice = advice_of(record)
    sure = [(one.gain_ns, one) for one in advice if one.gain_ns is not None]
    gain_ns, best = max(sure, key=lambda pair: pair[0], default=(0.0, None))
    if best is None or gain_ns < WORTH * record.wall_ns:
        return None
    place = f" ({best.source})" if best.source is not None else ""
    gain = share(gain_ns, record.wall_ns)
    text = sanitize(f"To try: {best.title}{place}, about {gain} of the time; scanviz advise tells more.")
    return VerdictSentence("try", text, source=best.source)
