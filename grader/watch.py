"""python -m grader watch: the verdict on the screen at each save, with torch loaded already."""

import argparse
import contextlib
import functools
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from grader.isolation.launcher import IsolationError, Launcher
from grader.isolation.limits import Limits
from grader.isolation.submission import WorkerSubmission
from grader.judge.diagnosis import Diagnosis, diagnose
from grader.judge.exercise import TODO_BY_NAME
from grader.judge.score import Score
from grader.judge.source import SourceError, read_source
from grader.judge.text import LANGUAGES, text
from grader.pytest_options import SUBMISSION
from grader.reports import terminal
from grader.run import grade

POLL_S = 0.05
LEVELS = 3  # of hints; none is the solution
LIMITS = Limits(load_s=5, call_s=2, total_s=10)  # somebody is waiting
QUIT, HINT, NEXT = "q", "h", "n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("file", type=Path, nargs="?", default=SUBMISSION, help=f"default: {SUBMISSION}")
    parser.add_argument("--lang", choices=LANGUAGES, default="en", help="language of the messages")


def run(options: argparse.Namespace) -> int:
    """Watch until q is pressed; the exit status."""
    console = Console(highlight=False)
    console.print(_say("starting", options.lang), style="dim")
    try:
        launcher = Launcher(limits=LIMITS)
    except IsolationError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    with launcher, contextlib.suppress(KeyboardInterrupt), _keys() as keys:
        watch = Watch(options.file, options.lang, console, launcher)
        while True:
            watch.look()
            key = next(keys)
            if key == QUIT:
                break
            watch.press(key)
    return 0


class Watch:
    """One file under watch: its last verdict, and where the reader is in it."""

    def __init__(self, file: Path, lang: str, console: Console, launcher: Launcher):
        self._file = file
        self._lang = lang
        self._console = console
        self._launcher = launcher
        self._stamp: tuple | None = ()
        self._score: Score | None = None
        self._focus = 0
        self._hints = 0

    def look(self) -> None:
        """Grade the file if it was saved since the last look."""
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            read_source(self._file)
        except SourceError as error:  # half-written: one line, and the old verdict stays
            self._console.print(Text(error.message.say(self._lang), style="yellow"), soft_wrap=True)
            return
        before = self._score
        open_submission = functools.partial(WorkerSubmission, self._launcher)
        self._score = grade(str(self._file), 0, open_submission, isolation=self._launcher.isolation)
        self._focus = self._hints = 0
        self._show(before)

    def press(self, key: str) -> None:
        """Answer a key."""
        found = diagnose(self._score) if self._score else ()
        if not found:
            return
        if key == NEXT:
            self._focus = (self._focus + 1) % len(found)
            self._hints = 0
            self._show(None)
        elif key == HINT:
            self._hints = min(self._hints + 1, LEVELS)
            hint = hint_for(found[self._focus], self._hints)
            self._console.print(Text(_say("hint", self._lang, level=self._hints, hint=hint), style="cyan"))

    def _show(self, before: Score | None) -> None:
        if self._console.is_terminal:
            self._console.clear()
        terminal.show(self._score, self._console, self._lang, focus=self._focus)
        if before:
            self._console.print(Text(_change(before, self._score, self._lang), style="bold"))
        self._console.print(Text(_say("keys", self._lang), style="dim"))


def hint_for(diagnosis: Diagnosis, level: int):
    """The hint of a level, 1 to LEVELS: a question, what is wrong with this very code, what to look up."""
    mistake = diagnosis.result.finding.hint
    if mistake and level == 2:
        return mistake
    name = TODO_BY_NAME[diagnosis.todo].marker if diagnosis.todo else "whole"
    return text(f"hints.{name}_{level}")


def _say(key: str, lang: str, **values: object) -> str:
    return text(f"watch.{key}", **values).say(lang)


def _change(before: Score, after: Score, lang: str) -> str:
    old = {result.check.id for result in before.results if result.outcome == "passed"}
    new = {result.check.id for result in after.results if result.outcome == "passed"}
    scores = {"before": before.score, "after": after.score}
    return _say("change", lang, gained=len(new - old), lost=len(old - new), **scores)


def _stamp(file: Path) -> tuple | None:
    """Changes with every save; editors that replace the file change its inode."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@contextlib.contextmanager
def _keys() -> Iterator[Iterator[str]]:
    """An endless iterator of pressed keys, "" where none was pressed for a moment."""
    if not sys.stdin.isatty():
        yield iter(lambda: time.sleep(POLL_S) or "", None)
        return
    import termios  # a terminal of POSIX; without one there are no keys, and the watch goes on
    import tty

    descriptor = sys.stdin.fileno()
    saved = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)

    def key() -> str:
        if not select.select([descriptor], [], [], POLL_S)[0]:
            return ""
        try:
            return os.read(descriptor, 1).decode("ascii", "replace").lower() or QUIT
        except OSError:
            return QUIT  # the terminal is gone

    try:
        yield iter(key, None)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, saved)
