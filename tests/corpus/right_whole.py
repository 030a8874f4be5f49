"""Whole functions and whole classes in other people's styles."""

from . import Case

CASES = [
    Case("reference", code="# nothing changed\n"),
    # --- scaled_dot_product_attention
    Case(
        "whole-in-one-body",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn
""",
    ),
    Case(
        "whole-einsum",
        code="""
def scaled_dot_product_attention(q, k, v, mask=None):
    logits = torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        logits = torch.where(mask, logits, -torch.finfo(logits.dtype).max)
    attn = logits.softmax(dim=-1)
    return torch.einsum("...ij,...jd->...id", attn, v), attn
""",
    ),
    Case(
        "whole-weights-detached-report",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights.detach()
""",
    ),
    Case(
        "whole-scale-after-minus-inf-mask",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores / math.sqrt(key.shape[-1]), dim=-1)
    return weights @ value, weights
""",
    ),
    Case(
        "whole-normalise-last",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    total = e.sum(dim=-1, keepdim=True)
    return (e @ value) / total, e / total
""",
    ),
    Case(
        "whole-ones-appended-to-values",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True).detach())
    both = e @ torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
    return both[..., :-1] / both[..., -1:], e / both[..., -1:]
""",
    ),
    Case(
        "whole-centred-keys",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    key = key - key.mean(dim=-2, keepdim=True)  # shifts each row of scores: no change to the softmax
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights
""",
    ),
    Case(
        "whole-tiled-softmax",
        code="""
TILE = 3

def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    top = torch.full_like(scores[..., :1], -1e30)
    total, output = torch.zeros_like(top), 0.0
    for tile, values in zip(scores.split(TILE, dim=-1), value.split(TILE, dim=-2)):
        new_top = torch.maximum(top, tile.amax(dim=-1, keepdim=True))
        e, old = torch.exp(tile - new_top), torch.exp(top - new_top)
        output = output * old + e @ values
        total = total * old + e.sum(dim=-1, keepdim=True)
        top = new_top
    return output / total, torch.exp(scores - top) / total
""",
    ),
    Case(
        "whole-online-key-by-key",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scale = query.shape[-1] ** -0.5
    seen = [] if mask is None else mask.expand(*mask.shape[:-2], query.shape[-2], key.shape[-2])
    top = total = output = None
    columns = []
    for j in range(key.shape[-2]):
        s = (query * key[..., j : j + 1, :]).sum(-1, keepdim=True) * scale
        if mask is not None:
            s = s.masked_fill(~seen[..., j : j + 1], -1e30)
        columns.append(s)
        if top is None:
            top, total = s, torch.exp(s - s)
            output = total * value[..., j : j + 1, :]
            continue
        new = torch.maximum(top, s)
        old, e = torch.exp(top - new), torch.exp(s - new)
        total, output, top = total * old + e, output * old + e * value[..., j : j + 1, :], new
    weights = torch.exp(torch.cat(columns, dim=-1) - top) / total
    return output / total, weights
""",
    ),
    Case(
        "whole-float64-upcast-and-back",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    dtype = query.dtype
    query, key, value = query.double(), key.double(), value.double()
    weights = attention_weights(attention_scores(query, key), mask)
    return (weights @ value).to(dtype), weights.to(dtype)
""",
    ),
    Case(
        "whole-query-by-query",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    outputs, weights = [], []
    for i in range(query.shape[-2]):
        row_mask = None
        if mask is not None:
            row_mask = mask if mask.shape[-2] == 1 else mask[..., i : i + 1, :]
        w = attention_weights(attention_scores(query[..., i : i + 1, :], key), row_mask)
        weights.append(w)
        outputs.append(w @ value)
    return torch.cat(outputs, dim=-2), torch.cat(weights, dim=-2)
""",
    ),
    Case(
        "whole-batch-loop-and-cat",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    if query.dim() == 2:
        weights = attention_weights(attention_scores(query, key), mask)
        return weights @ value, weights
    if mask is not None:
        mask = mask.expand(*query.shape[:-1], key.shape[-2])
    parts = [
        scaled_dot_product_attention(query[b], key[b], value[b], None if mask is None else mask[b])
        for b in range(query.shape[0])
    ]
    return torch.stack([p[0] for p in parts]), torch.stack([p[1] for p in parts])
""",
    ),
    Case(
        "whole-naive-loops",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    lead, n_q, n_k = query.shape[:-2], query.shape[-2], key.shape[-2]
    q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (query, key, value))
    allowed = torch.ones(*lead, n_q, n_k, dtype=torch.bool, device=query.device)
    if mask is not None:
        allowed = allowed & mask
    allowed = allowed.reshape(-1, n_q, n_k)
    outputs, rows = [], []
    for b in range(q.shape[0]):
        for i in range(n_q):
            keys = [j for j in range(n_k) if allowed[b, i, j]]
            s = torch.stack([(q[b, i] * k[b, j]).sum() / math.sqrt(q.shape[-1]) for j in keys])
            e = torch.exp(s - s.max())
            w = e / e.sum()
            row = torch.zeros(n_k, dtype=q.dtype, device=q.device)
            row[keys] = w
            rows.append(row)
            outputs.append(sum(w[n] * v[b, j] for n, j in enumerate(keys)))
    output = torch.stack(outputs).reshape(*lead, n_q, value.shape[-1])
    return output, torch.stack(rows).reshape(*lead, n_q, n_k)
