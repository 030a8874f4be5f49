"""Softmaxes over the wrong axis, of the wrong form, or that break when scores are large."""

from . import Case

CASES = [
    # --- axis
    Case(  # B1
        "softmax-over-queries",
        todo="mask",
        mistake="softmax-over-queries",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-2)
""",
    ),
    Case(  # B1, B2: an absolute dim that was right for rank 3
        "softmax-dim-2",
        todo="mask",
        mistake="softmax-over-queries",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=2)
""",
    ),
    Case(  # B12: sum over the wrong axis
        "softmax-sum-over-queries",
        todo="mask",
        mistake="softmax-over-queries",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores)
    return e / e.sum(dim=-2, keepdim=True)
""",
    ),
    Case(  # B2
        "softmax-over-heads",
        todo="mask",
        mistake="softmax-over-heads",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(dim=1)
""",
    ),
    Case(  # B2
        "softmax-dim-minus-3",
        todo="mask",
        mistake="softmax-over-heads",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, -1e9)
    return nn.Softmax(dim=-3)(scores)
""",
    ),
    Case(  # B3
        "softmax-over-batch",
        todo="mask",
        mistake="softmax-over-batch",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return torch.softmax(scores, dim=0)
""",
    ),
    Case(  # B4: rank 4 takes dim 1, rank 3 takes dim 0
        "softmax-dim-omitted",
        todo="mask",
        mistake="softmax-dim-omitted",
        code="""
import warnings

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nn.functional.softmax(scores)
""",
    ),
    Case(  # B5
        "softmax-over-matrix",
        todo="mask",
        mistake="softmax-over-matrix",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores.flatten(-2), dim=-1).reshape(scores.shape)
""",
    ),
    Case(  # B5
        "softmax-over-everything",
        todo="mask",
        mistake="softmax-over-everything",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.max())
    return e / e.sum()
""",
    ),
    Case(  # B12
        "softmax-keepdim-missing",
        todo="mask",
        mistake="softmax-keepdim-missing",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.max())
    return e / e.sum(dim=-1)
""",
    ),
    Case(  # B12
        "softmax-max-over-queries",
        todo="mask",
        mistake="softmax-max-over-queries",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    e = torch.exp(scores - scores.max(dim=-2, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    # --- form
    Case(  # B7
        "softmax-twice",
        todo="mask",
        mistake="softmax-twice",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, float("-inf"))
    return torch.softmax(weights, dim=-1)
""",
    ),
    Case(  # B7: the second one sees the future
        "softmax-twice-unmasked",
        todo="mask",
        mistake="softmax-twice-unmasked",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1).softmax(-1)
""",
    ),
    Case(  # B9
        "log-softmax",
        todo="mask",
        mistake="log-softmax",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.log_softmax(scores, dim=-1)
""",
    ),
    Case(  # own
        "exp-not-normalised",
        todo="mask",
        mistake="exp-not-normalised",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.exp(scores - scores.amax(dim=-1, keepdim=True))
""",
    ),
    Case(  # own
        "normalised-without-exp",
        todo="mask",
        mistake="normalised-without-exp",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores * mask
    return scores / scores.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # B17
        "sigmoid-for-softmax",
        todo="mask",
        mistake="sigmoid-for-softmax",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.sigmoid(scores)
""",
    ),
    Case(  # B17
        "relu-for-exp",
        todo="mask",
        mistake="relu-for-exp",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    positive = torch.relu(scores)
    return positive / positive.sum(dim=-1, keepdim=True).clamp_min(1e-9)
""",
    ),
    Case(  # own
        "exp2-for-exp",
        todo="mask",
        mistake="softmax-base-2",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp2(scores - scores.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)
""",
    ),
    Case(  # own
        "weights-l2-normalised",
        todo="mask",
        mistake="weights-l2-normalised",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return nn.functional.normalize(e, dim=-1)
""",
    ),
    Case(  # B13
        "softmax-plus-one",
        todo="mask",
        mistake="softmax-plus-one",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores)
    return e / (1 + e.sum(dim=-1, keepdim=True))
""",
    ),
    Case(  # B13, with the one not shifted
        "softmax-plus-one-shifted",
        todo="mask",
        mistake="softmax-plus-one-shifted",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e / (1 + e.sum(dim=-1, keepdim=True))
""",
    ),
    Case(  # B14
        "eps-1e-3",
        todo="mask",
        mistake="softmax-eps",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e / (e.sum(dim=-1, keepdim=True) + 1e-3)
""",
    ),
    Case(  # B14
        "eps-1e-6",
        todo="mask",
        mistake="softmax-eps",
        shown_by="float64",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e / (e.sum(dim=-1, keepdim=True) + 1e-6)
""",
    ),
    Case(  # B14
        "eps-1e-9",
        todo="mask",
        mistake="softmax-eps",
        shown_by="float64",
        code="""
EPS = 1e-9

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True)[0])
    return e / (e.sum(dim=-1, keepdim=True) + EPS)
