"""The Mandelbrot set in characters: z = z² + c on a grid, with real and imaginary parts as two states."""

import numpy as np

import scanviz
from scanviz import tensor as T

SHADES = " .:-=+*#%@"


def build():
    real, imaginary, n = T.matrix("real"), T.matrix("imaginary"), T.lscalar("n")

    def step(x_tm1, y_tm1, count_tm1, real, imaginary):
        inside = x_tm1**2 + y_tm1**2 <= 4.0
        x_t = T.where(inside, x_tm1**2 - y_tm1**2 + real, x_tm1)
        y_t = T.where(inside, 2.0 * x_tm1 * y_tm1 + imaginary, y_tm1)
        return x_t, y_t, count_tm1 + T.cast(inside, "int64")

    start = [T.zeros_like(real), T.zeros_like(real), T.zeros_like(real, dtype="int64")]
    (_, _, counts), _ = scanviz.scan(
        step, outputs_info=start, non_sequences=[real, imaginary], n_steps=n, name="mandelbrot"
    )
    return scanviz.function([real, imaginary, n], counts[-1], name="escape times")


if __name__ == "__main__":
    x, y = np.meshgrid(np.linspace(-2.1, 0.8, 72), np.linspace(-1.2, 1.2, 28))
    counts = build()(x, y, 60)
    for row in counts:
        print("".join(SHADES[min(9, int(value) * 10 // 61)] for value in row))
    print("points inside after 60 steps:", int((counts == 60).sum()))
