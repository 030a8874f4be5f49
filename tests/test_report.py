"""report.json: the fields that other programs read, and how the file comes and goes."""

import hashlib
import json
import os
import re
from pathlib import Path

import pytest
from conftest import body

from grader import manifest
from grader.judge.exercise import TODOS
from grader.judge.score import OUTCOMES
from grader.reports import json_report
from grader.run import grade
from grader.stub import STUDENT

NUMBER = (int, float)
REPORT = {
    "schema": int,
    "score": NUMBER,
    "max_score": NUMBER,
    "complete": bool,
    "visibility": str,
    "submission": dict,
    "tiers": list,
    "checks": list,
    "diagnoses": list,
    "isolation": str,
    "environment": dict,
    "duration_s": NUMBER,
}
TIER = {"id": str, "points": NUMBER, "score": NUMBER, "passed": int, "total": int}
CHECK = {
    "id": str,
    "tier": str,
    "todo": (str, type(None)),
    "visibility": str,
    "weight": NUMBER,
    "outcome": str,
    "message": (str, type(None)),
    "mistake": (str, type(None)),
    "error": (float, type(None)),
    "tolerance": (float, type(None)),
    "torch_error": (float, type(None)),
}
DIAGNOSIS = {
    "mistake": (str, type(None)),
    "todo": (str, type(None)),
    "line": (int, type(None)),
    "section": (int, type(None)),
}
POINTS = {
    "shape": 15,
    "causality": 25,
    "equivalence-1e-6": 25,
    "equivalence-1e-16": 15,
    "gradient-flow": 20,
}
SUBMISSIONS = {
    "reference": (),
    "unscaled": (body("attention_scores", "return query @ key.mT"),),
    "NaN": (body("attention_weights", "return torch.full_like(scores, torch.nan)"),),
    "raises": (body("combine_heads", "return self.W_O(heads.transposed(1, 2))"),),
    "unfilled": (body("split_heads", 'raise NotImplementedError("TODO 3 (head split)")'),),
}


def _holds(item: dict, fields: dict) -> None:
    """Exactly these fields, each of its type."""
    for name, types in fields.items():
        assert isinstance(item[name], types), name
        assert not (isinstance(item[name], bool) and types is not bool), name
    assert set(fields) <= set(item)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_schema(submit, name, lang):
    score = grade(submit(*SUBMISSIONS[name]))
    report = json.loads(json.dumps(json_report.as_dict(score, lang), allow_nan=False))
    _holds(report, REPORT)
    assert (report["schema"], report["max_score"]) == (1, 100)
    assert report["visibility"] in ("public", "official")
    assert report["isolation"] in ("in-process", "process", "sandbox")
    assert len(report["submission"]["sha256"]) == 64
    assert {"python", "torch", "cpu", "seed"} <= set(report["environment"])
    for tier in report["tiers"]:
        _holds(tier, TIER)
    for check in report["checks"]:
        _holds(check, CHECK)
        assert check["tier"] in POINTS
        assert check["todo"] in {None, *(todo.name for todo in TODOS)}
        assert check["visibility"] == "public"
        assert check["outcome"] in OUTCOMES
        assert (check["message"] is None) == (check["outcome"] == "passed")
    for diagnosis in report["diagnoses"]:
        _holds(diagnosis, DIAGNOSIS)


@pytest.mark.parametrize("name", SUBMISSIONS)
def test_sums(submit, name):
    report = json_report.as_dict(grade(submit(*SUBMISSIONS[name])))
    assert {tier["id"]: tier["points"] for tier in report["tiers"]} == POINTS
    assert report["score"] == pytest.approx(sum(tier["score"] for tier in report["tiers"]), abs=1e-9)
    for tier in report["tiers"]:
        checks = [check for check in report["checks"] if check["tier"] == tier["id"]]
        passed = [check for check in checks if check["outcome"] == "passed"]
        share = sum(check["weight"] for check in passed) / sum(check["weight"] for check in checks)
        assert (tier["passed"], tier["total"]) == (len(passed), len(checks))
        assert tier["score"] == pytest.approx(tier["points"] * share, abs=0.00501)
    assert [check["id"] for check in report["checks"]] == [check.id for check, _ in manifest.checks()]


