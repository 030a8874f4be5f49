"""Broken and hostile submissions in one autograde run: all graded, all rightly, none stops another."""

from types import SimpleNamespace

import pytest
from conftest import REFERENCE
from nbgrader_course import Course, make_course
from nbgrader_hostile import CASES, SCRIPT, Case

from grader.nbgrader_plugin.gradebook_rows import Row, rows
from grader.nbgrader_plugin.intake import in_order

ODD_NAMES = ("o'brien+x@uni.example", "-dash", "张伟", "two words", "=1+1", "a" * 60)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course in which all of them have been autograded in one run, and given feedback."""
    course = make_course(tmp_path_factory.mktemp("hostile"))
    course.nbgrader("generate_assignment", "attention")
    for case in CASES:
        case.spoil(course.place(case.student, REFERENCE))
    for name in ODD_NAMES:
        course.place(name, REFERENCE)
    course.python_m("grader", "prepare", "--course", "assignments", cwd=course.repository)
    course.nbgrader("autograde", "attention")
    course.nbgrader("generate_feedback", "attention")
    return course


@pytest.fixture(scope="module")
def found(graded: Course) -> dict[str, Row]:
    """What the exports have of every student."""
    folders = SimpleNamespace(
        autograded_directory="autograded", format_path=lambda *parts: str(graded.root.joinpath(*parts))
    )
    with graded.gradebook() as gradebook:
        return {row.student.id: row for row in rows(gradebook, folders, "attention", ())}


def test_there_are_enough_of_them():
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.student)
def test_score_reason_and_flag(case: Case, graded: Course, found: dict[str, Row]):
    row = found[case.student]
    assert graded.tiers(case.student) == case.score
    assert row.status == case.status
    assert " ".join(row.report["notes"]) == case.notes
    flagged = any(flag for name, (_, flag) in graded.points(case.student).items() if name.startswith("tier-"))
    assert flagged == (case.status != "graded")
    assert (row.message is None) == (case.score == 100)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.student)
def test_feedback_says_why_and_runs_nothing(case: Case, graded: Course, found: dict[str, Row]):
    page = graded.feedback(case.student)
    assert SCRIPT not in page
    assert ("Nothing could be graded" in page) == (case.status == "unreadable")
    assert str(graded.root) not in page
    assert "hidden_" not in page


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_of_any_kind(name: str, graded: Course, found: dict[str, Row]):
    assert graded.tiers(name) == 100
    assert found[name].status == "graded"


def test_nobody_else_is_in_the_gradebook(found: dict[str, Row]):
    assert set(found) == {case.student for case in CASES} | set(ODD_NAMES)


def test_what_was_handed_in_is_kept(graded: Course):
    kept = graded.root / "set_aside" / "files_that_shadow" / "attention"
    assert [(folder / "torch.py").is_file() for folder in kept.iterdir()] == [True]


def test_all_are_in_order_now(graded: Course):
    assert all(in_order(folder) for folder in graded.root.glob("submitted/*/attention"))


def test_no_copy_of_what_a_link_led_to(graded: Course):
    for student in ("link_to_the_solution", "folder_is_a_link_to_the_solutions", "submission_is_a_link"):
        folders = [graded.submission(student), graded.root / "autograded" / student]
        assert not [file for folder in folders for file in folder.rglob("attention.py")]


def test_answers_are_shown_as_they_were_written(graded: Course):
    page = graded.feedback("script_in_the_answer")
    assert "Because" in page
    assert "&lt;script&gt;" in page or "&#60;script&#62;" in page
    cells = graded.graded_notebook("script_in_the_answer")["cells"]
    answer = next(c for c in cells if c["metadata"]["nbgrader"]["grade_id"] == "reflection")
    assert "<script" not in "".join(answer["source"])
    assert graded.points("script_in_the_answer")["reflection"] == (None, True)  # a person reads it
    assert graded.points("right")["reflection"] == (0.0, False)  # left as it was released


def test_answers_of_the_quiz_are_only_read(graded: Course, found: dict[str, Row]):
    cells = found["code_in_the_quiz"].cells
    assert {name: points for name, points in cells.items() if points and name.startswith("quiz")} == {
        "quiz-passes": 1.0
    }
    assert found["code_in_the_quiz"].quiz == 1
    assert found["right"].quiz == 0
    assert graded.feedback("code_in_the_quiz").count("could not be read") == 4
    assert (graded.root / "autograded/code_in_the_quiz/attention/attention.ipynb").stat().st_size < 500_000


def test_the_gradebook_and_the_seed_are_whole(graded: Course):
    assert (graded.root / "gradebook.db").read_bytes().startswith(b"SQLite format 3")
    assert (graded.root / "secret_seed").stat().st_mode & 0o777 == 0o600
    assert (graded.repository / "solutions" / "attention.py").read_text("utf-8") == REFERENCE
