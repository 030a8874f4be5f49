"""Scores with the wrong scale, or that are no dot products of each query with each key."""

from . import Case

CASES = [
    # --- the scale
    Case(  # A1
        "scale-missing",
        todo="scaling",
        mistake="scale-missing",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1)
""",
    ),
    Case(  # A1: the quotient is thrown away
        "scale-result-dropped",
        todo="scaling",
        mistake="scale-missing",
        code="""
def attention_scores(query, key):
    scores = torch.matmul(query, key.mT)
    scores.div(math.sqrt(key.size(-1)))
    return scores
""",
    ),
    Case(  # A1: the caller scales, so that the whole is right and the part is wrong
        "scale-in-the-caller",
        todo="scaling",
        mistake="scale-missing",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1)

def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key) / math.sqrt(query.shape[-1])
    weights = attention_weights(scores, mask)
    return weights @ value, weights
""",
    ),
    Case(  # A2: H * d_head, read off the argument
        "scale-by-d-model",
        todo="scaling",
        mistake="scale-by-d-model",
        code="""
def attention_scores(query, key):
    heads = query.shape[-3] if query.dim() == 4 else 1
    return query @ key.transpose(-2, -1) / math.sqrt(heads * query.shape[-1])
""",
    ),
    Case(  # A2: in the module
        "scale-by-d-model-in-forward",
        mistake="scale-by-d-model",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        scores = q @ k.transpose(-2, -1) / math.sqrt(x.shape[-1])
        weights = attention_weights(scores, mask)
        return self.combine_heads(weights @ v), weights
""",
    ),
    Case(  # A1: in the module
        "scale-missing-in-forward",
        mistake="scale-missing",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        weights = attention_weights(q @ k.transpose(-2, -1), mask)
        return self.combine_heads(weights @ v), weights
""",
    ),
    Case(  # A4
        "scale-by-d",
        todo="scaling",
        mistake="scale-by-d",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / query.shape[-1]
""",
    ),
    Case(  # A4: both sides are divided by the whole root
        "scale-twice",
        todo="scaling",
        mistake="scale-by-d",
        code="""
def attention_scores(query, key):
    root = math.sqrt(query.shape[-1])
    return (query / root) @ (key / root).transpose(-2, -1)
""",
    ),
    Case(  # A4: scaled here and by the caller again
        "scale-twice-in-the-whole",
        mistake="scale-by-d",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    query = query * query.shape[-1] ** -0.5
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights
""",
    ),
    Case(  # A4: in the module
        "scale-twice-in-forward",
        mistake="scale-by-d",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query = self.split_heads(self.W_Q(x)) * self.d_head**-0.5
        key, value = self.split_heads(self.W_K(x)), self.split_heads(self.W_V(x))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # A5
        "scale-multiplied",
        todo="scaling",
        mistake="scale-multiplied",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) * math.sqrt(query.shape[-1])
""",
    ),
    Case(  # A5
        "scale-divided-by-inverse",
        todo="scaling",
        mistake="scale-multiplied",
        code="""
def attention_scores(query, key):
    scale = query.shape[-1] ** -0.5
    return query @ key.transpose(-2, -1) / scale
""",
    ),
    Case(  # A7
        "scale-fourth-root-once",
        todo="scaling",
        mistake="scale-fourth-root-once",
        code="""
def attention_scores(query, key):
    return (query * query.shape[-1] ** -0.25) @ key.transpose(-2, -1)
""",
    ),
    Case(  # A7
        "scale-root-of-root",
        todo="scaling",
        mistake="scale-fourth-root-once",
        code="""
def attention_scores(query, key):
    d_k = math.sqrt(query.shape[-1])
    return query @ key.transpose(-2, -1) / math.sqrt(d_k)
