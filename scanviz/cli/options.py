"""Read the options of commands by argparse, with suggestions, and leave a program's arguments alone.

Options stand before the script; everything after its name belongs to the program.  ``-m module`` and ``-c code`` end the
options as for python.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from scanviz.profiler.run.runner import Script

# Whether the present command has run a user's program: a process may run several commands, even inside a program.
_ran: ContextVar[bool] = ContextVar("ran", default=False)
_GIVEN = "\0"  # marks options with an optional value, if the value is given: no argument has this character


class UsageError(Exception):
    """The command line cannot be understood; exit code 2."""


class HelpWanted(Exception):  # noqa: N818  # asked for, and no error
    """The command's help is requested; its text is added to the command's documentation."""


class Option(NamedTuple):
    """An option of a command.

    Attributes
    ----------
    names : tuple of str
        Such as ``("-o", "--output")``.
    value : str
        Name of its value in the help; empty for a switch, ``[=VALUE]`` for an optional value.
    help : str
        One line.
    of : callable
        Converts the text; raises ArgumentTypeError with the rest of a sentence after the option's name.
    default : object
        The default; False for a switch, an empty list for a repeatable option.
    several : bool
        Whether it is repeatable; else the last value counts.
    """

    names: tuple[str, ...]
    value: str
    help: str
    of: Callable[[str], Any] = str
    default: Any = None
    several: bool = False

    @property
    def may_lack_value(self) -> bool:
        """True if the value is optional: without it the value is empty, with it ``=`` is required."""
        return self.value.startswith("[")


class Given(argparse.Namespace):
    """The options by their long names, and the other arguments, or the program with its arguments."""

    rest: list[str]


HELP = Option(("-h", "--help"), "", "show this help")
MODE = Option(("--mode",), "NAME", "tier for functions without mode=")
MODE_OF_RUN = MODE._replace(help=f"{MODE.help} (numpy, native, reference, cupy, …)")


def number(words: str, least: int = 1) -> Callable[[str], int]:
    """Return a reader of whole numbers from ``least`` on, described in words."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"takes {words}, not {text!r}")
        return int(text)

    return read


positive = number("a positive number")


def real(words: str) -> Callable[[str], float]:
    """Return a reader of positive numbers, described in words."""

    def read(text: str) -> float:
        with contextlib.suppress(ValueError):
            if 0 < (value := float(text)) < math.inf:
                return value
        raise argparse.ArgumentTypeError(f"takes {words}, not {text!r}")

    return read


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a reader of one of a few words."""

    def read(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"takes {' or '.join(choices)}, not {text!r}")
        return text

    return read


TABLES = (
    Option(("--full",), "", "print all tables, not only the answer"),
    Option(("--top",), "N", "print all tables, with N rows each (8)", positive),
)


def rows_of_tables(given: Given) -> int | None:
    """Return how many rows each table of a report has; None for the answer without tables."""
    return given.top or (8 if given.full else None)


DETAIL = Option(
    ("--detail",),
    "LEVEL",
    "what is timed: each step, or each operation of every step (steps, ops)",
    one_of("steps", "ops"),
    "steps",
)


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean …?`` if a word resembles a known one."""
    names = list(known)
    begun = [name for name in names if len(word) > 3 and name.startswith(word)]
    close = begun or difflib.get_close_matches(word, names, 1)
    return f"; did you mean {close[0]}?" if close else ""


def as_given(given: Given, *names: str) -> list[str]:
    """Return options as words of a command line.

    Examples
    --------
    >>> as_given(Given(output="rnn.scanviz", values="", children=True, top=None), "output", "values", "children", "top")
    ['--output=rnn.scanviz', '--values', '--children']
    """
    values = {name: getattr(given, name.replace("-", "_")) for name in names}
    return [
        f"--{name}" if value is True or value == "" else f"--{name}={value}"
        for name, value in values.items()
        if value is not None and value is not False
    ]


def parse(words: Sequence[str], options: Sequence[Option], *, program: bool = False) -> Given:
    """Return the options and the rest.

    Parameters
    ----------
    words : sequence of str
        After the command's name.
    options : sequence of Option
        The command's options.
    program : bool
        Whether the rest is a program with its own arguments; else options may also follow.

    Raises
    ------
    HelpWanted
        For ``--help``; the caller shows it.
    UsageError
        For an unknown option, one that lacks its value, or one that takes none.
    """
    return _parsed(words, options, Given(), program)


def options_after_file(given: Given, options: Sequence[Option], command: str) -> Given:
    """Read options after a FILE as well; after a SCRIPT they belong to the script.

    Raises
    ------
    UsageError
        If there is more than one file.
    """
    file, *more = given.rest
    again = _parsed(more, options, given, False)
    if again.rest:
        raise UsageError(f"scanviz {command} takes one FILE, found {again.rest[0]!r} too")
    again.rest = [file]
    return again


