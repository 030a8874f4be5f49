"""dtype, shape, mutation, state, parameters, and what is out of bounds."""

from . import Case

CASES = [
    # --- mutation
    Case(  # K1
        "query-scaled-in-place",
        todo="scaling",
        mistake="query-changed",
        shown_by="mutation",
        code="""
def attention_scores(query, key):
    query *= query.shape[-1] ** -0.5
    return query @ key.transpose(-2, -1)
""",
    ),
    Case(  # K1
        "query-div-in-place",
        todo="scaling",
        mistake="query-changed",
        shown_by="mutation",
        code="""
def attention_scores(query, key):
    return query.div_(math.sqrt(key.size(-1))) @ key.mT
""",
    ),
    Case(  # K1: autograd is told to look away
        "key-scaled-in-place-as-data",
        todo="scaling",
        mistake="key-changed",
        shown_by="mutation",
        code="""
def attention_scores(query, key):
    key.data.mul_(key.shape[-1] ** -0.5)
    return query @ key.transpose(-2, -1)
""",
    ),
    Case(  # K1
        "scores-filled-in-place",
        todo="mask",
        mistake="scores-changed",
        shown_by="mutation",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores.masked_fill_(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # K1
        "scores-index-assigned",
        todo="mask",
        mistake="scores-changed",
        shown_by="mutation",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores[~mask.expand_as(scores)] = float("-inf")
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # K1
        "scores-shifted-in-place",
        todo="mask",
        mistake="scores-changed",
        shown_by="mutation",
        code="""
def attention_weights(scores, mask=None):
    scores -= scores.amax(dim=-1, keepdim=True)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # K1
        "scores-data-filled",
        todo="mask",
        mistake="scores-changed",
        shown_by="mutation",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores.data.masked_fill_(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # K2
        "mask-negated-in-place",
        todo="mask",
        mistake="mask-changed",
        shown_by="mutation",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not_(), float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # K2
        "mask-narrowed-in-place",
        mistake="mask-changed",
        shown_by="mutation",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        result = super().forward(x, mask)
        if mask is not None:
            mask.tril_()
        return result
""",
    ),
    Case(  # K1
        "value-changed",
        mistake="value-changed",
        shown_by="mutation",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    output = weights @ value
    with torch.no_grad():
        value.mul_(0.5)
    return output, weights
""",
    ),
    Case(  # K1
        "input-changed",
        mistake="input-changed",
        shown_by="mutation",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        result = super().forward(x, mask)
        x.data.add_(result[0].data)
        return result
""",
    ),
    Case(  # K1
        "split-changes-its-argument",
        todo="head split",
        mistake="split-changes-its-argument",
        shown_by="mutation",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        heads = x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2).clone()
        x.data.zero_()
        return heads
""",
    ),
    Case(  # K1
        "merge-changes-its-argument",
        todo="W_O",
        mistake="merge-changes-its-argument",
        shown_by="mutation",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        joined = heads.transpose(1, 2).flatten(2).clone()
        heads.detach().mul_(2)
        return self.W_O(joined)
""",
    ),
    Case(  # H22, K1: the module's own weights drift with each call
        "parameters-changed-by-forward",
        mistake="parameters-changed",
        shown_by="state",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        result = super().forward(x, mask)
        with torch.no_grad():
            self.W_O.weight.mul_(0.9)
        return result
""",
    ),
    # --- dtype
    Case(  # K4
        "scores-always-float32",
        todo="scaling",
        mistake="always-float32",
        shown_by="dtype",
        code="""
def attention_scores(query, key):
    return query.float() @ key.float().transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # K4
        "weights-always-float32",
        todo="mask",
        mistake="always-float32",
        shown_by="dtype",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1, dtype=torch.float32)
""",
    ),
    Case(  # K4: upcast and not cast back
        "weights-always-float64",
        todo="mask",
        mistake="always-float64",
        shown_by="dtype",
        code="""
def attention_weights(scores, mask=None):
    scores = scores.double()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # K4: a float64 array of one number makes float64 of everything
        "scores-always-float64",
        todo="scaling",
        mistake="always-float64",
        shown_by="dtype",
        code="""
def attention_scores(query, key):
    root = torch.full((1,), query.shape[-1], dtype=torch.float64).sqrt()
    return query @ key.transpose(-2, -1) / root
""",
    ),
    Case(  # K4
        "split-to-float32",
        todo="head split",
        mistake="always-float32",
        shown_by="dtype",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        out = torch.zeros(x.shape[0], self.n_heads, x.shape[1], self.d_head)
        for h in range(self.n_heads):
            out[:, h] = x[..., h * self.d_head : (h + 1) * self.d_head]
        return out
""",
    ),
    Case(  # K4
        "output-to-float32",
        mistake="always-float32",
        shown_by="dtype",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return output.float(), weights.float()
""",
    ),
    Case(  # K5
        "values-meet-float32-weights",
        mistake="float32-buffer",
        shown_by="raises",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = torch.zeros(*query.shape[:-1], key.shape[-2])
    weights[...] = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights
""",
    ),
    Case(  # K5
        "module-always-float32",
        mistake="float32-buffer",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x.float(), mask)
""",
    ),
    Case(  # K5, C20: an additive mask in a fixed dtype promotes float32 scores
        "additive-mask-float64",
        todo="mask",
        mistake="always-float64",
        shown_by="dtype",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=torch.float64, device=mask.device)
        scores = scores + bias.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # own
        "weights-through-a-list",
        mistake="weights-not-a-tensor",
        shown_by="shape",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights.tolist()
