"""Bounds of operations against figures computed by hand."""

import pytest
from msgspec.structs import replace

from scanviz.profiler.report.roofline import roofline_lines
from scanviz.record.loops import LoopRecord, TierRecord
from scanviz.record.measures import columns
from scanviz.record.model import DurationRecord, FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.roofline import bound_of, bounded

LIMITS = {
    "large_copy_bytes_per_s": 10e9,
    "medium_copy_bytes_per_s": 50e9,
    "small_copy_bytes_per_s": 100e9,
    "product_flops_per_s": 40e9,
    "product_flops_per_s_float32": 80e9,
    "element_flops_per_s": 2e9,
    "element_flops_per_s_float32": 4e9,
    "numpy_call_ns": 500.0,
}


def operation(typical_ns: float, output: str = "float64[9]", **work: float) -> OperationRecord:
    return OperationRecord(
        0, "an operation", "operation", output, None, samples=9, typical_ns=typical_ns, measures=work
    )


@pytest.mark.parametrize(
    ("moved", "least_ns"), [(100_000.0, 1_000.0), (500_000.0, 10_000.0), (20_000_000.0, 2_000_000.0)]
)
def test_the_memory_bound_uses_the_cache_that_the_arrays_fit_into(moved: float, least_ns: float) -> None:
    found = bound_of(LIMITS, operation(2 * least_ns, bytes=moved))
    assert found is not None and found.kind == "memory"
    assert found.least_ns == pytest.approx(least_ns) and found.reached == pytest.approx(0.5)


def test_products_and_elements_have_limits_of_their_own_by_dtype() -> None:
    product = {"bytes": 1_000.0, "flops": 8e6, "product_flops": 8e6}
    found = [bound_of(LIMITS, operation(1e6, kind, **product)) for kind in ("float64[9]", "float32[9]")]
    assert [(one.kind, one.least_ns) for one in found if one] == [
        ("arithmetic", 200_000.0),
        ("arithmetic", 100_000.0),
    ]
    elements = bound_of(LIMITS, operation(1e6, bytes=1_000.0, flops=1e6))
    assert elements is not None and elements.least_ns == pytest.approx(500_000.0)


def test_a_small_operation_is_bound_by_the_call_but_in_native_code() -> None:
    small = operation(600.0, bytes=800.0, flops=100.0)
    called, native = bound_of(LIMITS, small), bound_of(LIMITS, small, native=True)
    assert called is not None and (called.kind, called.least_ns) == ("the call", 500.0)
    assert native is not None and (native.kind, native.least_ns) == ("memory", 8.0)


def test_machine_code_has_the_arithmetic_limit_of_products() -> None:
    busy = operation(600.0, bytes=800.0, flops=8_000.0)
    native = bound_of(LIMITS, busy, native=True)
    assert native is not None and (native.kind, native.least_ns) == ("arithmetic", 200.0)


def test_operations_without_time_work_or_limits_have_no_bound() -> None:
    assert bound_of(LIMITS, operation(0.0, bytes=800.0)) is None
    assert bound_of(LIMITS, operation(600.0)) is None
    assert bound_of({}, operation(600.0, bytes=800.0)) is None


def test_operations_come_by_the_time_that_they_took() -> None:
    one, other = operation(1e3, bytes=800.0), replace(operation(2e3, bytes=800.0), index=1)
    function = FunctionRecord(1, "f", None, "native", calls=1, call_times=DurationRecord(1, 40_000))
    loop = LoopRecord(1, 1, None, "h", None, operations=(one, other), runs=1, steps=10, total_ns=40_000)
    loop = replace(loop, sampled_steps=10, body_ns=3e3, tiers=(TierRecord("native", "", 1, 0),))
    found = bounded(ProfileRecord(functions=(function,), loops=(loop,), measures=dict(LIMITS)))
    assert [each.total_ns for each in found] == [2e4, 1e4] and found[0].bound.kind == "memory"


def test_the_report_explains_rates_above_the_limit() -> None:
    fast = operation(10.0, bytes=8_000.0)
    function = FunctionRecord(1, "f", None, "native", calls=1, call_times=DurationRecord(1, 40_000))
    loop = LoopRecord(1, 1, None, "h", None, operations=(fast,), runs=1, steps=10, total_ns=40_000)
    loop = replace(loop, sampled_steps=10, body_ns=10.0, tiers=(TierRecord("native", "", 1, 0),))
    record = ProfileRecord(functions=(function,), loops=(loop,), measures=dict(LIMITS))
    text = [line.text for line in roofline_lines(record, 90, 8)]
    assert "800 %" in text[3] and "reading alone is faster" in text[4]
    slower = replace(record, loops=(replace(loop, operations=(operation(100.0, bytes=8_000.0),)),))
    assert not any("100 %:" in line.text for line in roofline_lines(slower, 90, 8))


def test_a_rate_is_the_work_by_the_typical_time() -> None:
    dot = operation(1e3, bytes=5_000.0, flops=20_000.0, product_flops=20_000.0)
    moves, computes = columns([dot])
    assert (moves.value(dot), computes.value(dot)) == (5e9, 20e9)
    assert columns([operation(0.0, bytes=5_000.0)]) == []
