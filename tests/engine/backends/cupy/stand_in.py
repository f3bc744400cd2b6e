"""The CuPy backend on the stand-in for CuPy, registered as the backend ``"stand-in"``."""

from scanviz.engine.backends import registry
from scanviz.engine.backends.base import Availability
from scanviz.engine.backends.cupy import CupyBackend, compile_for
from tests.engine.backends.cupy.fake_cupy import FakeArray, FakeCupy
from tests.support.host_kernels import HostLauncher

LIBRARY = FakeCupy()
LIBRARY_WITH_KERNELS = FakeCupy(HostLauncher)


class StandInBackend(CupyBackend):
    """The CuPy backend with the stand-in for CuPy."""

    name = "stand-in"

    def availability(self):
        return Availability(True, "a stand-in for CuPy")

    def owns(self, array):
        return isinstance(array, FakeArray)

    def compile(self, program):
        return compile_for(program, LIBRARY, self.name)


class WithKernelsBackend(StandInBackend):
    """The same with kernels, which g++ compiles."""

    name = "stand-in-kernels"

    def compile(self, program):
        return compile_for(program, LIBRARY_WITH_KERNELS, self.name)


def register():
    """Make ``mode="stand-in"`` and ``mode="stand-in-kernels"`` known."""
    registry.register("stand-in", StandInBackend)
    registry.register("stand-in-kernels", WithKernelsBackend)
