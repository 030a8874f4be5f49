"""Grades the submissions of a class side by side: each judge process has a launcher of its own."""

import contextlib
import functools
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from grader.classroom.collect import ClassError, Entry
from grader.classroom.results import Results, key_of

TRIES = 3  # of a submission whose judge process died, before it is called our fault
_launcher = None
_refusal: str | None = None  # why this process cannot grade


def grade_class(
    entries: list[Entry], results: Results, jobs: int, require: str | None, lang: str
) -> Iterator[tuple[Entry, str | None]]:
    """Grade every entry that has no finished report; yields each when done, with what went wrong with us.

    require: "sandbox" to accept no less. ClassError if submissions cannot be isolated like that.
    """
    work = functools.partial(grade_entry, folder=results.folder, seed=results.seed, lang=lang)
    tries: Counter[str] = Counter()
    left = entries
    while left:
        broken = []
        with ProcessPoolExecutor(jobs, get_context("spawn"), start_judge, (require,)) as pool:
            futures = {pool.submit(work, entry): entry for entry in left}
            for future in as_completed(futures):
                entry = futures.pop(future)
                try:
                    yield entry, future.result()
                except BrokenProcessPool:
                    broken.append(entry)
                except ClassError:
                    pool.shutdown(cancel_futures=True)
                    raise
        tries.update(entry.student for entry in broken)
        left = [entry for entry in broken if tries[entry.student] < TRIES]
        for entry in broken:
            if tries[entry.student] >= TRIES:
                yield entry, "the judge's process died, three times"


def start_judge(require: str | None) -> None:
    """Once in each judge process, before it knows a seed."""
    global _launcher, _refusal
    import torch

    from grader.isolation.launcher import IsolationError, Launcher

    torch.set_num_threads(1)
    try:
        _launcher = Launcher(require)
    except IsolationError as error:
        _refusal = str(error)


def grade_entry(entry: Entry, folder: Path, seed: str, lang: str) -> str | None:
    """Grade one submission and write its report, unless that is done. -> what went wrong with us."""
    if _refusal:
        raise ClassError(_refusal)
    try:
        with contextlib.chdir(entry.base):
            _write_report(entry, Results(folder, seed), lang)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _write_report(entry: Entry, results: Results, lang: str) -> None:
    from grader.isolation.submission import WorkerSubmission
    from grader.judge.source import SourceError, read_source
    from grader.judge.text import text
    from grader.reports import json_report
    from grader.reports.files import write_json
    from grader.run import grade

    problem = None
    if len(entry.files) != 1:
        names = ", ".join(str(file) for file in entry.files)
        problem = text("source.several", files=names) if entry.files else text("source.nothing")
    path = str(entry.files[0]) if entry.files else entry.student
    key = functools.partial(key_of, seed=results.seed, isolation=_launcher.isolation, lang=lang)
    try:
        content = problem.say("en") if problem else read_source(path).sha256
    except SourceError as error:
        content = str(error)
    if results.finished(entry.student, key(content)):
        return
    open_submission = functools.partial(WorkerSubmission, _launcher)
    score = grade(path, results.seed, open_submission, True, _launcher.isolation, problem)
    # the key of what was graded, should the file have changed since it was looked at
    head = {"student": entry.student, "key": key(score.sha256 or content)}
    write_json(head | json_report.as_dict(score, lang), results.report(entry.student))
