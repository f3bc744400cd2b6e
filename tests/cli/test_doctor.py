"""The doctor's report of failed checks."""

import subprocess

from scanviz.cli import doctor


def test_a_slow_library_is_not_reported_as_missing(monkeypatch):
    def late(*arguments, **named):
        raise subprocess.TimeoutExpired("python", 60)

    monkeypatch.setattr(doctor.subprocess, "run", late)
    found = doctor._libraries()
    assert not any(each.works for each in found)
    for each in found:
        line = doctor._line(each)
        assert "missing" not in line and "pip install" not in line and "took longer than 60 s" in line
