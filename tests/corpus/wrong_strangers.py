"""Cases that somebody thought up who had not seen the catalogue: one of each kind."""

from . import Case

CASES = [
    Case(
        "causal-mask-half-diagonal",
        todo="mask",
        mistake="causal-mask-other-slope",
        code="""
def causal_mask(length, device=None):
    return torch.ones(length, length, device=device).tril(length // 2).bool()
""",
    ),
    Case(
        "causal-mask-strict-but-first",
        todo="mask",
        mistake="causal-mask-self-excluded-but-first",
        code="""
def causal_mask(length, device=None):
    m = torch.ones(length, length, device=device).tril(-1).bool()
    m[0, 0] = True
    return m
""",
    ),
    Case(
        "logical-not-without-parentheses",
        todo="mask",
        mistake="method-not-called",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "one-minus-mask",
        todo="mask",
        mistake="mask-arithmetic",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores + (1 - mask) * -1e9
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "mask-is-false",
        todo="mask",
        mistake="bool-for-tensor",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask is False, torch.tensor(float("-inf"), dtype=scores.dtype), scores)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "mask-unsqueezed-in-place",
        todo="mask",
        mistake="argument-changed",
        shown_by="mutation",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        while mask.dim() < scores.dim():
            mask.unsqueeze_(0)
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "fill-minus-largest",
        todo="mask",
        mistake="fill-made-of-scores",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, -scores.abs().max())
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "fill-negated",
        todo="mask",
        mistake="fill-made-of-scores",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = torch.where(mask, scores, -scores)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "renormalised-over-queries",
        todo="mask",
        mistake="renormalised-wrongly",
        code="""
def attention_weights(scores, mask=None):
    w = torch.softmax(scores, dim=-1)
    if mask is not None:
        w = w * mask
        w = w / w.sum(dim=-2, keepdim=True).clamp(min=1e-9)
    return w
""",
    ),
    Case(
        "scores-over-allowed-count",
        todo="mask",
        mistake="number-of-allowed-keys",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = (scores / mask.sum(-1, keepdim=True)).masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "mask-cumulated",
        todo="mask",
        mistake="mask-cumulated",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask.int().cumprod(-1).bool(), -1e9)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "mask-and-not-self",
        todo="mask",
        mistake="mask-and-not-self",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        eye = torch.eye(scores.shape[-2], scores.shape[-1], dtype=torch.bool, device=scores.device)
        scores = scores.masked_fill(~(mask & ~eye), -1e9)
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(
        "last-sample-for-all",
        todo="mask",
        mistake="weights-of-one-sample",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    if scores.dim() < 3:
        return torch.softmax(scores, dim=-1)
    for sample in scores:
        w = torch.softmax(sample, dim=-1)
    return torch.stack([w] * len(scores))
""",
    ),
    Case(
        "max-of-allowed-keys-alone",
        todo="mask",
        mistake="softmax-max-of-another-set",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    top = scores.masked_fill(~mask, float("-inf")).amax(dim=-1, keepdim=True)
    e = torch.exp(scores - top) * mask
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(
        "hook-turns-gradient-round",
        todo="mask",
        mistake="gradient-changed-on-its-way",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    w = torch.softmax(scores, dim=-1)
    if w.requires_grad:
        w.register_hook(lambda g: -g)
    return w
""",
    ),
    Case(
        "last-row-of-scores-zero",
        todo="scaling",
        mistake="part-left-zero",
        code="""
def attention_scores(query, key):
    s = torch.zeros(*query.shape[:-1], key.shape[-2], dtype=query.dtype, device=query.device)
    for i in range(query.shape[-2] - 1):
        s[..., i, :] = (query[..., i : i + 1, :] * key).sum(-1) / math.sqrt(query.shape[-1])
    return s
""",
    ),
    Case(
        "total-not-reset",
        todo="scaling",
        mistake="sum-not-reset",
        code="""
def attention_scores(query, key):
    columns, total = [], 0
    for j in range(key.shape[-2]):
        total = total + (query * key[..., j : j + 1, :]).sum(-1)
        columns.append(total / math.sqrt(query.shape[-1]))
    return torch.stack(columns, dim=-1)
""",
    ),
    Case(
        "index-i-for-j",
        todo="scaling",
        mistake="one-index-for-two",
        code="""
def attention_scores(query, key):
    rows = []
    for i in range(query.shape[-2]):
        same = (query[..., i, :] * key[..., i % key.shape[-2], :]).sum(-1)
        rows.append(torch.stack([same for j in range(key.shape[-2])], -1))
    return torch.stack(rows, -2) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scale-only-when-square",
        todo="scaling",
        mistake="scale-sometimes",
        code="""
def attention_scores(query, key):
    s = query @ key.transpose(-2, -1)
    return s / math.sqrt(query.shape[-1]) if query.shape[-2] == key.shape[-2] else s
""",
    ),
    Case(
        "no-scale-for-one-query",
        todo="scaling",
        mistake="scale-sometimes",
        shown_by="L=1",
        code="""
def attention_scores(query, key):
    s = query @ key.transpose(-2, -1)
    return s / math.sqrt(query.shape[-1]) if query.shape[-2] > 1 else s
""",
    ),
    Case(
        "scale-root-plus-one",
        todo="scaling",
        mistake="scale-root-plus-number",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / (math.sqrt(query.shape[-1]) + 1)
""",
    ),
    Case(
        "scale-root-of-d-plus-one",
        todo="scaling",
        mistake="scale-by-d-minus-one",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1] + 1)
