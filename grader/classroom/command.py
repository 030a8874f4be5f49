"""python -m grader class: grades a folder of submissions and sums up the class."""

import argparse
import csv
import os
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from grader.classroom.collect import ClassError, Entry, find_submissions
from grader.classroom.grading import grade_class
from grader.classroom.results import Results
from grader.reports import class_page, class_report, gradebooks
from grader.reports.files import write_json, write_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("submissions", type=Path, help="<student>.py, or <student>/.../attention.py")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the results go")
    parser.add_argument(
        "--jobs", type=_positive, default=os.cpu_count() or 1, help="at a time (default: cores)"
    )
    parser.add_argument("--seed", help="of all inputs (default: a secret one, kept in DIR)")
    parser.add_argument(
        "--roster", type=Path, metavar="FILE", help="a table that Canvas has exported, to tell who is who"
    )
    parser.add_argument(
        "--column", default="Attention", help="name of the grade there (for Canvas best with its number)"
    )
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
    """Grade the class. -> 0, 1 if the grader failed somewhere, 2 if it could not begin, 130 after Ctrl-C."""
    console = Console(stderr=True, highlight=False, markup=False)
    try:
        known = _known(options.roster)
        entries, passed_over = find_submissions(options.submissions)
        results = Results(options.out, options.seed)
        ours = _grade(entries, results, options, console)
    except ClassError as error:
        console.print(str(error), style="red")
        return 2
    except KeyboardInterrupt:
        console.print("stopped; the same command goes on from here")
        return 130
    rows, checks, titles = _read(results, entries, ours)
    summary = class_report.as_dict(rows, passed_over, results.seed, checks, titles, results.summary())
    write_json(summary, results.folder / "class.json", private=True)
    _write_tables(rows, results.folder, options.column, known)
    write_text(class_page.as_html(summary, options.lang), results.folder / "class.html", private=True)
    for student in (row["student"] for row in rows if known and row["student"] not in known):
        console.print(f"{student} is not in {options.roster}, and left out of canvas.csv", style="yellow")
    for line in passed_over:
        console.print(f"passed over: {line}", style="yellow")
    failed = [row["student"] for row in rows if row["score"] is None]
    for student in failed:
        problem = ours.get(student, "some checks have no verdict; its report.json says which")
        console.print(f"the grader failed on {student}: {problem}", style="red")
    console.print(f"{len(rows)} submissions: {results.folder / 'class.html'}")
    return 1 if failed else 0


def _known(file: Path | None) -> dict[str, list[str | None]]:
    try:
        return gradebooks.roster(file) if file else {}
    except (OSError, ValueError, csv.Error) as error:
        raise ClassError(f"--roster: {file} cannot be read: {error}") from None


def _read(
    results: Results, entries: list[Entry], ours: dict[str, str]
) -> tuple[list[dict], list[dict], dict[str, str]]:
    """-> a row for each student; the checks that there are; what the mistakes are called."""
    rows, checks, titles = [], [], {}
    for entry in entries:
        report = _report(results, entry, ours)
        rows.append(class_report.row_of(entry.student, report))
        checks = checks or report.get("checks", [])
        titles |= class_report.titles_of(report)
    return rows, checks, titles


def _write_tables(rows: list[dict], folder: Path, column: str, known: dict[str, list[str | None]]) -> None:
    lines = [
        gradebooks.Line(row["student"], row["score"], row.get("max_score"), class_report.in_words(row))
        for row in rows
    ]
    write_text(class_report.as_csv(rows), folder / "class.csv", private=True)
    for name, table in (
        ("canvas", gradebooks.canvas(lines, column, known)),
        ("moodle", gradebooks.moodle(lines, column)),
    ):
        write_text(gradebooks.as_csv(table), folder / f"{name}.csv", private=True)


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
        file = results.report(entry.student)
        write_json(report, file)
        file.with_suffix(".html").unlink(missing_ok=True)
        return report
    return results.read(entry.student)