""",
    ),
    Case(  # own: the wrong kind of result altogether
        "scores-as-numpy",
        todo="scaling",
        mistake="result-not-a-tensor",
        shown_by="shape",
        code="""
def attention_scores(query, key):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).detach().numpy()
""",
    ),
    Case(  # own
        "returns-nothing",
        todo="scaling",
        mistake="returns-nothing",
        shown_by="shape",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # own: the merge is computed and forgotten
        "merge-returns-nothing",
        todo="W_O",
        mistake="returns-nothing",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        self.W_O(heads.transpose(1, 2).flatten(2))
""",
    ),
    Case(  # own: a name that does not exist
        "undefined-name",
        todo="scaling",
        mistake="undefined-name",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(d_model)
""",
    ),
    Case(  # own
        "debugging-exit",
        todo="mask",
        mistake="exits",
        shown_by="raises",
        code="""
def attention_weights(scores, mask=None):
    print(scores.shape)
    raise SystemExit
""",
    ),
    # --- ranks and sizes
    Case(  # L3
        "scores-unpack-three-sizes",
        todo="scaling",
        mistake="fixed-rank",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    batch, length, d_k = query.shape
    return query @ key.transpose(-2, -1) / d_k**0.5
""",
    ),
    Case(  # L3
        "whole-unpacks-four-sizes",
        mistake="fixed-rank",
        shown_by="raises",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    b, h, l, d = query.shape
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(d)
    weights = attention_weights(scores, mask)
    return torch.einsum("bhqk,bhkd->bhqd", weights, value), weights
""",
    ),
    Case(  # own
        "scores-squeezed",
        todo="scaling",
        mistake="squeezes-size-one",
        shown_by="L=1",
        code="""
def attention_scores(query, key):
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).squeeze()
""",
    ),
    Case(  # own
        "output-squeezed",
        mistake="squeezes-size-one",
        shown_by="B=1",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return output.squeeze(0), weights.squeeze(0)
""",
    ),
    Case(  # D12
        "whole-same-length-assumed",
        mistake="same-length-assumed",
        shown_by="raises",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    length = query.shape[-2]
    seen = torch.ones(length, length, dtype=torch.bool, device=query.device)
    weights = attention_weights(attention_scores(query, key), seen if mask is None else mask & seen)
    return weights @ value, weights
""",
    ),
    Case(  # H23
        "whole-same-width-assumed",
        mistake="same-width-assumed",
        shown_by="raises",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return (weights @ value).reshape(query.shape), weights
""",
    ),
    Case(  # own: view where arguments may be transposed ones
        "scores-view-of-argument",
        todo="scaling",
        mistake="view-of-non-contiguous",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    q, k = query.view(-1, *query.shape[-2:]), key.view(-1, *key.shape[-2:])
    scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])
    return scores.view(*query.shape[:-1], key.shape[-2])
