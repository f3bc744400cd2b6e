"""What loops have cost in the default mode may be asked while another thread meets one more loop."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from scanviz.engine.backends.auto.counted import Counted


class OneMore(SimpleNamespace):
    """Code of a loop; while somebody reads what is left of its work, one more loop is met."""

    @property
    def left_ns(self) -> float:
        self.counted.note(f"{len(self.counted.begun)}", SimpleNamespace(pays_after_ns=10.0, left_ns=4.0))
        return 4.0

    def share(self, left_ns: float) -> float:
        return 1 - left_ns / 10.0


@pytest.mark.parametrize(
    "ask", [Counted.spent_ns, lambda counted: counted.go_on_in(Counted())], ids=["spent", "go on"]
)
def test_a_loop_is_met_while_the_others_are_asked(ask: Callable[[Counted], Any]) -> None:
    counted = Counted()
    counted.begun = {name: [OneMore(counted=counted, pays_after_ns=10.0)] for name in ("a", "b")}  # type: ignore[list-item]
    assert ask(counted) in (12.0, None)
    assert len(counted.begun) > 2