""",
    ),
    Case(
        "whole-contiguous-everywhere",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    query, key, value = query.contiguous(), key.contiguous(), value.contiguous()
    scores = attention_scores(query, key).contiguous()
    weights = attention_weights(scores, mask).contiguous()
    return (weights @ value).contiguous(), weights
""",
    ),
    Case(
        "whole-folded-batch",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    lead, n_q, n_k = query.shape[:-2], query.shape[-2], key.shape[-2]
    q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (query, key, value))
    scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
    if mask is not None:
        blocked = ~mask.expand(*lead, n_q, n_k).reshape(-1, n_q, n_k)
        scores.masked_fill_(blocked, float("-inf"))
    weights = nn.functional.softmax(scores, dim=2)
    return torch.bmm(weights, v).reshape(*lead, n_q, -1), weights.reshape(*lead, n_q, n_k)
""",
    ),
    Case(
        "whole-mask-in-place-on-own-scores",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key)
    if mask is not None:
        scores.masked_fill_(~mask, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights.matmul(value), weights
""",
    ),
    Case(
        "whole-output-transposed-product",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return (value.mT @ weights.mT).mT, weights
""",
    ),
    Case(
        "whole-output-broadcast-sum",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).sum(dim=-2), weights
""",
    ),
    Case(
        "whole-named-tuple",
        code="""
from typing import NamedTuple

class Attended(NamedTuple):
    output: Tensor
    weights: Tensor

def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return Attended(weights @ value, weights)
""",
    ),
    Case(
        "whole-dropout-of-zero",
        code="""
import torch.nn.functional as F

def scaled_dot_product_attention(query, key, value, mask=None, dropout=0.0):
    weights = attention_weights(attention_scores(query, key), mask)
    return F.dropout(weights, p=dropout) @ value, weights
""",
    ),
    Case(
        "whole-checkpointed",
        code="""
from torch.utils.checkpoint import checkpoint

def _mix(query, key, value, mask):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights

def scaled_dot_product_attention(query, key, value, mask=None):
    return checkpoint(_mix, query, key, value, mask, use_reentrant=False)
""",
    ),
    Case(
        "compares-with-torch-under-main",
        code='''
def _compare():
    """Own result and F.scaled_dot_product_attention, side by side."""

if __name__ == "__main__":
    import torch.nn.functional as F

    q, k, v = torch.randn(3, 2, 5, 8).unbind(0)
    ours, _ = scaled_dot_product_attention(q, k, v)
    print((ours - F.scaled_dot_product_attention(q, k, v)).abs().max())
    print(nn.MultiheadAttention(8, 2))
''',
    ),
    Case(
        "speaks-of-torch-attention-in-comments",
        code='''
# F.scaled_dot_product_attention would do all of this; nn.MultiheadAttention has the other polarity.
NOTE = "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"

def scaled_dot_product_attention(query, key, value, mask=None):
    """Like torch.nn.functional.scaled_dot_product_attention, but returns the weights as well."""
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights
''',
    ),
    Case(
        "prints-while-it-works",
        code="""
def attention_scores(query, key):
    print("scores:", tuple(query.shape), tuple(key.shape))
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    # --- forward
    Case(
        "forward-fused-projection",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        fused = torch.cat([self.W_Q.weight, self.W_K.weight, self.W_V.weight], dim=0)
        q, k, v = (x @ fused.T).chunk(3, dim=-1)
        q, k, v = self.split_heads(q), self.split_heads(k), self.split_heads(v)
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(
        "forward-head-by-head",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        B, L, D = x.shape
        if mask is not None:
            mask = mask.expand(B, self.n_heads, L, L)
        q, k, v = self.W_Q(x), self.W_K(x), self.W_V(x)
        outputs, weights = [], []
        for h in range(self.n_heads):
            part = slice(h * self.d_head, (h + 1) * self.d_head)
            head_mask = None if mask is None else mask[:, h]
            out, w = scaled_dot_product_attention(q[..., part], k[..., part], v[..., part], head_mask)
            outputs.append(out)
            weights.append(w)
        return self.W_O(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)
""",
    ),
    Case(
        "forward-heads-last-einsum",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        shape = (self.n_heads, self.d_head)
        q, k, v = (w(x).unflatten(-1, shape) for w in (self.W_Q, self.W_K, self.W_V))
        scores = torch.einsum("bihd,bjhd->bijh", q, k) / math.sqrt(self.d_head)
        if mask is not None:
            while mask.dim() < 4:
                mask = mask.unsqueeze(0)
            scores = scores.masked_fill(~mask.permute(0, 2, 3, 1), float("-inf"))
        weights = torch.softmax(scores, dim=2)
        heads = torch.einsum("bijh,bjhd->bihd", weights, v)
        return self.W_O(heads.flatten(2)), weights.permute(0, 3, 1, 2)
""",
    ),
    Case(
        "forward-weights-per-head-einsum",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        def project(layer):
            return torch.einsum("blm,hdm->bhld", x, layer.weight.view(self.n_heads, self.d_head, -1))

        heads, weights = scaled_dot_product_attention(
            project(self.W_Q), project(self.W_K), project(self.W_V), mask
        )
        w = self.W_O.weight.view(-1, self.n_heads, self.d_head)
        return torch.einsum("bhld,mhd->blm", heads, w), weights
""",
    ),
    Case(
        "forward-functional-linear",
        code="""
import torch.nn.functional as F

class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(F.linear(x, w.weight)) for w in (self.W_Q, self.W_K, self.W_V))
        y, attn = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(y), attn
""",
    ),
    Case(
        "forward-absorbed-key-projection",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        # q . (W_K x_j) = (W_K^T q) . x_j, head by head: the keys are never made
        w_k = self.W_K.weight.view(self.n_heads, self.d_head, -1)
        query = self.split_heads(self.W_Q(x)) @ w_k  # (B, H, L, d_model)
        scores = query @ x.unsqueeze(1).transpose(-2, -1) / math.sqrt(self.d_head)
        weights = attention_weights(scores, mask)
        return self.combine_heads(weights @ self.split_heads(self.W_V(x))), weights
""",
    ),
    Case(
        "forward-values-projected-last",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        scores = attention_scores(self.split_heads(self.W_Q(x)), self.split_heads(self.W_K(x)))
        weights = attention_weights(scores, mask)
        w_v = self.W_V.weight.view(self.n_heads, self.d_head, -1)
        heads = (weights @ x.unsqueeze(1)) @ w_v.transpose(-2, -1)
        return self.combine_heads(heads), weights
""",
    ),
    Case(
        "forward-folded-heads",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        B, L, _ = x.shape
        q, k, v = (self.split_heads(w(x)).flatten(0, 1) for w in (self.W_Q, self.W_K, self.W_V))
        if mask is not None:
            mask = mask.expand(B, self.n_heads, L, L).flatten(0, 1)
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(heads.unflatten(0, (B, -1))), weights.unflatten(0, (B, -1))
""",
    ),
    Case(
        "forward-detached-weights",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return output, weights.detach()
""",
    ),
    Case(
        "forward-keeps-weights-for-a-picture",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, self.last_weights = super().forward(x, mask)
        return output, self.last_weights
""",
    ),
    Case(
        "forward-no-helpers-dropout-zero",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads, dropout=0.0):
        super().__init__(d_model, n_heads)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        B, T, C = x.size()
        q = self.W_Q(x).view(B, T, self.n_heads, C // self.n_heads).transpose(1, 2)
        k = self.W_K(x).view(B, T, self.n_heads, C // self.n_heads).transpose(1, 2)
        v = self.W_V(x).view(B, T, self.n_heads, C // self.n_heads).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        if mask is not None:
            att = att.masked_fill(mask == 0, float("-inf"))
        att = torch.softmax(att, dim=-1)
        y = self.attn_dropout(att) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.W_O(y), att
""",
    ),
    Case(
        "forward-other-argument-names",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, inputs, attn_mask=None, need_weights=True):
        q, k, v = map(self.split_heads, (self.W_Q(inputs), self.W_K(inputs), self.W_V(inputs)))
        context, probs = scaled_dot_product_attention(q, k, v, attn_mask)
        return self.combine_heads(context), probs
