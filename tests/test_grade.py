"""The score: right code earns all, wrong code loses its own checks only, our own faults are no zero."""

import dataclasses
import json
import os

import pytest
from conftest import body

from grader import manifest
from grader.judge import oracle
from grader.judge.draw import Draw
from grader.judge.exercise import FUNCTIONS, TODOS, todo_of
from grader.judge.score import OUTCOMES, Result
from grader.reports.json_report import as_dict
from grader.run import grade
from grader.stub import ROOT, SOLUTION, STUDENT

MERGE = "heads = heads.transpose(1, 2).flatten(-2)\n"  # the right way; what follows is wrong
WRONG = {
    "causal_mask": (
        "return torch.ones(length, length, dtype=torch.bool, device=device).triu()",
        "return torch.ones(length, length, device=device).tril()",
        "return torch.ones(min(length, 64), min(length, 64), dtype=torch.bool, device=device).tril()",
    ),
    "attention_weights": (
        "return torch.softmax(scores if mask is None else scores.masked_fill(mask, -torch.inf), dim=-1)",
        "return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -20), dim=-1)",
        "weights = torch.softmax(scores, dim=-1)\nreturn weights if mask is None else weights * mask",
        "w = scores.exp() if mask is None else scores.exp() * mask\nreturn w / w.sum(-1, keepdim=True)",
        "return torch.softmax(scores if mask is None else scores.masked_fill_(~mask, -torch.inf), dim=-1)",
    ),
    "attention_scores": (
        "return query @ key.mT",
        "return query @ key.mT / math.sqrt(query.shape[-2])",
        "return query @ key.reshape(*key.shape[:-2], key.shape[-1], -1) / math.sqrt(query.shape[-1])",
        "return (query.float() @ key.float().mT / math.sqrt(query.shape[-1])).to(query.dtype)",
        "return query.detach() @ key.mT / math.sqrt(query.shape[-1])",
    ),
    "split_heads": (
        "return x.reshape(len(x), self.n_heads, -1, self.d_head)",
        "return x.unflatten(-1, (self.d_head, self.n_heads)).permute(0, 3, 1, 2)",
        "return x.unflatten(-1, (self.n_heads, self.d_head))",
        "return x.detach().unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)",
    ),
    "combine_heads": (
        f"{MERGE}return heads",
        f"{MERGE}return self.W_O(heads).relu()",
        "return self.W_O(heads.reshape(len(heads), -1, self.n_heads * self.d_head))",
        "return self.W_O(heads.permute(0, 2, 3, 1).flatten(-2))",
    ),
}
NOTHING = 'raise NotImplementedError("TODO: not filled in yet")'


@pytest.mark.parametrize("seed", range(50))
def test_the_reference_has_full_marks(seed):
    score = grade(str(SOLUTION), seed)
    assert score.score == 100
    assert score.complete


def test_the_stub_has_nothing_and_every_check_is_not_attempted():
    score = grade(str(STUDENT))
    assert score.score == 0
    assert score.complete
    assert {result.outcome for result in score.results} == {"not_attempted"}


@pytest.mark.parametrize(("function", "code"), [(name, code) for name in WRONG for code in WRONG[name]])
def test_a_wrong_body_loses_no_check_of_another_todo(submit, function, code):
    score = grade(submit(body(function, code)))
    lost = {result.check.todo for result in score.results if result.outcome != "passed"}
    own = todo_of(function).name
    assert own in lost
    assert lost <= {own, None}
    assert score.score < 100


