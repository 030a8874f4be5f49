"""The lesson from top to bottom, in both languages, on the exercise as it comes and on the reference.

Each runs in a folder that holds what a student gets, and nothing else.
"""

import os
from pathlib import Path

import nbformat
import pytest
from conftest import ESCAPES, REFERENCE
from nbclient import NotebookClient
from nbformat import NotebookNode

from grader.nbgrader_plugin.assignments import EXERCISE, LANGUAGE
from grader.nbgrader_plugin.kit import kit
from grader.nbgrader_plugin.lesson import notebook

SECONDS = 300  # for one cell, far above what it needs
USES = {  # the cells that need a TODO
    "your-scores": "TODO 2",
    "your-weights": "TODO 1",
    "your-experiment": "TODO 1",
    "your-heads": "TODO 3",
    "your-forward": "TODO",
    "your-heat-map": "TODO 1",
}
CHECKS = ("check-scaling", "check-mask", "check-head-split", "check-w-o", "run-checks")
Ran = dict[str, str]  # cell id -> all that it shows


def ran(lang: str, code: str | None, folder: Path) -> Ran:
    """Run the lesson in a fresh copy of what a student gets; code: of student/attention.py."""
    for path, content in kit(lang).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    if code is not None:
        (folder / EXERCISE).write_text(code, "utf-8")
    made = nbformat.reads(notebook(lang), 4)
    settings = {"metadata": {"path": folder}}
    NotebookClient(made, timeout=SECONDS, resources=settings, allow_errors=True).execute()
    keep = os.environ.get("LESSONS")  # for people to look at
    if keep:
        nbformat.write(made, Path(keep) / f"{lang}-{'stub' if code is None else 'reference'}.ipynb")
    return {cell.id: _shown(cell) for cell in made.cells if cell.cell_type == "code"}


def _shown(cell: NotebookNode) -> str:
    parts = []
    for output in cell.outputs:
        assert output.output_type != "error", f"{cell.id}: {output.ename}: {output.evalue}"
        assert output.get("name") != "stderr", f"{cell.id}: {output.text}"
        parts += [output.text] if "text" in output else output.data.values()
    return ESCAPES.sub("", "\n".join(parts))


@pytest.fixture(scope="module", params=LANGUAGE.values())
def lang(request: pytest.FixtureRequest) -> str:
    """A language of the lesson."""
    return request.param


@pytest.fixture(scope="module")
def untouched(lang: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """What it shows before a TODO is filled."""
    return ran(lang, None, tmp_path_factory.mktemp("untouched"))


@pytest.fixture(scope="module")
def finished(lang: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """What it shows when all are."""
    return ran(lang, REFERENCE, tmp_path_factory.mktemp("finished"))


def test_untouched_says_what_is_missing(untouched: Ran):
    for name, todo in USES.items():
        assert todo in untouched[name]
        assert untouched[name].count("\n") <= 2
    assert all("Traceback" not in text for text in untouched.values())
    assert "0 / 100" in untouched["run-checks"]
    assert "TODO 1" in untouched["run-script"]
    assert untouched["tier-shape"].startswith("'0 / 15")


def test_finished_has_everything(finished: Ran):
    assert all("TODO " not in finished[name] for name in USES)
    assert "100 / 100" in finished["run-checks"]
    assert "PASS" in finished["run-script"]
    assert "FAIL" not in finished["run-script"]
    assert finished["tier-gradient-flow"].startswith("'20 / 20")
    assert "((1, 7, 512), (1, 8, 7, 7))" in finished["your-forward"]
    assert "0.7311, 0.2689, 0.0000" in finished["your-experiment"]


def test_every_picture_is_there(lang: str, untouched: Ran, finished: Ran):
    cells = nbformat.reads(notebook(lang), 4).cells
    pictures = [cell.id for cell in cells if "figures.draw_" in cell.source]
    players = [cell.id for cell in cells if "figures.play_" in cell.source]
    assert (len(pictures), len(players)) == (11, 3)
    for shown in (untouched, finished):
        assert all('alt="' in shown[name] for name in pictures)
        assert all('type="radio"' in shown[name] for name in players)
    assert 'alt="' in finished["your-heat-map"]
