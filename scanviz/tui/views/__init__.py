"""The tabs, in their order: add a file and a line here for a new one."""

from scanviz.tui.views.base import TabView
from scanviz.tui.views.graph import GraphView
from scanviz.tui.views.output import OutputView
from scanviz.tui.views.profile import ProfileView
from scanviz.tui.views.rewrites import RewritesView
from scanviz.tui.views.source import SourceView
from scanviz.tui.views.steps import StepsView
from scanviz.tui.views.values import ValuesView
from scanviz.tui.views.variables import VariablesView

VIEWS: tuple[type[TabView], ...] = (
    ProfileView,
    StepsView,
    GraphView,
    VariablesView,
    RewritesView,
    SourceView,
    ValuesView,
    OutputView,
)

__all__ = ["VIEWS", "TabView"]


def __dir__() -> list[str]:
    return sorted(__all__)
