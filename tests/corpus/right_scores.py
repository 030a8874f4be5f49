"""Right ways to compare queries with keys, and to scale."""

from . import Case

CASES = [
    Case(
        "scores-matmul-mT",
        code="""
def attention_scores(q, k):
    return torch.matmul(q, k.mT) / math.sqrt(q.size(-1))
""",
    ),
    Case(
        "scores-permute",
        code="""
def attention_scores(query, key):
    last = key.dim() - 1
    order = list(range(last - 1)) + [last, last - 1]
    return torch.matmul(query, key.permute(*order)) / query.shape[-1] ** 0.5
""",
    ),
    Case(
        "scores-swapaxes-numpy-root",
        code="""
import numpy as np

def attention_scores(query, key):
    return query @ key.swapaxes(-1, -2) / np.sqrt(key.shape[-1])
""",
    ),
    Case(
        "scores-numpy-root-in-front",
        code="""
import numpy as np

def attention_scores(query, key):
    scale = 1 / np.sqrt(query.shape[-1])
    return scale * (query @ key.transpose(-1, -2))
""",
    ),
    Case(
        "scores-einsum",
        code="""
def attention_scores(query, key):
    return torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-einsum-key-first",
        code="""
def attention_scores(query, key):
    d = key.shape[-1]
    return torch.einsum("...jc,...ic->...ij", key, query).mul(d**-0.5)
""",
    ),
    Case(
        "scores-einsum-sublists",
        code="""
def attention_scores(query, key):
    scores = torch.einsum(query, [..., 0, 2], key, [..., 1, 2], [..., 0, 1])
    return scores / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-key-times-query-transposed-back",
        code="""
def attention_scores(query, key):
    return (key @ query.transpose(-2, -1)).transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-broadcast-and-sum",
        code="""
def attention_scores(query, key):
    products = query.unsqueeze(-2) * key.unsqueeze(-3)
    return products.sum(dim=-1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-mean-times-root",
        code="""
def attention_scores(query, key):
    products = query[..., :, None, :] * key[..., None, :, :]
    return products.mean(dim=-1) * math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-baddbmm",
        code="""
def attention_scores(query, key):
    q, k = query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *key.shape[-2:])
    start = torch.empty(q.shape[0], q.shape[1], k.shape[1], dtype=q.dtype, device=q.device)
    out = torch.baddbmm(start, q, k.transpose(1, 2), beta=0, alpha=q.shape[-1] ** -0.5)
    return out.reshape(*query.shape[:-1], key.shape[-2])
""",
    ),
    Case(
        "scores-bmm-of-folded-batch",
        code="""
def attention_scores(query, key):
    *lead, length_q, d_k = query.shape
    length_k = key.size(-2)
    scores = torch.bmm(query.reshape(-1, length_q, d_k), key.reshape(-1, length_k, d_k).transpose(1, 2))
    return scores.view(*lead, length_q, length_k) / math.sqrt(d_k)
""",
    ),
    Case(
        "scores-tensordot-per-slice",
        code="""
def attention_scores(query, key):
    q, k = query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *key.shape[-2:])
    slices = [torch.tensordot(a, b, dims=([1], [1])) for a, b in zip(q, k)]
    return torch.stack(slices).reshape(*query.shape[:-1], key.shape[-2]) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-loop-over-queries",
        code="""
def attention_scores(query, key):
    rows = []
    for i in range(query.shape[-2]):
        rows.append((key * query[..., i : i + 1, :]).sum(-1))
    return torch.stack(rows, dim=-2) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-loop-over-keys",
        code="""
def attention_scores(query, key):
    columns = [(query @ key[..., j, :, None]).squeeze(-1) for j in range(key.shape[-2])]
    return torch.stack(columns, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-loop-over-features",
        code="""
def attention_scores(query, key):
    d_k = query.shape[-1]
    scores = 0
    for f in range(d_k):
        scores = scores + query[..., :, None, f] * key[..., None, :, f]
    return scores / math.sqrt(d_k)
""",
    ),
    Case(
        "scores-filled-into-a-buffer",
        code="""
def attention_scores(query, key):
    out = query.new_zeros(*query.shape[:-1], key.shape[-2])
    for i in range(query.shape[-2]):
        for j in range(key.shape[-2]):
            out[..., i, j] = (query[..., i, :] * key[..., j, :]).sum(dim=-1)
    return out / query.shape[-1] ** 0.5
""",
    ),
    Case(
        "scores-vmap",
        code="""
def attention_scores(query, key):
    one_query = lambda q: (key @ q.unsqueeze(-1)).squeeze(-1)
    scores = torch.vmap(one_query, in_dims=-2, out_dims=-2)(query)
    return scores / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-linear",
        code="""
def attention_scores(query, key):
    q, k = query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *key.shape[-2:])
    scores = torch.stack([nn.functional.linear(a, b) for a, b in zip(q, k)])
    return scores.reshape(*query.shape[:-1], key.shape[-2]).div(math.sqrt(query.shape[-1]))
""",
    ),
    Case(
        "scores-squared-distances",
        code="""
def attention_scores(query, key):
    distance = (query.unsqueeze(-2) - key.unsqueeze(-3)).pow(2).sum(-1)
    norms = query.pow(2).sum(-1).unsqueeze(-1) + key.pow(2).sum(-1).unsqueeze(-2)
    return (norms - distance) / (2 * math.sqrt(query.shape[-1]))
""",
    ),
    Case(
        "scores-contiguous-copies",
        code="""
def attention_scores(query, key):
    return query.contiguous() @ key.transpose(-2, -1).contiguous() / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-float64-and-back",
        code="""
def attention_scores(query, key):
    scores = query.double() @ key.double().transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.to(query.dtype)
""",
    ),
    Case(
        "scores-own-backward",
        code="""
class Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key):
        ctx.save_for_backward(query, key)
        return query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5

    @staticmethod
    def backward(ctx, grad):
        query, key = ctx.saved_tensors
        grad = grad * query.shape[-1] ** -0.5
        return grad @ key, grad.transpose(-2, -1) @ query

def attention_scores(query, key):
    return Scores.apply(query, key)
""",
    ),
    # --- scale
    Case(
        "scale-on-query",
        code="""
def attention_scores(query, key):
    query = query / math.sqrt(query.shape[-1])
    return query @ key.transpose(-2, -1)
""",
    ),
    Case(
        "scale-on-key",
        code="""
def attention_scores(query, key):
    return query @ (key * key.shape[-1] ** -0.5).transpose(-2, -1)
""",
    ),
    Case(
        "scale-fourth-root-on-both",
        code="""
def attention_scores(query, key):
    s = query.shape[-1] ** -0.25
    return (query * s) @ (key * s).transpose(-2, -1)
""",
    ),
    Case(
        "scale-root-of-root-on-both",
        code="""
def attention_scores(query, key):
    s = math.sqrt(math.sqrt(query.shape[-1]))
    return (query / s) @ (key / s).mT
""",
    ),
    Case(
        "scale-power",
        code="""
def attention_scores(query, key):
    return (query @ key.transpose(-2, -1)) * (query.shape[-1] ** -0.5)
""",
    ),
    Case(
        "scale-math-pow",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.pow(query.shape[-1], 0.5)
""",
    ),
    Case(
        "scale-tensor-root-of-same-dtype",
        code="""
def attention_scores(query, key):
    d_k = torch.tensor(query.shape[-1], dtype=query.dtype, device=query.device)
    return query @ key.transpose(-2, -1) / torch.sqrt(d_k)
""",
    ),
    Case(
        "scale-tensor-rsqrt-of-same-dtype",
        code="""
def attention_scores(query, key):
    return query @ key.mT * query.new_tensor(query.shape[-1]).rsqrt()
""",
    ),
    Case(
        "scale-in-place-on-own-tensor",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1)
    scores /= math.sqrt(query.shape[-1])
    return scores
""",
    ),
    Case(
        "scale-in-place-on-own-copy",
        code="""
def attention_scores(query, key):
    query = query.clone()
    query *= query.shape[-1] ** -0.5
    return query @ key.transpose(-2, -1)
""",
    ),
    Case(
        "scale-default-argument",
        code="""
def attention_scores(query, key, scale=None):
    scale = scale or 1 / math.sqrt(key.shape[-1])
    return torch.mul(query @ key.transpose(-2, -1), scale)
""",
    ),
    Case(
        "scale-exp-of-half-log",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.exp(0.5 * math.log(query.shape[-1]))
""",
    ),
    Case(
        "scale-decimal-root",
        code="""
from decimal import Decimal

def attention_scores(query, key):
    root = float(Decimal(query.shape[-1]).sqrt())
    return torch.matmul(query, torch.transpose(key, -2, -1)) / root
""",
    ),
    Case(
        "scale-linalg-norm-of-ones",
        code="""
def attention_scores(query, key):
    root = torch.ones(query.shape[-1], dtype=query.dtype, device=query.device).norm()
    return query @ key.transpose(-2, -1) / root
""",
    ),
]
