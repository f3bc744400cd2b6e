"""Rates of operations on the page and in the tables of exports."""

import csv
import io

from msgspec.structs import replace

from scanviz.profiler.export import export
from scanviz.profiler.report.run_tables import outside_lines
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.summary.run_breakdown import parts_of
from scanviz.record.values import DurationRecord
from scanviz.render.page.data import page_data

WORK = {"bytes": 4_000.0, "flops": 9_000.0, "product_flops": 9_000.0}
DOT = OperationRecord(
    0, "dot(w, h)", "operation", "float64[9]", None, samples=5, typical_ns=1_000.0, measures=WORK
)
RECORD = ProfileRecord(
    functions=(FunctionRecord(1, "f", None, "numpy"),),
    loops=(LoopRecord(2, 1, None, "h", None, operations=(DOT,)),),
)


def test_the_page_has_rates_and_names_them() -> None:
    data = page_data(RECORD)
    [operation] = data["loops"][0]["operations"]
    assert operation["measures"] == {"bytes_per_s": 4e9, "flops_per_s": 9e9}
    titles = {each["name"]: (each["title"], each["unit"]) for each in data["measures"]}
    assert titles["bytes_per_s"] == ("moves", "bytes/s") and titles["flops_per_s"] == ("computes", "flops/s")


def test_tables_have_work_and_rates() -> None:
    files = {name: content.decode() for name, content in export(RECORD, "csv").items()}
    [row] = csv.DictReader(io.StringIO(next(text for name, text in files.items() if "operations" in name)))
    assert (row["bytes"], row["flops"], row["product_flops"]) == ("4000", "9000", "9000")
    assert (float(row["bytes_per_s"]), float(row["flops_per_s"])) == (4e9, 9e9)


def test_the_page_holds_machine_limits_and_reached_rates() -> None:
    assert page_data(RECORD)["roofline"] == {"limits": [], "operations": []}
    limits = {"large_copy_bytes_per_s": 8e9, "product_flops_per_s": 18e9}
    found = page_data(replace(RECORD, measures=limits))["roofline"]
    assert [(one["title"], one["unit"], one["value"]) for one in found["limits"]] == [
        ("memory", "bytes/s", 8e9),
        ("products", "flops/s", 18e9),
    ]
    [row] = found["operations"]
    assert (row["label"], row["loop"], row["kind"]) == ("dot(w, h)", 2, "memory")
    assert (row["least_ns"], row["typical_ns"], row["reached"]) == (500.0, 1000.0, 0.5)


def test_the_page_and_the_report_have_rates_of_operations_outside_of_loops() -> None:
    times = DurationRecord(count=5, total_ns=6_000)
    function = FunctionRecord(1, "f", None, "numpy", operations=(DOT,), calls=5, call_times=times)
    record = ProfileRecord(wall_ns=9_000, functions=(function,))
    [row] = page_data(record)["parts"]["outside"]
    assert row["measures"] == {"bytes_per_s": 4e9, "flops_per_s": 9e9}
    wide, narrow = (outside_lines(record, parts_of(record), width, 9) for width in (120, 80))
    assert "moves" in wide[1].text and "4.00 GB/s" in wide[2].text and "9.00 GFLOP/s" in wide[2].text
    assert "GB/s" not in narrow[2].text
