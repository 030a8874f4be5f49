"""python -m grader class: grades a folder of submissions and sums up the class."""

import argparse
import os
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from grader.classroom.collect import ClassError, Entry, find_submissions
from grader.classroom.grading import grade_class
from grader.classroom.results import Results
from grader.reports import class_report
from grader.reports.files import write_json, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("submissions", type=Path, help="<student>.py, or <student>/.../attention.py")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the results go")
    parser.add_argument(
        "--jobs", type=_positive, default=os.cpu_count() or 1, help="at a time (default: cores)"
    )
    parser.add_argument("--seed", help="of all inputs (default: a secret one, kept in DIR)")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="language of the reports")
    parser.add_argument(
        "--accept-less-isolation",
        action="store_true",
        help="go on where this machine has no full sandbox; the reports say what was in force",
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def run(options: argparse.Namespace) -> int:
    """Grade the class. -> 0, or 1 if the grader failed somewhere, or 2 if it could not begin."""
    console = Console(stderr=True, highlight=False, markup=False)
    try:
        entries, passed_over = find_submissions(options.submissions)
        results = Results(options.out, options.seed)
        ours = _grade(entries, results, options, console)
        rows = [class_report.row_of(entry.student, _report(results, entry, ours)) for entry in entries]
    except ClassError as error:
        console.print(str(error), style="red")
        return 2
    write_json(class_report.as_dict(rows, passed_over, results.seed), results.folder / "class.json")
    write_text(class_report.as_csv(rows), results.folder / "class.csv")
    for line in passed_over:
        console.print(f"passed over: {line}", style="yellow")
    failed = [row["student"] for row in rows if row["score"] is None]
    for student in failed:
        problem = ours.get(student, "some checks have no verdict; its report.json says which")
        console.print(f"the grader failed on {student}: {problem}", style="red")
    console.print(f"{len(rows)} submissions: {results.folder / 'class.csv'}")
    return 1 if failed else 0


def _grade(
    entries: list[Entry], results: Results, options: argparse.Namespace, console: Console
) -> dict[str, str]:
    """-> student: what went wrong with the grader."""
    require = None if options.accept_less_isolation else "sandbox"
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    ours = {}
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("grading", total=len(entries))
        for entry, problem in grade_class(entries, results, options.jobs, require, options.lang):
            progress.advance(task)
            if problem:
                ours[entry.student] = problem
    return ours


def _report(results: Results, entry: Entry, ours: dict[str, str]) -> dict:
    """A student's report; where we failed, one that says so and gives no score."""
    if entry.student in ours:
        report = {"student": entry.student, "key": None, "score": None, "problem": ours[entry.student]}
        write_json(report, results.report(entry.student))
        return report
    return results.read(entry.student)