def _parsed(words: Sequence[str], options: Sequence[Option], into: Given, program: bool) -> Given:
    parser = _parser(options, program)
    alone = {name for option in options if option.may_lack_value for name in option.names}
    marked = [
        word.replace("=", f"{_GIVEN}=", 1) if word.partition("=")[0] in alone else word for word in words
    ]
    end = marked.index("--") if "--" in marked and not program else len(marked)  # no options after it
    vars(into).pop("rest", None)
    try:
        read = parser.parse_known_args if program else parser.parse_known_intermixed_args
        given, unknown = read(marked[:end], into)
    except argparse.ArgumentError as error:
        raise UsageError(_sentence(error, words, options)) from None
    if unknown:
        name = unknown[0].partition("=")[0]
        raise UsageError(
            f"unknown option {name}{suggestion(name, (n for one in (*options, HELP) for n in one.names))}"
        )
    for flag in ("-m", "-c") if program else ():
        if (words_of := vars(given).pop(flag)) is not None:
            given.rest = [flag, *words_of, *given.rest]
    given.rest = [
        word.replace(_GIVEN, "") for word in (*given.rest[given.rest[:1] == ["--"] :], *marked[end + 1 :])
    ]
    return given


def _parser(options: Sequence[Option], program: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument(*HELP.names, action=_Help, nargs=0)
    for names, value, _, of, default, several in options:
        key = names[-1].lstrip("-").replace("-", "_")
        if value and not value.startswith("["):
            action = "append" if several else "store"
            parser.add_argument(*names, dest=key, action=action, type=of, default=[] if several else default)
        elif value:
            parser.add_argument(*names, dest=key, action="store_const", const="")
            parser.add_argument(*(name + _GIVEN for name in names), dest=key, type=of)
        else:
            parser.add_argument(*names, dest=key, action="store_true")
    for flag in ("-m", "-c") if program else ():
        parser.add_argument(flag, dest=flag, nargs=argparse.REMAINDER)
    parser.add_argument("rest", nargs=argparse.REMAINDER if program else "*")
    return parser


class _Help(argparse.Action):
    """Request the help."""

    def __call__(self, *_: object) -> None:
        raise HelpWanted


def _sentence(error: argparse.ArgumentError, words: Sequence[str], options: Sequence[Option]) -> str:
    """Return the problem of an option's value as a sentence."""
    names = (error.argument_name or "").replace(_GIVEN, "").split("/")
    if error.message.startswith("takes "):  # from its reader
        return f"{names[-1]} {error.message}"
    if error.message.startswith("ignored"):
        return f"{names[-1]} takes no value"
    option = next(option for option in options if names[0] in option.names)
    name = next((name for name in names if name in words), names[0])
    return f"{name} needs a value: {name} {option.value}"


def program_of(rest: list[str], command: str) -> Script:
    """Return the program of a command line, and note that it runs.

    Raises
    ------
    UsageError
        If there is none.
    """
    if not rest:
        raise UsageError(f"no script given: scanviz {command} SCRIPT [arguments]  (or -m module, or -c code)")
    _ran.set(True)
    return script_of(rest)


def script_of(rest: list[str]) -> Script:
    """Return the program in some words.

    Raises
    ------
    UsageError
        If ``-m`` or ``-c`` stands alone.
    """
    from scanviz.profiler.run.runner import Script

    if rest[0] not in ("-m", "-c"):
        return Script("script", rest[0], rest[1:])
    if len(rest) < 2:
        raise UsageError(f"{rest[0]} needs {'a module' if rest[0] == '-m' else 'code'}")
    return Script("module" if rest[0] == "-m" else "code", rest[1], rest[2:])


def options_behind(rest: Sequence[str], options: Sequence[Option]) -> list[str]:
    """Return notes about options of the command after the program, which belong to the program.

    Examples
    --------
    >>> options_behind(["rnn.py", "8", "-o", "x.svg"], [Option(("-o", "--output"), "FILE", "")])
    ['-o after rnn.py goes to rnn.py: options of scanviz stand before it']
    """
    named = 2 if rest and rest[0] in ("-m", "-c") else 1
    program = " ".join(rest[:named]) if rest[:1] != ["-c"] else "the code"
    known = {name for option in options for name in option.names}
    met = dict.fromkeys(name for word in rest[named:] if (name := word.partition("=")[0]) in known)
    return [f"{name} after {program} goes to {program}: options of scanviz stand before it" for name in met]


@contextlib.contextmanager
def one_command() -> Iterator[None]:
    """Separate this command from earlier ones in the process."""
    token = _ran.set(False)
    try:
        yield
    finally:
        _ran.reset(token)


def ran_program() -> bool:
    """Return whether the present command has run a user's program."""
    return _ran.get()


def help_text(usage: str, about: str | None, options: Sequence[Option]) -> str:
    """Return a command's help: how it is called, its first sentence, its options, then notes and examples."""
    first, _, notes = (about or "").strip().partition("\n\n")
    rows = ["options:"]
    for option in (*options, HELP):
        space = "" if option.may_lack_value else " "
        names = ", ".join(option.names) + (f"{space}{option.value}" if option.value else "")
        rows.append(f"  {names:<24} {option.help}")
    return (
        "\n\n".join([f"usage: scanviz {usage}", first, "\n".join(rows), *([notes] if notes else [])]) + "\n"
    )
