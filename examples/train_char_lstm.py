"""Train a character-level LSTM by back-propagation through time until it writes like the text it has read.

Text: "Jabberwocky" (see data/README.md). Sources: S. Hochreiter, J. Schmidhuber, "Long short-term memory", Neural
Computation 9(8), 1997; D. Kingma, J. Ba, "Adam", 2015. The gradient runs through 40 steps of 16 passages at a time, and
all weights are shared variables that one function updates. A second loop then writes, one drawn character after another.
"""

from pathlib import Path

import numpy as np

import scanviz
from scanviz import tensor as T

HIDDEN, STEPS, BATCH, ROUNDS = 64, 40, 16, 400
TEXT = Path(__file__).parent / "data" / "carroll_looking_glass.txt"


def weights(characters, rng):
    shapes = {
        "E": (characters, 24),
        "W": (24, 4 * HIDDEN),
        "U": (HIDDEN, 4 * HIDDEN),
        "V": (HIDDEN, characters),
    }
    found = {name: scanviz.shared(rng.normal(scale=0.15, size=shape), name) for name, shape in shapes.items()}
    bias = np.zeros(4 * HIDDEN)
    bias[HIDDEN : 2 * HIDDEN] = 1.0  # remember at first
    return {**found, "b": scanviz.shared(bias, "b")}


def cell(x_t, h, c, p):
    """Return the next state for characters ``x_t``: one row for each passage."""
    gates = T.dot(p["E"][x_t], p["W"]) + T.dot(h, p["U"]) + p["b"]
    i, f, o = (T.sigmoid(gates[:, k * HIDDEN : (k + 1) * HIDDEN]) for k in range(3))
    c_t = f * c + i * T.tanh(gates[:, 3 * HIDDEN :])
    return o * T.tanh(c_t), c_t


def adam(cost, parameters, rate=0.01, beta1=0.9, beta2=0.99):
    """Return the updates of one step of Adam."""
    count = scanviz.shared(0.0, "count")
    updates = {count: count + 1}
    for p, g in zip(parameters, scanviz.grad(cost, parameters), strict=True):
        m, v = (scanviz.shared(np.zeros_like(p.get_value())) for _ in range(2))
        updates[m] = beta1 * m + (1 - beta1) * g
        updates[v] = beta2 * v + (1 - beta2) * g**2
        scale = T.sqrt(1 - beta2 ** (count + 1)) / (1 - beta1 ** (count + 1))
        updates[p] = p - rate * scale * updates[m] / (T.sqrt(updates[v]) + 1e-8)
    return updates


def trainer(p):
    """Return the function that takes passages (steps, batch), updates the weights and returns the cross-entropy."""
    x = T.lmatrix("x")
    zeros = T.zeros((x.shape[1], HIDDEN))
    (h, _), _ = scanviz.scan(
        lambda x_t, h, c: cell(x_t, h, c, p), sequences=x[:-1], outputs_info=[zeros, zeros], name="lstm"
    )
    scores = T.log_softmax(T.dot(h, p["V"]))
    steps, batch = T.arange(x.shape[0] - 1), T.arange(x.shape[1])
    loss = -scores[steps[:, None], batch[None, :], x[1:]].mean()
    return scanviz.function([x], loss, updates=adam(loss, list(p.values())), name="train")


def writer(p, length, seed):
    """Return the function that goes on writing after a character."""
    first, rng = T.lscalar("first"), T.random.RandomStreams(seed)

    def step(x_t, h, c):
        h_t, c_t = cell(x_t[None], h, c, p)
        drawn = rng.categorical(T.softmax(2.0 * T.dot(h_t, p["V"]))[0])
        return drawn, h_t, c_t

    zeros = T.zeros((1, HIDDEN))
    (text, _, _), updates = scanviz.scan(
        step, outputs_info=[first, zeros, zeros], n_steps=length, name="write"
    )
    return scanviz.function([first], text, updates=updates, name="write")


if __name__ == "__main__":
    text = TEXT.read_text(encoding="utf-8")
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(each) for each in text])
    rng = np.random.default_rng(1997)
    p = weights(len(alphabet), rng)
    train = trainer(p)
    print(f"{len(text)} characters; guessing: {np.log(len(alphabet)):.2f} nats a character")
    for k in range(1, ROUNDS + 1):
        starts = rng.integers(0, len(codes) - STEPS - 1, BATCH)
        loss = train(np.stack([codes[s : s + STEPS + 1] for s in starts], axis=1))
        if k in (1, 50, 100, 200, ROUNDS):
            print(f"after {k:>3} rounds: {float(loss):.3f}")
    write = writer(p, 160, seed=7)
    print("'" + "".join(alphabet[k] for k in write(alphabet.index("T"))) + "'")
