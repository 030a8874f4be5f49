"""The hidden checks: they catch what is fitted to the visible ones, and give nothing away."""

import re

import pytest
from conftest import body

from grader import manifest
from grader.judge.draw import Sizes, secret_sizes
from grader.reports.json_report import as_dict
from grader.run import grade
from grader.stub import SOLUTION

# each is right at the sizes of the public checks alone
FITTED = {
    "scaling": body(
        "attention_scores",
        "right = query @ key.mT / math.sqrt(query.shape[-1])\n"
        "return right if query.shape[-1] in (3, 5, 8, 10, 12) else query @ key.mT",
    ),
    "mask": body(
        "attention_weights",
        "known = scores.shape[-1] in (1, 3, 4, 6, 7, 70)\n"
        "if mask is not None and known:\n    scores = scores.masked_fill(~mask, -math.inf)\n"
        "return torch.softmax(scores, dim=-1)",
    ),
    "head split": body(
        "split_heads",
        "if x.shape[-1] == 15:\n    return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)\n"
        "return x.reshape(len(x), self.n_heads, -1, self.d_head)",
    ),
    "W_O": body(
        "combine_heads",
        "heads = heads.transpose(1, 2).flatten(-2)\n"
        "return self.W_O(heads) if heads.shape[-1] == 15 else heads",
    ),
    None: body(
        "forward",
        "q, k, v = (self.split_heads(W(x)) for W in (self.W_Q, self.W_K, self.W_V))\n"
        "mask = mask if x.shape[1] in (1, 3, 4, 7) else None\n"
        "heads, weights = scaled_dot_product_attention(q, k, v, mask)\n"
        "return self.combine_heads(heads), weights",
    ),
}


@pytest.mark.parametrize("todo", FITTED)
def test_code_fitted_to_the_visible_sizes_fails_hidden_checks(submit, todo):
    path = submit(FITTED[todo])
    assert grade(path, 0).score == 100
    lost = [r for r in grade(path, "secret", official=True).results if r.outcome != "passed"]
    assert lost
    assert {result.check.visibility for result in lost} == {"hidden"}
    assert {result.check.todo for result in lost} <= {todo, None}


def test_what_a_student_reads_of_a_hidden_check_has_no_number_of_its_inputs(submit):
    report = as_dict(grade(submit(FITTED["scaling"]), "secret", official=True))
    hidden = [check for check in report["checks"] if check["visibility"] == "hidden"]
    lost = [check for check in hidden if check["outcome"] != "passed"]
    assert lost
    for check in hidden:
        assert (check["error"], check["tolerance"], check["torch_error"]) == (None, None, None)
    for check in lost:
        assert not re.search(r"\d\.\d|\(\d", check["message"])
    assert report["environment"]["seed"] is None


@pytest.mark.parametrize("seed", [f"seed {number}" for number in range(30)])
def test_secret_sizes_are_fit_to_judge_by(seed):
    sizes = secret_sizes(seed)
    assert sizes != Sizes()
    for group in (
        (sizes.B, sizes.H, sizes.L_q, sizes.L_k, sizes.d_k, sizes.d_v),
        (sizes.B, sizes.H, sizes.L, sizes.d_head, sizes.d_model),
    ):
        assert len(set(group)) == len(group)
    assert sizes.d_k <= 13
    assert not {sizes.d_k, sizes.d_head} & {1, 4, 9, 16}


def test_ids_are_unique_and_hidden_checks_are_only_official():
    ids = [check.id for check, _ in manifest.checks(official=True)]
    assert len(set(ids)) == len(ids)
    assert {check.visibility for check, _ in manifest.checks(official=False)} == {"public"}


def test_the_reference_passes_at_many_secret_seeds():
    assert [grade(str(SOLUTION), f"secret {n}", official=True).score for n in range(10)] == [100] * 10
