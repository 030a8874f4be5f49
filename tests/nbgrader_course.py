"""A course in a folder of its own, and the real nbgrader programs that run in it."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from nbgrader.api import Gradebook, SubmittedAssignment

from grader.stub import ROOT

PARTS = ("grader", "student", "solutions", "assignments", "pyproject.toml", "requirements.txt")
KEPT_OUT = ("__pycache__", ".*cache", "gradebook.db*", "secret_seed", "release", "submitted", "autograded")
KEPT_OUT += ("feedback", "set_aside", "*.csv", "report", ".ipynb_checkpoints")
SECONDS = 600


@dataclass
class Course:
    """A copy of the repository whose assignments/ is the course."""

    repository: Path
    python: str = sys.executable
    user: str | None = None  # who runs the programs
    assignment: str = "attention"
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The course root."""
        return self.repository / "assignments"

    def nbgrader(self, *words: str, **options: object) -> subprocess.CompletedProcess:
        """Run `nbgrader WORDS` in the course root."""
        return self.python_m("nbgrader", *words, **options)

    def python_m(self, *words: str, status: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess:
        """Run `python -m WORDS`, and hold it to an exit status."""
        return run([self.python, "-m", *words], cwd or self.root, status, user=self.user, **self.environment)

    def of(self, assignment: str) -> "Course":
        """The same course, for another of its assignments."""
        return replace(self, assignment=assignment)

    @property
    def notebook(self) -> str:
        """The file name of the assignment's notebook."""
        return f"{self.assignment}.ipynb"

    def submission(self, student: str) -> Path:
        """Where a student's work is put by hand."""
        return self.root / "submitted" / student / self.assignment

    def place(self, student: str, code: str | None, notebook: str | None = None) -> Path:
        """Put a submission there: the released notebook unless told otherwise, and the code."""
        folder = self.submission(student)
        folder.mkdir(parents=True)
        released = self.root / "release" / self.assignment / self.notebook
        (folder / self.notebook).write_text(notebook or released.read_text("utf-8"), "utf-8")
        if code is not None:
            (folder / "student").mkdir()
            (folder / "student" / "attention.py").write_text(code, "utf-8")
        (folder / "timestamp.txt").write_text("2025-01-01 10:00:00 UTC")
        return folder

    def points(self, student: str) -> dict[str, tuple[float | None, bool]]:
        """grade_id -> the automatic points, and whether a person is to look, from the gradebook."""
        with self.gradebook() as gradebook:
            grades = [g for n in self._of(gradebook, student).notebooks for g in n.grades]
            return {grade.name: (grade.auto_score, bool(grade.needs_manual_grade)) for grade in grades}

    def tiers(self, student: str) -> float | None:
        """The points of all tiers; None where one has none."""
        given = [points for name, (points, _) in self.points(student).items() if name.startswith("tier-")]
        return None if None in given or len(given) != 5 else round(sum(given), 2)

    def graded_notebook(self, student: str) -> dict:
        """The notebook after autograding."""
        file = self.root / "autograded" / student / self.assignment / self.notebook
        return json.loads(file.read_text("utf-8"))

    def feedback(self, student: str) -> str:
        """The page that a student gets."""
        page = self.root / "feedback" / student / self.assignment / f"{self.assignment}.html"
        return page.read_text("utf-8")

    def gradebook(self) -> Gradebook:
        """To be used in a with statement."""
        return Gradebook(f"sqlite:///{self.root / 'gradebook.db'}")

    def _of(self, gradebook: Gradebook, student: str) -> SubmittedAssignment:
        return gradebook.find_submission(self.assignment, student)


def make_course(folder: Path, **options: object) -> Course:
    """A course with nothing released yet."""
    repository = folder / "repository"
    repository.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, repository / part, ignore=shutil.ignore_patterns(*KEPT_OUT))
        else:
            shutil.copy(ROOT / part, repository / part)
    return Course(repository, **options)


def run(
    command: list[str], cwd: Path, status: int | None = 0, user: str | None = None, **environment: str
) -> subprocess.CompletedProcess:
    """Run a program with next to nothing of our environment; an exit status of None is not held to."""
    base = {"PATH": os.defpath, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(cwd)}
    as_user = {"user": user, "group": user, "extra_groups": [], "umask": 0o022} if user else {}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=base | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        **as_user,
    )
    if status is not None and done.returncode != status:
        raise AssertionError(f"{command} gave {done.returncode}, not {status}:\n{done.stdout[-8000:]}")
    return done
