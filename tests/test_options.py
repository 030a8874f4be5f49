"""The options of `pytest grader`, and that nothing beside a submission is run."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import body, terminal_run

from grader import manifest
from grader.judge.exercise import TODOS
from grader.stub import ROOT, SOLUTION

REFERENCE = "--submission=solutions/attention.py"
UNSCALED = body("attention_scores", "return query @ key.mT")
SPELLINGS = {"with =": lambda option, value: (f"{option}={value}",), "two words": lambda *words: words}
MARK = "open({mark!r}, 'w').close()\n"


@pytest.mark.parametrize("words", SPELLINGS.values(), ids=SPELLINGS)
def test_submission_and_report_dir_in_both_spellings(tmp_path, submit, words):
    path, report = submit(UNSCALED), tmp_path / "elsewhere"
    screen = terminal_run("grader", *words("--submission", path), *words("--report-dir", str(report)))
    assert screen.status == 1
    assert "Fix this first" in screen.text
    told = json.loads((report / "report.json").read_text(encoding="utf-8"))
    assert told["submission"]["path"] == os.path.relpath(path, ROOT)


def test_the_default_is_the_students_file(report_of):
    assert report_of()["submission"]["path"] == "student/attention.py"


def test_a_path_is_relative_to_where_pytest_is_called(tmp_path, submit):
    shutil.move(submit(), tmp_path / "here.py")
    screen = terminal_run(
        str(ROOT / "grader"), "--submission=here.py", "--report-dir=out", f"--rootdir={ROOT}", cwd=tmp_path
    )
    assert screen.status == 0
    assert (tmp_path / "out" / "report.json").exists()


@pytest.fixture
def trap(tmp_path: Path) -> tuple[str, Path]:
    """A folder with a right submission and everything that pytest or Python might run: -> file, mark."""
    folder, mark = tmp_path / "hostile", tmp_path / "mark"
    folder.mkdir()
    for name in (
        "conftest",
        "sitecustomize",
        "usercustomize",
        "evil",
        "torch",
        "test_evil",
        "pytest",
        "rich",
    ):
        (folder / f"{name}.py").write_text(MARK.format(mark=str(mark)), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -p evil\n", encoding="utf-8")
    (folder / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\naddopts = '-p evil'\n", encoding="utf-8"
    )
    shutil.copy(SOLUTION, folder / "mine.py")
    return str(folder / "mine.py"), mark


@pytest.mark.parametrize(
    "words",
    [
        ("grader", "--submission", "{file}"),
        ("grader", "--submission={file}"),
        ("--submission={file}", "grader"),
        ("-m", "scaling", "grader", "--submission", "{file}"),
        ("--seed", "3", "grader", "--lang", "zh", "--submission", "{file}"),
        ("grader/test_1_shape.py", "--submission", "{file}"),
        ("--report-dir={folder}", "--submission={file}", "grader"),
    ],
    ids=" ".join,
)
def test_nothing_beside_a_submission_is_run(tmp_path, trap, words):
    file, mark = trap
    words = [word.format(file=file, folder=Path(file).parent) for word in words]
    screen = terminal_run(f"--report-dir={tmp_path / 'report'}", *words)
    assert not mark.exists()
    assert screen.status == 0


@pytest.mark.parametrize("words", [("--submission", "{file}", "grader"), ("--submission", "{file}")])
def test_a_configuration_beside_a_file_named_before_grader_never_gives_a_score(tmp_path, trap, words):
    """pytest looks for its configuration beside the first path that it sees, before it knows our options.

    So it may run what lies there: two words belong after `grader`, as the help and the README have them.
    """
    file, _ = trap
    screen = terminal_run(*(word.format(file=file) for word in words), f"--report-dir={tmp_path / 'report'}")
    assert screen.status not in (0, 1)
    assert not (tmp_path / "report").exists()


def test_a_conftest_alone_is_not_run_in_any_order(tmp_path, trap):
    file, mark = trap
    for name in ("pytest.ini", "pyproject.toml"):
        (Path(file).parent / name).unlink()
    for words in (("--submission", file, "grader"), ("grader", "--submission", file)):
        screen = terminal_run(*words, f"--report-dir={tmp_path / 'report'}")
        assert not mark.exists()
        assert screen.status == 0


def test_seed(report_of):
    first, second = report_of(REFERENCE, "--seed=1"), report_of(REFERENCE, "--seed", "2")
    assert [str(report["environment"]["seed"]) for report in (first, second)] == ["1", "2"]
    assert first["checks"] != second["checks"]
    assert first["score"] == second["score"] == 100


def test_lang(run, submit):
    screen = run(f"--submission={submit(UNSCALED)}", "--lang", "zh")
    assert "先改这里" in screen.text
    assert "Fix this first" not in screen.text
    assert run("--lang=fr").status == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("todo", TODOS, ids=lambda todo: todo.marker)
def test_a_mark_runs_the_checks_of_one_todo(report_of, run, todo):
    report = report_of(REFERENCE, "-m", todo.marker)
    expected = [check.id for check, _ in manifest.checks() if check.todo == todo.name]
    assert [check["id"] for check in report["checks"]] == expected
    assert not report["complete"]
    assert 0 < report["score"] < 100


def test_a_part_of_the_checks_says_that_it_is_one(run):
    screen = run(REFERENCE, "-m", "scaling")
    assert "A part of the checks" in screen.text
    assert "All public checks passed" not in screen.text
    assert "100 / 100" not in screen.text


def test_a_mistyped_mark_is_a_usage_error(run):
    screen = run(REFERENCE, "-m", "scalling")
    assert screen.status == pytest.ExitCode.USAGE_ERROR
    assert "scalling" in screen.text


def test_k_and_a_single_file(report_of, tmp_path):
    chosen = report_of(REFERENCE, "-k", "float64")["checks"]
    assert chosen
    assert all("float64" in check["id"] for check in chosen)
    report = tmp_path / "one"
    terminal_run("grader/test_4_equivalence_1e_16.py", REFERENCE, f"--report-dir={report}")
    text = (report / "report.json").read_text(encoding="utf-8")
    assert set(re.findall(r'"tier": "([^"]+)"', text)) == {"equivalence-1e-16"}


def test_v_names_every_check(run):
    screen = run(REFERENCE, "-v")
    for check, _ in manifest.checks():
        assert f"test_{check.id} PASSED" in screen.text
    assert "rootdir" in screen.text


def test_tb_long_shows_the_students_own_frames(run, submit):
    path = submit(body("attention_scores", "return query @ key.transposed(-2, -1)"))
    short = run(f"--submission={path}", "-m", "scaling")
    long = run(f"--submission={path}", "-m", "scaling", "--tb=long")
    assert "return query @ key.transposed(-2, -1)" not in short.text
    assert ">       return query @ key.transposed(-2, -1)" in long.text
    assert "AttributeError" in long.text
    assert "grader/test_1_shape.py:" in long.text
    for line in long.lines:  # and nothing of what lies between
        assert not re.match(r"(grader/judge|/.*contextlib)", line), line


def test_s_shows_prints_and_without_it_they_are_kept_off_the_screen(run, submit):
    path = submit("print('printed at import')")
    assert "printed at import" in run(f"--submission={path}", "-s").text
    assert "printed at import" not in run(f"--submission={path}").text


def test_help_names_the_options():
    screen = terminal_run("grader", "--help")
    for option in ("--submission=FILE", "--report-dir=DIR", "--seed=SEED", "--lang={en,zh}"):
        assert option in screen.text


@pytest.mark.parametrize(
    ("code", "status"),
    [("", 0), (UNSCALED, 1), (body("combine_heads", "raise NotImplementedError"), 1), ("raise OSError", 1)],
    ids=["right", "wrong", "unfilled", "broken"],
)
def test_the_exit_status_is_0_only_with_full_marks(run, submit, code, status):
    assert run(f"--submission={submit(code)}").status == status


def test_a_report_dir_that_cannot_be_written_is_a_usage_error(run, tmp_path):
    (tmp_path / "file").touch()
    folders = [tmp_path / "file", tmp_path / "file" / "below"]
    if sys.platform == "linux":
        folders.append(Path("/proc"))  # not even root can write there
    for folder in folders:
        screen = run(REFERENCE, f"--report-dir={folder}")
        assert screen.status == pytest.ExitCode.USAGE_ERROR
        assert f"--report-dir: {folder} cannot hold a report" in screen.text
        assert "Traceback" not in screen.text


def test_a_report_dir_is_made(run, tmp_path):
    assert run(REFERENCE, f"--report-dir={tmp_path / 'a' / 'b'}").status == 0
    assert (tmp_path / "a" / "b" / "report.json").exists()
