"""Command lines that cannot be understood or done: exit code 2, a sentence, and nothing else."""

import shlex
from pathlib import Path

import pytest

from scanviz.cli import main
from scanviz.record.storage.file import save
from tests.profiler.records import SMALL

WRONG = """
profil s.py                                       | did you mean profile?
profile                                           | no script given: scanviz profile SCRIPT
profile --bogus s.py                              | unknown option --bogus
profile --quite s.py                              | unknown option --quite; did you mean --quiet?
profile -o                                        | -o needs a value: -o FILE
profile --quiet=3 s.py                            | --quiet takes no value
profile --top none s.py                           | --top takes a positive number, not 'none'
profile --detail all s.py                         | --detail takes steps or ops, not 'all'
profile --mode numpi s.py                         | there is no backend named 'numpi'
profile --repeat=0 s.py                           | --repeat takes a positive number
profile --repeat=101 s.py                         | --repeat takes at most
check --big s.py                                  | --big takes a positive number, not 's.py'
check --big=nan s.py                              | --big takes a positive number
report a.scanviz a.scanviz                        | scanviz report takes one FILE, a saved profile, found 2
report none.scanviz                               | none.scanviz cannot be read
report --step 3 a.scanviz                         | --step needs --values
report --values --recompute a.scanviz             | --recompute needs --values --step N
report --values --recompute=soon --step 1 a.scanviz | takes a number of seconds
report --values=rnn a.scanviz                     | --values takes no value
advise --jsn a.scanviz                            | did you mean --json
compare a.scanviz                                 | takes two profiles, A and B, found 1
compare a.scanviz s.py                            | s.py is no scanviz profile
compare a.scanviz a.scanviz --fail-over nan       | a percentage such as 5%
compare --rounds 3 a.scanviz a.scanviz            | --rounds needs --run
compare --run s.py                                | takes two programs, A and B, found 1
compare --run --seconds soon s.py s.py            | --seconds takes a positive number
merge a.scanviz -o c.scanviz                      | takes two profiles or more, found 1
merge a.scanviz a.scanviz                         | no output given: scanviz merge a.scanviz a.scanviz -o FILE
merge a.scanviz a.scanviz -o -                    | cannot go to standard output
merge a.scanviz a.scanviz -o no/c.scanviz         | there is no folder
export a.scanviz                                  | no format given
export -f crome a.scanviz                         | takes chrome or perfetto
export -f csv --table lops a.scanviz              | did you mean loops?
export -f chrome --table loops a.scanviz          | it is one piece
export -f chrome -o nowhere/x.json a.scanviz      | there is no folder
html -o nowhere/x.html a.scanviz                  | there is no folder
graph -o x.svgg a.scanviz                         | unsupported extension .svgg; did you mean svg?
graph --film -o x.png a.scanviz                   | unsupported extension .png; supported: .html, .svg
graph --depth ² a.scanviz                         | --depth takes a number
graph -o nowhere/x.svg a.scanviz                  | there is no folder
program none.program                              | none.program cannot be read
native --ir --asm s.py                            | --ir and --asm cannot be combined
rewrites --rule PushOutSeq s.py                   | did you mean PushOutSeqScan?
rewrites --why-not nonsense s.py                  | there is no rule named 'nonsense'
rewrites --step two s.py                          | --step takes the number of a rewrite
rewrites --verify --step 1 s.py                   | --verify and --step cannot be combined
rewrites --bisect --rule ScanMerge s.py           | --bisect and --rule cannot be combined
rewrites --tree --unified s.py                    | --unified and --tree cannot be combined
rewrites --budget 3 s.py                          | --budget needs --ablate
rewrites --into x.scanviz s.py                    | --into needs --ablate
rewrites --into none.scanviz --ablate s.py        | none.scanviz cannot be read
rewrites --verify a.scanviz                       | it needs a SCRIPT, not a saved profile
learn six                                         | takes the number of a lesson, not 'six'
doctor now                                        | doctor takes no arguments, found 'now'
tui                                               | no profile or script given
"""


@pytest.mark.parametrize("line", WRONG.strip().splitlines(), ids=lambda line: line.partition("  ")[0])
def test_a_wrong_command_line_prints_a_sentence_and_exits_with_2(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(SMALL, tmp_path / "a.scanviz")
    (tmp_path / "s.py").write_text("raise AssertionError('the script was run')")
    words, _, sentence = line.partition(" | ")
    assert main(shlex.split(words)) == 2
    out, error = capsys.readouterr()
    assert sentence.strip() in error and out == ""
    assert {file.name for file in tmp_path.iterdir()} == {"a.scanviz", "s.py"}