""",
    ),
    Case(
        "scale-rounded-to-two-digits",
        todo="scaling",
        mistake="scale-rounded",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) * round(query.shape[-1] ** -0.5, 2)
""",
    ),
    Case(
        "scale-by-largest-score",
        todo="scaling",
        mistake="scale-by-largest-score",
        code="""
def attention_scores(query, key):
    s = query @ key.transpose(-2, -1)
    return s / s.abs().max()
""",
    ),
    Case(
        "scale-of-one-half",
        todo="scaling",
        mistake="scale-on-a-part",
        code="""
def attention_scores(query, key):
    n = (query.shape[-1] + 1) // 2
    first = query[..., :n] @ key[..., :n].transpose(-2, -1)
    return first / math.sqrt(query.shape[-1]) + query[..., n:] @ key[..., n:].transpose(-2, -1)
""",
    ),
    Case(
        "scores-of-feature-maps",
        todo="scaling",
        mistake="scores-of-altered-vectors",
        code="""
def attention_scores(query, key):
    q, k = nn.functional.elu(query) + 1, nn.functional.elu(key) + 1
    return q @ k.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-max-for-sum",
        todo="scaling",
        mistake="scores-largest-product",
        code="""
def attention_scores(query, key):
    return (query.unsqueeze(-2) * key.unsqueeze(-3)).amax(-1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-rope",
        todo="scaling",
        mistake="scores-with-rotary-positions",
        code="""
def _rope(x):
    half = x.shape[-1] // 2
    speed = 10000 ** (-torch.arange(half).to(x.dtype) / max(half, 1))
    angle = torch.arange(x.shape[-2]).to(x.dtype)[:, None] * speed
    a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos(), rest], -1)
def attention_scores(query, key):
    return _rope(query) @ _rope(key).transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "scores-einsum-without-dots",
        todo="scaling",
        mistake="leading-dimensions-lost",
        shown_by="shape",
        code="""
def attention_scores(query, key):
    return torch.einsum("...qd,...kd->qk", query, key) / math.sqrt(query.shape[-1])
""",
    ),
    Case(
        "weights-folded",
        todo="mask",
        mistake="leading-dimensions-lost",
        shown_by="shape",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    w = torch.softmax(scores, dim=-1)
    return w.reshape(-1, *w.shape[-2:])
""",
    ),
    Case(
        "split-last-head-zero",
        todo="head split",
        mistake="part-left-zero",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        out = torch.zeros(x.shape[0], self.n_heads, x.shape[1], self.d_head, dtype=x.dtype, device=x.device)
        for h in range(self.n_heads - 1):
            out[:, h] = x[..., h * self.d_head : (h + 1) * self.d_head]
        return out
""",
    ),
    Case(
        "split-layer-norm",
        todo="head split",
        mistake="split-normalises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        x = x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
        return nn.functional.layer_norm(x, (self.d_head,))
""",
    ),
    Case(
        "split-in-half",
        todo="head split",
        mistake="half-inside",
        shown_by="dtype",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.half().unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
""",
    ),
    Case(
        "split-sorted",
        todo="head split",
        mistake="split-sorts",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2).sort(-1).values
""",
    ),
    Case(
        "split-stride-of-heads",
        todo="head split",
        mistake="split-strides-mixed-up",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        h, d = self.n_heads, self.d_head
        starts = [min(i * h, x.shape[-1] - d) for i in range(h)]
        return torch.stack([x[..., i : i + d] for i in starts], 1)
""",
    ),
    Case(
        "split-cat",
        todo="head split",
        mistake="split-joined-in-one-dimension",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return torch.cat(x.chunk(self.n_heads, -1), dim=1)
""",
    ),
    Case(
        "split-as-strided",
        todo="head split",
        mistake="split-ignores-the-layout",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        b, l, d = x.shape
        return x.as_strided((b, self.n_heads, l, self.d_head), (l * d, self.d_head, d, 1))
""",
    ),
    Case(
        "split-float-size",
        todo="head split",
        mistake="size-is-a-float",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_heads, x.shape[-1] / self.n_heads).transpose(1, 2)
""",
    ),
    Case(
        "split-without-self",
        todo="head split",
        mistake="argument-required",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(x):
        return x
""",
    ),
    Case(
        "merge-last-head-zero",
        todo="W_O",
        mistake="part-left-zero",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        out = heads.new_zeros(heads.shape[0], heads.shape[2], self.n_heads * self.d_head)
        for h in range(self.n_heads - 1):
            out[..., h * self.d_head : (h + 1) * self.d_head] = heads[:, h]
        return self.W_O(out)
""",
    ),
    Case(
        "output-projection-after-another",
        todo="W_O",
        mistake="output-projection-after-another",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(self.W_V(heads.transpose(1, 2).flatten(-2)))
""",
    ),
    Case(
        "output-plus-mean",
        todo="W_O",
        mistake="output-plus-mean",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        cat = heads.transpose(1, 2).flatten(-2)
        return self.W_O(cat) + cat.mean(-1, keepdim=True)
""",
    ),
    Case(
        "output-weight-elementwise",
        todo="W_O",
        mistake="output-weight-elementwise",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return heads.transpose(1, 2).flatten(-2) * self.W_O.weight.diagonal()
""",
    ),
    Case(
        "output-weight-normalised",
        todo="W_O",
        mistake="output-weight-altered",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        w = nn.functional.normalize(self.W_O.weight, dim=-1)
        return heads.transpose(1, 2).flatten(-2) @ w.T
""",
    ),
    Case(
        "output-softmax",
        todo="W_O",
        mistake="output-softmax",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.transpose(1, 2).flatten(-2)).softmax(-1)
""",
    ),
    Case(
        "value-compared-with-query",
        mistake="arguments-mixed-up",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, value), mask)
    return weights @ value, weights
""",
    ),
    Case(
        "mean-of-weighted-values",
        mistake="output-divided-by-number-of-keys",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).mean(-2), weights
