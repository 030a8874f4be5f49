"""What the gradebook and the graded notebooks say of each student, as plain rows for the exports."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry, Student, SubmittedAssignment
from nbgrader.coursedir import CourseDirectory

from grader.nbgrader_plugin.assignments import notebook_of
from grader.nbgrader_plugin.cells import REPORT
from grader.nbgrader_plugin.form import TIER_CELLS
from grader.nbgrader_plugin.quiz import questions
from grader.reports.class_report import row_of


@dataclass(frozen=True)
class Row:
    """A student; score None where there is no verdict, and then `status` says why."""

    student: Student
    score: float | None = None
    max_score: float | None = None
    penalty: float = 0.0
    timestamp: Any = None
    cells: dict[str, float | None] = field(default_factory=dict)  # points by grade_id
    needs_manual_grade: bool = False
    status: str = "missing"
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def quiz(self) -> float | None:
        """The points of all questions of the quiz; None where one has none yet."""
        points = [self.cells.get(name) for name in questions()]
        return None if None in points else sum(points)

    @property
    def message(self) -> str | None:
        """The first thing that was lost, in words."""
        return next((c["message"] for c in self.report.get("checks", ()) if c["outcome"] != "passed"), None)


def rows(
    gradebook: Gradebook, course: CourseDirectory, assignment: str, students: Collection[str]
) -> Iterator[Row]:
    """A row for every student of the roster, or for those named."""
    for student in sorted(gradebook.students, key=lambda student: student.id):
        if students and student.id not in students:
            continue
        try:
            submission = gradebook.find_submission(assignment, student.id)
        except MissingEntry:
            yield Row(student)
        else:
            yield _row(student, submission, course)


def _row(student: Student, submission: SubmittedAssignment, course: CourseDirectory) -> Row:
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
    cells = {
        grade.name: grade.score if _is_given(grade) else None
        for grade in sorted(grades, key=lambda grade: grade.name)
    }
    report = _report(Path(course.format_path(course.autograded_directory, student.id, submission.name)))
    complete = all(cells.get(name) is not None for name in TIER_CELLS)
    status = row_of(student.id, report)["status"] if report else "not graded"
    penalty = submission.late_submission_penalty or 0.0
    return Row(
        student=student,
        score=round(max(0.0, submission.score - penalty), 2) if complete else None,
        max_score=submission.max_score,
        penalty=penalty,
        timestamp=submission.timestamp,
        cells=cells,
        needs_manual_grade=bool(submission.needs_manual_grade),
        status=status if complete else "not graded",
        report=report if complete else {},
    )


def _is_given(grade: Any) -> bool:
    return grade.auto_score is not None or grade.manual_score is not None


def _report(folder: Path) -> dict[str, Any]:
    """What Judge left in the first tier's cell; nothing if it has not come so far."""
    try:
        cells = json.loads((folder / notebook_of(folder.name)).read_text(encoding="utf-8"))["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", ())]
        return next(output["metadata"][REPORT] for output in outputs if REPORT in output["metadata"])
    except (OSError, ValueError, LookupError, StopIteration):
        return {}
