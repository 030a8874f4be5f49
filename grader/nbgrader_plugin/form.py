"""The notebook as a form: built anew from the gradebook; of the student it takes answers as text, no more."""

import json
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell
from nbgrader.api import Gradebook, SourceCell
from nbgrader.preprocessors import NbGraderPreprocessor

from grader.judge.score import TIERS
from grader.nbgrader_plugin.answers import read_answers, shown_as_written
from grader.nbgrader_plugin.quiz import questions

TIER_CELLS = {f"tier-{tier.id}": tier for tier in TIERS}
VALID = "attention_notebook_valid"  # in the metadata of the form: whether what was handed in is a notebook
OUTCOME = "attention_outcome"  # in the metadata of an answer of the quiz: what came of it
_NEW_CELL = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}


class FormError(Exception):
    """The gradebook does not hold the notebook that was released."""


class FormExporter(NotebookExporter):
    """Hands a submitted notebook on as its answers, however broken the file is."""

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **options: Any
    ) -> tuple[str, dict[str, Any]]:
        """Convert a file. Only before Form is it the student's: what comes later is what Form has made."""
        if not any(isinstance(step, Form) for step in self._preprocessors):
            return super().from_filename(filename, resources, **options)
        resources["answers"] = read_answers(Path(filename))
        return self.from_notebook_node(new_notebook(), resources, **options)


class Form(NbGraderPreprocessor):
    """The first step of autograding."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Take back old scores, then put the released cells in place of all that was handed in."""
        names = resources["nbgrader"]
        course = self.parent.parent.coursedir
        source = course.format_path(course.source_directory, ".", names["assignment"])
        order = _order(Path(source) / f"{names['notebook']}.ipynb")
        answers = resources["answers"]
        with Gradebook(names["db_url"]) as gradebook:
            _take_back_scores(gradebook, names)
            released = gradebook.find_notebook(names["notebook"], names["assignment"])
            cells = {cell.name: cell for cell in released.source_cells}
            if set(cells) != set(order):
                raise FormError(
                    f"The cells of {source} are not those in the gradebook, so nothing can be graded. "
                    f"Put the released notebook back. Differing: "
                    + ", ".join(sorted(set(cells) ^ set(order)))
                )
            graded = {cell.name: cell for cell in released.grade_cells}
            solutions = {cell.name for cell in released.solution_cells}
            tasks = {cell.name for cell in released.task_cells}
            nb.metadata[VALID] = answers.valid
            nb.metadata["kernelspec"] = json.loads(released.kernelspec)
            nb.cells = []
            for name in order:
                released_text = cells[name].source
                answer = answers.of(name, released_text) if name in solutions else released_text
                text = released_text if answer == released_text else shown_as_written(answer)
                cell = _cell(cells[name], text, graded.get(name), name in solutions, tasks)
                if name in questions():
                    cell.metadata[OUTCOME] = questions()[name].outcome(answer)
                nb.cells.append(cell)
        return nb, resources


def _take_back_scores(gradebook: Gradebook, names: dict[str, str]) -> None:
    """So that a grading that fails leaves no score, rather than that of an earlier submission."""
    submission = gradebook.find_submission_notebook(names["notebook"], names["assignment"], names["student"])
    for grade in submission.grades:
        grade.auto_score = None
        grade.needs_manual_grade = True
    gradebook.db.commit()


def _cell(source: SourceCell, text: str, graded: Any, is_solution: bool, tasks: set[str]) -> NotebookNode:
    metadata = {
        "schema_version": 3,
        "grade_id": source.name,
        "cell_type": source.cell_type,
        "grade": graded is not None,
        "solution": is_solution,
        "locked": source.locked,
        "task": source.name in tasks,
        "checksum": source.checksum,
    }
    if graded is not None:
        metadata["points"] = graded.max_score
    return _NEW_CELL[source.cell_type](text, id=source.name, metadata={"nbgrader": metadata})


def _order(source: Path) -> list[str]:
    """The grade_ids of the source notebook: the gradebook keeps cells without their order."""
    try:
        cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
        return [cell["metadata"]["nbgrader"]["grade_id"] for cell in cells]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise FormError(f"{source} tells no order of cells: {error!r}") from None