""",
    ),
    # --- state
    Case(  # I8
        "forward-mask-remembered",
        mistake="parameters-remembered",
        shown_by="state",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    kept = None

    def forward(self, x, mask=None):
        if mask is not None:
            self.kept = mask
        return super().forward(x, self.kept)
""",
    ),
    Case(  # I8
        "batch-size-remembered",
        todo="head split",
        mistake="batch-size-remembered",
        shown_by="state",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    batch = None

    def split_heads(self, x):
        self.batch = self.batch or x.shape[0]
        return x.reshape(self.batch, -1, self.n_heads, self.d_head).transpose(1, 2)
""",
    ),
    Case(  # I8: a cache of keys that is never emptied
        "keys-pile-up",
        mistake="keys-pile-up",
        shown_by="state",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    cache = None

    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        if self.cache is not None and self.cache[0].shape[0] == x.shape[0]:
            key = torch.cat([self.cache[0], key], dim=2)
            value = torch.cat([self.cache[1], value], dim=2)
        self.cache = key.detach(), value.detach()
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # I8: weights read once
        "projection-cached",
        mistake="parameters-remembered",
        shown_by="state",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        if not hasattr(self, "fused"):
            self.fused = torch.cat([self.W_Q.weight, self.W_K.weight, self.W_V.weight])
        query, key, value = (self.split_heads(t) for t in (x @ self.fused.T).chunk(3, dim=-1))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # I8: an answer that is remembered by the shape of the question
        "scores-cached-by-shape",
        todo="scaling",
        mistake="result-remembered",
        shown_by="state",
        code="""
_seen = {}

def attention_scores(query, key):
    shape = query.shape, key.shape, query.dtype
    if shape not in _seen:
        _seen[shape] = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return _seen[shape]
""",
    ),
    Case(  # I8: what one instance learns, all of them use
        "last-module-wins",
        mistake="state-shared-by-modules",
        shown_by="state",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        type(self).shared = n_heads, d_model // n_heads

    def split_heads(self, x):
        return x.unflatten(-1, type(self).shared).transpose(1, 2)
""",
    ),
    Case(  # I1
        "dropout-on-weights",
        mistake="dropout-active",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = nn.functional.dropout(attention_weights(attention_scores(query, key), mask), p=0.1)
    return weights @ value, weights
""",
    ),
    Case(  # I1, I6
        "dropout-layer-in-train-mode",
        mistake="dropout-active",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__(d_model, n_heads)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        weights = self.drop(attention_weights(attention_scores(query, key), mask))
        return self.combine_heads(weights @ value), weights
""",
    ),
    Case(  # own: against overfitting
        "noise-on-scores",
        todo="scaling",
        mistake="noise-on-scores",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores + 0.01 * torch.randn_like(scores)
""",
    ),
    # --- parameters
    Case(  # H12
        "bias-everywhere",
        mistake="bias",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model) for _ in range(4))
""",
    ),
    Case(  # H12: values with zeros in it are right
        "bias-zero-on-output",
        mistake="bias",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_O = nn.Linear(d_model, d_model)
        nn.init.zeros_(self.W_O.bias)
""",
    ),
    Case(  # H13: no value and no output gradient shows it
        "bias-on-keys",
        mistake="bias",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_K = nn.Linear(d_model, d_model, bias=True)
""",
    ),
    Case(  # own: names of another code base
        "other-parameter-names",
        mistake="other-parameter-names",
        shown_by="parameters",
        code="""
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=False)
        self.k_proj = nn.Linear(d_model, d_model, bias=False)
        self.v_proj = nn.Linear(d_model, d_model, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def split_heads(self, x):
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)

    def combine_heads(self, heads):
        return self.o_proj(heads.transpose(1, 2).flatten(2))

    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # own: one fused layer, no W_Q, W_K, W_V
        "fused-layer",
        mistake="other-parameter-names",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        del self.W_Q, self.W_K, self.W_V
        self.W_QKV = nn.Linear(d_model, 3 * d_model, bias=False)

    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(t) for t in self.W_QKV(x).chunk(3, dim=-1))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H14
        "layers-in-a-plain-list",
        mistake="parameters-not-registered",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        del self.W_Q, self.W_K, self.W_V
        self.layers = [nn.Linear(d_model, d_model, bias=False) for _ in range(3)]

    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(layer(x)) for layer in self.layers)
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # own: tensors that are no parameters
        "weights-are-plain-tensors",
        mistake="parameters-not-registered",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        del self.W_O
        self.W_O = lambda x: x @ self.output.T
        self.output = torch.randn(d_model, d_model, requires_grad=True)
""",
    ),
    Case(  # own: parameters instead of layers, and the wrong way round
        "bare-parameters",
        mistake="bare-parameters",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        del self.W_Q, self.W_K, self.W_V, self.W_O
        for name in ("W_Q", "W_K", "W_V", "W_O"):
            setattr(self, name, nn.Parameter(torch.randn(d_model, d_model) / math.sqrt(d_model)))

    def combine_heads(self, heads):
        return heads.transpose(1, 2).flatten(2) @ self.W_O.T

    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(x @ w.T) for w in (self.W_Q, self.W_K, self.W_V))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # G14
        "projections-of-d-head",
        mistake="projections-of-d-head",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_Q, self.W_K, self.W_V = (nn.Linear(self.d_head, self.d_head, bias=False) for _ in range(3))

    def forward(self, x, mask=None):
        slices = self.split_heads(x)
        heads, weights = scaled_dot_product_attention(
            self.W_Q(slices), self.W_K(slices), self.W_V(slices), mask
        )
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # G16
        "every-head-full-width",
        mistake="every-head-full-width",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.d_head = d_model
        for name in ("W_Q", "W_K", "W_V"):
            setattr(self, name, nn.Linear(d_model, n_heads * d_model, bias=False))
        self.W_O = nn.Linear(n_heads * d_model, d_model, bias=False)
