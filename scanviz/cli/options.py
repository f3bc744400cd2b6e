"""Reading options: strict, with suggestions, and never touching what belongs to the program that is run.

Options stand before the script; from the script's name on everything is the program's.  ``-m module`` and ``-c code`` end
the options as they do for python.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scanviz.profiler.run.runner import Script

# Whether the command under way has begun to run a program: a process may give several commands, one even inside a program.
_ran: ContextVar[bool] = ContextVar("ran", default=False)


class UsageError(Exception):
    """The command line cannot be understood; exit code 2."""


class HelpWanted(Exception):  # noqa: N818  # asked for, and no error
    """A command's help is asked for; what it says adds to the command's documentation."""


class Option(NamedTuple):
    """An option of a command.

    Attributes
    ----------
    names : tuple of str
        Such as ``("-o", "--output")``.
    value : str
        What its value is called in the help; empty for a switch, in brackets for one that may be left out.
    help : str
        One line.
    choices : tuple of str
        The values allowed; empty for any.
    several : bool
        Whether it may be given again and again; else the last value counts.
    """

    names: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...] = ()
    several: bool = False

    @property
    def may_lack_value(self) -> bool:
        """Whether it also stands alone; a value is then given with ``=`` only."""
        return self.value.startswith("[")

    @property
    def key(self) -> str:
        """Its long name without dashes."""
        return self.names[-1].lstrip("-")


class Parsed(NamedTuple):
    """What was given: options by key, the rest from the first argument that is no option on, and options given several times."""

    options: dict[str, str]
    rest: list[str]
    several: Mapping[str, Sequence[str]] = MappingProxyType({})

    def number(self, key: str, default: int) -> int:
        """Return an option as a positive integer."""
        text = self.options.get(key)
        if text is None:
            return default
        if not text.isdecimal() or int(text) < 1:
            raise UsageError(f"--{key} takes a positive number, not {text!r}")
        return int(text)


HELP = Option(("-h", "--help"), "", "show this help")


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean …?`` for a word that is nearly a known one."""
    names = list(known)
    begun = [name for name in names if len(word) > 3 and name.startswith(word)]
    close = begun or difflib.get_close_matches(word, names, 1)
    return f"; did you mean {close[0]}?" if close else ""


def as_given(options: Mapping[str, str], several: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """Return options as they stand on a command line.

    Examples
    --------
    >>> as_given({"output": "rnn.scanviz", "values": ""}), as_given({"closed": "b"}, {"closed": ["a", "b"]})
    (['--output=rnn.scanviz', '--values'], ['--closed=a', '--closed=b'])
    """
    given = {key: [value] for key, value in options.items()} | dict(several or {})
    return [f"--{key}={value}" if value else f"--{key}" for key, values in given.items() for value in values]


def parse(arguments: Sequence[str], options: Sequence[Option], program: bool) -> Parsed:
    """Return the options and the rest.

    Parameters
    ----------
    arguments : sequence of str
        After the command's name.
    options : sequence of Option
        What the command takes.
    program : bool
        Whether the rest is a program with its own arguments; else options may also follow.

    Raises
    ------
    HelpWanted
        For ``--help``; whoever calls the command shows it.
    UsageError
        For an unknown option, one that lacks its value, or one that takes none.
    """
    known = {name: option for option in (*options, HELP) for name in option.names}
    found: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            rest.extend(waiting)
            break
        is_option = word.startswith("-") and word != "-"
        if program and (
            not is_option or word in ("-m", "-c") or (word[:2] in ("-m", "-c") and not word.startswith("--"))
        ):
            rest.extend(_split_joined([word, *waiting]))
            break
        if not is_option:
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        option = known.get(name)
        if option is None and word[:2] in known and known[word[:2]].value:
            name, equals, value, option = word[:2], "joined", word[2:], known[word[:2]]  # -oFILE
        if option is None:
            raise UsageError(f"unknown option {name}{suggestion(name, known)}")
        if option.value and not equals and not option.may_lack_value:
            if not waiting:
                raise UsageError(f"{name} needs a value: {name} {option.value}")
            value = waiting.pop(0)
        elif equals and not option.value:
            raise UsageError(f"{name} takes no value")
        if option.choices and value not in option.choices:
            raise UsageError(f"{name} takes {' or '.join(option.choices)}, not {value!r}")
        found[option.key] = value
        if option.several:
            several.setdefault(option.key, []).append(value)
    if HELP.key in found:
        raise HelpWanted
    return Parsed(found, rest, several)


def _split_joined(words: list[str]) -> list[str]:
    """Return ``-mmodule`` as ``-m module``, as python reads it."""
    first = words[0]
    if first[:2] in ("-m", "-c") and len(first) > 2 and not first.startswith("--"):
        return [first[:2], first[2:], *words[1:]]
    return words


def program_of(rest: list[str], command: str) -> Script:
    """Return the program that the rest of a command line names.

    Raises
    ------
    UsageError
        If it names none.
    """
    from scanviz.profiler.run.runner import Script

    if not rest:
        raise UsageError(
            f"what is to be run? scanviz {command} SCRIPT [arguments]  (or -m module, or -c code)"
        )
    _ran.set(True)
    if rest[0] in ("-m", "-c"):
        if len(rest) < 2:
            raise UsageError(f"{rest[0]} needs {'a module' if rest[0] == '-m' else 'code'}")
        return Script("module" if rest[0] == "-m" else "code", rest[1], rest[2:])
    return Script("script", rest[0], rest[1:])


def options_behind(rest: Sequence[str], options: Sequence[Option]) -> list[str]:
    """Return what to say of the command's own options that stand behind the program, and so are the program's.

    Examples
    --------
    >>> options_behind(["rnn.py", "8", "-o", "x.svg"], [Option(("-o", "--output"), "FILE", "")])
    ['-o behind rnn.py is an argument of rnn.py: what is for scanviz stands before it']
    """
    named = 2 if rest and rest[0] in ("-m", "-c") else 1
    program = " ".join(rest[:named]) if rest[:1] != ["-c"] else "the code"
    known = {name for option in options for name in option.names}
    met = dict.fromkeys(name for word in rest[named:] if (name := word.partition("=")[0]) in known)
    return [
        f"{name} behind {program} is an argument of {program}: what is for scanviz stands before it"
        for name in met
    ]


@contextmanager
def one_command() -> Iterator[None]:
    """Count what runs in the block as one command: what an earlier one in this process did is no matter of its."""
    token = _ran.set(False)
    try:
        yield
    finally:
        _ran.reset(token)


def ran_program() -> bool:
    """Return whether the command under way has begun to run a program of the user's."""
    return _ran.get()


def help_text(usage: str, about: str | None, options: Sequence[Option]) -> str:
    """Return a command's help."""
    rows = []
    for option in (*options, HELP):
        space = "" if option.may_lack_value else " "
        names = ", ".join(option.names) + (f"{space}{option.value}" if option.value else "")
        choices = f" ({', '.join(option.choices)})" if option.choices else ""
        rows.append(f"  {names:<24} {option.help}{choices}")
    return f"usage: scanviz {usage}\n\n{(about or '').strip()}\n\noptions:\n" + "\n".join(rows) + "\n"
