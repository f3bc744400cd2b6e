"""The real CuPy in the place of the stand-in: ``pytest -p tests.engine.backends.cupy.real_library tests/engine/backends/cupy``.

It needs a GPU, or the environment of ``tools/real_cupy``.
"""

import types

import cupy

import tests.engine.backends.cupy.fake_cupy as fake
from scanviz.engine.backends.cupy import fused_loop
from tests.support.host_kernels import HostLauncher


class _DeviceArray(type):
    """The class of the class that tests call ``FakeArray``."""

    def __instancecheck__(cls, value):
        return isinstance(value, cupy.ndarray)

    def __call__(cls, array):
        return cupy.asarray(array)


class FakeArray(metaclass=_DeviceArray):
    """Makes and recognises CuPy's arrays."""


class RealCupy(types.ModuleType):
    """CuPy's names, with waits counted as the stand-in counts them."""

    extensions = None  # those of cupyx

    def __init__(self, kernel_launcher=fake._no_kernels):
        super().__init__("cupy")
        self.kernel_launcher = launcher if kernel_launcher is HostLauncher else kernel_launcher
        self.waits = 0
        self.cuda = types.SimpleNamespace(**vars(cupy.cuda) | {"get_current_stream": self._stream})
        self._streams = {}

    def __getattr__(self, name):
        return getattr(cupy, name)

    def _stream(self):
        current = cupy.cuda.get_current_stream()
        return self._streams.setdefault(current.ptr, CountedStream(self, current))


def launcher(source, name):
    """Return what launches a kernel on the device, and counts it."""
    launch = fused_loop.launcher(cupy, source)

    def counted(*arguments):
        HostLauncher.launches += 1
        launch(*arguments)

    return counted


class CountedStream:
    """A stream that counts waits for it."""

    def __init__(self, library, stream):
        self._library, self._stream = library, stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def synchronize(self):
        self._library.waits += 1
        self._stream.synchronize()


fake.FakeArray, fake.FakeCupy = FakeArray, RealCupy
