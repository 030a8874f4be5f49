"""Masks that are built, read or applied wrongly."""

from . import Case

CASES = [
    # --- causal_mask: values
    Case(  # D1
        "causal-mask-future-kept",
        todo="mask",
        mistake="causal-mask-future-kept",
        code="""
def causal_mask(length, device=None):
    return torch.triu(torch.ones(length, length, dtype=torch.bool, device=device))
""",
    ),
    Case(  # D5
        "causal-mask-transposed",
        todo="mask",
        mistake="causal-mask-future-kept",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril().T
""",
    ),
    Case(  # D1
        "causal-mask-compares-the-wrong-way",
        todo="mask",
        mistake="causal-mask-future-kept",
        code="""
def causal_mask(length, device=None):
    i = torch.arange(length, device=device)
    return i[:, None] <= i[None, :]
""",
    ),
    Case(  # D5
        "causal-mask-rows-are-keys",
        todo="mask",
        mistake="causal-mask-future-kept",
        code="""
def causal_mask(length, device=None):
    i = torch.arange(length, device=device)
    return i.unsqueeze(0) >= i.unsqueeze(1)
""",
    ),
    Case(  # D2
        "causal-mask-self-excluded",
        todo="mask",
        mistake="causal-mask-self-excluded",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril(diagonal=-1)
""",
    ),
    Case(  # D2
        "causal-mask-blocks-triu-0",
        todo="mask",
        mistake="causal-mask-self-excluded",
        code="""
def causal_mask(length, device=None):
    return ~torch.ones(length, length, dtype=torch.bool, device=device).triu()
""",
    ),
    Case(  # D2
        "causal-mask-range-stops-before-self",
        todo="mask",
        mistake="causal-mask-self-excluded",
        code="""
def causal_mask(length, device=None):
    mask = torch.zeros(length, length, dtype=torch.bool, device=device)
    for i in range(length):
        mask[i, :i] = True
    return mask
""",
    ),
    Case(  # D3
        "causal-mask-one-future-token",
        todo="mask",
        mistake="causal-mask-one-future-token",
        code="""
def causal_mask(length, device=None):
    return torch.tril(torch.ones(length, length, device=device), diagonal=1).bool()
""",
    ),
    Case(  # D3
        "causal-mask-blocks-triu-2",
        todo="mask",
        mistake="causal-mask-one-future-token",
        code="""
def causal_mask(length, device=None):
    return torch.triu(torch.ones(length, length, device=device), diagonal=2) == 0
""",
    ),
    Case(  # D3
        "causal-mask-slice-plus-two",
        todo="mask",
        mistake="causal-mask-one-future-token",
        code="""
def causal_mask(length, device=None):
    mask = torch.zeros(length, length, dtype=torch.bool, device=device)
    for i in range(length):
        mask[i, : i + 2] = True
    return mask
""",
    ),
    Case(  # D4
        "causal-mask-inverted",
        todo="mask",
        mistake="causal-mask-inverted",
        code="""
def causal_mask(length, device=None):
    return torch.triu(torch.ones(length, length, device=device), diagonal=1).bool()
""",
    ),
    Case(  # C2, D4: what nn.MultiheadAttention wants
        "causal-mask-true-means-blocked",
        todo="mask",
        mistake="causal-mask-inverted",
        code="""
def causal_mask(length, device=None):
    return ~torch.tril(torch.ones(length, length, dtype=torch.bool, device=device))
""",
    ),
    Case(  # D13
        "causal-mask-additive-turned-to-bool",
        todo="mask",
        mistake="causal-mask-inverted",
        code="""
def causal_mask(length, device=None):
    return torch.full((length, length), float("-inf"), device=device).triu(1).bool()
""",
    ),
    Case(  # D4, D1 with the wrong comparison
        "causal-mask-tril-equals-zero",
        todo="mask",
        mistake="causal-mask-inverted",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril() == 0
""",
    ),
    Case(  # D6
        "causal-mask-all-true",
        todo="mask",
        mistake="causal-mask-all-true",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device)
""",
    ),
    Case(  # D6: tril is not in place
        "causal-mask-tril-dropped",
        todo="mask",
        mistake="causal-mask-all-true",
        code="""
def causal_mask(length, device=None):
    mask = torch.ones(length, length, dtype=torch.bool, device=device)
    mask.tril()
    return mask
""",
    ),
    Case(  # D6
        "causal-mask-all-false",
        todo="mask",
        mistake="causal-mask-all-false",
        code="""
def causal_mask(length, device=None):
    return torch.zeros(length, length, dtype=torch.bool, device=device).tril()
""",
    ),
    Case(  # D6
        "causal-mask-identity",
        todo="mask",
        mistake="causal-mask-identity",
        code="""
def causal_mask(length, device=None):
    return torch.eye(length, dtype=torch.bool, device=device)
""",
    ),
    Case(  # D6
        "causal-mask-antidiagonal",
        todo="mask",
        mistake="causal-mask-antidiagonal",
        code="""
def causal_mask(length, device=None):
    return torch.eye(length, device=device).flip(0).bool()
""",
    ),
    Case(  # D6
        "causal-mask-flipped-columns",
        todo="mask",
        mistake="causal-mask-flipped-columns",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril().flip(1)
""",
    ),
    Case(  # D6
        "causal-mask-sum-below-length",
        todo="mask",
        mistake="causal-mask-flipped-rows",
        code="""
def causal_mask(length, device=None):
    i = torch.arange(length, device=device)
    return i[:, None] + i[None, :] < length
""",
    ),
    Case(  # D18
        "causal-mask-random",
        todo="mask",
        mistake="causal-mask-random",
        code="""
def causal_mask(length, device=None):
    return torch.randint(0, 2, (length, length), device=device).tril().bool()
""",
    ),
    Case(  # own: sliding window
        "causal-mask-window",
        todo="mask",
        mistake="causal-mask-window",
        code="""
def causal_mask(length, device=None):
    full = torch.ones(length, length, dtype=torch.bool, device=device)
    return full.tril() & full.triu(-2)
""",
    ),
    Case(  # own: a loop that starts at 1
        "causal-mask-first-row-empty",
        todo="mask",
        mistake="causal-mask-first-row-empty",
        code="""
def causal_mask(length, device=None):
    mask = torch.zeros(length, length, dtype=torch.bool, device=device)
    for i in range(1, length):
        for j in range(i + 1):
            mask[i][j] = True
    return mask
""",
    ),
    Case(  # own: a loop that stops one row early
        "causal-mask-last-row-empty",
        todo="mask",
        mistake="causal-mask-last-row-empty",
        code="""
def causal_mask(length, device=None):
    mask = torch.zeros(length, length, dtype=torch.bool, device=device)
    for i in range(length - 1):
        mask[i, : i + 1] = True
    return mask
""",
    ),
    Case(  # own: the loop blocks from the query itself on in all rows but leaves row 0 open
        "causal-mask-first-row-open",
        todo="mask",
        mistake="causal-mask-first-row-open",
        code="""
def causal_mask(length, device=None):
    mask = torch.ones(length, length, dtype=torch.bool, device=device)
    for i in range(1, length):
        mask[i, i + 1 :] = False
    return mask
""",
    ),
    # --- causal_mask: everything but values
    Case(  # D13
        "causal-mask-additive",
        todo="mask",
        mistake="causal-mask-additive",
        shown_by="dtype",
        code="""
def causal_mask(length, device=None):
    return torch.full((length, length), float("-inf"), device=device).triu(diagonal=1)
""",
    ),
    Case(  # D14
        "causal-mask-float",
        todo="mask",
        mistake="causal-mask-not-bool",
        shown_by="dtype",
        code="""
def causal_mask(length, device=None):
    return torch.tril(torch.ones(length, length, device=device))
""",
    ),
    Case(  # D14
        "causal-mask-int",
        todo="mask",
        mistake="causal-mask-not-bool",
        shown_by="dtype",
        code="""
def causal_mask(length, device=None):
    i = torch.arange(length, device=device)
    return (i[:, None] >= i).long()
""",
    ),
    Case(  # D14, C17
        "causal-mask-uint8",
        todo="mask",
        mistake="causal-mask-not-bool",
        shown_by="dtype",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril().byte()
""",
    ),
    Case(  # D8
        "causal-mask-fixed-size",
        todo="mask",
        mistake="causal-mask-fixed-size",
        shown_by="shape",
        code="""
def causal_mask(length, device=None):
    return torch.ones(64, 64, dtype=torch.bool, device=device).tril()
""",
    ),
    Case(  # D9
        "causal-mask-capped",
        todo="mask",
        mistake="causal-mask-capped",
        shown_by="length",
        code="""
BLOCK_SIZE = 16

def causal_mask(length, device=None):
    return torch.ones(BLOCK_SIZE, BLOCK_SIZE, dtype=torch.bool, device=device).tril()[:length, :length]
""",
    ),
    Case(  # D8
        "causal-mask-extra-dimensions",
        todo="mask",
        mistake="causal-mask-extra-dimensions",
        shown_by="shape",
        code="""
def causal_mask(length, device=None):
    return torch.tril(torch.ones(length, length, device=device)).bool().view(1, 1, length, length)
""",
    ),
    Case(  # own: annotated habit of a leading batch dimension
        "causal-mask-leading-one",
        todo="mask",
        mistake="causal-mask-extra-dimensions",
        shown_by="shape",
        code="""
def causal_mask(length, device=None):
    blocked = torch.triu(torch.ones(1, length, length, device=device), diagonal=1)
    return blocked == 0
""",
    ),
    Case(  # own: off by one
        "causal-mask-one-too-small",
        todo="mask",
        mistake="causal-mask-wrong-size",
        shown_by="shape",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length - 1, length - 1, dtype=torch.bool, device=device).tril()
""",
    ),
    Case(  # own: only one row of it
        "causal-mask-one-row",
        todo="mask",
        mistake="causal-mask-wrong-size",
        shown_by="shape",
        code="""
def causal_mask(length, device=None):
    return torch.arange(length, device=device) <= torch.arange(length, device=device)
""",
    ),
    Case(  # own
        "causal-mask-device-ignored",
        todo="mask",
        mistake="causal-mask-device-ignored",
        shown_by="device",
        code="""
def causal_mask(length, device=None):
    return torch.tril(torch.ones(length, length)).bool()
""",
    ),
    Case(  # own: a device is always required
        "causal-mask-device-required",
        todo="mask",
        mistake="argument-required",
        shown_by="raises",
        code="""
def causal_mask(length, device):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
""",
    ),
    Case(  # I8
        "causal-mask-remembered",
        todo="mask",
        mistake="causal-mask-remembered",
        shown_by="state",
        code="""
_mask = None

def causal_mask(length, device=None):
    global _mask
    if _mask is None:
        _mask = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return _mask
""",
    ),
    Case(  # I8, D8: grows with the longest sequence, but is never cut
        "causal-mask-never-shrinks",
        todo="mask",
        mistake="causal-mask-remembered",
        shown_by="state",
        code="""
_biggest = torch.ones(0, 0, dtype=torch.bool)

def causal_mask(length, device=None):
    global _biggest
    if length > len(_biggest):
        _biggest = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return _biggest
""",
    ),
    # --- attention_weights: the mask has no effect
    Case(  # C1
        "mask-ignored",
        todo="mask",
        mistake="mask-ignored",
        code="""
def attention_weights(scores, mask=None):
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C3
        "mask-fill-result-dropped",
        todo="mask",
        mistake="mask-ignored",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1)
