"""The script that commands are run on: a function with a loop and its gradient."""

import pytest

RNN = """
import numpy as np, scanviz
from scanviz import tensor as T
x, w = T.matrix("x"), T.matrix("w")
h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(x_t, w) + h), x, T.zeros(3), w, name="rnn")
f = scanviz.function([x, w], [h[-1], scanviz.grad(T.sum(h[-1]), w)], name="train")
"""
RUN_ONCE = RNN + 'print("ran", f(np.ones((4, 2)), np.ones((2, 3)))[0].shape)\n'


@pytest.fixture(name="script")
def folder_of_script(tmp_path):
    """Write the script into a folder, as rnn.py, and return the folder."""
    (tmp_path / "rnn.py").write_text(RUN_ONCE)
    return tmp_path
