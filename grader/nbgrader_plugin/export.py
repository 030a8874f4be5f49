"""`nbgrader export --Scores.format=FORMAT`: tiers, checks, canvas or moodle.

All are CSV with what needs it quoted, and with nothing that a spreadsheet would take for a formula. A student
without a verdict has an empty score and a status that says why, never a 0.

One plug-in and not four: nbgrader imports an --exporter before it has read where `grader` is.
"""

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
from grader.reports import gradebooks

_WORDS = 200  # characters of a message in a table


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
        known = gradebooks.roster(Path(self.roster)) if self.roster and self.format == "canvas" else {}
        for row in found if known else ():
            if row.student.id not in known:
                self.log.warning("%s is not in %s, and left out", row.student.id, self.roster)
        lines = {
            "tiers": tiers,
            "checks": checks,
            "canvas": lambda found: gradebooks.canvas(map(_line, found), self.column, known),
            "moodle": lambda found: gradebooks.moodle(map(_line, found), self.column),
        }[self.format](found)
        file.write_text(gradebooks.as_csv(lines), encoding="utf-8", newline="")
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


def _line(row: Row) -> gradebooks.Line:
    student = row.student
    return gradebooks.Line(
        student.id,
        row.score,
        row.max_score,
        "" if row.score is None else _tiers(row),
        student.first_name,
        student.last_name,
        student.email,
        student.lms_user_id,
    )


def _tiers(row: Row) -> str:
    parts = [f"{tier.id} {row.cells[name]:g}/{tier.points:g}" for name, tier in TIER_CELLS.items()]
    return "; ".join(parts) + ("" if row.status == "graded" else f" ({row.status})")
