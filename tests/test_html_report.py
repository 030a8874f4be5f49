"""report.html: what it says and shows, what it keeps to itself, and what it costs a verdict: nothing."""

import functools
import re
import string
import subprocess
import sys
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
import torch
from conftest import REFERENCE, body
from report_scores import SECRET, TEXTS, TOO_SMALL, UPSIDE_DOWN, class_of, score_of

from grader import manifest
from grader.isolation.launcher import Launcher
from grader.isolation.submission import WorkerSubmission
from grader.judge.expect import CheckFailed, Expect
from grader.judge.score import TIERS, Result
from grader.reports import class_page, html_report, pictures
from grader.reports.page import LONGEST, cut, texts
from grader.run import grade
from grader.stub import ROOT

TEMPLATES = ROOT / "grader" / "reports" / "templates"
WRONG = f"{REFERENCE}\n\n{UPSIDE_DOWN}\n\n{TOO_SMALL}"


def page_of(submit, *appended: str, lang: str = "en", **options: object) -> str:
    return html_report.as_html(grade(submit(*appended), **options), lang)


def words_of(html: str) -> str:
    return " ".join(unescape(re.sub("<style>.*</style>|<[^>]*>", " ", html, flags=re.DOTALL)).split())


@pytest.fixture(scope="module")
def launcher():
    with Launcher() as one:
        yield one


# --- what it says


def test_score_tiers_todos_and_what_to_fix(tmp_path):
    score = score_of(str(tmp_path), "62")
    page = html_report.as_html(score, "en")
    words = words_of(page)
    assert f" {score.score:g} / 100 " in words
    tier = score.tiers[1]
    assert f"2 causality {tier.passed} / {tier.total} {tier.score:g} / 25" in words
    assert "✗ TODO 1 mask not right yet" in words
    assert "✓ TODO 4 W_O done" in words
    first, then = (
        page.index("allows the future and blocks the past"),
        page.index("and not by its square root"),
    )
    assert page.index("Fix this first") < first < then
    line = WRONG.splitlines().index(UPSIDE_DOWN.splitlines()[1]) + 1
    assert f"causal_mask(), {tmp_path}/attention.py:{line}" in words


def test_a_failed_check_shows_its_own_source(tmp_path):
    page = html_report.as_html(score_of(str(tmp_path), "62"), "en")
    assert "def test_scores_equal_the_naive_loop(student, draw, expect):" in page
    assert "def test_split_heads_equals_slices" not in page  # that one passed


def test_fingerprint_versions_isolation_and_seed(submit):
    score = grade(submit(), seed="7")
    words = words_of(html_report.as_html(score, "en"))
    assert score.sha256 in words
    assert f"torch {torch.__version__}" in words
    assert "the grader's own process" in words
    assert "Seed of the inputs 7" in words


@pytest.mark.parametrize("name", TEXTS)
def test_both_languages_throughout(tmp_path, name):
    english, chinese = (html_report.as_html(score_of(str(tmp_path), name), lang) for lang in ("en", "zh"))
    assert '<html lang="en">' in english
    assert '<html lang="zh-Hans">' in chinese
    source = re.compile(r"<style>.*?</style>|<pre>.*?</pre>", flags=re.DOTALL)
    assert not re.search("[\u4e00-\u9fff]", source.sub("", english))
    assert len(re.findall("[\u4e00-\u9fff]", source.sub("", chinese))) > 300


def test_hidden_checks_are_numbers_and_categories(tmp_path):
    score = score_of(str(tmp_path), "62", official=True)
    page = html_report.as_html(score, "en")
    hidden = [result for result in score.results if result.check.visibility == "hidden"]
    lost = [result for result in hidden if result.outcome != "passed"]
    assert lost
    assert "for every mask?" in page
    assert re.search(r"Hidden checks: \d+ of \d+ passed", page)
    assert SECRET not in page
    for result in hidden:
        assert result.check.id not in page
        assert result.check.id.rpartition("hidden_")[2] not in page
    bare = {result.check.id: Result(result.check, result.outcome, result.finding) for result in hidden}
    other = replace(score, results=tuple(bare.get(result.check.id, result) for result in score.results))
    assert html_report.as_html(other, "en") == page  # nothing that they have measured is in it


