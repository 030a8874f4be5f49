"""Right ways to write a softmax over the keys."""

from . import Case

_MASKED = """
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
"""

CASES = [
    Case("softmax-functional", code=_MASKED + "    return nn.functional.softmax(scores, dim=-1)\n"),
    Case("softmax-layer", code=_MASKED + "    return nn.Softmax(dim=-1)(scores)\n"),
    Case("softmax-method", code=_MASKED + "    return scores.softmax(dim=-1)\n"),
    Case("softmax-last-dim-by-number", code=_MASKED + "    return scores.softmax(dim=scores.dim() - 1)\n"),
    Case(
        "softmax-in-its-own-dtype",
        code=_MASKED + "    return torch.softmax(scores, -1, dtype=scores.dtype)\n",
    ),
    Case("softmax-exp-of-log-softmax", code=_MASKED + "    return torch.log_softmax(scores, dim=-1).exp()\n"),
    Case("softmin-of-negated", code=_MASKED + "    return nn.functional.softmin(-scores, dim=-1)\n"),
    Case(
        "softmax-of-transposed-columns",
        code=_MASKED + "    return torch.softmax(scores.transpose(-2, -1), dim=-2).transpose(-2, -1)\n",
    ),
    Case(
        "softmax-float64-and-back",
        code=_MASKED + "    return torch.softmax(scores, dim=-1, dtype=torch.float64).to(scores.dtype)\n",
    ),
    Case(
        "softmax-by-hand",
        code=_MASKED
        + """
    shifted = scores - scores.max(dim=-1, keepdim=True).values
    e = torch.exp(shifted)
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(
        "softmax-by-hand-max-detached",
        code=_MASKED
        + """
    e = (scores - scores.detach().amax(-1, True)).exp()
    return e / e.sum(-1, True)
""",
    ),
    Case(
        "softmax-by-hand-max-under-no-grad",
        code=_MASKED
        + """
    with torch.no_grad():
        top = torch.max(scores, dim=-1)[0].unsqueeze(-1)
    e = torch.exp(scores - top)
    return torch.div(e, torch.sum(e, dim=-1).unsqueeze(-1))
""",
    ),
    Case(
        "softmax-by-hand-reciprocal",
        code=_MASKED
        + """
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e * e.sum(dim=-1, keepdim=True).reciprocal()
""",
    ),
    Case(
        "softmax-by-hand-sum-as-matmul",
        code=_MASKED
        + """
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e / (e @ torch.ones_like(e[..., :1, :]).transpose(-2, -1))
""",
    ),
    Case(
        "softmax-by-hand-einsum",
        code=_MASKED
        + """
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return torch.einsum("...qk,...q->...qk", e, 1 / torch.einsum("...qk->...q", e))
""",
    ),
    Case(
        "softmax-exp2",
        code=_MASKED
        + """
    e = torch.exp2((scores - scores.amax(dim=-1, keepdim=True)) * math.log2(math.e))
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(
        "softmax-logsumexp",
        code=_MASKED + "    return torch.exp(scores - torch.logsumexp(scores, dim=-1, keepdim=True))\n",
    ),
    Case(
        "softmax-logaddexp-loop",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    total = scores[..., 0]
    for j in range(1, scores.shape[-1]):
        total = torch.logaddexp(total, scores[..., j])
    return torch.exp(scores - total.unsqueeze(-1))
""",
    ),
    Case(
        "softmax-row-by-row",
        code=_MASKED
        + """
    rows = [torch.softmax(scores[..., i, :], dim=-1) for i in range(scores.shape[-2])]
    return torch.stack(rows, dim=-2)
""",
    ),
    Case(
        "softmax-matrix-by-matrix",
        code=_MASKED
        + """
    flat = scores.reshape(-1, *scores.shape[-2:])
    return torch.stack([torch.softmax(matrix, dim=1) for matrix in flat]).reshape(scores.shape)
""",
    ),
    Case(
        "softmax-flat-rows",
        code=_MASKED
        + """
    return torch.softmax(scores.reshape(-1, scores.shape[-1]), dim=1).reshape(scores.shape)
""",
    ),
    Case(
        "softmax-masked-numerator-and-max",
        code="""
def attention_weights(scores, mask=None):
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    safe = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    e = torch.exp(safe - safe.amax(dim=-1, keepdim=True)) * mask
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(
        "softmax-allowed-keys-alone",
        code="""
def attention_weights(scores, mask=None):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    flat = scores.reshape(-1, scores.shape[-1])
    seen = mask.expand_as(scores).reshape(-1, scores.shape[-1])
    rows = []
    for row, allowed in zip(flat, seen):
        rows.append(torch.zeros_like(row).masked_scatter(allowed, torch.softmax(row[allowed], dim=0)))
    return torch.stack(rows).reshape(scores.shape)
""",
    ),
    Case(
        "softmax-pairwise-differences",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    difference = scores.unsqueeze(-2) - scores.unsqueeze(-1)  # (..., q, k, j): s_j - s_k
    return torch.exp(-torch.logsumexp(difference, dim=-1))
""",
    ),
    Case(
        "softmax-running",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    top, total = scores[..., :1], torch.ones_like(scores[..., :1])
    for j in range(1, scores.shape[-1]):
        s = scores[..., j : j + 1]
        new_top = torch.maximum(top, s)
        total = total * torch.exp(top - new_top) + torch.exp(s - new_top)
        top = new_top
    return torch.exp(scores - top) / total
""",
    ),
    Case(
        "softmax-own-backward",
        code="""
class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        weights = torch.softmax(scores, dim=-1)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        return weights * (grad - (grad * weights).sum(dim=-1, keepdim=True))

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return Softmax.apply(scores)
""",
    ),
    Case(
        "softmax-vmap",
        code=_MASKED
        + """
    over_rows = torch.vmap(lambda row: torch.softmax(row, dim=0))
    return over_rows(scores.reshape(-1, scores.shape[-1])).reshape(scores.shape)
""",
    ),
    Case(
        "softmax-helper-function",
        code="""
def _stable_softmax(x, axis):
    x = x - torch.amax(x, dim=axis, keepdim=True)
    num = torch.exp(x)
    return num / torch.sum(num, dim=axis, keepdim=True)

def attention_weights(s, m=None):
    return _stable_softmax(s if m is None else s.masked_fill(~m, -1e12), axis=-1)
""",
    ),
    Case(
        "softmax-partial",
        code="""
from functools import partial

_over_keys = partial(torch.softmax, dim=-1)

def attention_weights(scores, mask=None):
    return _over_keys(scores) if mask is None else _over_keys(scores.masked_fill(~mask, -torch.inf))
""",
    ),
    Case(
        "softmax-clamped-denominator",
        code=_MASKED
        + """
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True).clamp(min=1e-9)
""",
    ),
]
