"""JUnit XML, Markdown, Gradescope, tables for courses, the notebook: as their readers want them, and safe."""

import csv
import io
import json
import os
import re
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile

import pytest
import yaml
from conftest import REFERENCE, body
from hostile_text import FORBIDDEN, WORDS, submission
from markdown_it import MarkdownIt
from report_scores import SECRET, class_of, score_of

from grader.classroom.results import Results
from grader.gradescope import command
from grader.gradescope.bundle import write_zip
from grader.isolation.launcher import IsolationError
from grader.reports import class_report, gradebooks, gradescope, notebook
from grader.reports.class_page import as_html
from grader.reports.files import write_text
from grader.reports.markdown import as_markdown, escape
from grader.stub import ROOT

UNSCALED = body("attention_scores", "return query @ key.mT")
SHORT = [words for name, words in WORDS.items() if name != "long"]
HOSTILE = pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
PAGE = MarkdownIt("gfm-like", {"linkify": False})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where submissions go: each is graded once for all formats."""
    return str(tmp_path_factory.mktemp("submissions"))


def is_clean(text: str) -> bool:
    text.encode("utf-8")  # no lone surrogate
    return not [c for c in FORBIDDEN if c in text]


# --- JUnit


def test_junit_tells_what_failed_in_words(run, submit, tmp_path):
    run(f"--submission={submit(UNSCALED)}", f"--junitxml={tmp_path / 'junit.xml'}")
    suite = ET.parse(tmp_path / "junit.xml").getroot()[0]
    failed = {case.get("name"): case for case in suite if case.find("failure") is not None}
    assert (int(suite.get("failures")), suite.get("errors")) == (len(failed), "0")
    case = failed["test_scores_equal_the_naive_loop"]
    assert case.get("classname") == "grader.test_3_equivalence_1e_6"
    assert case.find("failure").get("message").startswith("Largest error")
    assert "sqrt(d_k)" in case.find("failure").get("message")
    assert "Traceback" not in case.find("failure").text


@pytest.mark.parametrize("words", [" ".join(SHORT), WORDS["long"]], ids=["short", "long"])
def test_junit_and_terminal_are_clean(run, submit, tmp_path, words):
    screen = run(f"--submission={submit(submission(words))}", f"--junitxml={tmp_path / 'junit.xml'}")
    suite = ET.parse(tmp_path / "junit.xml").getroot()[0]
    assert {one.tag for one in suite.iter()} == {"testsuite", "testcase", "failure"}
    assert is_clean("".join(one.get("message") for one in suite.iter("failure")))
    assert is_clean(screen.text[screen.text.index("Fix this first") :])
    assert len(screen.lines) < 60


# --- Markdown


def test_the_summary_has_score_tiers_and_what_to_fix(folder):
    score = score_of(folder, "62")
    page = PAGE.render(as_markdown(score, "en"))
    assert f"<h2>{score.score:g} / 100</h2>" in page
    assert "<td>2 causality</td>" in page
    assert page.count("<li>") == 2
    assert "<strong>TODO 2 (scaling), attention_scores(), " in page


def test_the_summary_is_appended_where_github_wants_it(run, submit, tmp_path, monkeypatch):
    file = tmp_path / "summary.md"
    file.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    run(f"--submission={submit()}", "--lang=zh")
    assert file.read_text(encoding="utf-8").startswith("before\n## 100 / 100\n")
    assert "因果性" in file.read_text(encoding="utf-8")


@HOSTILE
def test_a_summary_has_no_markup_of_a_student(folder, words):
    def tags(words: str) -> set[str]:
        score = score_of(folder, REFERENCE + submission(words))
        markdown = as_markdown(score, "en")
        assert is_clean(markdown)
        assert len(markdown) < 10_000
        return set(re.findall(r"<(\w+)", PAGE.render(markdown)))

    assert tags(words) == tags("plain")


def test_escaped_markdown_reads_as_it_was_written():
    words = "*a* _b_ `c` [d](e) <f> # | ~~g~~ 1. h - i & &amp; \\ ![j](k) $l$ http://m"
    shown = PAGE.render(escape(words))
    assert re.sub("<[^>]*>", "", shown).strip() == words.replace("&", "&amp;").replace("<", "&lt;").replace(
        ">", "&gt;"
    )
    assert set(re.findall(r"<(\w+)", shown)) == {"p"}
    assert escape("@all") == "@\u200ball"  # calls nobody


def test_the_workflow_tells_github_classroom_the_points(report_of, submit, tmp_path):
    workflow = yaml.safe_load((ROOT / ".github" / "classroom-workflow.yml").read_text(encoding="utf-8"))
    steps = {step.get("name"): step.get("run") for step in workflow["jobs"]["grade"]["steps"]}
    assert steps["Grade"].startswith("pytest grader ")
    score = report_of(f"--submission={submit(UNSCALED)}")["score"]
    told = subprocess.run(
        ["bash", "-c", steps["Tell GitHub Classroom the points"]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines() == [
        f"::notice title=Autograding complete::Points {score}/100",
        f'::notice title=Autograding report::{{"totalPoints": {score}, "maxPoints": 100}}',
    ]


# --- tables for courses


def test_canvas_and_moodle(tmp_path):
    lines = [
        gradebooks.Line("ann", 62.5, 100, "shape 15/15"),
        gradebooks.Line("bo", None, None),
        gradebooks.Line("=cy", 0.0, 100, "x"),
    ]
    roster = tmp_path / "canvas.csv"
    roster.write_text(
        'Student,ID,SIS User ID,SIS Login ID,Section\n"Ann, A",7,S7,ann,One\n', encoding="utf-8-sig"
    )
    known = gradebooks.roster(roster)
    rows = list(csv.reader(io.StringIO(gradebooks.as_csv(gradebooks.canvas(lines, "Attention (42)", known)))))
    assert rows == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Attention (42)"],
        ["    Points Possible", "", "", "", "", "100"],
        ["Ann, A", "7", "S7", "ann", "One", "62.5"],
    ]
    rows = list(csv.reader(io.StringIO(gradebooks.as_csv(gradebooks.moodle(lines, "Attention")))))
    assert rows[0][2:] == ["Username", "ID number", "Email address", "Attention", "Attention (feedback)"]
    assert [row[2:] for row in rows[1:]] == [
        ["ann", "", "", "62.5", "shape 15/15"],
        ["'=cy", "", "", "0.0", "x"],
    ]


@HOSTILE
def test_tables_have_no_formula_and_no_extra_cell(folder, words):
    score = score_of(folder, REFERENCE + submission(words))
    summary = class_of({"one": score}, 2)
    words = words[:100_000]
    summary["students"][0]["message"] = words  # past all that cleans it elsewhere
    for text, columns in (
        (class_report.as_csv(summary["students"]), len(class_report.COLUMNS)),
        (gradebooks.as_csv([[words, 1]]), 2),
    ):
        for row in csv.reader(io.StringIO(text, newline="")):
            assert len(row) == columns
            assert not [cell for cell in row if cell.lstrip().startswith(("=", "@", "+"))]


# --- class.html and class.json


def test_progress_is_kept_until_scores_differ_again(folder):
    low, high = score_of(folder, "62"), score_of(folder, "100")
    first = class_of({"one": low}, 2)
    assert first["previous"] is None
    assert "Since the last run" not in as_html(first, "en")
    second = class_of({"one": low, "two": high}, 3, first)
    again = class_of({"one": low, "two": high}, 3, second)
    assert again["previous"] == second["previous"]
    assert again["previous"]["scores"] == {"student-0000": low.score, "student-0001": low.score}
    page = as_html(again, "en")
    assert "Better: 1" in page
    assert "New: 1" in page
    assert f"+{high.score - low.score:g}" in page


def test_a_class_counts_checks_and_names_mistakes(folder):
    summary = class_of({"one": score_of(folder, "62"), "two": score_of(folder, "100")}, 4)
    checks = {check["id"]: check for check in summary["checks"]}
    assert (checks["scores_in_float64"]["passed"], checks["scores_in_float64"]["total"]) == (2, 4)
    page = as_html(summary, "en")
    assert "the scores are divided by d_k and not by its square root" in page
    assert page.index("scores_in_float64") < page.index("split_heads_equals_slices")  # the hardest first


def test_what_a_class_is_not_to_show_everybody(tmp_path, folder):
    write_text("x", tmp_path / "class.html", private=True)
    assert stat.S_IMODE((tmp_path / "class.html").stat().st_mode) == 0o600
    summary = class_of({"one": score_of(folder, "100")}, 1)
    assert SECRET not in as_html(summary, "en")


def test_a_class_json_that_cannot_be_read_is_no_progress(tmp_path):
    results = Results(tmp_path / "out", None)
    for text in ("", "[]", '{"students": 1}', "{"):
        (results.folder / "class.json").write_text(text)
        assert results.summary() is None


# --- Gradescope


def test_results_are_as_gradescope_reads_them(folder):
    score = score_of(folder, "62", official=True)
    results = gradescope.as_dict(score)
    assert results["score"] == sum(test["score"] for test in results["tests"]) == score.score
    assert [test["max_score"] for test in results["tests"]] == [15, 25, 25, 15, 20]
    for test in results["tests"]:
        assert set(test) == {"name", "number", "score", "max_score", "status", "output", "visibility"}
        assert test["status"] == ("passed" if test["score"] == test["max_score"] else "failed")
        assert test["visibility"] == "visible"
    assert {results[f"{kind}_format"] for kind in ("output", "test_output", "test_name")} == {"text"}
    assert results["stdout_visibility"] == "hidden"
    text = json.dumps(results)
    assert SECRET not in text
    assert "hidden_" not in text
    assert re.search(r"Hidden checks: \d+ of \d+ passed", text)


def test_a_fault_of_ours_is_no_result(reference_score, monkeypatch):
    monkeypatch.setattr(type(reference_score), "score", None)
    with pytest.raises(ValueError, match="no score"):
        gradescope.as_dict(reference_score)


@HOSTILE
def test_results_are_clean(folder, words):
    results = gradescope.as_dict(score_of(folder, REFERENCE + submission(words)))
    assert is_clean(results["output"] + "".join(test["output"] for test in results["tests"]))
    assert len(json.dumps(results)) < 100_000


def test_the_autograder_grades_in_its_container(tmp_path):
    root = tmp_path / "autograder"
    for name in ("source", "submission/student", "results"):
        (root / name).mkdir(parents=True)
    write_zip(tmp_path / "autograder.zip")
    with zipfile.ZipFile(tmp_path / "autograder.zip") as bundle:
        names = bundle.namelist()
        bundle.extractall(root / "source")
    assert {"setup.sh", "run_autograder", "requirements.txt", "grader/hidden/test_1_shape.py"} <= set(names)
    assert not [name for name in names if "solution" in name or "nbgrader" in name]
    (root / "submission" / "student" / "attention.py").write_text(REFERENCE + UNSCALED, encoding="utf-8")
    environment = os.environ | {"AUTOGRADER_ROOT": str(root), "AUTOGRADER_PYTHON": sys.executable}
    run = ["bash", root / "source" / "run_autograder"]
    subprocess.run(run, env=environment, cwd=root, check=True, timeout=300)
    results = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    assert 50 < results["score"] < 100
    assert "student/attention.py:" in results["output"]
    for path in (root, root / "source" / "grader" / "hidden"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize("script", ["setup.sh", "run_autograder"])
def test_scripts_are_sound(script):
    subprocess.run(["bash", "-n", ROOT / "grader" / "gradescope" / script], check=True)


@pytest.mark.parametrize(
    ("isolation", "layers", "mode", "accepted"),
    [
        ("sandbox", (), 0o755, True),
        ("process", ("limits", "no new privileges", "seccomp", "other user"), 0o700, True),
        ("process", ("limits", "no new privileges", "seccomp", "other user"), 0o755, False),
        ("process", ("limits", "no new privileges", "seccomp"), 0o700, False),
    ],
)
def test_a_container_must_lock_submissions_in(tmp_path, monkeypatch, isolation, layers, mode, accepted):
    hidden = tmp_path / "source" / "grader" / "hidden"
    hidden.mkdir(parents=True)
    hidden.parents[1].chmod(mode)
    monkeypatch.setattr(command, "_HIDDEN", hidden)
    if accepted:
        command._insist(isolation, layers, {})
    else:
        with pytest.raises(IsolationError, match="Landlock"):
            command._insist(isolation, layers, {"Landlock": "no"})


# --- the notebook


def test_the_notebook_shows_the_report_in_a_frame_of_its_own(reference_score, tmp_path, monkeypatch):
    display = pytest.importorskip("IPython.display")
    shown = []
    monkeypatch.setattr(display, "display", shown.append)
    (tmp_path / "report.html").write_text('<p title="it\'s">&amp;</p>', encoding="utf-8")
    notebook.show_report(tmp_path / "report.html")
    (frame,) = shown
    assert '<iframe sandbox title="report"' in frame.data
    assert 'srcdoc="&lt;p title=&quot;it&#x27;s&quot;&gt;&amp;amp;&lt;/p&gt;"' in frame.data


def test_the_notebook_says_that_there_is_no_report(tmp_path, capsys):
    pytest.importorskip("IPython")
    notebook.show_report(tmp_path / "report.html")
    assert "Run the checks first" in capsys.readouterr().out


def test_the_notebook_looks_where_pytest_writes():
    assert notebook.REPORT == ROOT / "report" / "report.html"