""",
    ),
    Case(  # B14
        "eps-1e-12",
        todo="mask",
        mistake="softmax-eps",
        shown_by="float64",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True)[0])
    return e / (e.sum(dim=-1, keepdim=True) + 1e-12)
""",
    ),
    Case(  # B15
        "hard-attention",
        todo="mask",
        mistake="hard-attention",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    best = scores.argmax(dim=-1)
    return nn.functional.one_hot(best, scores.shape[-1]).to(scores.dtype)
""",
    ),
    Case(  # B15
        "hard-attention-by-comparison",
        todo="mask",
        mistake="hard-attention",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return (scores == scores.amax(dim=-1, keepdim=True)).to(scores.dtype)
""",
    ),
    Case(  # own
        "top-two-only",
        todo="mask",
        mistake="top-k-only",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    k = min(2, scores.shape[-1])
    threshold = scores.topk(k, dim=-1).values[..., -1:]
    return torch.softmax(scores.masked_fill(scores < threshold, float("-inf")), dim=-1)
""",
    ),
    Case(  # B16
        "uniform-weights",
        todo="mask",
        mistake="uniform-weights",
        code="""
def attention_weights(scores, mask=None):
    allowed = torch.ones_like(scores) if mask is None else mask.expand_as(scores).to(scores.dtype)
    return allowed / allowed.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # B16: softmax of the mask alone
        "uniform-weights-softmax-of-mask",
        todo="mask",
        mistake="uniform-weights",
        code="""
def attention_weights(scores, mask=None):
    logits = torch.zeros_like(scores)
    if mask is not None:
        logits = logits.masked_fill(~mask, float("-inf"))
    return torch.softmax(logits, dim=-1)
""",
    ),
    Case(  # B17
        "softmin",
        todo="mask",
        mistake="softmin",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("inf"))
    return nn.functional.softmin(scores, dim=-1)
""",
    ),
    Case(  # own
        "one-minus-softmax",
        todo="mask",
        mistake="one-minus-softmax",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return 1 - torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # B20
        "weights-divided-by-length",
        todo="mask",
        mistake="weights-divided-by-length",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) / scores.shape[-1]
""",
    ),
    Case(  # A1, A9: a second scale in the softmax
        "weights-temperature",
        todo="mask",
        mistake="softmax-temperature",
        code="""
def attention_weights(scores, mask=None, temperature=0.5):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores / temperature, dim=-1)
""",
    ),
    Case(  # A10: scaled again, by the number of keys
        "weights-scaled-by-keys",
        todo="mask",
        mistake="softmax-scaled-by-length",
        code="""
def attention_weights(scores, mask=None):
    scores = scores / math.sqrt(scores.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # own
        "weights-rounded",
        todo="mask",
        mistake="weights-rounded",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).round(decimals=4)
""",
    ),
    Case(  # own
        "weights-thresholded",
        todo="mask",
        mistake="weights-thresholded",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.where(weights > 0.1, weights, 0.0)
""",
    ),
    Case(  # own: the row is made to sum to 1 once more, over the queries (Sinkhorn-like)
        "weights-normalised-over-queries-too",
        todo="mask",
        mistake="weights-normalised-over-queries-too",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights / weights.sum(dim=-2, keepdim=True)
""",
    ),
    Case(  # own: softmax of a transposed copy, not transposed back
        "weights-transposed",
        todo="mask",
        mistake="weights-transposed",
        shown_by="shape",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).transpose(-2, -1)
""",
    ),
    Case(  # L3
        "softmax-dim-3",
        todo="mask",
        mistake="fixed-rank",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=3)
""",
    ),
    # --- large scores
    Case(  # B10
        "softmax-without-max",
        todo="mask",
        mistake="softmax-without-max",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores)
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # B10: exp, then the mask as zeros
        "softmax-without-max-mask-times-exp",
        todo="mask",
        mistake="softmax-without-max",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    e = scores.exp()
    if mask is not None:
        e = e * mask
    return e / e.sum(-1, True)
