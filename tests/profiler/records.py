"""A small record made by hand, for the report."""

import numpy as np
from msgspec.structs import replace

from scanviz.record.model import (
    BuildRecord,
    CostRecord,
    DurationRecord,
    FunctionRecord,
    LoopRecord,
    LoopVariableRecord,
    OperationRecord,
    OutcomeRecord,
    ProfileRecord,
    SourceRecord,
    ThreadTimesRecord,
    TierRecord,
)


def operation(index: int, label: str, typical_ns: float, line: int, text: str) -> OperationRecord:
    source = SourceRecord("rnn.py", line, text)
    return OperationRecord(index, label, "operation", "float64[?]", source, samples=96, typical_ns=typical_ns)


STEP = "h_t = T.tanh(T.dot(x_t, W) + T.dot(h, U))"
RNN = LoopRecord(
    key=11,
    function=1,
    parent=None,
    name="rnn",
    source=SourceRecord("rnn.py", 9, 'h, _ = scanviz.scan(step, x, h0, [W, U], name="rnn")'),
    operations=(
        operation(0, "dot(x[t], W)", 1500.0, 6, STEP),
        operation(1, "dot(h[t-1], U)", 900.0, 6, STEP),
        operation(2, "· + ·", 400.0, 6, STEP),
        operation(3, "tanh(·)", 700.0, 6, STEP),
    ),
    variables=(
        LoopVariableRecord("sequence", "x", (0,), (), ("x[t]",), (), "x", None, "float64[8]"),
        LoopVariableRecord("sitsot", "h", (-1,), (0,), ("h[t-1]",), ("tanh",), "h0", "h", "float64[8]", 1),
    ),
    runs=2,
    steps=1000,
    longest_run=500,
    total_ns=4_400_000,
    setup_ns=200_000,
    first_run_ns=2_500_000,
    step_times=DurationRecord(1000, 4_200_000, 3800, 4000, 5100, 9000, 52_000),
    sampled_steps=96,
    body_ns=3500.0,
    copy_ns=100.0,
    overhead_ns=400.0,
    cost_ns=60_000.0,
    buffer_bytes=32_768,
    clock="perf_counter",
    tiers=(TierRecord("numpy", "generated for the shapes met", 1, 350_000),),
    series=np.array(
        [[0, step, 4000 + 40 * (step % 7), 0] for step in range(0, 496, 8)] + [[1, 17, 52_000, 3]]
    ),
)
INNER = replace(
    RNN,
    key=12,
    parent=11,
    name="cells",
    operations=(),
    variables=(),
    total_ns=300_000,
    steps=50_000,
    sampled_steps=0,
    cost_ns=0.0,
)
FORWARD = FunctionRecord(
    key=1,
    name="forward",
    source=SourceRecord("rnn.py", 11, "forward = scanviz.function([x], h)"),
    backend="numpy",
    build_ns={"rewrite": 2_000_000, "compile": 1_500_000},
    operations=(
        OperationRecord(
            0, "scan rnn", "loop", "float64[?, 8]", None, loop=11, samples=2, typical_ns=2_200_000.0
        ),
        OperationRecord(1, "sum(h)", "operation", "float64[]", None, samples=2, typical_ns=20.0),
    ),
    calls=2,
    first_ns=2_700_000,
    call_times=DurationRecord(2, 4_600_000, 1_900_000, 1_900_000, 2_700_000, 2_700_000, 2_700_000),
)
SMALL = ProfileRecord(
    scanviz="0.1.0",
    script="rnn.py",
    arguments=("--layers", "2"),
    wall_ns=50_000_000,
    outcome=OutcomeRecord("ok", 0),
    cost=CostRecord(stamps=1400, stamp_ns=50.0, chunks=8, chunk_ns=5000.0, recorder_ns=300_000),
    functions=(FORWARD,),
    loops=(RNN, INNER),
    building=(BuildRecord("function", FORWARD.source, 1, 3_500_000),),
    threads=ThreadTimesRecord(inside_ns=8_100_000),
)
