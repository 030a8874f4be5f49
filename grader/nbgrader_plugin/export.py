"""`nbgrader export --exporter=grader.nbgrader_plugin.export.<name>`: Tiers, Checks, Canvas or Moodle.

All are CSV with what needs it quoted, and with nothing that a spreadsheet would take for a formula. A student
without a verdict has an empty score and a status that says why, never a 0.
"""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.plugins import ExportPlugin
from traitlets import Unicode

from grader.nbgrader_plugin.form import TIER_CELLS
from grader.nbgrader_plugin.gradebook_rows import Row, rows
from grader.nbgrader_plugin.kit import ASSIGNMENT
from grader.reports.class_report import safe_cell

_WORDS = 200  # characters of a message in a table


class _Csv(ExportPlugin):
    """Writes the lines of a subclass to --to."""

    default_file = "grades.csv"

    def export(self, gradebook: Gradebook) -> None:
        """Write the file; --student and --assignment as with nbgrader's own export."""
        file = Path(self.to or self.default_file)
        wanted = [str(name) for name in self.assignment]
        if wanted and ASSIGNMENT not in wanted:
            raise ValueError(f"this course has the assignment {ASSIGNMENT}, and not {', '.join(wanted)}")
        students = [str(name) for name in self.student]
        lines = self.lines(list(rows(gradebook, self.parent.coursedir, students)))
        with open(file, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows([safe_cell(cell) for cell in line] for line in lines)
        self.log.info("Exported to %s", file)

    def lines(self, found: list[Row]) -> Iterable[list[Any]]:
        """The lines of the file, the heading first."""
        raise NotImplementedError


class Tiers(_Csv):
    """A line for each student: the points of each tier and of each other graded cell."""

    def lines(self, found: list[Row]) -> Iterable[list[Any]]:
        """Columns by tier."""
        others = sorted({name for row in found for name in row.cells} - set(TIER_CELLS))
        yield [
            *("student_id", "last_name", "first_name", "email", "timestamp"),
            *(tier.id for tier in TIER_CELLS.values()),
            *others,
            *("late_penalty", "score", "max_score", "status", "needs_manual_grade", "out_of_order"),
            *("mistakes", "message"),
        ]
        for row in found:
            student = row.student
            yield [
                *(student.id, student.last_name, student.first_name, student.email, row.timestamp),
                *(row.cells.get(name) for name in (*TIER_CELLS, *others)),
                *(row.penalty, row.score, row.max_score, row.status, row.needs_manual_grade),
                " ".join(row.report.get("notes", ())),
                " ".join(d["mistake"] for d in row.report.get("diagnoses", ()) if d["mistake"]),
                (row.message or "")[:_WORDS],
            ]


class Checks(_Csv):
    """A line for each student and check."""

    default_file = "checks.csv"

    def lines(self, found: list[Row]) -> Iterable[list[Any]]:
        """Columns as in report.json."""
        columns = ("id", "tier", "todo", "visibility", "weight", "outcome", "mistake", "message")
        yield ["student_id", *columns]
        for row in found:
            for check in row.report.get("checks", ()):
                yield [row.student.id, *(check[column] for column in columns)]


class Canvas(_Csv):
    """What Canvas takes under Grades, Import: an assignment's column, and who is who."""

    default_file = "canvas.csv"
    column = Unicode(
        "Attention", help='The assignment in Canvas, best with its number: "Attention (1234)".'
    ).tag(config=True)
    roster = Unicode(
        "", help="A file that Canvas has exported; its rows tell the ids, by SIS Login ID or SIS User ID."
    ).tag(config=True)
    _who = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")

    def lines(self, found: list[Row]) -> Iterable[list[Any]]:
        """The heading, the points possible, and a line for each student that has a score."""
        known = self._known()
        most = max((row.max_score for row in found if row.max_score is not None), default=None)
        yield [*self._who, self.column]
        yield ["    Points Possible", *[None] * (len(self._who) - 1), most]
        for row in found:
            if row.score is None:
                continue  # an empty cell would take back a grade that is there
            student = row.student
            if known:
                who = known.get(student.id)
                if who is None:
                    self.log.warning("%s is not in %s, and left out", student.id, self.roster)
                    continue
            else:
                who = [_name(row), student.lms_user_id, None, student.id, None]
            yield [*who, row.score]

    def _known(self) -> dict[str, list[str | None]]:
        if not self.roster:
            return {}
        with open(self.roster, encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.DictReader(stream))
        keys = ("SIS User ID", "SIS Login ID")  # the last one wins
        return {
            line[key]: [line.get(column) for column in self._who]
            for key in keys
            for line in lines
            if line.get(key)
        }


class Moodle(_Csv):
    """What Moodle takes under Grades, Import, CSV file: map Username, ID number or Email address."""

    default_file = "moodle.csv"
    column = Unicode("Attention", help="The grade item in Moodle.").tag(config=True)

    def lines(self, found: list[Row]) -> Iterable[list[Any]]:
        """A line for each student that has a score, the tiers as feedback."""
        item = self.column
        yield [
            *("First name", "Last name", "Username", "ID number", "Email address"),
            *(item, f"{item} (feedback)"),
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
