"""The guide's recurrent network: inputs at t-4 and t, one state at t-3 and t-1, another at t-1.

Source of the model: Theano's scan guide, "Multiple outputs, several taps values". The result is compared with a plain
NumPy loop.
"""

import numpy as np

import scanviz
from scanviz import tensor as T

STEPS, INPUTS, HIDDEN, OUTPUTS = 500, 8, 32, 4


def one_step(u_tm4, u_t, x_tm3, x_tm1, y_tm1, W, W_in_1, W_in_2, W_feedback, W_out):
    x_t = T.tanh(T.dot(x_tm1, W) + T.dot(u_t, W_in_1) + T.dot(u_tm4, W_in_2) + T.dot(y_tm1, W_feedback))
    y_t = T.dot(x_tm3, W_out)
    return [x_t, y_t]


def build():
    weights = [T.matrix(name) for name in ("W", "W_in_1", "W_in_2", "W_feedback", "W_out")]
    u, x0, y0 = T.matrix("u"), T.matrix("x0"), T.vector("y0")
    (x, y), updates = scanviz.scan(
        one_step,
        sequences=dict(input=u, taps=[-4, 0]),
        outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
        non_sequences=weights,
        strict=True,
        name="rnn",
    )
    return scanviz.function([u, x0, y0, *weights], [x, y], updates=updates, name="several taps")


def by_numpy(u, x0, y0, W, W_in_1, W_in_2, W_feedback, W_out):
    x, y = list(x0), [y0]
    for t in range(4, len(u)):
        y_t = x[-3] @ W_out
        x.append(np.tanh(x[-1] @ W + u[t] @ W_in_1 + u[t - 4] @ W_in_2 + y[-1] @ W_feedback))
        y.append(y_t)
    return np.array(x[3:]), np.array(y[1:])


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    shapes = [
        (STEPS, INPUTS),
        (3, HIDDEN),
        (OUTPUTS,),
        (HIDDEN, HIDDEN),
        (INPUTS, HIDDEN),
        (INPUTS, HIDDEN),
        (OUTPUTS, HIDDEN),
        (HIDDEN, OUTPUTS),
    ]
    values = [rng.normal(size=shape) / np.sqrt(shape[-1]) for shape in shapes]
    f = build()
    for _ in range(20):
        x, y = f(*values)
    expected_x, expected_y = by_numpy(*values)
    print("steps:", len(x), "of", STEPS, "inputs (4 are used up by the tap at t-4)")
    print("largest difference from NumPy:", float(max(abs(x - expected_x).max(), abs(y - expected_y).max())))