""",
    ),
    Case(  # A8
        "scale-after-softmax",
        mistake="scale-after-softmax",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(query @ key.transpose(-2, -1), mask) / math.sqrt(query.shape[-1])
    return weights @ value, weights
""",
    ),
    Case(  # A8: on the output alone
        "scale-on-the-output",
        mistake="scale-on-the-output",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(query @ key.transpose(-2, -1), mask)
    return weights @ value / math.sqrt(query.shape[-1]), weights
""",
    ),
    Case(  # A9
        "scale-hard-coded-8",
        todo="scaling",
        mistake="scale-hard-coded",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / 8.0
""",
    ),
    Case(  # A9
        "scale-hard-coded-half",
        todo="scaling",
        mistake="scale-hard-coded",
        code="""
def attention_scores(query, key, scale=0.5):
    return scale * (query @ key.transpose(-2, -1))
""",
    ),
    Case(  # A10
        "scale-by-length",
        todo="scaling",
        mistake="scale-by-length",
        code="""
def attention_scores(query, key):
    d_k = key.shape[-2]
    return query @ key.transpose(-2, -1) / math.sqrt(d_k)
""",
    ),
    Case(  # A10: read off the transposed key
        "scale-by-length-of-transposed-key",
        todo="scaling",
        mistake="scale-by-length",
        code="""
def attention_scores(query, key):
    key = key.transpose(-2, -1)
    return query @ key / math.sqrt(key.shape[-1])
""",
    ),
    Case(  # A10
        "scale-by-query-length",
        todo="scaling",
        mistake="scale-by-query-length",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.size(-2))
""",
    ),
    Case(  # own
        "scale-by-number-of-heads",
        todo="scaling",
        mistake="scale-by-number-of-heads",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[1])
""",
    ),
    Case(  # own
        "scale-by-batch",
        todo="scaling",
        mistake="scale-by-batch",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(len(query))
""",
    ),
    Case(  # own: n_heads where d_head was meant
        "scale-by-heads-in-forward",
        mistake="scale-by-number-of-heads",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        q, k, v = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        weights = attention_weights(q @ k.mT / math.sqrt(self.n_heads), mask)
        return self.combine_heads(weights @ v), weights
""",
    ),
    Case(  # A12
        "scale-integer-root",
        todo="scaling",
        mistake="scale-integer-root",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / int(math.sqrt(query.shape[-1]))
""",
    ),
    Case(  # A12
        "scale-isqrt",
        todo="scaling",
        mistake="scale-integer-root",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.isqrt(query.shape[-1])
""",
    ),
    Case(  # A12
        "scale-floor-division",
        todo="scaling",
        mistake="scale-floor-division",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) // math.sqrt(query.shape[-1])
""",
    ),
    Case(  # own: d ** 1 / 2 is d / 2
        "scale-precedence",
        todo="scaling",
        mistake="scale-by-half-d",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / (query.shape[-1] ** 1 / 2)
""",
    ),
    Case(  # own: d ** -1 / 2 is 1 / (2 d)
        "scale-precedence-inverse",
        todo="scaling",
        mistake="scale-by-twice-d",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) * query.shape[-1] ** -1 / 2
""",
    ),
    Case(  # own
        "scale-by-d-minus-one",
        todo="scaling",
        mistake="scale-by-d-minus-one",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(max(1, query.shape[-1] - 1))
""",
    ),
    Case(  # own
        "scale-cube-root",
        todo="scaling",
        mistake="scale-cube-root",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / query.shape[-1] ** (1 / 3)
""",
    ),
    Case(  # own
        "scale-log",
        todo="scaling",
        mistake="scale-log",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.log(query.shape[-1] + 1)
""",
    ),
    Case(  # own: the sizes of both sides are added up
        "scale-by-two-d",
        todo="scaling",
        mistake="scale-by-two-d",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1] + key.shape[-1])
""",
    ),
    Case(  # own: subtracting it has no effect on the softmax
        "scale-subtracted",
        todo="scaling",
        mistake="scale-subtracted",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) - math.sqrt(query.shape[-1])
""",
    ),
    Case(  # own: measured instead of derived
        "scale-by-standard-deviation",
        todo="scaling",
        mistake="scale-by-standard-deviation",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1)
    return scores / scores.std(correction=0)
