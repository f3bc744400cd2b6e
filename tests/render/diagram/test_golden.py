"""Pictures of the several-tap network and its gradient, as data: every change is deliberate.

``python -m tests.render.diagram.test_golden`` writes them anew.
"""

from pathlib import Path

import pytest

from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.unrolled import unrolled
from tests.render.diagram.graphs import history, several_taps

FOLDER = Path(__file__).parent / "golden"


def lines(picture):
    """Return a picture as text without the users' lines, which are those of this test."""
    yield picture.title
    yield from (f"note {note}" for note in picture.notes)
    for cluster in picture.clusters:
        yield f"loop {cluster.id}: {cluster.label}, in {cluster.parent}, gradient of {cluster.gradient_of or None}"
    for node in picture.nodes:
        more = [
            node.type,
            node.loop_kind,
            node.side,
            *(str(p) for p in (node.column, node.row) if p is not None),
        ]
        ports = "".join(f"\n  port {port.id}: {port.side} {port.kind} {port.label}" for port in node.ports)
        text = " ".join(part for part in more if part)
        yield f"{node.kind} {node.id}: {node.label} [{text}] in {node.cluster}{ports}"
    for edge in picture.edges:
        label = f" ({edge.label})" if edge.label else ""
        place = f" #{edge.place}" if edge.place is not None else ""
        yield f"{edge.role} {edge.source} → {edge.target}{place}{label}"


def network():
    return history(several_taps(gradient=False)).snapshot(0)


def gradient():
    return history(several_taps()).snapshot(0)


PICTURES = {
    "several_taps": lambda: diagram_of(network()),
    "several_taps_closed": lambda: diagram_of(gradient(), depth=0),
    "gradient_loop": lambda: diagram_of(gradient(), scan="grad_of_rnn"),
    "several_taps_unrolled": lambda: unrolled(network(), "rnn", 4),
    "gradient_unrolled": lambda: unrolled(gradient(), "rnn", 3),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_agree_with_the_approved_ones(name):
    wanted = (FOLDER / f"{name}.txt").read_text("utf-8")
    assert "\n".join(lines(PICTURES[name]())) + "\n" == wanted


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.txt").write_text("\n".join(lines(picture())) + "\n", "utf-8")
