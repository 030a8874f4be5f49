"""Right ways to build the causal mask and to apply a mask."""

from . import Case

CASES = [
    # --- causal_mask
    Case(
        "causal-tril-of-floats-to-bool",
        code="""
def causal_mask(length, device=None):
    return torch.tril(torch.ones(length, length, device=device)).bool()
""",
    ),
    Case(
        "causal-tril-in-place",
        code="""
def causal_mask(length, device=None):
    return torch.ones((length, length), dtype=torch.bool, device=device).tril_()
""",
    ),
    Case(
        "causal-not-triu-1",
        code="""
def causal_mask(length, device=None):
    blocked = torch.triu(torch.ones(length, length, dtype=torch.bool, device=device), diagonal=1)
    return ~blocked
""",
    ),
    Case(
        "causal-triu-1-equals-zero",
        code="""
def causal_mask(length, device=None):
    shape = (1, length, length)
    return (torch.triu(torch.ones(shape, device=device), diagonal=1) == 0)[0]
""",
    ),
    Case(
        "causal-arange",
        code="""
def causal_mask(length, device=None):
    i = torch.arange(length, device=device)
    return i[:, None] >= i[None, :]
""",
    ),
    Case(
        "causal-arange-le",
        code="""
def causal_mask(size, device=None):
    pos = torch.arange(size, device=device)
    return pos.unsqueeze(0).le(pos.unsqueeze(1))
""",
    ),
    Case(
        "causal-difference-of-positions",
        code="""
def causal_mask(length, device=None):
    rows = torch.arange(length, device=device).view(-1, 1)
    return (rows - rows.T) > -1
""",
    ),
    Case(
        "causal-meshgrid",
        code="""
def causal_mask(length, device=None):
    r = torch.arange(length, device=device)
    row, col = torch.meshgrid(r, r, indexing="ij")
    return col <= row
""",
    ),
    Case(
        "causal-cumsum-of-eye",
        code="""
def causal_mask(length, device=None):
    return torch.eye(length, device=device).cumsum(dim=0) > 0
""",
    ),
    Case(
        "causal-tril-indices",
        code="""
def causal_mask(length, device=None):
    mask = torch.zeros(length, length, dtype=torch.bool, device=device)
    i, j = torch.tril_indices(length, length, device=device)
    mask[i, j] = True
    return mask
""",
    ),
    Case(
        "causal-additive-turned-to-bool",
        code="""
def causal_mask(length, device=None):
    additive = torch.full((length, length), float("-inf"), device=device).triu(1)
    return additive == 0
""",
    ),
    Case(
        "causal-list-comprehension",
        code="""
def causal_mask(length, device=None):
    return torch.tensor([[j <= i for j in range(length)] for i in range(length)], device=device)
""",
    ),
    Case(
        "causal-loops",
        code="""
def causal_mask(length, device=None):
    mask = torch.zeros(length, length, device=device, dtype=torch.bool)
    for i in range(length):
        for j in range(length):
            if j > i:
                continue
            mask[i, j] = True
    return mask
""",
    ),
    Case(
        "causal-row-slices",
        code="""
def causal_mask(length, device=None):
    mask = torch.full((length, length), False, device=device)
    for query in range(length):
        mask[query, : query + 1] = True
    return mask
""",
    ),
    Case(
        "causal-stack-of-rows",
        code="""
def causal_mask(length, device=None):
    keys = torch.arange(length, device=device)
    return torch.stack([keys <= i for i in range(length)])
""",
    ),
    Case(
        "causal-upper-transposed",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).triu().T
""",
    ),
    Case(
        "causal-upper-turned-by-180-degrees",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).triu().flip(0, 1)
""",
    ),
    Case(
        "causal-numpy-tri",
        code="""
import numpy as np

def causal_mask(length, device=None):
    return torch.from_numpy(np.tri(length, dtype=bool)).to(device)
""",
    ),
    Case(
        "causal-int-greater-than-zero",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.long, device=device).tril().gt(0)
""",
    ),
    Case(
        "causal-block-recursion",
        code="""
