"""A planted clock for what samples steps and calls: how often it looks follows what they take, which machines disagree about."""

import pytest

from scanviz.engine.runtime.call_schedule import CloseCalls
from scanviz.engine.runtime.schedule import SamplingSchedule


@pytest.fixture
def planted(monkeypatch):
    """Return what says how many nanoseconds a step takes, and a run or a call, wherever the next to be looked at are chosen."""

    def plant(step_ns, call_ns=20_000):
        took, ran, unseen = SamplingSchedule.took, SamplingSchedule.ran, SamplingSchedule.ran_unseen
        call, alone = CloseCalls.took, CloseCalls.took_alone
        monkeypatch.setattr(
            SamplingSchedule, "took", lambda self, steps, span_ns: took(self, steps, steps * step_ns)
        )
        monkeypatch.setattr(
            SamplingSchedule, "ran", lambda self, steps, elapsed_ns: ran(self, steps, call_ns)
        )
        monkeypatch.setattr(SamplingSchedule, "ran_unseen", lambda self, elapsed_ns: unseen(self, call_ns))
        monkeypatch.setattr(
            CloseCalls,
            "took",
            lambda self, _, watching=0, is_alone=False: call(self, call_ns, 9_000, is_alone),
        )
        monkeypatch.setattr(CloseCalls, "took_alone", lambda self, _: alone(self, call_ns))

    return plant