@pytest.mark.parametrize("todo", TODOS, ids=lambda todo: todo.marker)
def test_an_unfilled_todo_loses_exactly_its_own_checks_and_those_of_the_whole(submit, todo):
    score = grade(submit(*(body(function, NOTHING) for function in todo.functions)))
    assert {result.outcome for result in score.of_todo(todo.name)} == {"not_attempted"}
    for other in TODOS:
        if other != todo:
            assert {result.outcome for result in score.of_todo(other.name)} == {"passed"}
    assert {result.outcome for result in score.of_todo(None)} <= {"not_attempted", "passed"}
    assert 0 < score.score < 100


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if todo_of(name)])
def test_an_unfilled_body_is_told_from_a_wrong_one(submit, function):
    score = grade(submit(body(function, NOTHING)))
    assert {result.outcome for result in score.results} == {"passed", "not_attempted"}


@pytest.mark.parametrize("outcome", [outcome for outcome in OUTCOMES if outcome != "passed"])
def test_only_passed_earns(reference_score, outcome):
    score = reference_score
    for tier in score.tiers:
        results = tuple(
            Result(result.check, outcome) if result.check.tier == tier.tier.id else result
            for result in score.results
        )
        worse = dataclasses.replace(score, results=results)
        expected = None if outcome == "grader_error" else 100 - tier.tier.points
        assert worse.score == expected


def test_a_check_without_a_result_earns_nothing(reference_score):
    part = dataclasses.replace(reference_score, results=reference_score.results[1:])
    assert part.score < 100
    assert not part.complete


@pytest.mark.parametrize("mark", [pytest.mark.skip, pytest.mark.xfail], ids=["skip", "xfail"])
def test_a_skipped_or_excused_check_earns_nothing(report_of, monkeypatch, mark):
    _, function = manifest.checks()[0]
    monkeypatch.setattr(function, "pytestmark", [*function.pytestmark, mark.mark])
    report = report_of("--submission=solutions/attention.py")
    assert 0 < report["score"] < 100
    assert not report["complete"]


def _fail(*_args, **_values):
    raise RuntimeError("the oracle broke")


@pytest.mark.parametrize("broken", ["attention_scores", "exact_attention", "multi_head_attention"])
def test_a_fault_of_the_grader_is_no_score(monkeypatch, broken):
    monkeypatch.setattr(oracle, broken, _fail)
    score = grade(str(SOLUTION))
    assert score.score is None
    assert {result.outcome for result in score.results} == {"passed", "grader_error"}
    assert as_dict(score)["score"] is None


def test_a_fault_of_the_grader_says_so_and_has_its_own_exit_status(run, tmp_path, monkeypatch):
    monkeypatch.setattr(oracle, "attention_scores", _fail)
    screen = run("--submission=solutions/attention.py")
    assert screen.status == pytest.ExitCode.INTERNAL_ERROR
    assert "No score: the grader itself failed" in screen.text
    assert "/ 100" not in screen.text
    report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert report["score"] is None


def _comparable(report):
    return {name: value for name, value in report.items() if name != "duration_s"}


def test_the_same_file_and_seed_give_the_same_report_and_another_seed_other_inputs(submit):
    path = submit(body("attention_scores", "return query @ key.mT"))
    first, again, other = (_comparable(as_dict(grade(path, seed))) for seed in (3, 3, 4))
    assert first == again
    assert first["score"] == other["score"]
    errors = [[check["error"] for check in report["checks"]] for report in (first, other)]
    assert errors[0] != errors[1]


def test_inputs_depend_on_seed_and_check_and_on_nothing_else():
    def numbers(seed, name):
        return Draw(seed, name).normal(5).tolist()

    assert numbers(1, "a") == numbers(1, "a")
    assert len({tuple(numbers(seed, name)) for seed in (0, 1, "x") for name in ("a", "b")}) == 6


def test_grading_directly_gives_what_pytest_reports(report_of, submit, monkeypatch):
    monkeypatch.chdir(ROOT)
    path = os.path.relpath(submit(body("attention_scores", "return query @ key.mT")))
    report = report_of(f"--submission={path}", "--seed=7")
    direct = json.loads(json.dumps(as_dict(grade(path, "7"))))
    assert _comparable(report) == _comparable(direct)