def test_one_reason_is_said_once(submit):
    page = page_of(submit, "x = 1 / 0")
    assert f"{len(manifest.checks())} failed because of this" in page
    assert page.count('<dl class="later">') == 0
    assert page.count("ZeroDivisionError") == 1 + len(TIERS)  # what to fix, and once in each tier
    assert page.count('<details class="check error">') == len(TIERS)


# --- its pictures


def test_pictures_show_the_numbers_of_this_run(tmp_path):
    score = score_of(str(tmp_path), "62")
    assert pictures.leaks(score.leak_map) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    (first, *_), (right, *_) = score.weights.actual, score.weights.right
    assert first[3] == (0, 0, 0, 1)  # upside down: the last query sees itself alone
    assert right[0] == (1, 0, 0, 0)
    norms = {one.name: one for result in score.results for one in result.gradients}
    assert norms["W_V.weight"].actual == pytest.approx(33.3, abs=0.05)
    assert norms["W_V.weight"].right == pytest.approx(35.7, abs=0.05)
    page = words_of(html_report.as_html(score, "en"))
    assert "W_V.weight Yours 33.3 ✗ Right 35.7" in page
    assert "Places where an output moves with a later token: 6." in page
    assert "Weights that differ from the right ones: 48." in page


def test_the_reference_has_nothing_to_frame(reference_score):
    page = html_report.as_html(reference_score, "en")
    assert "All weights are right." in page
    assert "No output moves with a later token." in page
    assert "✗" not in page
    for heads in pictures.weight_cells(reference_score.weights):
        for squares in heads:
            assert {cell.kind for cell in squares} == {"same"}


def test_pictures_are_the_same_behind_a_worker(submit, launcher):
    path = submit(UPSIDE_DOWN, TOO_SMALL)
    here, there = grade(path), grade(path, open_submission=functools.partial(WorkerSubmission, launcher))
    assert here.leak_map == there.leak_map
    assert here.weights == there.weights
    assert [result.gradients for result in here.results] == [result.gradients for result in there.results]


@pytest.mark.parametrize(
    ("error", "where"),
    [
        (0.0, 0),
        (1e-18, 0),
        (1e-16, 10),
        (1e-6, 60),
        (1.0, 90),
        (1e9, 100),
        (float("inf"), 100),
        (float("nan"), 100),
    ],
)
def test_the_axis_of_errors_is_logarithmic(error, where):
    assert pictures.place(error) == where


def test_odd_weights_and_gradients_are_no_picture_and_no_crash(submit):
    for code in (
        body("attention_weights", "return torch.full_like(scores, torch.nan)"),
        body("attention_weights", "return scores.softmax(-1)[..., :1]"),
        body("attention_weights", "return scores.softmax(-1) * 1e30"),
        body("attention_scores", "return (query @ key.mT).detach()"),
    ):
        assert 'id="h-pictures"' in page_of(submit, code)


def test_no_gradient_is_said(submit):
    page = words_of(
        page_of(
            submit, body("attention_scores", "return query.detach() @ key.mT / math.sqrt(query.shape[-1])")
        )
    )
    assert "query Yours none ✗" in page


def test_torchs_own_error_stays_beside_a_larger_one():
    expect, one = Expect(), torch.ones(1)
    expect.close(one, one + 1e-7, 1e-6, torch_result=one + 2e-7)
    expect.close(one, one + 3e-7, 1e-6)
    assert expect.measurement.error == pytest.approx(3e-7, rel=0.3)
    assert expect.measurement.torch_error == pytest.approx(1e-7, rel=0.7)


def test_all_gradients_are_seen_though_the_first_is_wrong():
    expect, one = Expect(), torch.ones(2, 2)
    with pytest.raises(CheckFailed):
        expect.gradients_close({"a": None, "b": one}, {"a": one, "b": one}, 1e-6)
    assert [(seen.name, seen.actual, seen.right) for seen in expect.gradients] == [
        ("a", None, 2),
        ("b", 2, 2),
    ]