""",
    ),
    Case(  # A14
        "scale-only-in-4d",
        todo="scaling",
        mistake="scale-only-in-4d",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1)
    return scores / math.sqrt(query.shape[-1]) if scores.dim() == 4 else scores
""",
    ),
    Case(  # A14
        "scale-only-with-a-mask",
        mistake="scale-only-with-a-mask",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores / math.sqrt(query.shape[-1])
    weights = attention_weights(scores, mask)
    return weights @ value, weights
""",
    ),
    Case(  # A15
        "scale-grows",
        todo="scaling",
        mistake="scale-grows",
        shown_by="state",
        code="""
_scale = [1.0]

def attention_scores(query, key):
    _scale[0] *= query.shape[-1] ** -0.5
    return query @ key.transpose(-2, -1) * _scale[0]
""",
    ),
    Case(  # I8, A15
        "scale-remembered",
        todo="scaling",
        mistake="scale-remembered",
        shown_by="state",
        code="""
_scale = None

def attention_scores(query, key):
    global _scale
    _scale = _scale or query.shape[-1] ** -0.5
    return query @ key.transpose(-2, -1) * _scale
""",
    ),
    Case(  # right-variants.md: loses tier 4 alone
        "scale-float32-root",
        todo="scaling",
        mistake="float32-root",
        shown_by="float64",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / torch.sqrt(torch.tensor(query.shape[-1]))
""",
    ),
    Case(  # the same with an explicit float32
        "scale-float32-rsqrt",
        todo="scaling",
        mistake="float32-root",
        shown_by="float64",
        code="""
def attention_scores(query, key):
    return query @ key.mT * torch.rsqrt(torch.tensor(float(key.size(-1)), dtype=torch.float32))
""",
    ),
    Case(  # own: eight digits are not enough
        "scale-root-plus-eps",
        todo="scaling",
        mistake="scale-eps",
        shown_by="float64",
        code="""
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / (math.sqrt(query.shape[-1]) + 1e-8)
""",
    ),
    Case(  # K3
        "scores-in-float32",
        todo="scaling",
        mistake="float32-inside",
        shown_by="float64",
        code="""
def attention_scores(query, key):
    scores = query.float() @ key.float().transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.to(query.dtype)
""",
    ),
    Case(  # K3
        "scores-in-half",
        todo="scaling",
        mistake="half-inside",
        code="""
def attention_scores(query, key):
    scores = query.half() @ key.half().transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.to(query.dtype)
""",
    ),
    # --- the product
    Case(  # F2
        "key-reshaped",
        todo="scaling",
        mistake="key-reshaped",
        code="""
def attention_scores(query, key):
    *lead, length, d_k = key.shape
    return query @ key.reshape(*lead, d_k, length) / math.sqrt(d_k)
""",
    ),
    Case(  # F3
        "scores-transposed",
        todo="scaling",
        mistake="scores-transposed",
        shown_by="shape",
        code="""
def attention_scores(query, key):
    return key @ query.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # F3
        "scores-transposed-einsum",
        todo="scaling",
        mistake="scores-transposed",
        shown_by="shape",
        code="""
def attention_scores(query, key):
    return torch.einsum("...qd,...kd->...kq", query, key) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # F2
        "key-not-transposed",
        todo="scaling",
        mistake="key-not-transposed",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    return query @ key / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # L3: .T turns all dimensions round
        "key-T",
        todo="scaling",
        mistake="fixed-rank",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    return query @ key.T / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # L3
        "key-transpose-1-2",
        todo="scaling",
        mistake="fixed-rank",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    return torch.matmul(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # L3
        "scores-bmm",
        todo="scaling",
        mistake="fixed-rank",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    return torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # L3
        "scores-einsum-of-rank-4",
        todo="scaling",
        mistake="fixed-rank",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    b, h, l, d = query.shape
    return torch.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(d)
""",
    ),
    Case(  # F10
        "scores-einsum-sums-the-keys",
        todo="scaling",
        mistake="scores-summed-out",
        shown_by="shape",
        code="""
def attention_scores(query, key):
    return torch.einsum("...qd,...kd->...q", query, key) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # F10: q and k share one label, so that only the diagonal is left
        "scores-elementwise",
        todo="scaling",
        mistake="scores-elementwise",
        shown_by="raises",
        code="""
def attention_scores(query, key):
    return (query * key).sum(dim=-1, keepdim=True) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # F10: d and e are summed apart
        "scores-einsum-no-shared-label",
        todo="scaling",
        mistake="scores-of-feature-sums",
        code="""
def attention_scores(query, key):
    return torch.einsum("...qd,...ke->...qk", query, key) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # F17
        "scores-of-query-alone",
        todo="scaling",
        mistake="scores-of-query-alone",
        shown_by="shape",
        code="""
def attention_scores(query, key):
    return query @ query.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # F20
        "keys-of-the-first-sample",
        todo="scaling",
        mistake="keys-of-the-first-sample",
        code="""
def attention_scores(query, key):
    if key.dim() > 2:
        key = key[:1]
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # B17
        "scores-cosine",
        todo="scaling",
        mistake="scores-cosine",
        code="""
def attention_scores(query, key):
    query, key = nn.functional.normalize(query, dim=-1), nn.functional.normalize(key, dim=-1)
    return query @ key.transpose(-2, -1)
""",
    ),
    Case(  # B17
        "scores-cosine-and-scale",
        todo="scaling",
        mistake="scores-cosine-and-scale",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores / (query.norm(dim=-1).unsqueeze(-1) * key.norm(dim=-1).unsqueeze(-2))
""",
    ),
    Case(  # B17
        "scores-absolute",
        todo="scaling",
        mistake="scores-absolute",
        code="""
def attention_scores(query, key):
    return (query @ key.transpose(-2, -1)).abs() / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # B17
        "scores-relu",
        todo="scaling",
        mistake="scores-relu",
        code="""
def attention_scores(query, key):
    return torch.relu(query @ key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # B17
        "scores-negated",
        todo="scaling",
        mistake="scores-negated",
        code="""
def attention_scores(query, key):
    return -(query @ key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # B17
        "scores-tanh",
        todo="scaling",
        mistake="scores-tanh",
        code="""
def attention_scores(query, key):
    return torch.tanh(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]))
""",
    ),
    Case(  # own
        "scores-distance",
        todo="scaling",
        mistake="scores-distance",
        code="""
def attention_scores(query, key):
    return -torch.cdist(query, key) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # own
        "scores-squared-distance",
        todo="scaling",
        mistake="scores-squared-distance",
        code="""
def attention_scores(query, key):
    difference = query.unsqueeze(-2) - key.unsqueeze(-3)
    return -difference.pow(2).sum(-1) / (2 * math.sqrt(query.shape[-1]))
""",
    ),
    Case(  # own: the softmax is already in here
        "scores-already-softmax",
        todo="scaling",
        mistake="scores-already-softmax",
        code="""
def attention_scores(query, key):
    return torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1]), dim=-1)