def causal_mask(length, device=None):
    if length <= 1:
        return torch.ones(length, length, dtype=torch.bool, device=device)
    half = length // 2
    mask = torch.zeros(length, length, dtype=torch.bool, device=device)
    mask[:half, :half] = causal_mask(half, device)
    mask[half:, :half] = True
    mask[half:, half:] = causal_mask(length - half, device)
    return mask
""",
    ),
    Case(
        "causal-cached",
        code="""
from functools import lru_cache

@lru_cache(maxsize=None)
def causal_mask(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()
""",
    ),
    Case(
        "causal-slice-of-a-growing-buffer",
        code="""
_buffers = {}

def causal_mask(length, device=None):
    big = _buffers.get(device)
    if big is None or big.shape[0] < length:
        big = _buffers[device] = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return big[:length, :length]
""",
    ),
    # --- attention_weights
    Case(
        "masked-fill-mask-equals-zero",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "masked-fill-logical-not",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.masked_fill(scores, mask.logical_not(), -torch.inf)
    return scores.softmax(-1)
""",
    ),
    Case(
        "masked-fill-equals-false",
        code="""
def attention_weights(scores, mask=None):
    return torch.softmax(scores if mask is None else scores.masked_fill(mask == False, -math.inf), -1)
""",
    ),
    Case(
        "masked-fill-minus-1e9",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "masked-fill-minus-1e30",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "masked-fill-minus-1e4",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e4)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "masked-fill-minus-1e6",
        code="""
NEGATIVE = -1_000_000

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, NEGATIVE)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "masked-fill-minus-1e20",
        code="""
def attention_weights(scores, mask=None):
    mask_value = -1e20
    masked = scores if mask is None else torch.where(mask, scores, mask_value)
    return torch.softmax(masked, dim=-1)
""",
    ),
    Case(
        "masked-fill-float32-min",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(torch.float32).min)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "masked-fill-finfo-min",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "additive-zero-and-minus-inf",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
        bias = bias.masked_fill(~mask, float("-inf"))
        scores = scores + bias
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "additive-one-minus-mask",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -1e9
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "additive-minus-large",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores - 1e10 * (~mask)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "additive-log-of-mask",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + torch.log(mask.to(scores.dtype))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "additive-float32-bias",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "minimum-with-a-bias",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        ceiling = torch.full_like(scores, math.inf).masked_fill(~mask, -math.inf)
        scores = torch.minimum(scores, ceiling)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "where-scalar",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "where-zero-dim-tensor",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-1e9, dtype=scores.dtype, device=scores.device))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "where-full-like",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(~mask, torch.full_like(scores, float("-inf")), scores)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "fill-in-place-on-a-clone",
        code="""
def attention_weights(scores, mask=None):
    scores = scores.clone()
    if mask is not None:
        scores.masked_fill_(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "index-assignment-on-a-clone",
        code="""
def attention_weights(scores, mask=None):
    out = scores.clone()
    if mask is not None:
        out[~mask.expand_as(out)] = float("-inf")
    return torch.softmax(out, dim=-1)
""",
    ),
    Case(
        "index-assignment-broadcast",
        code="""
def attention_weights(scores, mask=None):
    out = scores + 0
    if mask is not None:
        blocked, _ = torch.broadcast_tensors(mask.logical_not(), out)
        out[blocked] = -torch.inf
    return out.softmax(dim=-1)
""",
    ),
    Case(
        "mask-xor-true",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask ^ True, float("-inf"))
    return nn.functional.softmax(scores, dim=-1)
""",
    ),
    Case(
        "mask-as-integers",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        blocked = (1 - mask.int()).bool()
        scores = scores.masked_fill(blocked, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "no-mask-means-all-true",
        code="""
def attention_weights(scores, mask=None):
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
""",
    ),
    Case(
        "isinstance-test-for-the-mask",
        code="""
def attention_weights(scores, mask=None):
    if isinstance(mask, Tensor):
        scores = scores.masked_fill(torch.bitwise_not(mask), -torch.inf)
    return torch.softmax(input=scores, dim=-1)
""",
    ),
    Case(
        "mask-then-zero-again",
        code="""
def attention_weights(scores, mask=None):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    weights = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)
    return weights * mask
""",
    ),
    Case(
        "mask-twice-and-nan-to-num",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return torch.nan_to_num(weights)
""",
    ),
]
