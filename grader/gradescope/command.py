"""python -m grader gradescope: make the autograder's zip file; and grade, in Gradescope's container."""

import argparse
import contextlib
import functools
import os
import secrets
import sys
from pathlib import Path

from grader.classroom.collect import Entry, files_in, problem_of
from grader.gradescope.bundle import write_zip
from grader.reports.files import write_json

_HIDDEN = Path(__file__).parents[1] / "hidden"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The two things that it does."""
    actions = parser.add_subparsers(dest="action", required=True)
    bundle = actions.add_parser("zip", help="make the file to upload under Configure Autograder")
    bundle.add_argument("file", type=Path)
    grade = actions.add_parser("grade", help="grade a submission: Gradescope's container calls this")
    grade.add_argument("submission", type=Path, help="the folder that holds it")
    grade.add_argument("--results", type=Path, required=True, metavar="FILE", help="where results.json goes")
    grade.add_argument("--lang", choices=("en", "zh"), default="en", help="language of the messages")


def run(options: argparse.Namespace) -> int:
    """-> 0; 1 if there is no verdict: then Gradescope shows no score, and instructors see what is printed."""
    try:
        if options.action == "zip":
            print(f"{options.file}: {write_zip(options.file)} files. It holds the hidden checks.")
            return 0
        return _grade(options.submission, options.results, options.lang)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1


def _grade(folder: Path, results: Path, lang: str) -> int:
    from grader.isolation.launcher import IsolationError, Launcher
    from grader.isolation.submission import WorkerSubmission
    from grader.reports import gradescope
    from grader.run import grade

    try:
        launcher = Launcher()
        _insist(launcher.isolation, launcher.layers, launcher.missing)
    except IsolationError as error:
        print(f"Nothing was graded: {error}", file=sys.stderr)
        return 1
    open_submission = functools.partial(WorkerSubmission, launcher)
    results = results.resolve()
    with contextlib.closing(launcher), contextlib.chdir(folder):
        entry = Entry("submission", files_in(Path()))
        path = str(entry.files[0]) if entry.files else "attention.py"
        seed, isolation = secrets.token_hex(16), launcher.isolation
        score = grade(path, seed, open_submission, True, isolation, problem_of(entry))
    if score.score is None:
        faults = [r.finding.seen.say("en") for r in score.results if r.outcome == "grader_error"]
        print("\n".join(["The grader itself failed, and gives no score:", *faults]), file=sys.stderr)
        return 1
    write_json(gradescope.as_dict(score, lang), results)
    return 0


def _insist(isolation: str, layers: tuple[str, ...], missing: dict[str, str]) -> None:
    """IsolationError unless no submission can read the hidden checks or reach the judge.

    A container may refuse namespaces and Landlock to root itself. Then another user holds, if our files are
    closed to others, together with the filter against network and other processes.
    """
    from grader.isolation.launcher import IsolationError
    from grader.isolation.lockdown import LIMITS, PRIVILEGES, SECCOMP, USER

    closed = not any(os.stat(path).st_mode & 0o007 for path in (_HIDDEN.parents[1], *_HIDDEN.glob("*.py")))
    if isolation == "sandbox" or (closed and {LIMITS, PRIVILEGES, SECCOMP, USER} <= set(layers)):
        return
    reasons = "; ".join(f"{layer} ({reason})" for layer, reason in missing.items())
    files = "" if closed else " The grader's files can be read by other users."
    raise IsolationError(f"submissions cannot be locked in here. Missing: {reasons}.{files}")
