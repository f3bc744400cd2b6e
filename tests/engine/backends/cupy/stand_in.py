"""The CuPy backend on the stand-in for CuPy, registered as the backend ``"stand-in"``."""

from scanviz.engine.backends import registry
from scanviz.engine.backends.base import Availability
from scanviz.engine.backends.cupy import CupyBackend, compile_for
from tests.engine.backends.cupy.fake_cupy import FakeCupy

LIBRARY = FakeCupy()


class StandInBackend(CupyBackend):
    """The CuPy backend with the stand-in for CuPy."""

    name = "stand-in"

    def availability(self):
        return Availability(True, "a stand-in for CuPy")

    def compile(self, program):
        return compile_for(program, LIBRARY, self.name)


def register():
    """Make ``mode="stand-in"`` known."""
    registry.register("stand-in", StandInBackend)
