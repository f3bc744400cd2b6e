"""The recurrent network of several taps, and the gradient of a cost through it.

The state x is read at t-1 and at t-3, so what reaches x[t] on the way back comes from two steps, t+1 and t+3: the loop of
back-propagation adds it up in a buffer that several steps write to, a mitmot.  ``scanviz html`` shows it cell by cell.  The
gradient is compared with central differences.
"""

import numpy as np
from several_taps_rnn import one_step

import scanviz
from scanviz import tensor as T

STEPS, INPUTS, HIDDEN, OUTPUTS = 200, 8, 32, 4


def build():
    weights = [T.matrix(name) for name in ("W", "W_in_1", "W_in_2", "W_feedback", "W_out")]
    u, x0, y0, target = T.matrix("u"), T.matrix("x0"), T.vector("y0"), T.matrix("target")
    (_, y), _ = scanviz.scan(
        one_step,
        sequences=dict(input=u, taps=[-4, 0]),
        outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
        non_sequences=weights,
        strict=True,
        name="rnn",
    )
    cost = T.mean((y - target) ** 2)
    cost.name = "cost"
    W_feedback = weights[3]
    gradient = scanviz.grad(cost, W_feedback)
    gradient.name = "gradient of W_feedback"
    return scanviz.function([u, x0, y0, target, *weights], [cost, gradient], name="cost and gradient")


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    shapes = [
        (STEPS, INPUTS),
        (3, HIDDEN),
        (OUTPUTS,),
        (STEPS - 4, OUTPUTS),
        (HIDDEN, HIDDEN),
        (INPUTS, HIDDEN),
        (INPUTS, HIDDEN),
        (OUTPUTS, HIDDEN),
        (HIDDEN, OUTPUTS),
    ]
    values = [rng.normal(size=shape) / np.sqrt(shape[-1]) for shape in shapes]
    f = build()
    for _ in range(20):
        cost, gradient = f(*values)
    change = np.zeros((OUTPUTS, HIDDEN))
    change[1, 2] = 1e-6
    higher, lower = (f(*values[:7], values[7] + sign * change, values[8])[0] for sign in (1, -1))
    print("cost:", float(cost))
    print("gradient of W_feedback[1, 2]:", float(gradient[1, 2]))
    print("by central differences:      ", float((higher - lower) / 2e-6))