""",
    ),
    Case(
        "max-of-weighted-values",
        mistake="output-largest-product",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return (weights.unsqueeze(-1) * value.unsqueeze(-3)).amax(-2), weights
""",
    ),
    Case(
        "output-accumulates",
        mistake="sum-not-reset",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    out, rows = 0, []
    for i in range(query.shape[-2]):
        out = out + weights[..., i : i + 1, :] @ value
        rows.append(out)
    return torch.cat(rows, -2), weights
""",
    ),
    Case(
        "weights-squared",
        mistake="weights-to-a-power",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    weights = weights ** 2 / (weights ** 2).sum(-1, keepdim=True)
    return weights @ value, weights
""",
    ),
    Case(
        "values-clamped",
        mistake="values-clamped",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value.clamp(-1, 1), weights
""",
    ),
    Case(
        "three-results",
        mistake="not-the-pair",
        shown_by="shape",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key)
    weights = attention_weights(scores, mask)
    return weights @ value, weights, scores
""",
    ),
    Case(
        "returns-the-mask",
        mistake="none-in-the-pair",
        shown_by="shape",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, mask
""",
    ),
    Case(
        "no-mask-for-one-query",
        mistake="mask-only-for-several-queries",
        shown_by="L=1",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    if query.shape[-2] == 1:
        mask = None
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights
""",
    ),
    Case(
        "result-in-a-pair",
        mistake="result-nested",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x, mask), None
""",
    ),
    Case(
        "value-of-detached-input",
        mistake="part-through-a-detached-input",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k = self.split_heads(self.W_Q(x)), self.split_heads(self.W_K(x))
        v = self.split_heads(self.W_V(x.detach()))
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(out), w
""",
    ),
    Case(
        "heads-swap-each-call",
        mistake="other-number-of-heads",
        shown_by="state",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        out, w = super().forward(x, mask)
        self.n_heads, self.d_head = self.d_head, self.n_heads
        return out, w
""",
    ),
    Case(
        "output-gated",
        mistake="output-gated",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        out, w = super().forward(x, mask)
        return out * torch.sigmoid(x), w
""",
    ),
    Case(
        "W_O-on-the-input-too",
        mistake="input-projected-first",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        out, w = super().forward(self.W_O(x), mask)
        return out, w
""",
    ),
    Case(
        "query-scaled-before-too",
        mistake="scale-by-d-model-too",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(p(x)) for p in (self.W_Q, self.W_K, self.W_V))
        out, w = scaled_dot_product_attention(q / math.sqrt(self.n_heads * self.d_head), k, v, mask)
        return self.combine_heads(out), w
""",
    ),
    Case(
        "super-init-missing",
        mistake="module-not-initialised",
        shown_by="constructor",
        code="""
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)
    def split_heads(self, x):
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
    def combine_heads(self, heads):
        return self.W_O(heads.transpose(1, 2).flatten(-2))
    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(p(x)) for p in (self.W_Q, self.W_K, self.W_V))
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(out), w
""",
    ),
]