""",
    ),
    # --- __init__ and the whole class
    Case(
        "class-layers-by-setattr",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        nn.Module.__init__(self)
        if d_model % n_heads != 0:
            raise ValueError(f"{d_model} features do not go into {n_heads} heads")
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        for name in "QKVO":
            setattr(self, f"W_{name}", nn.Linear(d_model, d_model, bias=False))
""",
    ),
    Case(
        "class-own-initialisation",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        for layer in (self.W_O, self.W_V, self.W_K, self.W_Q):
            nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(self.W_O.weight)
""",
    ),
    Case(
        "class-layers-in-another-order",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        nn.Module.__init__(self)
        self.d_head, rest = divmod(d_model, n_heads)
        if rest:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.W_O, self.W_V, self.W_K, self.W_Q = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
""",
    ),
    Case(
        "class-subclassed-linear",
        code="""
class Projection(nn.Linear):
    def __init__(self, size):
        super().__init__(size, size, bias=False)

class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_Q, self.W_K = Projection(d_model), Projection(d_model)
        self.W_V, self.W_O = Projection(d_model), Projection(d_model)
""",
    ),
    Case(
        "class-aliases-of-layers",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.layers = [self.W_Q, self.W_K, self.W_V]  # a plain list: the layers are registered already

    def forward(self, x, mask=None):
        q, k, v = [self.split_heads(layer(x)) for layer in self.layers]
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(
        "class-aliases-of-parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.weights = {"q": self.W_Q.weight, "k": self.W_K.weight, "v": self.W_V.weight}

    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(x @ self.weights[name].t()) for name in "qkv")
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(
        "class-views-of-one-storage",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        fused = torch.empty(3 * d_model, d_model)
        nn.init.xavier_normal_(fused)
        for layer, rows in zip((self.W_Q, self.W_K, self.W_V), fused.chunk(3)):
            layer.weight = nn.Parameter(rows)
""",
    ),
    Case(
        "class-more-attributes",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.d_model = d_model
        self.scale = self.d_head**-0.5
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        scores = q @ k.transpose(2, 3) * self.scale
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        weights = self.softmax(scores)
        return self.combine_heads(weights @ v), weights
""",
    ),
    Case(
        "class-static-helpers",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    @staticmethod
    def _to_heads(x, n):
        return x.reshape(*x.shape[:2], n, -1).transpose(1, 2)

    @staticmethod
    def _from_heads(x):
        return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)

    def split_heads(self, x):
        return self._to_heads(x, self.n_heads)

    def combine_heads(self, heads):
        return self.W_O(self._from_heads(heads))
""",
    ),
    Case(
        "class-attention-as-a-submodule",
        code="""
class DotProductAttention(nn.Module):
    def forward(self, queries, keys, values, mask=None):
        self.attention_weights = attention_weights(attention_scores(queries, keys), mask)
        return self.attention_weights @ values

class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.attention = DotProductAttention()

    def forward(self, x, mask=None):
        queries, keys, values = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        output = self.attention(queries, keys, values, mask)
        return self.combine_heads(output), self.attention.attention_weights
""",
    ),
    # --- all of it
    Case(
        "rewrite-terse",
        code="""
def causal_mask(n, device=None):
    return torch.ones(n, n, device=device).tril().bool()

def attention_scores(q, k):
    return q @ k.mT * k.shape[-1] ** -0.5

def attention_weights(s, m=None):
    return (s if m is None else s.where(m, -torch.inf)).softmax(-1)

def scaled_dot_product_attention(q, k, v, m=None):
    return (w := attention_weights(attention_scores(q, k), m)) @ v, w

class MultiHeadAttention(MultiHeadAttention):
    split_heads = lambda self, x: x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
    combine_heads = lambda self, h: self.W_O(h.transpose(1, 2).flatten(2))
""",
    ),
    Case(
        "rewrite-numpy-minded",
        code="""
import numpy as np

def causal_mask(length, device=None):
    return torch.as_tensor(np.tril(np.ones((length, length), dtype=bool)), device=device)

def attention_scores(query, key):
    return torch.matmul(query, torch.swapaxes(key, -1, -2)) / np.sqrt(query.shape[-1])

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, -np.inf)
    scores = scores - torch.amax(scores, axis=-1, keepdims=True)
    e = torch.exp(scores)
    return e / torch.sum(e, axis=-1, keepdims=True)

