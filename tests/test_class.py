"""A class: found, graded side by side, summed up; nothing lost when the run is killed, nothing planted."""

import csv
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import REFERENCE, body

from grader.classroom import results
from grader.classroom.collect import ClassError, find_submissions
from grader.classroom.results import Results, judge_version
from grader.reports.class_report import COLUMNS, as_csv, as_dict, row_of
from grader.stub import ROOT, STUDENT

UNSCALED = REFERENCE + body("attention_scores", "return query @ key.mT")


def class_run(folder: Path, out: Path, *words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "grader", "class", str(folder), "--out", str(out), *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def write(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        file = folder / name.replace("__", "/").replace("_py", ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def without_times(report: dict) -> dict:
    return {name: value for name, value in report.items() if name != "duration_s"}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class of every layout, graded once."""
    folder = write(
        tmp_path_factory.mktemp("class"),
        right__attention__student__attention_py=REFERENCE,
        unscaled__attention_py=UNSCALED,
        stub_py=STUDENT.read_text(encoding="utf-8"),
        broken__student__attention_py="def f(:",
        latin_py=b"# caf\xe9\n",
        hang_py="while True: pass",
        exits_py=REFERENCE + "\nimport os\nos._exit(0)\n",
    )
    (folder / "empty").mkdir()
    write(folder, twice__a__attention_py=REFERENCE, twice__b__attention_py=REFERENCE)
    write(folder, **{"-minus_py": REFERENCE}, notes__readme="x")
    (folder / "notes.txt").write_text("x")
    out = tmp_path_factory.mktemp("out")
    run = class_run(folder, out, "--seed", "7")
    return folder, out, run, json.loads((out / "class.json").read_text(encoding="utf-8"))


def test_each_submission_has_a_score_and_a_reason(graded):
    _, _, run, summary = graded
    assert run.returncode == 0, run.stderr
    rows = {row["student"]: row for row in summary["students"]}
    assert {name: row["score"] for name, row in rows.items() if name != "unscaled"} == {
        "right": 100,
        "stub": 0,
        "broken": 0,
        "latin": 0,
        "hang": 0,
        "exits": 0,
        "empty": 0,
        "notes": 0,
        "twice": 0,
    }
    assert 50 < rows["unscaled"]["score"] < 100
    assert rows["unscaled"]["mistakes"] == ["scale-missing"]
    assert rows["right"]["message"] is None
    for name, words in {
        "broken": "not valid Python",
        "latin": "not UTF-8",
        "empty": "no attention.py",
        "twice": "more than one",
    }.items():
        assert words in rows[name]["message"]
        assert rows[name]["status"] == "unreadable"
    assert {rows["hang"]["status"], rows["exits"]["status"]} == {"timeout", "crashed"}


def test_what_is_no_submission_is_passed_over_by_name(graded):
    _, _, run, summary = graded
    assert len(summary["passed_over"]) == 2
    assert "'-minus'" in run.stderr
    assert "'notes.txt'" in run.stderr


def test_the_table_has_a_line_for_each_student(graded):
    _, out, _, summary = graded
    with open(out / "class.csv", encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert tuple(table[0]) == COLUMNS
    assert [line["student"] for line in table] == [row["student"] for row in summary["students"]]
    assert summary["mistakes"] == {"scale-missing": 1}


def test_each_student_has_a_page_and_the_class_has_one_for_us_alone(graded):
    _, out, _, summary = graded
    for row in summary["students"]:
        assert f"{row['score']:g} / 100" in (out / row["student"] / "report.html").read_text(encoding="utf-8")
    page = (out / "class.html").read_text(encoding="utf-8")
    for name in ("right", "unscaled", "hang"):
        assert f'<a href="{name}/report.html">' in page
    private = ("class.html", "class.json", "class.csv", "canvas.csv", "moodle.csv")
    assert {stat.S_IMODE((out / name).stat().st_mode) for name in private} == {0o600}
    with open(out / "canvas.csv", encoding="utf-8", newline="") as stream:
        grades = {line["SIS Login ID"]: line["Attention"] for line in csv.DictReader(stream)}
    assert (grades["right"], grades["broken"]) == ("100.0", "0.0")


def test_a_rerun_keeps_what_is_done_and_grades_what_changed(graded):
    folder, out, _, _ = graded
    stamps = {file: file.stat().st_mtime_ns for file in out.glob("*/report.json")}
    write(folder, stub_py=REFERENCE)
    assert class_run(folder, out).returncode == 0
    changed = {file.parent.name for file, stamp in stamps.items() if file.stat().st_mtime_ns != stamp}
    assert changed == {"stub"}
    assert json.loads((out / "stub" / "report.json").read_text())["score"] == 100
    page = (out / "class.html").read_text(encoding="utf-8")
    assert "Better: 1" in page
    assert "0 → 100" in page


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    files = {f"s{number}_py": UNSCALED if number % 2 else REFERENCE for number in range(8)}
    folder = write(tmp_path / "class", **files)
    whole = tmp_path / "whole"
    assert class_run(folder, whole, "--seed", "5").returncode == 0
    killed = tmp_path / "killed"
    command = [sys.executable, "-m", "grader", "class", str(folder), "--out", str(killed), "--seed", "5"]
    for reports in (0, 1, 3):
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 60
        while len(list(killed.glob("*/report.json"))) < reports or not killed.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert class_run(folder, killed).returncode == 0
    for student in (file.removesuffix("_py") for file in files):
        one, other = (json.loads((out / student / "report.json").read_text()) for out in (whole, killed))
        assert without_times(one) == without_times(other)
    assert (whole / "class.csv").read_bytes() == (killed / "class.csv").read_bytes()


@pytest.mark.parametrize("reports", [None, 0, 2], ids=["at the start", "once begun", "after two"])
def test_ctrl_c_stops_a_run_in_a_word_and_the_next_goes_on(tmp_path, reports):
    folder = write(tmp_path / "class", **{f"s{number}_py": f"{REFERENCE}\n# {number}" for number in range(6)})
    out = tmp_path / "out"
    command = [sys.executable, "-m", "grader", "class", str(folder), "--out", str(out)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while not out.exists() or (reports is not None and len(list(out.glob("*/report.json"))) < reports):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    if reports is not None:
        time.sleep(1)  # judges are being started
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    words = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert words.strip() == "stopped; the same command goes on from here"
    again = class_run(folder, out)
    assert again.returncode == 0
    assert {row["score"] for row in json.loads((out / "class.json").read_text())["students"]} == {100}


@pytest.mark.parametrize("kind", ["not ours", "open to others", "a link", "a file"])
def test_results_are_not_written_where_they_could_be_planted(tmp_path, kind):
    out = tmp_path / "out"
    if kind == "a file":
        out.write_text("")
    elif kind == "a link":
        (tmp_path / "other").mkdir()
        out.symlink_to(tmp_path / "other")
    else:
        out.mkdir()
        if kind == "not ours":
            (out / "report.json").write_text("{}")
        else:
            out.chmod(0o777)
    with pytest.raises(ClassError, match=str(out)):
        Results(out, None)


def test_a_missing_or_empty_folder_is_said(tmp_path):
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(ClassError, match=str(folder)):
            find_submissions(folder)


def test_names_that_one_folder_cannot_tell_apart(tmp_path):
    write(tmp_path, Ann_py="x", ann__attention_py="x")
    entries, passed_over = find_submissions(tmp_path)
    assert [entry.student for entry in entries] == ["Ann"]
    assert "another submission of that name" in passed_over[0]


def test_links_are_not_followed(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "eve").symlink_to(tmp_path)
    entries, passed_over = find_submissions(folder)
    assert entries == []
    assert "'eve'" in passed_over[0]


def test_a_cell_that_begins_like_a_formula_stays_a_text():
    row = row_of("ann", {"problem": '=HYPERLINK("http://example.org")'})
    assert "'=HYPERLINK" in as_csv([row])
    assert row["score"] is None


def test_a_roster_that_cannot_be_read_is_said_before_anything_is_graded(tmp_path):
    write(tmp_path / "class", ann_py=REFERENCE)
    run = class_run(tmp_path / "class", tmp_path / "out", "--roster", str(tmp_path / "none.csv"))
    assert run.returncode == 2
    assert "--roster" in run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "out").exists()


def test_our_fault_is_no_zero():
    rows = [row_of("ann", {"problem": "the judge died"})]
    summary = as_dict(rows, [], "0")
    assert (summary["graded"], summary["mean"], summary["needs_human"]) == (0, None, ["ann"])


@pytest.mark.parametrize("file", ["judge/oracle.py", "judge/messages/en.toml", "reports/templates/style.css"])
def test_results_of_another_judge_are_not_kept(tmp_path, monkeypatch, file):
    """What decides and what shows: a report that was made with another template is made anew."""
    package = tmp_path / "grader"
    shutil.copytree(ROOT / "grader", package)
    monkeypatch.setattr(results, "_PACKAGE", package)
    versions = [judge_version.__wrapped__()]
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "x.pyc").write_bytes(b"compiled anew")
    versions.append(judge_version.__wrapped__())
    assert (package / file).exists()
    with open(package / file, "a", encoding="utf-8") as stream:
        stream.write("\n")
    versions.append(judge_version.__wrapped__())
    assert versions[0] == versions[1] != versions[2]