""",
    ),
    Case(  # C3: the masked tensor has another name
        "mask-other-variable",
        todo="mask",
        mistake="mask-ignored",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        masked_scores = torch.where(mask, scores, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C1: a chained index writes into a temporary
        "mask-writes-into-a-copy",
        todo="mask",
        mistake="mask-ignored",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores.clone()[~mask.expand_as(scores)] = float("-inf")
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C25: truth value of the wrong thing
        "mask-only-when-all-true",
        todo="mask",
        mistake="mask-ignored",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None and bool(mask.all()):
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # L5, C25
        "mask-condition-reversed",
        todo="mask",
        mistake="mask-condition-reversed",
        code="""
def attention_weights(scores, mask=None):
    if mask is None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # L5
        "mask-none-crashes",
        todo="mask",
        mistake="mask-none-crashes",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
""",
    ),
    Case(  # L5
        "mask-required",
        todo="mask",
        mistake="argument-required",
        shown_by="raises",
        code="""
def attention_weights(scores, mask):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # L5: the truth value of a tensor
        "mask-truth-value",
        todo="mask",
        mistake="mask-truth-value",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    if mask:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    # --- attention_weights: polarity
    Case(  # C2
        "mask-inverted",
        todo="mask",
        mistake="mask-inverted",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C2
        "mask-inverted-where",
        todo="mask",
        mistake="mask-inverted",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, torch.full_like(scores, -1e9), scores)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C15
        "mask-inverted-additive",
        todo="mask",
        mistake="mask-inverted",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + mask.to(scores.dtype) * -1e9
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C2: two negations
        "mask-inverted-twice-negated",
        todo="mask",
        mistake="mask-inverted",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        blocked = ~mask
        scores = scores.masked_fill(blocked == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    # --- attention_weights: what is filled in
    Case(  # C4
        "fill-zero",
        todo="mask",
        mistake="fill-zero",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, 0.0)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C4
        "scores-times-mask",
        todo="mask",
        mistake="fill-zero",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores * mask
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C5
        "fill-minus-1e-9",
        todo="mask",
        mistake="fill-zero",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e-9)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C5: the smallest positive number for the most negative one
        "fill-finfo-tiny",
        todo="mask",
        mistake="fill-zero",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).tiny)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C5: additive, exponent sign
        "add-minus-1e-9",
        todo="mask",
        mistake="mask-ignored",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + (1 - mask.to(scores.dtype)) * -1e-9
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C6
        "fill-minus-1",
        todo="mask",
        mistake="fill-weak",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C6
        "fill-minus-5",
        todo="mask",
        mistake="fill-weak",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, -5.0)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C6
        "fill-minus-10",
        todo="mask",
        mistake="fill-weak",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -10.0)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C6
        "add-minus-10",
        todo="mask",
        mistake="add-weak",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores - 10.0 * (~mask)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C7
        "fill-minus-50",
        todo="mask",
        mistake="fill-weak",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -50.0)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C7
        "fill-minus-100",
        todo="mask",
        mistake="fill-weak",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, -100.0)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C7
        "fill-minus-1000",
        todo="mask",
        mistake="fill-weak",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e3)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C7
        "add-minus-100",
        todo="mask",
        mistake="add-weak",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * -100.0
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # own: five below the smallest score
        "fill-relative-to-minimum",
        todo="mask",
        mistake="fill-relative-to-minimum",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, scores.min().item() - 5)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C9
        "fill-plus-inf",
        todo="mask",
        mistake="fill-plus-inf",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C9
        "fill-plus-1e9",
        todo="mask",
        mistake="fill-plus-large",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, 1e9)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C9
        "fill-nan",
        todo="mask",
        mistake="fill-plus-inf",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("nan"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C12
        "mask-added",
        todo="mask",
        mistake="mask-added",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + mask
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C13
        "mask-added-as-float",
        todo="mask",
        mistake="mask-added",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.add(scores, mask.to(scores.dtype) - 1)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C14
        "mask-zero-times-inf",
        todo="mask",
        mistake="mask-zero-times-inf",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + (1 - mask.to(scores.dtype)) * float("-inf")
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C17
        "mask-not-of-integers",
        todo="mask",
        mistake="mask-not-of-integers",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where((~mask.int()).bool(), -1e9, scores)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C19
        "mask-guessed-from-zero-scores",
        todo="mask",
        mistake="mask-guessed-from-zero-scores",
        shown_by="zero scores",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores * mask
        scores = scores.masked_fill(scores == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    # --- attention_weights: when it is applied
    Case(  # C10
        "mask-after-softmax",
        todo="mask",
        mistake="mask-after-softmax",
        code="""
def attention_weights(scores, mask=None):
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights
""",
    ),
    Case(  # C10
        "mask-after-softmax-fill",
        todo="mask",
        mistake="mask-after-softmax",
        code="""
def attention_weights(scores, mask=None):
    weights = torch.softmax(scores, dim=-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)
""",
    ),
    Case(  # C10
        "mask-after-exp-only",
        todo="mask",
        mistake="mask-after-softmax",
        code="""
def attention_weights(scores, mask=None):
    top = scores.amax(-1, keepdim=True)
    numerator = torch.exp(scores - top)
    denominator = numerator.sum(-1, keepdim=True)
    if mask is not None:
        numerator = torch.where(mask, numerator, 0.0)
    return numerator / denominator
""",
    ),
    Case(  # C10
        "mask-after-softmax-with-minus-inf",
        todo="mask",
        mistake="mask-after-softmax-with-minus-inf",
        code="""
def attention_weights(scores, mask=None):
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, float("-inf"))
    return weights
""",
    ),
    Case(  # B7, C10
        "mask-after-softmax-then-softmax",
        todo="mask",
        mistake="softmax-mask-softmax",
        code="""
def attention_weights(scores, mask=None):
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, float("-inf"))
    return torch.softmax(weights, dim=-1)
""",
    ),
    Case(  # right on ordinary data, see right-variants.md
        "renormalise-after-softmax",
        todo="mask",
        mistake="renormalise-after-softmax",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights
""",
    ),
    Case(  # the same, with a guard against 0 / 0
        "renormalise-after-softmax-clamped",
        todo="mask",
        mistake="renormalise-after-softmax",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = torch.where(mask, weights, torch.zeros_like(weights))
        weights = weights / weights.sum(dim=-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
    return weights
""",
    ),
    Case(  # own: blocked keys keep a trace
        "weights-clamped",
        todo="mask",
        mistake="weights-clamped",
        shown_by="exact zero",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).clamp(min=1e-9)
""",
    ),
    Case(  # C25
        "mask-only-in-4d",
        todo="mask",
        mistake="mask-only-in-4d",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None and scores.dim() == 4:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C25
        "mask-only-when-square",
        todo="mask",
        mistake="mask-only-when-square",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None and scores.size(-1) == scores.size(-2):
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C25, E1
        "mask-only-when-same-rank",
        todo="mask",
        mistake="mask-only-when-same-rank",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None and mask.dim() == scores.dim():
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # E8
        "mask-only-for-batches",
        todo="mask",
        mistake="mask-only-for-batches",
        shown_by="B=1",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None and scores.shape[0] > 1:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C30
        "always-causal",
        todo="mask",
        mistake="always-causal",
        code="""
def attention_weights(scores, mask=None):
    past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    return torch.softmax(scores.masked_fill(~past, float("-inf")), dim=-1)
""",
    ),
    Case(  # C30
        "causal-when-no-mask",
        todo="mask",
        mistake="causal-when-no-mask",
        code="""
def attention_weights(scores, mask=None):
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
""",
    ),
    Case(  # C30: any mask is read as a wish for a causal one
        "mask-replaced-by-causal",
        todo="mask",
        mistake="mask-replaced-by-causal",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        mask = torch.ones_like(scores, dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # C27
        "mask-or-causal",
        todo="mask",
        mistake="mask-or-causal",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        mask = mask | torch.ones_like(scores, dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # own: a guard against rows that see nothing
        "mask-keeps-self",
        todo="mask",
        mistake="mask-keeps-self",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        own = torch.eye(*scores.shape[-2:], dtype=torch.bool, device=scores.device)
        scores = scores.masked_fill(~(mask | own), float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    # --- attention_weights: the mask's shape
    Case(  # D5
        "mask-transposed",
        todo="mask",
        mistake="mask-transposed",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask.transpose(-2, -1), float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # E3: finite fill, so that rows of a padded query do not turn to NaN
        "padding-on-the-query-axis",
        todo="mask",
        mistake="padding-on-the-query-axis",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        if mask.size(-2) == 1:
            mask = mask.transpose(-1, -2)
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # D12
        "mask-cut-square",
        todo="mask",
        mistake="mask-cut-square",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        length = scores.shape[-2]
        scores = scores.masked_fill(~mask[..., :length, :length], float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # E1: rank 3 is taken for one mask per sample, although it broadcasts as one per head
        "mask-rank-3-as-batch",
        todo="mask",
        mistake="mask-rank-3-as-batch",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        if mask.dim() == 3 and scores.dim() == 4:
            mask = mask.unsqueeze(1)
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # E1
        "mask-unsqueezed-for-heads",
        todo="mask",
        mistake="mask-unsqueezed-for-heads",
        shown_by="shape",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # E5
        "mask-of-the-first-sample",
        todo="mask",
        mistake="mask-of-the-first-sample",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        if mask.dim() > 2:
            mask = mask[:1]
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # E5
        "mask-of-the-first-everything",
        todo="mask",
        mistake="mask-of-the-first-everything",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        mask = mask.reshape(-1, *mask.shape[-2:])[0]
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # E5, per head
        "mask-of-the-first-head",
        todo="mask",
        mistake="mask-of-the-first-head",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        if mask.dim() == 4:
            mask = mask[:, :1]
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # own: one row of the mask for all queries
        "mask-of-the-last-query",
        todo="mask",
        mistake="mask-of-the-last-query",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask[..., -1:, :], float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # own: a key is open for all as soon as one query may see it
        "mask-any-query-sees",
        todo="mask",
        mistake="mask-any-query-sees",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        seen = mask.any(dim=-2, keepdim=True)
        scores = scores.masked_fill(~seen, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # own: two mistakes of TODO 1 that undo each other in the whole
        "causal-mask-and-mask-both-inverted",
        todo="mask",
        mistake=("causal-mask-inverted", "mask-inverted"),
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).triu(1).bool()

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
]
