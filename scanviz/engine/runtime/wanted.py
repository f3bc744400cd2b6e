"""What those who watch want together: the closest look of all, and only what all of them allow."""

from __future__ import annotations

from scanviz.engine.named_tuple import NamedTuple
from scanviz.engine.observe import Detail, Observer


class Wanted(NamedTuple):
    """What observers want together.

    Attributes
    ----------
    detail : str
        The closest look.
    steps_a_stamp : int
        How many steps may share a time.
    samples_runs, samples_calls : bool
        Whether runs and calls may be passed over.
    control, weighs : bool
        Whether blocks of steps may run as if nobody watched, and whether memory is to be counted.
    """

    detail: Detail
    steps_a_stamp: int
    samples_runs: bool
    samples_calls: bool
    control: bool
    weighs: bool


def wanted_by(observers: tuple[Observer, ...]) -> Wanted:
    """Return what observers want together."""
    if len(observers) == 1:  # as mostly
        (one,) = observers
        runs = one.detail == "steps" and one.samples_runs
        control = one.detail != "values" and one.control
        return Wanted(one.detail, one.steps_a_stamp, runs, runs and one.samples_calls, control, one.weighs)
    details = {observer.detail for observer in observers}
    detail: Detail = "values" if "values" in details else "ops" if "ops" in details else "steps"
    block = min((observer.steps_a_stamp for observer in observers), default=1)
    runs = detail == "steps" and all(observer.samples_runs for observer in observers)
    calls = runs and all(observer.samples_calls for observer in observers)
    control = detail != "values" and all(observer.control for observer in observers)
    return Wanted(detail, block, runs, calls, control, any(observer.weighs for observer in observers))


__all__ = ["Wanted", "wanted_by"]