""",
    ),
    Case(  # B10: NaN is swept under the carpet
        "softmax-without-max-nan-to-num",
        todo="mask",
        mistake="softmax-without-max",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores)
    return torch.nan_to_num(e / e.sum(dim=-1, keepdim=True))
""",
    ),
    Case(  # B10: log of a sum of exp is no logsumexp
        "log-of-sum-of-exp",
        todo="mask",
        mistake="softmax-without-max",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.exp(scores - torch.log(torch.exp(scores).sum(dim=-1, keepdim=True)))
""",
    ),
    Case(  # B12
        "softmax-global-max",
        todo="mask",
        mistake="softmax-global-max",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.max())
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # own: the largest score may be a blocked one
        "softmax-max-before-mask",
        todo="mask",
        mistake="renormalise-after-softmax",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    if mask is not None:
        e = e.masked_fill(~mask, 0.0)
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # own
        "softmax-mean-for-max",
        todo="mask",
        mistake="softmax-wrong-shift",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    e = torch.exp(scores - scores.mean(dim=-1, keepdim=True))
    if mask is not None:
        e = e * mask
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # own
        "softmax-min-for-max",
        todo="mask",
        mistake="softmax-wrong-shift",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    e = torch.exp(scores - scores.amin(dim=-1, keepdim=True))
    if mask is not None:
        e = e * mask
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # own: wrong for rows whose scores are all far below zero
        "softmax-abs-max",
        todo="mask",
        mistake="softmax-wrong-shift",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    top = scores.abs().amax(dim=-1, keepdim=True)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - top)
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # own
        "scores-clamped",
        todo="mask",
        mistake="scores-clamped",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    scores = scores.clamp(-50, 50)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # own
        "exponent-clamped",
        todo="mask",
        mistake="scores-clamped",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores.clamp(max=80.0))
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    # --- precision
    Case(  # K3
        "softmax-in-half",
        todo="mask",
        mistake="half-inside",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores.half(), dim=-1).to(scores.dtype)
""",
    ),
    Case(  # K3
        "softmax-in-bfloat16",
        todo="mask",
        mistake="half-inside",
        code="""
def attention_weights(scores, mask=None):
    dtype = scores.dtype
    scores = scores.bfloat16()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).to(dtype)
""",
    ),
    Case(  # right-variants.md: to 1e-7, loses tier 4
        "softmax-in-float32",
        todo="mask",
        mistake="float32-inside",
        shown_by="float64",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return nn.functional.softmax(scores, dim=-1, dtype=torch.float32).type_as(scores)
""",
    ),
    Case(  # the same, by hand
        "exp-in-float32",
        todo="mask",
        mistake="float32-inside",
        shown_by="float64",
        code="""
def attention_weights(scores, mask=None):
    s = scores.float()
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return torch.softmax(s, dim=-1).to(scores.dtype)
""",
    ),
    Case(  # own: 2 ** (x log2 e) with the constant cut short
        "log2-e-cut-short",
        todo="mask",
        mistake="constant-cut-short",
        shown_by="float64",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp2((scores - scores.amax(-1, keepdim=True)) * 1.44269504)
    return e / e.sum(-1, keepdim=True)
""",
    ),
    # --- inside a rewritten scaled_dot_product_attention
    Case(  # B19
        "online-softmax-without-rescaling",
        mistake="online-softmax-without-rescaling",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    output, total, top = 0.0, 0.0, torch.full_like(scores[..., :1], -1e30)
    for start in range(0, scores.shape[-1], 2):
        tile = scores[..., start : start + 2]
        top = torch.maximum(top, tile.amax(dim=-1, keepdim=True))
        e = torch.exp(tile - top)
        output = output + e @ value[..., start : start + 2, :]
        total = total + e.sum(dim=-1, keepdim=True)
    return output / total, torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # B19: the sum is rescaled, the output is not
        "online-softmax-output-not-rescaled",
        mistake="online-softmax-output-not-rescaled",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    output, total, top = 0.0, 0.0, torch.full_like(scores[..., :1], -1e30)
    for j in range(scores.shape[-1]):
        s = scores[..., j : j + 1]
        new_top = torch.maximum(top, s)
        e = torch.exp(s - new_top)
        output = output + e * value[..., j : j + 1, :]
        total = total * torch.exp(top - new_top) + e
        top = new_top
    return output / total, torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # F19
        "last-tile-dropped",
        mistake="last-tile-dropped",
        code="""
TILE = 4

def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    output = torch.zeros(*weights.shape[:-1], value.shape[-1], dtype=value.dtype, device=value.device)
    for tile in range(key.shape[-2] // TILE):
        keys = slice(tile * TILE, (tile + 1) * TILE)
        output = output + weights[..., keys] @ value[..., keys, :]
    return output, weights
""",
    ),
    Case(  # F19: shows beyond 16 keys alone
        "last-tile-dropped-when-long",
        mistake="last-tile-dropped",
        shown_by="length",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    n = key.shape[-2]
    n = n if n <= 16 else n // 16 * 16
    return weights[..., :n] @ value[..., :n, :], weights
""",
    ),
]
