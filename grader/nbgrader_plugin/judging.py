"""The isolated judge in place of nbgrader's kernel, and the scores in the gradebook."""

import functools
import os
from pathlib import Path

from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from traitlets import Bool, Enum, Integer

from grader.judge.text import LANGUAGES
from grader.nbgrader_plugin.assignments import LANGUAGE, notebook_of
from grader.nbgrader_plugin.cells import quiz_html, score_output, summary_html, tier_html
from grader.nbgrader_plugin.form import OUTCOME, TIER_CELLS, VALID, FormError
from grader.nbgrader_plugin.intake import NOTES, in_order, notes_of
from grader.nbgrader_plugin.pool import Pool
from grader.nbgrader_plugin.quiz import questions
from grader.nbgrader_plugin.seed import secret_seed
from grader.reports.class_report import row_of

_pool = functools.cache(Pool)  # for as long as nbgrader, or the server of formgrader, runs


class Judge(NbGraderPreprocessor):
    """Grades student/attention.py once, officially, and writes each tier's score and report into its cell.

    Below each answer of the quiz it puts what came of it.

    An error here is never a score: nbgrader reports it, goes on with the others, and exits with 1, and the
    gradebook says that this submission needs a person.
    """

    lang = Enum(
        LANGUAGES, None, allow_none=True, help="Language of the feedback; by default the assignment's."
    ).tag(config=True)
    jobs = Integer(os.cpu_count() or 1, help="Submissions that are graded side by side.").tag(config=True)
    accept_less_isolation = Bool(
        False, help="Grade also where this machine has no full sandbox; the reports say what was in force."
    ).tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Fill in the tier cells and the quiz."""
        cells = {cell.metadata.nbgrader.grade_id: cell for cell in nb.cells}
        names, converter = resources["nbgrader"], self.parent.parent
        if not set(TIER_CELLS) <= set(cells) or names["assignment"] not in LANGUAGE:
            raise FormError("This notebook has no cell for some tier. The course is for this exercise alone.")
        lang = self.lang or LANGUAGE[names["assignment"]]
        course = converter.coursedir
        folder = Path(course.format_path(course.submitted_directory, names["student"], names["assignment"]))
        require = None if self.accept_less_isolation else "sandbox"
        pool = _pool(self.jobs, require, secret_seed(Path(course.root)))
        pool.begin([(names["student"], folder), *self._next(folder)], lang)
        report = pool.report(names["student"], folder, lang)
        notes = [*notes_of(folder), *([] if nb.metadata[VALID] else ["notebook_invalid"])]
        notes = [note for note in NOTES if note in notes]
        _fill_tiers(cells, report, notes, notebook_of(names["assignment"]), lang)
        resources["quiz"] = _fill_quiz(cells, lang)
        resources["status"] = row_of(names["student"], report)["status"]
        return nb, resources

    def _next(self, folder: Path) -> list[tuple[str, Path]]:
        """The submissions that nbgrader will come to after this one."""
        converter = self.parent.parent
        course = converter.coursedir
        ahead = sorted(path for path in converter.assignments if path > str(folder))
        found = []
        for path in map(Path, ahead[: 4 * self.jobs]):
            student = path.parent.name
            done = course.format_path(course.autograded_directory, student, path.name)
            if (converter.force or not os.path.exists(done)) and not path.is_symlink() and in_order(path):
                found.append((student, path))
        return found[: self.jobs]


def _fill_tiers(
    cells: dict[str, NotebookNode], report: dict, notes: list[str], notebook: str, lang: str
) -> None:
    summary = summary_html(report, notes, notebook, lang)
    earned = {tier["id"]: tier["score"] for tier in report["tiers"]}
    for number, (name, tier) in enumerate(TIER_CELLS.items()):
        points = float(cells[name].metadata.nbgrader.points)  # an instructor may have given it others
        score = min(max(round(earned[tier.id] * points / tier.points, 2), 0.0), points)
        html = tier_html(report, tier.id, score, points, lang)
        first = number == 0
        kept = {**report, "notes": notes} if first else None
        cells[name].outputs = [score_output(score, f"{summary}\n{html}" if first else html, kept)]
        cells[name].execution_count = 1


def _fill_quiz(cells: dict[str, NotebookNode], lang: str) -> dict[str, float]:
    """Put the explanation below each answer. -> grade_id -> points"""
    earned = {}
    for name, question in questions().items():
        if name in cells:
            outcome = cells[name].metadata[OUTCOME]
            cells[name].source += f"\n\n{quiz_html(question, outcome, lang)}"
            earned[name] = float(cells[name].metadata.nbgrader.points) if outcome == "right" else 0.0
    return earned


class SaveScores(SaveAutoGrades):
    """Saves the scores; one that a person should look at is flagged, however many points it has."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Save the scores of all cells."""
        self._flagged = resources["status"] != "graded"
        return super().preprocess(nb, resources)

    def _add_score(self, cell: NotebookNode, resources: ResourcesDict) -> None:
        super()._add_score(cell, resources)
        name = cell.metadata.nbgrader.grade_id
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        if name in resources["quiz"]:  # nbgrader leaves every answer to a person
            grade.auto_score = resources["quiz"][name]
            grade.needs_manual_grade = grade.manual_score is not None
        if self._flagged and name in TIER_CELLS:
            grade.needs_manual_grade = True
        self.gradebook.db.commit()
