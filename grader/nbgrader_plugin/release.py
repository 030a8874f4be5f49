"""Puts the student's kit into a release, as the last step of `nbgrader generate_assignment`."""

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from grader.nbgrader_plugin.assignments import LANGUAGE
from grader.nbgrader_plugin.form import TIER_CELLS
from grader.nbgrader_plugin.kit import KitError, kit, secrets_in
from grader.nbgrader_plugin.quiz import questions


class ReleaseKit(NbGraderPreprocessor):
    """Any error here stops the release: nbgrader removes what it has written of it, and exits with 1."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        """Add the kit to the files that nbconvert writes beside the notebook."""
        name = resources["nbgrader"]["notebook"]
        if name not in LANGUAGE:
            raise KitError(f"{name}.ipynb: this course has the notebooks {', '.join(LANGUAGE)}")
        _check_notebook(nb)
        resources.setdefault("outputs", {}).update(kit(LANGUAGE[name]))
        return nb, resources


def _check_notebook(nb: NotebookNode) -> None:
    """KitError unless it can be graded as a form, and tells nothing that it should not."""
    ids = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in nb.cells]
    if None in ids:
        raise KitError(f"cell {ids.index(None) + 1} has no grade_id, so grading would drop it")
    missing = [name for name in TIER_CELLS if name not in ids]
    if missing:
        raise KitError(f"the notebook has no cells {', '.join(missing)}: nothing would carry their points")
    answers = {c.metadata.nbgrader.grade_id for c in nb.cells if c.metadata.nbgrader.solution}
    if not set(questions()) <= answers:
        raise KitError(f"quiz.toml has questions without a cell: {', '.join(set(questions()) - answers)}")
    if any(cell.get("outputs") for cell in nb.cells):
        raise KitError("the notebook has outputs")
    secrets = secrets_in({"notebook": nbformat.writes(nb).encode()})
    secrets += secrets_in({"notebook, as text": "\n".join(cell.source for cell in nb.cells).encode()})
    if secrets:
        raise KitError("; ".join(secrets))
