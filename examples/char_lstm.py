"""The forward pass of a character-level LSTM over a real text: how surprised an untrained network is.

Text: "Jabberwocky" (see data/README.md). Source of the model: S. Hochreiter, J. Schmidhuber, "Long short-term memory",
Neural Computation 9(8), 1997. Weights are small and random, so the cross-entropy must be near that of guessing.
"""

from pathlib import Path

import numpy as np

import scanviz
from scanviz import tensor as T

HIDDEN = 64
TEXT = Path(__file__).parent / "data" / "carroll_looking_glass.txt"


def build(characters: int):
    x, target = T.lvector("x"), T.lvector("target")
    E, W, U, b = T.matrix("E"), T.matrix("W"), T.matrix("U"), T.vector("b")
    V, c0, h0 = T.matrix("V"), T.vector("c0"), T.vector("h0")

    def step(x_t, h_tm1, c_tm1, E, W, U, b):
        gates = T.dot(E[x_t], W) + T.dot(h_tm1, U) + b
        i, f, o = (T.sigmoid(gates[k * HIDDEN : (k + 1) * HIDDEN]) for k in range(3))
        c_t = f * c_tm1 + i * T.tanh(gates[3 * HIDDEN :])
        return o * T.tanh(c_t), c_t

    (h, _), _ = scanviz.scan(
        step, sequences=x, outputs_info=[h0, c0], non_sequences=[E, W, U, b], name="lstm"
    )
    scores = T.log_softmax(T.dot(h, V), axis=-1)
    loss = -scores[T.arange(target.shape[0]), target].mean()
    return scanviz.function([x, target, h0, c0, E, W, U, b, V], loss, name="cross-entropy")


if __name__ == "__main__":
    text = TEXT.read_text(encoding="utf-8")
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(each) for each in text])
    rng = np.random.default_rng(1997)
    size = len(alphabet)
    shapes = [(size, 16), (16, 4 * HIDDEN), (HIDDEN, 4 * HIDDEN), (4 * HIDDEN,), (HIDDEN, size)]
    weights = [rng.normal(scale=0.1, size=shape) for shape in shapes]
    f = build(size)
    for _ in range(5):
        loss = f(codes[:-1], codes[1:], np.zeros(HIDDEN), np.zeros(HIDDEN), *weights)
    print(f"{len(text)} characters, {size} different ones")
    print(f"cross-entropy {float(loss):.3f} nats a character; guessing gives {np.log(size):.3f}")
