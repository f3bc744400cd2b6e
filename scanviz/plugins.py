"""Plug-ins of other distributions: entry points of a group, found and loaded on first use.

A distribution names what it adds in its ``pyproject.toml``::

    [project.entry-points."scanviz.rewrites"]
    swish_of_sigmoid = "swish_tools.rules"

Reading the list of installed packages takes longer than importing scanviz, and an installed package must change no program that
does not use it.  So entry points are read only for a name that scanviz itself lacks, or for a list of all names.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

GROUPS = {
    "scanviz.backends": "backend",
    "scanviz.exports": "export format",
    "scanviz.ops": "operation",
    "scanviz.rewrites": "rewrite",
}


class Plugin(NamedTuple):
    """One plug-in of a distribution.

    Attributes
    ----------
    group : str
        One of ``GROUPS``.
    name : str
        Its name.
    value : str
        Its place: a module, or ``module:name``.
    distribution : str
        The distribution that adds it, with its version; empty if unknown.
    """

    group: str
    name: str
    value: str
    distribution: str

    def load(self) -> Any:
        """Import it and return it.

        Raises
        ------
        PluginFailure
            Whatever goes wrong: the distribution is named.
        """
        from importlib.metadata import EntryPoint

        try:
            return EntryPoint(self.name, self.value, self.group).load()
        except (
            Exception
        ) as error:  # its own code or library: whatever it raises is its failure, not the caller's
            raise PluginFailure(self.failed(f"{type(error).__name__}: {error}")) from error

    def failed(self, why: str) -> str:
        """Return the message of a failed plug-in, with its distribution."""
        by = f" of the distribution {self.distribution}" if self.distribution else ""
        return f"the {GROUPS[self.group]} {self.name!r}{by} could not be loaded ({why})"


class PluginFailure(Exception):  # noqa: N818  # callers turn it into an error
    """A plug-in of another distribution cannot be used; the text names the distribution."""


def plugins(group: str) -> dict[str, Plugin]:
    """Return the installed plugins of a group, by name; the first of several with one name.

    Examples
    --------
    >>> "numpy" in plugins("scanviz.backends")
    False
    """
    found: dict[str, Plugin] = {}
    for plugin in _installed(group):
        found.setdefault(plugin.name, plugin)
    return found


def _installed(group: str) -> Iterator[Plugin]:
    from importlib.metadata import entry_points  # takes as long as half of importing scanviz

    for point in entry_points(group=group):
        dist = point.dist
        yield Plugin(group, point.name, point.value, "" if dist is None else f"{dist.name} {dist.version}")
