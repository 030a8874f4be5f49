"""The whole cycle with the real nbgrader programs and real users, none of them root."""

import csv
import functools
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import REFERENCE
from nbgrader_course import Course, make_course
from nbgrader_users import User, users

from grader.isolation.launcher import Launcher
from grader.isolation.submission import WorkerSubmission
from grader.run import grade

COURSE = "attention-course"
CODES = {
    "alice": REFERENCE.replace("math.sqrt(d_k)", "d_k"),
    "bob": REFERENCE.replace("self.W_O(heads.flatten(-2))", "heads.flatten(-2)"),
}
ANSWER = "So that the variance stays at 1. <b>Really</b> $x$."


@dataclass
class Class:
    """A course, its people, and what was graded so far."""

    course: Course
    exchange: Path
    people: dict[str, User]

    def teacher(self, *words: str, **options: object) -> str:
        """nbgrader, as the instructor; what it printed."""
        exchange = [f"--Exchange.root={self.exchange}"] if words[0] in _WITH_EXCHANGE else []
        return self.course.nbgrader(*words, *exchange, **options).stdout

    def student(self, name: str, *words: str, **options: object) -> str:
        """nbgrader, as a student, who has no configuration; what it printed."""
        exchange = [f"--Exchange.root={self.exchange}", "--course", COURSE]
        return self.people[name].run("-m", "nbgrader", *words, *exchange, **options).stdout

    def home(self, name: str) -> Path:
        """Where a student's copy is."""
        return self.people[name].home / "attention"

    def id(self, name: str) -> str:
        """A student's name in the gradebook."""
        return self.people[name].name

    def write(self, name: str, code: str) -> None:
        """A student edits the exercise, with the rights that the student has."""
        script = "import sys; open('student/attention.py', 'w').write(sys.argv[1])"
        self.people[name].run("-c", script, code, cwd=self.home(name))


_WITH_EXCHANGE = ("release_assignment", "collect", "release_feedback")


@pytest.fixture(scope="module")
def klass() -> Iterator[Class]:
    """A class after release, fetch, work, submission, collection and autograding."""
    with users("teacher", "alice", "bob") as people:
        teacher = people["teacher"]
        exchange = teacher.home.parent / "exchange"
        exchange.mkdir()
        exchange.chmod(0o777)
        course = make_course(teacher.home, python=teacher.python, user=teacher.name)
        course.environment = {"HOME": str(teacher.home), "USER": teacher.name}
        for folder, _, files in os.walk(course.repository):
            for name in (folder, *(os.path.join(folder, file) for file in files)):
                shutil.chown(name, teacher.name, teacher.name)
        made = Class(course, exchange, people)
        made.teacher("generate_assignment", "attention")
        made.teacher("release_assignment", "attention")
        for name, code in CODES.items():
            made.student(name, "fetch_assignment", "attention")
            made.write(name, code)
        _answer(made, "alice")
        for name in CODES:
            made.student(name, "submit", "attention")
        made.teacher("collect", "attention")
        made.teacher("autograde", "attention")
        yield made


def _answer(klass: Class, name: str) -> None:
    script = """
import json, sys
data = json.load(open("attention.ipynb"))
for cell in data["cells"]:
    if cell["metadata"]["nbgrader"]["grade_id"] == "reflection":
        cell["source"] = sys.argv[1]
    if cell["metadata"]["nbgrader"]["grade_id"] == "quiz-d-head":
        cell["source"] += " 64"
json.dump(data, open("attention.ipynb", "w"))
"""
    klass.people[name].run("-c", script, ANSWER, cwd=klass.home(name))


def _isolated(code: str, folder: Path, seed: str) -> dict[str, float]:
    file = folder / "attention.py"
    file.write_text(code, "utf-8")
    with Launcher("sandbox") as launcher:
        open_submission = functools.partial(WorkerSubmission, launcher)
        score = grade(str(file), seed, open_submission, True, launcher.isolation)
    return {f"tier-{tier.tier.id}": tier.score for tier in score.tiers}