""",
    ),
    Case(  # G18: one small layer per head
        "layers-per-head",
        mistake="layers-per-head",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        for name in ("W_Q", "W_K", "W_V"):
            layers = [nn.Linear(d_model, self.d_head, bias=False) for _ in range(n_heads)]
            setattr(self, name, nn.ModuleList(layers))

    def forward(self, x, mask=None):
        query, key, value = (
            torch.stack([layer(x) for layer in layers], dim=1) for layers in (self.W_Q, self.W_K, self.W_V)
        )
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H16
        "layers-made-in-forward",
        mistake="layers-made-in-forward",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        d_model = x.shape[-1]
        self.W_Q, self.W_K, self.W_V = (nn.Linear(d_model, d_model, bias=False).to(x) for _ in range(3))
        return super().forward(x, mask)
""",
    ),
    Case(  # H18
        "mask-is-a-parameter",
        mistake="extra-parameter",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.causal = nn.Parameter(causal_mask(128).float(), requires_grad=False)
""",
    ),
    Case(  # H21: a layer too many, unused
        "extra-layer",
        mistake="extra-parameter",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.norm = nn.LayerNorm(d_model)
""",
    ),
    Case(  # own: a temperature that is learnt
        "scale-is-a-parameter",
        mistake="extra-parameter",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.temperature = nn.Parameter(torch.ones(()))

    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        heads, weights = scaled_dot_product_attention(query * self.temperature, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H19
        "projections-tied",
        mistake="projections-tied",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_K = self.W_Q
""",
    ),
    Case(  # H1
        "output-projection-not-made",
        mistake="output-projection-not-made",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_O = nn.Identity()
""",
    ),
    Case(  # own: layers of the wrong kind
        "output-projection-is-a-stack",
        mistake="output-projection-is-a-stack",
        shown_by="parameters",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_O = nn.Sequential(nn.Linear(d_model, d_model, bias=False), nn.Dropout(0.0))
""",
    ),
    # --- the constructor
    Case(  # H22
        "divisibility-unchecked",
        mistake="divisibility-unchecked",
        shown_by="constructor",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        nn.Module.__init__(self)
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
""",
    ),
    Case(  # H22: refused, but not with a ValueError
        "divisibility-asserted",
        mistake="divisibility-asserted",
        shown_by="constructor",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
        super().__init__(d_model, n_heads)
""",
    ),
    Case(  # H22: the other way round
        "divisibility-reversed",
        mistake="divisibility-reversed",
        shown_by="constructor",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        nn.Module.__init__(self)
        if n_heads % d_model == 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
""",
    ),
    Case(  # own: arguments in another order
        "constructor-arguments-swapped",
        mistake="constructor-arguments-swapped",
        shown_by="constructor",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, n_heads, d_model):
        super().__init__(d_model, n_heads)
""",
    ),
    Case(  # D8: a third argument is required
        "constructor-wants-a-length",
        mistake="argument-required",
        shown_by="constructor",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads, max_length):
        super().__init__(d_model, n_heads)
        self.register_buffer("causal", causal_mask(max_length), persistent=False)
""",
    ),
    Case(  # L5
        "forward-mask-required",
        mistake="argument-required",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask):
        return super().forward(x, mask)