class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        x = torch.reshape(x, (x.shape[0], x.shape[1], self.n_heads, self.d_head))
        return torch.moveaxis(x, 2, 1)

    def combine_heads(self, heads):
        x = torch.moveaxis(heads, 1, 2)
        return self.W_O(torch.reshape(x, (x.shape[0], x.shape[1], -1)))
""",
    ),
    Case(
        "rewrite-einsum-throughout",
        code="""
from torch import einsum

def attention_scores(query, key):
    return einsum("...id,...jd->...ij", query, key) * query.shape[-1] ** -0.5

def scaled_dot_product_attention(query, key, value, mask=None):
    attn = attention_weights(attention_scores(query, key), mask)
    return einsum("...ij,...jd->...id", attn, value), attn

class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return einsum("bnhd->bhnd", x.unflatten(-1, (self.n_heads, self.d_head)))

    def combine_heads(self, heads):
        return einsum("bhnd,ohd->bno", heads, self.W_O.weight.unflatten(1, (self.n_heads, self.d_head)))
""",
    ),
    Case(
        "rewrite-loops-throughout",
        code="""
def causal_mask(length, device=None):
    return torch.tensor([[key <= query for key in range(length)] for query in range(length)], device=device)

def attention_scores(query, key):
    rows = []
    for i in range(query.shape[-2]):
        row = []
        for j in range(key.shape[-2]):
            row.append((query[..., i, :] * key[..., j, :]).sum(-1) / math.sqrt(query.shape[-1]))
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + torch.zeros_like(scores).masked_fill(~mask, -1e9)
    rows = []
    for i in range(scores.shape[-2]):
        row = scores[..., i, :]
        e = torch.exp(row - row.max(dim=-1, keepdim=True).values)
        rows.append(e / e.sum(dim=-1, keepdim=True))
    return torch.stack(rows, dim=-2)

