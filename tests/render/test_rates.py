"""Rates of operations on the page and in the tables of exports."""

from __future__ import annotations

import csv
import io

from scanviz.profiler.export import export
from scanviz.record.loops import LoopRecord, OperationRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.render.page.data import page_data

WORK = {"bytes": 4_000.0, "flops": 9_000.0, "product_flops": 9_000.0}
DOT = OperationRecord(
    0, "dot(w, h)", "operation", "float64[9]", None, samples=5, mean_ns=1_000.0, measures=WORK
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
