"""In PyTorch: a whole loop captured as one CUDA graph; a name that ends in ``_cudnn`` is ``nn.RNN`` or ``nn.LSTM``.

Without a GPU the loop itself runs.  Products are exact float32: TF32 is off, which ``nn.LSTM`` would use.
"""

from __future__ import annotations

import torch

from gpu_programs.reference import CLOSE, SHARE

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
torch.set_grad_enabled(False)


def to_host(array):
    return array.cpu().numpy()


def _to_device(given):
    return [torch.as_tensor(each, device=DEVICE) for each in given]


def _waiting(function, *given):
    def call():
        result = function(*given)
        if DEVICE.type == "cuda":
            torch.cuda.synchronize()
        return result

    return call


def _captured(function, given):
    """Return the call of a loop over arrays that stay where they are, as a graph."""
    arrays = _to_device(given)
    if DEVICE.type == "cpu":
        return lambda: function(*arrays)
    side = torch.cuda.Stream()  # libraries are set up outside of the capture
    with torch.cuda.stream(side):
        function(*arrays)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function(*arrays)

    def run():
        graph.replay()
        return result

    return _waiting(run)


def leaky_tanh(sizes, given):
    def run(x, h):
        rows = torch.empty_like(x)
        for t in range(len(x)):
            h = torch.tanh(torch.add(x[t], h, alpha=0.9), out=rows[t])
        return rows

    return _captured(run, given)


def linear(sizes, given):
    def run(a, b, h):
        rows = torch.empty_like(b)
        for t in range(len(a)):
            h = torch.addcmul(b[t], a[t], h, out=rows[t])
        return rows

    return _captured(run, given)


def rnn(sizes, given):
    def run(x, h, W, U):
        inputs, rows = x @ W, torch.empty_like(x)
        for t in range(len(x)):
            h = torch.tanh(torch.addmm(inputs[t], h, U), out=rows[t])
        return rows

    return _captured(run, given)


def lstm(sizes, given):
    def run(x, h, c, W, U):
        inputs, rows = x @ W, torch.empty_like(x)
        for t in range(len(x)):
            i, f, g, o = torch.addmm(inputs[t], h, U).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.mul(torch.sigmoid(o), torch.tanh(c), out=rows[t])
        return rows

    return _captured(run, given)


def _library(layer, weights):
    W, U = weights
    layer = layer.to(DEVICE)
    layer.weight_ih_l0.copy_(torch.as_tensor(W.T.copy()))
    layer.weight_hh_l0.copy_(torch.as_tensor(U.T.copy()))
    return layer


def rnn_cudnn(sizes, given):
    x, h, *weights = given
    layer = _library(torch.nn.RNN(sizes[0], sizes[0], bias=False), weights)
    x, h = _to_device([x, h])
    return _waiting(lambda: layer(x, h[None])[0])


def lstm_cudnn(sizes, given):
    x, h, c, *weights = given
    layer = _library(torch.nn.LSTM(sizes[0], sizes[0], bias=False), weights)
    x, h, c = _to_device([x, h, c])
    return _waiting(lambda: layer(x, (h[None], c[None]))[0])


def newton(sizes, given):
    def run(a, x):
        for _ in range(sizes[-1]):
            x = x - SHARE * (x - a / x)
            if torch.max(torch.abs(x * x - a)).item() < CLOSE:
                break
        return x

    return _waiting(run, *_to_device(given))
