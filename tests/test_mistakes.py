"""The fault dictionary: its entries, the formula that they alter, and what it makes of answers."""

import subprocess
import sys

import pytest
import torch
from conftest import REFERENCE, body

from grader.judge import oracle
from grader.judge.diagnosis import diagnose
from grader.judge.draw import Draw
from grader.judge.exercise import FUNCTIONS
from grader.judge.mistakes import Formula, catalogue
from grader.judge.text import LANGUAGES
from grader.run import grade
from grader.stub import ROOT

ENTRIES = pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: f"{entry.function}-{entry.id}")


def test_the_catalogue_is_large():
    assert len(catalogue()) >= 90


@ENTRIES
def test_an_entry_has_all_its_words(entry):
    assert entry.function in FUNCTIONS or (entry.signs and not entry.function)
    for lang in LANGUAGES:
        words = entry.words[lang]
        for part in (words.title, words.explanation, words.hint):
            assert part.strip() == part
            assert part
        assert not words.title.endswith((".", "。"))
        assert words.explanation.endswith((".", "。", "?", "？", "!", "！"))
    assert any("\u4e00" <= character <= "\u9fff" for character in entry.words["zh"].explanation)


def test_no_two_entries_of_a_function_share_an_id():
    names = [(entry.function, entry.id, bool(entry.signs)) for entry in catalogue()]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_the_formula_equals_the_oracle():
    draw = Draw(0, "formula")
    s = draw.sizes
    query, key, value, mask = draw.query(), draw.key(), draw.value(), draw.mask()
    formula = Formula(s.H, draw.projections())
    expected = oracle.attention(query, key, value, mask)
    for one, other in zip(
        formula.scaled_dot_product_attention(query, key, value, mask), expected, strict=True
    ):
        torch.testing.assert_close(one, other)
    x, mask = draw.tokens(), draw.token_mask()
    expected = oracle.multi_head_attention(x, formula.projections, s.H, mask)
    for one, other in zip(formula.forward(x, mask), expected, strict=True):
        torch.testing.assert_close(one, other)
    assert torch.equal(formula.causal_mask(5), oracle.causal_mask(5))


def test_two_mistakes_are_both_found(submit):
    score = grade(
        submit(
            body("attention_scores", "return query @ key.mT"),
            body("split_heads", "return x.reshape(len(x), self.n_heads, -1, self.d_head)"),
        )
    )
    found = {diagnosis.todo: diagnosis.result.finding.mistake for diagnosis in diagnose(score)}
    assert found == {"scaling": "scale-missing", "head split": "split-without-transpose"}


def test_a_mistake_that_nobody_knows_has_no_name_but_a_todo(submit):
    code = "return query @ key.mT / math.sqrt(query.shape[-1]) + query.sum(-1, keepdim=True).sin() / 7"
    (diagnosis,) = diagnose(grade(submit(body("attention_scores", code))))
    assert (diagnosis.todo, diagnosis.result.finding.mistake) == ("scaling", None)


def test_a_mistake_is_said_in_both_languages(submit):
    (diagnosis,) = diagnose(grade(submit(body("attention_scores", "return query @ key.mT"))))
    finding = diagnosis.result.finding
    assert "not divided by sqrt(d_k)" in finding.meaning.say("en")
    assert "没有除以 sqrt(d_k)" in finding.meaning.say("zh")
    assert finding.hint.say("en") != finding.hint.say("zh")


def test_naming_a_mistake_does_not_load_the_compiler(tmp_path):
    """Torch loads it for the device without numbers: a second, and a folder among the temporary ones."""
    file = tmp_path / "mine.py"
    code = body("causal_mask", "return torch.ones(length, length, dtype=torch.bool, device=device).triu()")
    file.write_text(f"{REFERENCE}\n\n{code}", encoding="utf-8")
    script = f"""
import functools, sys
from grader.isolation.launcher import Launcher
from grader.isolation.submission import WorkerSubmission
from grader.run import grade
with Launcher() as launcher:
    score = grade({str(file)!r}, "0", functools.partial(WorkerSubmission, launcher), True)
named = {{result.finding.mistake for result in score.results if result.finding}}
print(named, "torch._dynamo" in sys.modules)"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "causal-mask-future-kept" in done.stdout
    assert done.stdout.rstrip().endswith("False")
