"""The watch: a verdict at each save, hints by key, half-written files in a line."""

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from conftest import ESCAPES, REFERENCE, body

from grader.judge.diagnosis import diagnose
from grader.run import grade
from grader.stub import ROOT, STUDENT
from grader.watch import LEVELS, hint_for

WAIT_S = 60  # far above what it takes


class Terminal:
    """A watch on a terminal of its own."""

    def __init__(self, file, *words):
        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "grader", "watch", str(file), *words]
        environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "40"}
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        self._seen = ""

    def until(self, pattern: str) -> str:
        """What came on the screen until a pattern; it is taken off."""
        deadline = time.monotonic() + WAIT_S
        while not (match := re.search(pattern, self._seen)):
            assert time.monotonic() < deadline, self._seen
            if select.select([self._ours], [], [], 0.1)[0]:
                self._seen += ESCAPES.sub("", os.read(self._ours, 1 << 16).decode())
        before, self._seen = self._seen[: match.end()], self._seen[match.end() :]
        return before

    def press(self, key: str) -> None:
        os.write(self._ours, key.encode())

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


@pytest.fixture
def watch(tmp_path):
    file = tmp_path / "attention.py"
    file.write_text(STUDENT.read_text(encoding="utf-8"), encoding="utf-8")
    terminal = Terminal(file)
    yield file, terminal
    terminal.close()


def test_saves_hints_and_keys(watch):
    file, terminal = watch
    assert "0 / 100" in terminal.until("q quit")
    for level in range(1, LEVELS + 1):
        terminal.press("h")
        terminal.until(f"Hint {level} of 3: ")
    terminal.press("n")
    assert re.search(r"look at\s+TODO 2 \(scaling\)", terminal.until("q quit"))
    file.write_text("def half(:\n", encoding="utf-8")
    assert "Traceback" not in terminal.until(r"attention.py:1 is not\s+valid Python")
    file.write_text(REFERENCE, encoding="utf-8")
    assert "100 / 100" in terminal.until(r"0.0 -> 100.0 points; now passing: \d+, no longer passing: 0")
    file.write_text(REFERENCE + body("attention_scores", "return query @ key.mT"), encoding="utf-8")
    assert "not divided" in terminal.until(r"100.0 -> \d+")
    terminal.press("q")
    assert terminal.process.wait(WAIT_S) == 0


def test_a_missing_file_is_waited_for(tmp_path):
    file = tmp_path / "attention.py"
    with contextlib.closing(Terminal(file, "--lang", "zh")) as terminal:
        terminal.until("无法读取")
        file.write_text(REFERENCE, encoding="utf-8")
        terminal.until("100 / 100")
        terminal.process.send_signal(signal.SIGINT)  # Ctrl-C
        assert terminal.process.wait(WAIT_S) == 0


def test_no_hint_is_the_solution(submit):
    mistakes = {
        "scaling": body("attention_scores", "return query @ key.mT"),
        "mask": body("attention_weights", "return torch.softmax(scores, dim=-1)"),
        "head split": body("split_heads", "return x.reshape(len(x), self.n_heads, -1, self.d_head)"),
        "W_O": body("combine_heads", "return heads.transpose(1, 2).flatten(-2)"),
    }
    for todo, code in mistakes.items():
        (diagnosis,) = diagnose(grade(submit(code)))
        assert diagnosis.todo == todo
        hints = [hint_for(diagnosis, level).say("en") for level in range(1, LEVELS + 1)]
        assert len(set(hints)) == LEVELS
        assert hints[1] == diagnosis.result.finding.hint.say("en")
        assert not any("return" in hint or "= " in hint for hint in hints)