def test_fetched_copy_grades_itself(klass: Class):
    bob = klass.people["bob"]
    bob.run("-m", "pip", "install", "--quiet", "-r", "requirements.txt", cwd=klass.home("bob"))
    for more in ([], ["--isolated"]):
        done = bob.run("-m", "pytest", "grader", *more, cwd=klass.home("bob"), status=1)
        assert "W_O" in done.stdout
        assert "Fix this first" in done.stdout
    listed = bob.run("-m", "grader", "--help", cwd=klass.home("bob")).stdout
    assert "watch" in listed
    assert "class" not in listed


def test_only_what_counts_is_collected(klass: Class):
    files = {
        str(file.relative_to(klass.course.submission(klass.id("alice"))))
        for file in klass.course.submission(klass.id("alice")).rglob("*")
        if file.is_file()
    }
    assert files == {"attention.ipynb", "student/attention.py", "submission_secret.txt", "timestamp.txt"}


@pytest.mark.parametrize("name", CODES)
def test_scores_are_those_of_the_isolated_grader(name: str, klass: Class, tmp_path: Path):
    seed = (klass.course.root / "secret_seed").read_text().strip()
    expected = _isolated(CODES[name], tmp_path, seed)
    points = klass.course.points(klass.id(name))
    assert {tier: points[tier][0] for tier in expected} == expected
    assert 0 < klass.course.tiers(klass.id(name)) < 100
    assert klass.course.graded_notebook(klass.id(name))["cells"]


def test_isolation_is_the_full_one_without_root(klass: Class):
    page = str(klass.course.graded_notebook(klass.id("alice")))
    assert "isolation: sandbox" in page


def test_students_reach_nothing_of_the_course(klass: Class):
    inbound = klass.exchange / COURSE / "inbound"
    for path in (klass.course.repository, klass.course.root / "secret_seed", inbound):
        done = klass.people["bob"].run("-c", f"import os; os.listdir({str(path)!r})", status=1)
        assert "PermissionError" in done.stdout


def test_manual_score_feedback_and_export(klass: Class):
    for name, points in (("alice", 8.5), ("bob", 0.0)):
        with klass.course.gradebook() as gradebook:
            found = ("reflection", "attention", "attention", klass.id(name))
            gradebook.find_grade(*found).manual_score = points
            gradebook.find_comment(*found).manual_comment = "read"
            gradebook.db.commit()
    shutil.chown(klass.course.root / "gradebook.db", klass.id("teacher"), klass.id("teacher"))
    klass.teacher("generate_feedback", "attention")
    klass.teacher("release_feedback", "attention")
    for name in CODES:
        klass.student(name, "fetch_feedback", "attention", cwd=klass.people[name].home)
        (page,) = klass.home(name).glob("feedback/*/attention.html")
        text = page.read_text("utf-8")
        assert "Official score" in text
        assert "Hidden checks" in text
        assert "<b>Really" not in text
    assert "scale" in _page(klass, "alice")
    klass.teacher("export", "--to", "out.csv")
    rows = {row["student_id"]: row for row in csv.DictReader((klass.course.root / "out.csv").open())}
    alice = rows[klass.id("alice")]
    assert float(alice["score"]) == klass.course.tiers(klass.id("alice")) + 1 + 8.5
    assert alice["retrieval"] == "1.0"
    assert alice["reflection"] == "8.5"
    assert alice["mistakes"] == "scale-by-d"
    assert alice["status"] == "graded"


def _page(klass: Class, name: str) -> str:
    return next(klass.home(name).glob("feedback/*/attention.html")).read_text("utf-8")


def test_a_second_submission_counts_and_keeps_nothing_of_the_first(klass: Class):
    klass.write("alice", "import os\nos._exit(0)\n")
    klass.student("alice", "submit", "attention")
    klass.teacher("collect", "attention", "--update")
    klass.teacher("autograde", "attention")
    points = klass.course.points(klass.id("alice"))
    assert klass.course.tiers(klass.id("alice")) == 0
    assert points["tier-shape"] == (0, True)