# --- what the student printed


def test_prints_are_shown_with_their_check(run, submit, tmp_path):
    run(f"--submission={submit(body('attention_scores', 'print(chr(60), 12345)'))}")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "<samp>&lt; 12345" in page


def test_prints_are_shown_from_a_worker_as_well(submit, launcher):
    open_submission = functools.partial(WorkerSubmission, launcher)
    path = submit(body("attention_scores", "print('one', query.dim())\nreturn query"))
    score = grade(path, open_submission=open_submission)
    printed = {result.check.id: result.printed for result in score.results}
    assert printed["scores_keep_the_dtype"].startswith("one 4\n")
    assert printed["split_heads_makes_a_dimension_of_heads"] == ""
    assert "<samp>one" in html_report.as_html(score, "en")


def test_what_hidden_checks_let_print_is_not_shown(submit, launcher):
    path = submit(body("attention_scores", "print('seen', query.sum())\nreturn query"))
    score = grade(path, SECRET, functools.partial(WorkerSubmission, launcher), official=True)
    assert any(result.printed for result in score.results)
    assert not any(result.printed for result in score.results if result.check.visibility == "hidden")


def test_a_long_print_is_cut_with_a_notice():
    words = cut("a" * 10_000 + "b", "[{count} left out]")
    assert len(words) < LONGEST + 30
    assert f"\n[{10_001 - LONGEST} left out]\n" in words
    assert words.endswith("b")


# --- how it comes and goes


def test_no_html(run, submit, tmp_path):
    run(f"--submission={submit()}")
    assert (tmp_path / "report" / "report.html").exists()
    screen = run(f"--submission={submit()}", "--no-html")
    assert not (tmp_path / "report" / "report.html").exists()  # none of an earlier run either
    assert "report/report.json" in screen.text


@pytest.mark.parametrize(("words", "loaded"), [((), True), (("--no-html",), False)])
def test_what_a_run_imports(tmp_path, words, loaded):
    code = f"""import sys, pytest
pytest.main(["grader", "-q", "--report-dir={tmp_path}", "--submission=solutions/attention.py", *{words!r}])
print("jinja2" in sys.modules, "matplotlib" in sys.modules)"""
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == f"{loaded} False"


def test_a_fault_in_the_page_costs_no_verdict(reference_score, tmp_path, monkeypatch):
    file = tmp_path / "report.html"
    file.write_text("old")
    monkeypatch.setattr(html_report, "render", lambda *_args, **_values: 1 / 0)
    with pytest.warns(UserWarning, match="ZeroDivisionError"):
        assert not html_report.write(reference_score, file, "en")
    assert not file.exists()


def test_a_page_is_one_file_that_may_do_nothing(tmp_path):
    scores = {"62": score_of(str(tmp_path), "62")}
    report, dashboard = html_report.as_html(scores["62"], "en"), class_page.as_html(class_of(scores, 3), "en")
    for page in (report, dashboard):
        assert "default-src &#39;none&#39;" in page
        assert not re.search(r"https?://|url\(|@import| src=|<link", page)
    assert "script" not in report.replace("transcript", "")
    assert dashboard.count("<script>") == 1
    assert "script-src &#39;sha256-" in dashboard


# --- its texts


def test_texts_are_the_same_in_both_languages_and_all_are_used():
    def values(template: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(template) if name}

    english, chinese = texts("en"), texts("zh")
    assert {key: values(text) for key, text in english.items()} == {
        key: values(text) for key, text in chinese.items()
    }
    templates = "".join(file.read_text(encoding="utf-8") for file in Path(TEMPLATES).rglob("*.html"))
    families = re.findall(r't\("(\w+_)" ~', templates)
    for key, text in chinese.items():
        assert f'"{key}"' in templates or key.startswith(tuple(families)), key
        assert re.search("[\u4e00-\u9fff]", text), key
        assert not re.search("[\u4e00-\u9fff][,.:;?!]|[,;?!][\u4e00-\u9fff]", text), key
