"""What the tests share: submissions to grade, and `pytest grader` on a terminal of its own."""

import contextlib
import fcntl
import gc
import json
import os
import pty
import re
import signal
import struct
import sys
import termios
import textwrap
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from grader.judge.exercise import FUNCTIONS, METHODS
from grader.judge.score import Score
from grader.run import grade
from grader.stub import ROOT, SOLUTION

REFERENCE = SOLUTION.read_text(encoding="utf-8")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")  # colours and the like
SECONDS = 60  # that a run of the grader may take, far above what it needs

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # a process that forks after a backward pass must not have a GPU
torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """`pytest tests` uses all cores. A file at a time: its tests share what they have built."""
    options, given = config.option, [Path(arg).resolve() for arg in config.args]
    if (
        given == [ROOT / "tests"]
        and getattr(options, "numprocesses", 0) is None
        and "PYTEST_XDIST_WORKER" not in os.environ
    ):
        options.numprocesses, options.dist = os.cpu_count(), "loadfile"


def body(function: str, code: str) -> str:
    """Code that gives one function of the exercise another body, to be appended to the reference."""
    optional = ("mask", "device")
    names = [f"{name}=None" if name in optional else name for name in FUNCTIONS[function][0]]
    if function not in METHODS:
        return f"def {function}({', '.join(names)}):\n{textwrap.indent(code, ' ' * 4)}\n"
    head = "class MultiHeadAttention(MultiHeadAttention):\n"
    return f"{head}    def {function}(self, {', '.join(names)}):\n{textwrap.indent(code, ' ' * 8)}\n"


@pytest.fixture
def submit(tmp_path: Path) -> Callable[..., str]:
    """Write a submission, and return its path: the reference with code appended, or a text of its own.

    The last definition of a name wins, so `submit(body("attention_scores", "return query"))` breaks one TODO.
    """

    def submit(*appended: str, text: str | bytes = REFERENCE) -> str:
        file = tmp_path / "mine.py"
        data = text.encode() if isinstance(text, str) else text
        file.write_bytes(b"\n\n".join([data, *(code.encode() for code in appended)]))
        return str(file)

    return submit


@dataclass(frozen=True)
class Screen:
    """What a run of pytest left: its exit status, and the lines on the terminal without colours."""

    status: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)


def terminal_run(*words: str, cwd: Path = ROOT, rows: int = 40, columns: int = 80) -> Screen:
    """`pytest WORDS` in a process and on a terminal of its own.

    A fork, since torch is imported here already: a new interpreter would take a second longer each time.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        _become_pytest(words, cwd, rows, columns)
    output = b""
    with contextlib.suppress(OSError):  # EIO is how Linux says that the other side has closed
        while part := os.read(terminal, 1 << 16):
            output += part
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    lines = ESCAPES.sub("", output.decode()).replace("\r\n", "\n").split("\n")
    return Screen(status, tuple(line.rpartition("\r")[2].rstrip() for line in lines))  # \r writes over a line


def _become_pytest(words: tuple[str, ...], cwd: Path, rows: int, columns: int) -> None:
    status = 70
    try:
        signal.alarm(SECONDS)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        sys.stdin, sys.stdout, sys.stderr = (open(number, mode) for number, mode in enumerate("rww"))  # noqa: SIM115
        for name in ("CI", "BUILD_NUMBER", "NO_COLOR", "PYTEST_ADDOPTS", "COLUMNS", "LINES"):
            os.environ.pop(name, None)
        os.environ["TERM"] = "xterm-256color"
        os.chdir(cwd)
        status = int(pytest.main(["-p", "no:cacheprovider", *words]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Screen]:
    """`pytest grader WORDS`, with its report in `tmp_path / "report"`."""

    def run(*words: str, **options: int) -> Screen:
        return terminal_run("grader", f"--report-dir={tmp_path / 'report'}", *words, **options)

    return run


@pytest.fixture(scope="session", autouse=True)
def reference_score() -> Score:
    """The score of the reference with seed 0; first of all, so that no fork has to import anything again."""
    score = grade(str(SOLUTION))
    gc.collect()
    gc.freeze()  # what torch made stays: every run of pytest collects garbage several times
    return score


@pytest.fixture
def report_of(run, tmp_path: Path) -> Callable[..., dict]:
    """Run `pytest grader WORDS` and return what report.json holds."""

    def report_of(*words: str) -> dict:
        run(*words)
        return json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))

    return report_of
