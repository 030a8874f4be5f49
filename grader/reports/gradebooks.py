"""Tables that courses import: Canvas (Grades, Import) and Moodle (Grades, Import, CSV file)."""

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.reports.class_report import safe_cell

_WHO = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")  # Canvas's columns


@dataclass(frozen=True)
class Line:
    """A student's grade; score None where there is no verdict. lms_id: the id there, if it is known."""

    student: str
    score: float | None
    max_score: float | None
    feedback: str = ""
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    lms_id: str | None = None

    @property
    def name(self) -> str:
        """As Canvas writes it: last name, first name; the login without them."""
        return ", ".join(name for name in (self.last_name, self.first_name) if name) or self.student


def roster(file: Path) -> dict[str, list[str | None]]:
    """Who is who, from a table that Canvas has exported: by SIS Login ID and SIS User ID. OSError."""
    with open(file, encoding="utf-8-sig", newline="") as stream:
        lines = list(csv.DictReader(stream))
    keys = ("SIS User ID", "SIS Login ID")  # the last one wins
    return {line[key]: [line.get(c) for c in _WHO] for key in keys for line in lines if line.get(key)}


def canvas(lines: Iterable[Line], column: str, known: dict[str, list[str | None]]) -> Iterator[list[Any]]:
    """Rows for Canvas. known: a roster; students who are not in it are left out."""
    lines = list(lines)
    most = max((line.max_score for line in lines if line.max_score is not None), default=None)
    yield [*_WHO, column]
    yield ["    Points Possible", *[None] * (len(_WHO) - 1), most]
    for line in lines:
        if line.score is None or (known and line.student not in known):
            continue  # an empty cell would take back a grade that is there
        yield [*known.get(line.student, (line.name, line.lms_id, None, line.student, None)), line.score]


def moodle(lines: Iterable[Line], column: str) -> Iterator[list[Any]]:
    """Rows for Moodle, with the feedback: an import of one without the other would lose grades."""
    who = ("First name", "Last name", "Username", "ID number", "Email address")
    yield [*who, column, f"{column} (feedback)"]
    for line in lines:
        if line.score is not None:
            names = (line.first_name, line.last_name, line.student, line.lms_id, line.email)
            yield [*names, line.score, line.feedback]


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV in which nothing is taken for a formula."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([safe_cell(cell) for cell in row] for row in rows)
    return stream.getvalue()
