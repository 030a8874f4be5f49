"""The release, the secret seed, faults of ours, the exports and the self-check."""

import csv
import json
from pathlib import Path

import pytest
from conftest import REFERENCE
from nbgrader_course import Course, make_course, run
from nbgrader_hostile import cell, edit

from grader.nbgrader_plugin import seed
from grader.nbgrader_plugin.assignments import EXERCISE
from grader.nbgrader_plugin.kit import kit, secrets_in
from grader.nbgrader_plugin.lesson import notebook
from grader.nbgrader_plugin.quiz import questions
from grader.stub import ROOT, STUDENT

# Frozen: with work handed in, nbgrader refuses a notebook with other ids, and removes the release.
CELLS = (
    *("tier-shape", "tier-causality", "tier-equivalence-1e-6", "tier-equivalence-1e-16"),
    *("tier-gradient-flow", "reflection", "quiz-rnn-steps", "quiz-welded", "quiz-own-to-attention"),
    *("quiz-scores-shape", "quiz-deviation", "quiz-score", "quiz-unscaled", "quiz-where-mask"),
    *("quiz-zero-score", "quiz-mask-count", "quiz-passes", "quiz-d-head", "quiz-split-shape"),
    *("quiz-parameters", "quiz-where-heads-meet"),
)
WRONG = REFERENCE.replace("math.sqrt(d_k)", "d_k")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A course with a release, a roster, and submissions that are graded."""
    made = make_course(tmp_path_factory.mktemp("course"))
    made.nbgrader("generate_assignment", "attention")
    (made.root / "roster.csv").write_text(
        "id,first_name,last_name,email,lms_user_id\n"
        "ann,Ann,\"=cmd|'/C calc'!A0\",ann@uni.example,101\n"
        'bo,Bo,"Bo, ""the"" Bo",bo@uni.example,102\n'
        "cy,Cy,Missing,cy@uni.example,103\n"
    )
    made.nbgrader("db", "student", "import", "roster.csv")
    made.place("ann", WRONG)
    made.place("bo", REFERENCE)
    made.python_m("grader", "prepare", "--course", "assignments", cwd=made.repository)
    made.nbgrader("autograde", "attention")
    return made


def export(course: Course, name: str, *words: str) -> list[dict[str, str]]:
    """The lines of one of our exports."""
    course.nbgrader("export", f"--Scores.format={name}", "--to", f"{name}.csv", *words)
    with open(course.root / f"{name}.csv", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_graded_cells_are_frozen(lang: str):
    cells = json.loads(notebook(lang))["cells"]
    graded = {cell["id"]: cell["metadata"]["nbgrader"] for cell in cells if "points" in str(cell["metadata"])}
    assert set(graded) == set(CELLS)
    assert all(entry["grade_id"] == name for name, entry in graded.items())
    assert sum(entry["points"] for entry in graded.values()) == 100 + 15 + 10


def test_kit_has_what_a_student_needs_and_no_more():
    files = kit("en")
    assert files[EXERCISE] == STUDENT.read_bytes()
    assert secrets_in(files) == []
    public = {f"grader/{file.name}" for file in (ROOT / "grader").glob("test_*.py")}
    assert public <= set(files)
    assert {"student/measures/routes.py", "student/pictures/style.py", "grader/reports/notebook.py"} <= set(
        files
    )
    assert {path for path, content in kit("zh").items() if files[path] != content} == {"README.md"}
    private = (
        "hidden",
        "classroom",
        "nbgrader_plugin",
        "stub.py",
        "doctor.py",
        "class_report.py",
        "solutions",
    )
    assert not [path for path in files if any(part in path.split("/") for part in private)]


@pytest.mark.parametrize("file", ["solutions/attention.py", "grader/hidden/test_1_shape.py"])
def test_a_secret_is_seen_under_any_name(file: str):
    content = (ROOT / file).read_bytes()
    assert secrets_in({"student/notes.txt": content})
    indented = content.replace(b"\n", b"\r\n    ").replace(b"### ", b"")
    assert secrets_in({"grader/judge/harmless.py": indented})


def test_an_explanation_of_an_answer_is_seen():
    why = questions()["quiz-passes"].why["zh"]
    assert secrets_in({"student/notes.txt": f"# {why}".encode()})


@pytest.mark.parametrize(
    "path", ["grader/hidden/x.py", "../x", "/x", "a/gradebook.db", "secret_seed", "tests/x"]
)
def test_a_private_path_is_seen(path: str):
    assert secrets_in({path: b""})


@pytest.mark.parametrize("spoil", ["figures.py", "fonts", "notebook"])
def test_a_release_that_would_be_wrong_is_none(spoil: str, tmp_path: Path):
    course = make_course(tmp_path)
    if spoil == "figures.py":
        file = course.repository / "student" / "figures.py"
        file.write_text(file.read_text("utf-8") + REFERENCE[REFERENCE.index("def attention_weights") :])
    elif spoil == "fonts":
        for file in (course.repository / "student" / "fonts").glob("*.otf"):
            file.unlink()
    else:
        source = course.root / "source" / "attention" / "attention.ipynb"
        data = json.loads(source.read_text("utf-8"))
        data["cells"].append({"cell_type": "markdown", "id": "x", "metadata": {}, "source": "More."})
        source.write_text(json.dumps(data))
    done = course.nbgrader("generate_assignment", "attention", status=1)
    assert "KitError" in done.stdout
    assert not (course.root / "release" / "attention").exists()


def test_from_the_root_of_the_repository_too(course: Course):
    environment = {"JUPYTER_CONFIG_PATH": str(course.root)}
    command = [course.python, "-m", "nbgrader", "generate_assignment", "attention", "--force"]
    run(command, course.repository, **environment)
    assert (course.root / "release" / "attention" / "README.md").exists()
    assert not (course.repository / "release").exists()


def test_without_our_configuration_a_notebook_gives_nothing(course: Course, tmp_path: Path):
    cells = json.loads(notebook("en"))["cells"]
    setup = next("".join(cell["source"]) for cell in cells if cell["id"] == "last-run")
    (tmp_path / "report").mkdir()
    forged = {"tiers": [{"id": "shape", "score": 15, "points": 15, "passed": 1, "total": 1}]}
    (tmp_path / "report" / "report.json").write_text(json.dumps(forged))
    setup = f"import json, os\nfrom pathlib import Path\n{setup}"
    command = [course.python, "-c", f"{setup}\nprint(last_run('shape'))"]
    assert "15 / 15" in run(command, tmp_path).stdout
    assert "RuntimeError" in run(command, tmp_path, status=1, NBGRADER_EXECUTION="autograde").stdout


def test_scores_of_tiers(course: Course):
    ann, bo, cy = export(course, "tiers")
    assert (bo["score"], bo["status"], bo["last_name"]) == ("100.0", "graded", 'Bo, "the" Bo')
    assert ann["last_name"].startswith("'=")
    assert ann["mistakes"] == "scale-by-d"
    tiers = ("shape", "causality", "equivalence-1e-6", "equivalence-1e-16", "gradient-flow")
    assert sum(float(ann[tier]) for tier in tiers) == pytest.approx(float(ann["score"]))
    assert (cy["score"], cy["status"]) == ("", "missing")


def test_scores_of_checks(course: Course):
    lines = export(course, "checks", "--student", '["ann"]')
    assert {line["student_id"] for line in lines} == {"ann"}
    assert {line["visibility"] for line in lines} == {"public", "hidden"}
    assert {line["outcome"] for line in lines} == {"passed", "failed"}


def test_canvas(course: Course):
    points, ann, bo = export(course, "canvas")
    assert (points["Student"].strip(), points["Attention"]) == ("Points Possible", "125.0")
    assert (bo["ID"], bo["SIS Login ID"], bo["Attention"]) == ("102", "bo", "100.0")
    assert ann["Student"].startswith("'=")
    (course.root / "from_canvas.csv").write_text(
        "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Other\n    Points Possible,,,,,10\n"
        '"Bo, Bo",7007,u2,bo,Section 1,3\n'
    )
    words = ("--Scores.roster=from_canvas.csv", "--Scores.column=Attention (42)")
    _, bo = export(course, "canvas", *words)
    assert (bo["ID"], bo["Section"], bo["Attention (42)"]) == ("7007", "Section 1", "100.0")


def test_moodle(course: Course):
    ann, bo = export(course, "moodle")
    assert (bo["Username"], bo["ID number"], bo["Email address"]) == ("bo", "102", "bo@uni.example")
    assert float(bo["Attention"]) == 100
    assert "shape 15/15" in ann["Attention (feedback)"]


def test_a_fault_of_ours_is_no_score(tmp_path: Path):
    course = make_course(tmp_path)
    course.nbgrader("generate_assignment", "attention")
    course.place("ann", REFERENCE)
    course.python_m("grader", "prepare", "--course", "assignments", cwd=course.repository)
    course.nbgrader("autograde", "attention")
    assert course.tiers("ann") == 100
    check = course.repository / "grader" / "hidden" / "test_1_shape.py"
    launcher = course.repository / "grader" / "isolation" / "lockdown.py"
    for file, more in (
        (check, "\n\ndef test_more():\n    raise OSError('ours')\n"),
        (launcher, "\n\ndef isolation(*_):\n    return 'process'\n"),
    ):
        whole = file.read_text("utf-8")
        file.write_text(whole + more)
        done = course.nbgrader("autograde", "attention", "--force", status=1)
        assert "GradingError" in done.stdout or "ClassError" in done.stdout
        assert course.tiers("ann") is None
        assert course.points("ann")["tier-shape"] == (None, True)
        (line,) = export(course, "tiers")
        assert (line["score"], line["status"]) == ("", "not graded")
        assert export(course, "moodle") == []
        file.write_text(whole)
    course.nbgrader("autograde", "attention")
    assert course.tiers("ann") == 100


def test_both_languages_in_one_course(tmp_path: Path):
    en = make_course(tmp_path)
    zh = en.of("attention-zh")
    for course, code in ((en, REFERENCE), (zh, WRONG)):
        course.nbgrader("generate_assignment", course.assignment)
        folder = course.place("ann", code)
        edit(folder, _answers)
    en.python_m("grader", "prepare", "--course", "assignments", cwd=en.repository)
    for course in (zh, en):
        course.nbgrader("autograde", course.assignment)
        course.nbgrader("generate_feedback", course.assignment)
    assert en.tiers("ann") == 100
    assert 0 < zh.tiers("ann") < 100
    for course, words in (
        (en, ("Official score", "Not right", "could not be read", "Not answered", "Right: 64.")),
        (zh, ("正式得分", "不对", "无法识别", "没有作答", "正确：64。")),
    ):
        points = course.points("ann")
        earned = {name for name, (given, _) in points.items() if given and name.startswith("quiz-")}
        assert earned == {"quiz-d-head", "quiz-split-shape", "quiz-where-mask"}
        assert not any(flag for name, (_, flag) in points.items() if name.startswith("quiz-"))
        page = course.feedback("ann")
        assert all(word in page for word in words)
        assert all(
            question.why["zh" if course is zh else "en"][:20] in page for question in questions().values()
        )
    done = en.nbgrader("export", "--to", "some.csv", status=1)
    assert "One export is of one assignment" in done.stdout
    assert "Traceback" not in done.stdout
    for course in (en, zh):
        (line,) = export(course, "tiers", "--assignment", f'["{course.assignment}"]')
        assert float(line["score"]) == course.tiers("ann") + 3
        assert (line["retrieval"], line["max_score"], line["status"]) == ("3.0", "125.0", "graded")


def _answers(data: dict) -> None:
    """Three right ones, a wrong one and one that cannot be read; the others are left as they were."""
    for name, answer in (
        ("quiz-d-head", " ６４"),
        ("quiz-split-shape", "（4，8，10，12）"),
        ("quiz-where-mask", "D"),
        ("quiz-mask-count", "36"),
        ("quiz-score", "three"),
    ):
        found = cell(data, name)
        found["source"] = "".join(found["source"]) + answer


def test_seed_is_made_once_and_kept_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(seed.VARIABLE, raising=False)
    first = seed.secret_seed(tmp_path)
    file = tmp_path / seed.FILE
    assert len(first) == 32
    assert seed.secret_seed(tmp_path) == first
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o604)
    with pytest.raises(seed.SeedError, match="open to others"):
        seed.secret_seed(tmp_path)
    monkeypatch.setenv(seed.VARIABLE, "of my own")
    assert seed.secret_seed(tmp_path) == "of my own"
    monkeypatch.setenv(seed.VARIABLE, " ")
    with pytest.raises(seed.SeedError, match="empty"):
        seed.secret_seed(tmp_path)


def test_doctor(tmp_path: Path):
    course = make_course(tmp_path)
    done = course.python_m("grader", "doctor", cwd=course.repository)
    assert "NO" not in done.stdout
    assert "Yes, grading can be trusted here." in done.stdout
    exercise = course.repository / "student" / "attention.py"
    exercise.write_text(REFERENCE)
    done = course.python_m("grader", "doctor", cwd=course.repository, status=1)
    assert "NO   exercise and reference agree" in done.stdout
    assert "NO   an untouched exercise earns nothing" in done.stdout
