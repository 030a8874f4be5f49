"""Grades the submissions of a class side by side: each judge process has a launcher of its own."""

import contextlib
import functools
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver, resource_tracker
from multiprocessing.context import BaseContext
from pathlib import Path

from grader.classroom.collect import ClassError, Entry, problem_of
from grader.classroom.results import Results, key_of
from grader.isolation.limits import Limits
from grader.isolation.zygote import IsolationError, Zygote

_LONGEST_FOLDER = 70  # bytes; a forkserver listens at a name in it, and a socket's name has no more than 104
TRIES = 3  # of a submission on which judge processes die, before it is called our fault
_launcher = None
_new_launcher: Callable | None = None
_refusal: str | None = None  # why this process cannot grade


def grade_class(
    entries: list[Entry],
    results: Results,
    jobs: int,
    require: str | None,
    lang: str,
    limits: Limits | None = None,
) -> Iterator[tuple[Entry, str | None]]:
    """Grade every entry that has no finished report; yields each when done, with what went wrong with us.

    require: "sandbox" to accept no less. ClassError if submissions cannot be isolated like that.
    """
    work = functools.partial(grade_entry, folder=results.folder, seed=results.seed, lang=lang)
    new_pool = functools.partial(ProcessPoolExecutor, mp_context=_context(), initializer=start_judge)
    try:
        zygote = Zygote()
    except IsolationError as error:
        raise ClassError(str(error)) from None
    left = []
    with zygote, new_pool(jobs, initargs=(require, limits, zygote.door)) as pool:
        try:
            futures = {pool.submit(work, entry): entry for entry in entries}
            for future in as_completed(futures):
                entry = futures.pop(future)
                try:
                    yield entry, future.result()
                except BrokenProcessPool:
                    left.append(entry)
        finally:  # whatever ended this, there is no waiting for what was not begun
            pool.shutdown(cancel_futures=True)
    if left:
        yield from _one_by_one(left, work, functools.partial(new_pool, 1, initargs=(require, limits)))


def _context() -> BaseContext:
    """Judges are forked from a process that has loaded all, and holds nothing else, where that can be had."""
    has_room = len(os.fsencode(tempfile.gettempdir())) <= _LONGEST_FOLDER
    if "forkserver" not in multiprocessing.get_all_start_methods() or not has_room:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["grader.classroom.ready"])
    resource_tracker.ensure_running()  # else a forkserver does it, and unblocks what is blocked here
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # it inherits that: deaf to Ctrl-C
    forkserver.ensure_running()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return context


def _one_by_one(
    entries: list[Entry], work: Callable, new_pool: Callable[[], ProcessPoolExecutor]
) -> Iterator[tuple[Entry, str | None]]:
    """A judge process died, on one of these: alone, that one costs none of the others their verdict."""
    pool = new_pool()
    try:
        for entry in entries:
            problem = f"the judge's process died, {TRIES} times"
            for _ in range(TRIES):
                try:
                    problem = pool.submit(work, entry).result()
                    break
                except BrokenProcessPool:
                    pool.shutdown()
                    pool = new_pool()
            yield entry, problem
    finally:
        pool.shutdown(cancel_futures=True)


def start_judge(require: str | None, limits: Limits | None = None, door: socket.socket | None = None) -> None:
    """Once in each judge process, before it knows a seed. door: of a zygote that it shares with others."""
    global _launcher, _new_launcher, _refusal
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    from grader.classroom.ready import launcher

    _new_launcher = functools.partial(launcher.Launcher, require, limits)
    try:
        _launcher = _new_launcher(door=door)
    except IsolationError as error:
        _refusal = str(error)


def _end_with_the_parent() -> None:
    """A judge whose class run was killed would wait for more work for ever."""
    parent = multiprocessing.parent_process()
    if parent:
        parent.join()
        os._exit(1)


def grade_entry(entry: Entry, folder: Path, seed: str, lang: str) -> str | None:
    """Grade one submission and write its report, unless that is done. -> what went wrong with us."""
    if _refusal:
        raise ClassError(_refusal)
    for last in (False, True):
        problem = None
        try:
            with contextlib.chdir(entry.base):
                if _write_report(entry, Results(folder, seed), lang):
                    return None
        except IsolationError as error:
            problem = str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if not last and not _renew_launcher():
            break
    return problem


def _renew_launcher() -> bool:
    """The launcher may have died, or be tainted: a new one. False if there is none to be had."""
    global _launcher
    _launcher.close()
    try:
        _launcher = _new_launcher()
    except IsolationError:
        return False
    return True


def _write_report(entry: Entry, results: Results, lang: str) -> bool:
    """-> whether there is a verdict: the grader did not fail."""
    from grader.isolation.submission import WorkerSubmission
    from grader.judge.source import SourceError, read_source
    from grader.reports import html_report, json_report
    from grader.reports.files import write_json
    from grader.run import grade

    problem = problem_of(entry)
    path = str(entry.files[0]) if entry.files else entry.student
    key = functools.partial(key_of, seed=results.seed, isolation=_launcher.isolation, lang=lang)
    try:
        content = problem.say("en") if problem else read_source(path).sha256
    except SourceError as error:
        content = str(error)
    if results.finished(entry.student, key(content)):
        return True
    open_submission = functools.partial(WorkerSubmission, _launcher)
    score = grade(path, results.seed, open_submission, True, _launcher.isolation, problem)
    # the key of what was graded, should the file have changed since it was looked at
    head = {"student": entry.student, "key": key(score.sha256 or content)}
    html_report.write(score, results.report(entry.student).with_suffix(".html"), lang)
    write_json(head | json_report.as_dict(score, lang), results.report(entry.student))
    return score.score is not None