""",
    ),
    Case(  # own: query, key and value are asked for
        "forward-wants-three-inputs",
        mistake="forward-wants-three-inputs",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        q, k, v = self.W_Q(query), self.W_K(key), self.W_V(value)
        q, k, v = self.split_heads(q), self.split_heads(k), self.split_heads(v)
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.combine_heads(heads), weights
""",
    ),
    # --- out of bounds: right values, not from scratch
    Case(
        "library-sdpa",
        mistake="library-attention",
        shown_by="forbidden",
        code="""
import torch.nn.functional as F

def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask), weights
""",
    ),
    Case(
        "library-sdpa-imported-under-another-name",
        mistake="library-attention",
        shown_by="forbidden",
        code="""
from torch.nn.functional import scaled_dot_product_attention as fused

def scaled_dot_product_attention(query, key, value, mask=None):
    return fused(query, key, value, mask), attention_weights(attention_scores(query, key), mask)
""",
    ),
    Case(  # the identity as values gives the weights
        "library-weights",
        todo="mask",
        mistake="library-attention",
        shown_by="forbidden",
        code="""
def attention_weights(scores, mask=None):
    n = scores.shape[-1]
    eye = torch.eye(n, dtype=scores.dtype, device=scores.device).expand(*scores.shape[:-2], n, n)
    return nn.functional.scaled_dot_product_attention(scores, eye, eye, attn_mask=mask, scale=1.0)
""",
    ),
    Case(
        "library-multi-head",
        mistake="library-attention",
        shown_by="forbidden",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        B, L, D = x.shape
        H = self.n_heads
        fused = torch.cat([self.W_Q.weight, self.W_K.weight, self.W_V.weight])
        blocked = None if mask is None else ~mask.expand(B, H, L, L).reshape(B * H, L, L)
        t = x.transpose(0, 1)
        output, weights = nn.functional.multi_head_attention_forward(
            t, t, t, D, H, fused, None, None, None, False, 0.0, self.W_O.weight, None,
            attn_mask=blocked, average_attn_weights=False,
        )
        return output.transpose(0, 1), weights
""",
    ),
    Case(  # built inside, with the student's weights copied in
        "library-module",
        mistake="library-attention",
        shown_by="forbidden",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        B, L, D = x.shape
        layer = nn.MultiheadAttention(D, self.n_heads, bias=False, batch_first=True).to(x)
        blocked = None if mask is None else ~mask.expand(B, self.n_heads, L, L).reshape(-1, L, L)
        names = {
            "in_proj_weight": torch.cat([self.W_Q.weight, self.W_K.weight, self.W_V.weight]),
            "out_proj.weight": self.W_O.weight,
        }
        return torch.func.functional_call(
            layer, names, (x, x, x), {"attn_mask": blocked, "average_attn_weights": False}
        )
""",
    ),
]
