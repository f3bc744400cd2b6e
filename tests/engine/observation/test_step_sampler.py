"""How often and how much a loop is looked at while it is observed."""

from itertools import pairwise

import pytest

from scanviz.engine.observation.sampling import StepSampler, scheduled
from scanviz.engine.runtime.observed import control_ends

PART_NS = 20_000  # about the cost of a part beside its steps


@pytest.mark.parametrize("step_ns", [2, 20, 150, 900])
def test_parts_of_very_short_steps_are_long_enough_to_cost_little(step_ns: int) -> None:
    schedule, steps = StepSampler(control=True), 200_000_000 // step_ns
    schedule.step_ns = step_ns
    parts = list(scheduled(steps, True, schedule))
    pieces = sum(len(control_ends(first, end, step_ns)) for name, first, end in parts if name == "plain")
    assert parts[-1][2] == steps and all(a[2] == b[1] for a, b in pairwise(parts))
    assert len(parts) * PART_NS + pieces * 2_000 <= 0.03 * steps * step_ns
    assert sum(name == "ops" for name, *_ in parts) >= 8, "and enough are looked at closely"


@pytest.mark.parametrize("step_ns", [2, 20, 150, 500, 900, 1500, 5000])
def test_entering_a_part_hardly_changes_the_known_step_time(step_ns: int) -> None:
    schedule, elapsed, parts = StepSampler(control=True), 0, 0
    while elapsed < 1_000_000_000:
        part = schedule.part(10**9)
        span = 30_000 + part.steps * step_ns
        if part.variant != "ops":
            schedule.took(part.steps, span)
        elapsed, parts = elapsed + span, parts + 1
    assert parts * 30_000 <= 0.015 * elapsed
    assert step_ns <= schedule.step_ns <= 1.1 * step_ns + 1


@pytest.mark.parametrize("step_ns", [9_000, 20_000, 60_000, 150_000])
def test_steps_of_8_microseconds_and_more_all_have_a_time(
    step_ns: int,
) -> None:
    schedule, steps = StepSampler(control=True), {"plain": 0, "steps": 0, "ops": 0}
    schedule.step_ns, parts = step_ns, 0
    while sum(steps.values()) * step_ns < 6_000_000_000:
        part = schedule.part(10**9)
        steps[part.variant] += part.steps
        parts += 1
        assert part.steps * step_ns < 500_000_000, "observers receive events during the run"
    whole = sum(steps.values())
    assert steps["plain"] < 0.02 * whole and 100 < steps["ops"] < 0.02 * whole
    assert parts * 5 * PART_NS <= 0.01 * whole * step_ns


@pytest.mark.parametrize("step_ns", [2, 60, 700])
@pytest.mark.parametrize("longer", [1, 6, 200])
def test_code_with_plain_times_is_timed_throughout_with_few_timed_operations(
    step_ns: int, longer: int
) -> None:
    schedule, spent = StepSampler(control=True), {"plain": 0, "steps": 0, "ops": 0}
    schedule.plain_times, parts = True, 0
    while sum(spent.values()) < 4_000_000_000:
        part = schedule.part(10**9)
        if part.variant == "ops":
            schedule.timed_ns = longer * step_ns
        else:
            schedule.took(part.steps, part.steps * step_ns)
        spent[part.variant] += part.steps * step_ns * (longer if part.variant == "ops" else 1)
        parts += 1
    few = 16 * longer * step_ns  # of the first sample
    assert not spent["plain"] and few < spent["ops"] <= few + 0.02 * spent["steps"] + 30 * longer * step_ns
    assert parts * 5 * PART_NS <= 0.01 * spent["steps"] or step_ns > PART_NS


@pytest.mark.parametrize("step_ns", [250_000, 1_000_000])
def test_operations_of_long_steps_are_timed_rarely_if_that_doubles_the_step(
    step_ns: int,
) -> None:
    """Threads take such a step together, and one alone where each operation gets a time."""
    schedule, steps = StepSampler(control=True), dict.fromkeys(("plain", "steps", "ops"), 0)
    for _ in range(400):
        part = schedule.part(10**9)
        if part.variant == "ops":
            schedule.timed_ns = 2 * step_ns
        else:
            schedule.took(part.steps, part.steps * step_ns)
        steps[part.variant] += part.steps
    assert 100 < steps["ops"] <= 0.025 * sum(steps.values())


def test_very_short_runs_have_samples_of_operations_too() -> None:
    schedule = StepSampler(control=True)
    schedule.step_ns = 300
    taken = {"plain": 0, "steps": 0, "ops": 0}
    for _ in range(2000):
        for name, first, end in scheduled(3, True, schedule):
            taken[name] += end - first
    assert taken["ops"] >= 6000 // 128


def test_the_first_steps_of_a_new_tier_are_sampled() -> None:
    schedule = StepSampler(control=True)

    def steps_looked_at(tier: str, step_ns: int) -> int:
        schedule.runs_on(tier)
        parts = list(scheduled(300, True, schedule))
        schedule.took(300, 300 * step_ns)
        return sum(end - first for name, first, end in parts if name == "ops")

    latest = [steps_looked_at("numpy", 5_000) for _ in range(400)][-200:]
    assert sum(latest) < 0.02 * 200 * 300
    assert steps_looked_at("native", 500) >= 8 and schedule.step_ns == 500
    assert sum(steps_looked_at(tier, 500) for tier in ("numpy", "native") * 10) < 0.02 * 20 * 300


def test_a_span_below_zero_after_the_overhead_is_taken_off_plans_parts_too() -> None:
    sampler = StepSampler()
    sampler.took(4, -3)
    assert sampler.step_ns == 0 and sum(sampler.part(1000).steps for _ in range(5)) > 0