""",
    ),
    Case(  # own: harmless to the softmax, wrong as scores
        "scores-shifted-to-max-zero",
        todo="scaling",
        mistake="scores-shifted-to-max-zero",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores - scores.amax(dim=-1, keepdim=True)
""",
    ),
    Case(  # own: harmless to the softmax, wrong as scores
        "scores-of-centred-keys",
        todo="scaling",
        mistake="scores-of-centred-keys",
        code="""
def attention_scores(query, key):
    key = key - key.mean(dim=-2, keepdim=True)
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # C30: the scores are masked here
        "scores-causal",
        todo="scaling",
        mistake="scores-causal",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
""",
    ),
    Case(  # own: mean over the features instead of their sum
        "scores-mean-and-scale",
        todo="scaling",
        mistake="scale-by-d-to-the-three-halves",
        code="""
def attention_scores(query, key):
    products = query.unsqueeze(-2) * key.unsqueeze(-3)
    return products.mean(dim=-1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # own: a loop that forgets the last feature
        "scores-last-feature-dropped",
        todo="scaling",
        mistake="scores-last-feature-dropped",
        code="""
def attention_scores(query, key):
    d_k = query.shape[-1]
    scores = 0 * query[..., :1] @ key[..., :1].transpose(-2, -1)
    for f in range(d_k - 1):
        scores = scores + query[..., f, None] * key[..., None, :, f]
    return scores / math.sqrt(d_k)
""",
    ),
    Case(  # own: features of the key in reverse order
        "scores-key-flipped",
        todo="scaling",
        mistake="scores-key-flipped",
        code="""
def attention_scores(query, key):
    return query @ key.flip(-1).transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # F14: all samples in one long sequence, cut back to the shape asked for
        "scores-across-the-batch",
        todo="scaling",
        mistake="keys-of-the-first-matrix",
        code="""
def attention_scores(query, key):
    length_q, length_k, d_k = query.shape[-2], key.shape[-2], query.shape[-1]
    scores = query.reshape(-1, d_k) @ key.reshape(-1, d_k).T / math.sqrt(d_k)
    return scores[:, :length_k].reshape(*query.shape[:-2], length_q, length_k)
""",
    ),
]
