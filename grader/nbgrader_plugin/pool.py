"""Judge processes beside nbgrader: they stay ready, and grade the next submissions while it works."""

import contextlib
import hashlib
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from grader.classroom.collect import Entry
from grader.classroom.grading import TRIES, grade_entry, start_judge
from grader.classroom.results import Results
from grader.nbgrader_plugin.intake import code_of

_MOST_AHEAD = 64


class GradingError(Exception):
    """The grader failed on a submission. That is no verdict on it."""


class Pool:
    """Grades submissions, one process for each of `jobs`; require: "sandbox" to accept no less."""

    def __init__(self, jobs: int, require: str | None, seed: str):
        self._folder = tempfile.TemporaryDirectory(prefix="attention-nbgrader-")
        self._seed = seed
        self._arguments = (jobs, get_context("spawn"), start_judge, (require,))
        self._processes = ProcessPoolExecutor(*self._arguments)
        self._ahead: dict[tuple[str, ...], Future] = {}

    def report(self, student: str, folder: Path, lang: str) -> dict[str, Any]:
        """The report on a submission. GradingError; ClassError if nothing can be graded here."""
        for _ in range(TRIES):
            self.begin([(student, folder)], lang)
            try:
                problem = self._ahead.pop(_key(student, folder, lang)).result()
            except BrokenProcessPool:
                self._renew()
                continue
            if problem:
                raise GradingError(problem)
            report = self._results(folder, lang).read(student)
            if report["score"] is None or not report["complete"]:
                raise GradingError(_fault(report))
            return report
        raise GradingError(f"the judge's process died, {TRIES} times")

    def begin(self, submissions: Iterable[tuple[str, Path]], lang: str) -> None:
        """Start on submissions that are to be asked for."""
        if len(self._ahead) > _MOST_AHEAD:
            self._ahead.clear()  # asked ahead, and never fetched
        for student, folder in submissions:
            key = _key(student, folder, lang)
            if key not in self._ahead:
                code = code_of(folder)
                entry = Entry(student, (code,) if code else (), base=folder)
                try:
                    self._ahead[key] = self._submit(entry, lang)
                except BrokenProcessPool:
                    self._renew()
                    self._ahead[key] = self._submit(entry, lang)

    def _submit(self, entry: Entry, lang: str) -> Future:
        with _no_main_module():
            work = (entry, self._results(entry.base, lang).folder, self._seed, lang)
            return self._processes.submit(grade_entry, *work)

    def _results(self, folder: Path, lang: str) -> Results:
        """A student may have handed in both assignments: each has results of its own."""
        return Results(Path(self._folder.name) / f"{folder.name}.{lang}", self._seed)

    def _renew(self) -> None:
        self._processes.shutdown(wait=False, cancel_futures=True)
        self._processes = ProcessPoolExecutor(*self._arguments)
        self._ahead.clear()


@contextlib.contextmanager
def _no_main_module() -> Iterator[None]:
    """A new process would import the program that it was started from: all of nbgrader, for nothing."""
    main = sys.modules["__main__"]
    kept = {name: main.__dict__.pop(name) for name in ("__file__", "__spec__") if name in main.__dict__}
    main.__spec__ = None
    try:
        yield
    finally:
        main.__dict__.update(kept)


def _key(student: str, folder: Path, lang: str) -> tuple[str, ...]:
    """What a verdict hangs on: a submission that was handed in anew is another one."""
    code = code_of(folder)
    try:
        content = (folder / code).read_bytes() if code else b"none"
    except OSError as error:
        content = str(error).encode()
    return student, str(folder), lang, hashlib.sha256(content).hexdigest()


def _fault(report: dict[str, Any]) -> str:
    faults = [check for check in report["checks"] if check["outcome"] == "grader_error"]
    return f"{faults[0]['id']}: {faults[0]['message']}" if faults else "not all checks ran"
