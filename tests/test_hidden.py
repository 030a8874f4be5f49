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

SCALED = "right = query @ key.mT / math.sqrt(query.shape[-1])\n"
SOFTMAX = (
    "if mask is not None:\n    scores = scores.masked_fill(~mask, -math.inf)\n"
    "right = torch.softmax(scores, dim=-1)\n"
)
SPLIT = "right = x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)\n"
COMBINED = "right = self.W_O(heads.transpose(1, 2).flatten(-2))\n"
MIXED = "weights = attention_weights(attention_scores(query, key), mask)\nright = weights @ value\n"
FORWARD = "right, weights = super().forward(x, mask)\n"
CLIPPED = "if right.requires_grad:\n    right.register_hook(lambda gradient: gradient.clamp(-9, 9))\n"
# each is right for ordinary numbers and lengths: name -> TODO, code
EXTREME = {
    "scores cut off at 20": ("scaling", body("attention_scores", SCALED + "return right.clamp(-20, 20)")),
    "scores cut off at 100": ("scaling", body("attention_scores", SCALED + "return right.clamp(-100, 100)")),
    "no score beyond key 128": (
        "scaling",
        body("attention_scores", SCALED + "right[..., 128:] = 0\nreturn right"),
    ),
    "gradient of scores clipped": ("scaling", body("attention_scores", SCALED + CLIPPED + "return right")),
    "softmax of scores cut off at 200": (
        "mask",
        body("attention_weights", "scores = scores.clamp(-200, 200)\n" + SOFTMAX + "return right"),
    ),
    "softmax of scores cut off at 4500": (
        "mask",
        body("attention_weights", "scores = scores.clamp(-4500, 4500)\n" + SOFTMAX + "return right"),
    ),
    "no weight beyond key 128": (
        "mask",
        body("attention_weights", SOFTMAX + "return right * (torch.arange(right.shape[-1]) < 128)"),
    ),
    "gradient of weights clipped": ("mask", body("attention_weights", SOFTMAX + CLIPPED + "return right")),
    "heads cut off at 10": ("head split", body("split_heads", SPLIT + "return right.clamp(-10, 10)")),
    "gradient of the split clipped": ("head split", body("split_heads", SPLIT + CLIPPED + "return right")),
    "tokens cut off at 10": ("W_O", body("combine_heads", COMBINED + "return right.clamp(-10, 10)")),
    "gradient of W_O clipped": ("W_O", body("combine_heads", COMBINED + CLIPPED + "return right")),
    "another W_O in eval mode": (
        "W_O",
        body("combine_heads", COMBINED + "return right if self.training else 0.9 * right"),
    ),
    "outputs cut off at 10": (
        None,
        body("scaled_dot_product_attention", MIXED + "return right.clamp(-10, 10), weights"),
    ),
    "only 64 tokens mixed": (
        None,
        body("forward", FORWARD + "right[:, 64:] = 0\nreturn right, weights"),
    ),
    "at most 4 heads": (
        None,
        body("forward", FORWARD + "return right * (self.n_heads <= 4), weights"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("seed", [0, "secret"])
@pytest.mark.parametrize("name", EXTREME)
def test_code_that_fails_at_extremes_fails_hidden_checks(submit, name, seed):
    todo, code = EXTREME[name]
    lost = [r for r in grade(submit(code), seed, official=True).results if r.outcome != "passed"]
    assert lost
    assert {result.outcome for result in lost} == {"failed"}
    assert {result.check.todo for result in lost} <= {todo, None}
    if todo and "eval" not in name:
        assert todo in {result.check.todo for result in lost}


@pytest.mark.parametrize(
    "check",
    [
        "assert mask.diagonal().all()",
        "assert torch.equal(mask, mask.tril())",
        "assert mask.sum() == length * (length + 1) // 2",
        "assert mask.tolist()[0][0]",
    ],
)
def test_a_mask_that_looks_at_its_own_numbers_is_right(submit, check):
    code = "mask = torch.ones(length, length, dtype=torch.bool, device=device).tril()\n"
    path = submit(body("causal_mask", f"{code}{check}\nreturn mask"))
    assert grade(path, official=True).score == 100


@pytest.mark.parametrize(
    "code",
    [
        "torch.ones(length, length, dtype=torch.bool).tril()",
        "torch.arange(length)[:, None] >= torch.arange(length, device=device)",
        "torch.from_numpy(torch.ones(length, length, dtype=torch.bool, device=device).tril().numpy())",
    ],
)
def test_a_mask_that_is_elsewhere_is_wrong(submit, code):
    result = grade(submit(body("causal_mask", f"return {code}")), official=True)
    lost = [r.check.id for r in result.results if r.outcome != "passed"]
    assert lost == ["hidden_shape_causal_mask_is_made_on_the_device"]


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