def test_comparisons_state_their_error_their_tolerance_and_that_of_torch(reference_score):
    checks = {check["id"]: check for check in json_report.as_dict(reference_score)["checks"]}
    for check in checks.values():
        if check["error"] is not None:
            assert 0 <= check["error"] <= check["tolerance"]
    for check, tolerance in (("attention_in_float64", 1e-16), ("multi_head_attention_in_float64", 1e-16)):
        assert checks[check]["tolerance"] == tolerance
        assert 0 < checks[check]["torch_error"] < tolerance
    assert checks["attention_equals_the_naive_loop_and_torch"]["tolerance"] == 1e-6
    for tier in ("equivalence-1e-16", "equivalence-1e-6"):
        valued = [check for check in checks.values() if check["tier"] == tier]
        stated = [check for check in valued if check["error"] is not None]
        assert len(stated) == len(valued) - (tier == "equivalence-1e-6")  # "written from scratch" has none


def test_a_failed_comparison_states_the_error_that_failed_it(submit):
    report = json_report.as_dict(grade(submit(SUBMISSIONS["unscaled"][0])))
    check = next(check for check in report["checks"] if check["id"] == "scores_equal_the_naive_loop")
    assert check["outcome"] == "failed"
    assert check["error"] > 100 * check["tolerance"]
    assert check["tolerance"] == 1e-6


def test_messages_are_in_the_language_that_is_asked_for(submit):
    score = grade(submit(SUBMISSIONS["unscaled"][0]))
    english, chinese = (json_report.as_dict(score, lang) for lang in ("en", "zh"))
    for one, other in zip(english["checks"], chinese["checks"], strict=True):
        if one["message"]:
            assert not re.search("[\u4e00-\u9fff]", one["message"])
            assert re.search("[\u4e00-\u9fff]", other["message"])
    assert english["score"] == chinese["score"]


def test_a_diagnosis_names_todo_line_and_section(submit):
    path = submit(SUBMISSIONS["raises"][0])
    (diagnosis,) = json_report.as_dict(grade(path))["diagnoses"]
    assert "heads.transposed" in Path(path).read_text(encoding="utf-8").splitlines()[diagnosis["line"] - 1]
    assert (diagnosis["todo"], diagnosis["section"]) == ("W_O", 4)


def test_the_stub_is_four_diagnoses_in_the_order_of_the_todos():
    diagnoses = json_report.as_dict(grade(str(STUDENT)))["diagnoses"]
    assert [diagnosis["todo"] for diagnosis in diagnoses] == [todo.name for todo in TODOS]


def test_the_file_is_complete_or_the_old_one(reference_score, tmp_path, monkeypatch):
    file = tmp_path / "report.json"
    file.write_text("old", encoding="utf-8")
    json_report.write(reference_score, file, "en")
    new = file.read_text(encoding="utf-8")
    assert json.loads(new)["score"] == 100

    def fail(*_args, **_values):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        json_report.write(reference_score, file, "en")
    assert file.read_text(encoding="utf-8") == new
    assert list(tmp_path.iterdir()) == [file]  # nothing half written lies about


def test_others_may_read_it(reference_score, tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    json_report.write(reference_score, tmp_path / "report.json", "en")
    assert (tmp_path / "report.json").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(
    "words",
    [["-k", "no_such_check"], ["--collect-only"], ["--submission={stops}"], ["no_such_file.py"]],
    ids=["nothing selected", "collected only", "interrupted", "no such file"],
)
def test_no_old_report_outlives_a_run_that_breaks_off(run, submit, tmp_path, words):
    stops = submit("raise KeyboardInterrupt")
    report = tmp_path / "report" / "report.json"
    report.parent.mkdir()
    report.write_text('{"score": 100}', encoding="utf-8")
    screen = run(*(word.format(stops=stops) for word in words))
    assert not report.exists()
    assert "Traceback" not in screen.text


def test_the_fingerprint_is_that_of_the_graded_bytes(submit):
    path = submit("# one more line")
    expected = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert json_report.as_dict(grade(path))["submission"] == {"path": path, "sha256": expected}
