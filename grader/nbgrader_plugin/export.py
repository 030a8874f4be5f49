"""`nbgrader export --Scores.format=FORMAT`: tiers, checks, canvas or moodle.

All are CSV with what needs it quoted, and with nothing that a spreadsheet would take for a formula. A student
without a verdict has an empty score and a status that says why, never a 0.

One plug-in and not four: nbgrader imports an --exporter before it has read where `grader` is.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.plugins import ExportPlugin
from traitlets import Enum, Unicode

from grader.nbgrader_plugin.assignments import LANGUAGE
from grader.nbgrader_plugin.form import TIER_CELLS
from grader.nbgrader_plugin.gradebook_rows import Row, rows
from grader.nbgrader_plugin.quiz import questions
from grader.reports.class_report import safe_cell

_WORDS = 200  # characters of a message in a table
_WHO = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")  # Canvas's columns


class Scores(ExportPlugin):
    """Writes one of the formats to --to."""

    format = Enum(("tiers", "checks", "canvas", "moodle"), "tiers", help="What to write.").tag(config=True)
    column = Unicode(
        "Attention", help='Its name there; for Canvas best with its number: "Attention (1234)".'
    ).tag(config=True)
    roster = Unicode(
        "", help="A file that Canvas has exported; its rows tell the ids, by SIS Login ID or SIS User ID."
    ).tag(config=True)

    def export(self, gradebook: Gradebook) -> None:
        """Write the file, of one assignment; --student and --assignment as with nbgrader's own export."""
        file = Path(self.to or f"{self.format}.csv")
        assignment = self._assignment(gradebook)
        students = [str(name) for name in self.student]
        found = list(rows(gradebook, self.parent.coursedir, assignment, students))
        known = self._known() if self.format == "canvas" else {}
        for row in found if known else ():
            if row.student.id not in known:
                self.log.warning("%s is not in %s, and left out", row.student.id, self.roster)
        lines = {
            "tiers": tiers,
            "checks": checks,
            "canvas": lambda found: canvas(found, self.column, known),
            "moodle": lambda found: moodle(found, self.column),
        }[self.format](found)
        with open(file, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([safe_cell(cell) for cell in line] for line in lines)
        self.log.info("Exported to %s", file)

    def _assignment(self, gradebook: Gradebook) -> str:
        """The one that was asked for; otherwise the one that there is."""
        wanted = [str(name) for name in self.assignment]
        found = wanted or [a.name for a in gradebook.assignments if a.name in LANGUAGE]
        if len(found) != 1 or found[0] not in LANGUAGE:
            some = " or ".join(f"""--assignment '["{name}"]'""" for name in LANGUAGE)
            raise SystemExit(
                f"One export is of one assignment: say {some}. Now: {', '.join(found) or 'none'}."
            )
        return found[0]

    def _known(self) -> dict[str, list[str | None]]:
        if not self.roster:
            return {}
        with open(self.roster, encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.DictReader(stream))
        keys = ("SIS User ID", "SIS Login ID")  # the last one wins
        return {line[key]: [line.get(c) for c in _WHO] for key in keys for line in lines if line.get(key)}


def tiers(found: list[Row]) -> Iterator[list[Any]]:
    """A line for each student: the points of each tier, of the quiz and of each other graded cell."""
    others = sorted({name for row in found for name in row.cells} - set(TIER_CELLS) - set(questions()))
    yield [
        *("student_id", "last_name", "first_name", "email", "timestamp"),
        *(tier.id for tier in TIER_CELLS.values()),
        "retrieval",
        *others,
        *("late_penalty", "score", "max_score", "status", "needs_manual_grade", "out_of_order"),
        *("mistakes", "message"),
    ]
    for row in found:
        student = row.student
        yield [
            *(student.id, student.last_name, student.first_name, student.email, row.timestamp),
            *(row.cells.get(name) for name in TIER_CELLS),
            row.quiz,
            *(row.cells.get(name) for name in others),
            *(row.penalty, row.score, row.max_score, row.status, row.needs_manual_grade),
            " ".join(row.report.get("notes", ())),
            " ".join(d["mistake"] for d in row.report.get("diagnoses", ()) if d["mistake"]),
            (row.message or "")[:_WORDS],
        ]


def checks(found: list[Row]) -> Iterator[list[Any]]:
    """A line for each student and check, with the fields of report.json."""
    columns = ("id", "tier", "todo", "visibility", "weight", "outcome", "mistake", "message")
    yield ["student_id", *columns]
    for row in found:
        for check in row.report.get("checks", ()):
            yield [row.student.id, *(check[column] for column in columns)]


def canvas(found: list[Row], column: str, known: dict[str, list[str | None]]) -> Iterator[list[Any]]:
    """What Canvas takes under Grades, Import. known: who is who in Canvas; those not in it are left out."""
    most = max((row.max_score for row in found if row.max_score is not None), default=None)
    yield [*_WHO, column]
    yield ["    Points Possible", *[None] * (len(_WHO) - 1), most]
    for row in found:
        student = row.student
        if row.score is None or (known and student.id not in known):
            continue  # an empty cell would take back a grade that is there
        yield [*known.get(student.id, (_name(row), student.lms_user_id, None, student.id, None)), row.score]


def moodle(found: list[Row], column: str) -> Iterator[list[Any]]:
    """What Moodle takes under Grades, Import, CSV file: the tiers are the feedback."""
    yield [
        "First name",
        "Last name",
        "Username",
        "ID number",
        "Email address",
        column,
        f"{column} (feedback)",
    ]
    for row in found:
        student = row.student
        if row.score is not None:
            who = (student.first_name, student.last_name, student.id, student.lms_user_id, student.email)
            yield [*who, row.score, _tiers(row)]


def _name(row: Row) -> str:
    names = (row.student.last_name, row.student.first_name)
    return ", ".join(name for name in names if name) or row.student.id


def _tiers(row: Row) -> str:
    parts = [f"{tier.id} {row.cells[name]:g}/{tier.points:g}" for name, tier in TIER_CELLS.items()]
    return "; ".join(parts) + ("" if row.status == "graded" else f" ({row.status})")