class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        d = self.d_head
        return torch.stack([x[:, :, h * d : (h + 1) * d] for h in range(self.n_heads)], dim=1)

    def combine_heads(self, heads):
        out = heads[:, 0]
        for h in range(1, self.n_heads):
            out = torch.cat([out, heads[:, h]], dim=-1)
        return self.W_O(out)
""",
    ),
    Case(
        "rewrite-from-nothing",
        code="""
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.h = n_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)

    def split_heads(self, x):
        b, n, d = x.shape
        return x.reshape(b, n, self.h, d // self.h).permute(0, 2, 1, 3)

    def combine_heads(self, heads):
        b, h, n, d = heads.shape
        return self.W_O(heads.permute(0, 2, 1, 3).reshape(b, n, h * d))

    def forward(self, x, mask=None):
        q, k, v = self.split_heads(self.W_Q(x)), self.split_heads(self.W_K(x)), self.split_heads(self.W_V(x))
        y, att = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(y), att
""",
    ),
    Case(
        "rewrite-typed-and-documented",
        code='''
from typing import Optional, Tuple

NEG_INF: float = float("-inf")

def attention_weights(scores: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """Row-wise softmax.

    Args:
        scores: (..., n_queries, n_keys).
        mask: True where attention is allowed.

    Returns:
        Weights of the shape of ``scores``.
    """
    if mask is not None:
        assert mask.dtype is torch.bool
        scores = scores.masked_fill(torch.logical_not(mask), NEG_INF)
    return torch.softmax(scores, dim=-1)

class MultiHeadAttention(MultiHeadAttention):
    def forward(
        self, x: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        batch_size, seq_len, d_model = x.shape
        assert d_model == self.n_heads * self.d_head
        if mask is not None:
            mask = mask.expand(batch_size, self.n_heads, seq_len, seq_len)
        return super().forward(x, mask)
''',
    ),
    Case(
        "whole-addcmul",
        code="""
def _attend(q, k, mask):
    zero = torch.zeros((), dtype=q.dtype, device=q.device)
    s = torch.addcmul(zero, q @ k.mT, q.new_tensor(q.shape[-1] ** -0.5))
    return s if mask is None else s.masked_fill(~mask, -torch.inf)

def scaled_dot_product_attention(query, key, value, mask=None):
    weights = torch.softmax(_attend(query, key, mask), dim=-1)
    return weights @ value, weights
""",
    ),
]
