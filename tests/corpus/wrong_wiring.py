"""Right parts, put together wrongly: scaled_dot_product_attention and forward, rewritten."""

from . import Case

CASES = [
    # --- scaled_dot_product_attention
    Case(  # F4
        "output-mixes-keys",
        mistake="output-mixes-keys",
        shown_by="shape",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ key, weights
""",
    ),
    Case(  # F7
        "weights-transposed-before-values",
        mistake="weights-transposed-before-values",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights.transpose(-2, -1) @ value, weights
""",
    ),
    Case(  # F9
        "output-einsum-sums-queries",
        mistake="output-einsum-sums-queries",
        shown_by="shape",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return torch.einsum("...qk,...kd->...kd", weights, value), weights
""",
    ),
    Case(  # F10: the einsum sums keys apart, so that every row is the sum of all values
        "output-sums-all-values",
        mistake="output-sums-all-values",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return torch.einsum("...qk,...jd->...qd", weights, value), weights
""",
    ),
    Case(  # F3
        "query-and-key-swapped",
        mistake="query-and-key-swapped",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(key, query), mask)
    return weights @ value, weights
""",
    ),
    Case(  # F17
        "keys-from-query",
        mistake="keys-from-query",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, query), mask)
    return weights @ value, weights
""",
    ),
    Case(  # C29
        "mask-not-passed-on",
        mistake="mask-ignored",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key))
    return weights @ value, weights
""",
    ),
    Case(  # C2: two conventions at once
        "mask-inverted-on-the-way",
        mistake="mask-inverted",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    if mask is not None:
        mask = ~mask
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights
""",
    ),
    Case(  # C10
        "mask-after-softmax-in-the-whole",
        mistake="mask-after-softmax",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = torch.softmax(attention_scores(query, key), dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0)
    return weights @ value, weights
""",
    ),
    Case(  # own: the report is masked, the output is not
        "output-of-unmasked-weights",
        mistake="output-of-unmasked-weights",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key)
    weights = attention_weights(scores)
    return weights @ value, attention_weights(scores, mask)
""",
    ),
    Case(  # own: the other way round
        "returned-weights-unmasked",
        mistake="returned-weights-unmasked",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key)
    return attention_weights(scores, mask) @ value, attention_weights(scores)
""",
    ),
    Case(  # C11
        "mask-on-values",
        mistake="mask-on-values",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key))
    if mask is not None:
        value = value * mask.any(dim=-2).unsqueeze(-1)
    return weights @ value, weights
""",
    ),
    Case(  # C11
        "mask-on-keys",
        mistake="mask-on-keys",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    if mask is not None:
        key = key * mask.any(dim=-2).unsqueeze(-1)
    weights = attention_weights(attention_scores(query, key))
    return weights @ value, weights
""",
    ),
    Case(  # F15
        "scores-returned-for-weights",
        mistake="scores-returned-for-weights",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key)
    return attention_weights(scores, mask) @ value, scores
""",
    ),
    Case(  # F15, C10: the scores themselves weigh the values
        "softmax-missing",
        mistake="softmax-missing",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_scores(query, key)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value, weights
""",
    ),
    Case(  # B7
        "softmax-twice-in-the-whole",
        mistake="softmax-twice-unmasked",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = torch.softmax(attention_weights(attention_scores(query, key), mask), dim=-1)
    return weights @ value, weights
""",
    ),
    Case(  # F15
        "weights-first",
        mistake="weights-first",
        shown_by="shape",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights, weights @ value

class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        weights, heads = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # L4
        "output-alone",
        mistake="output-alone",
        shown_by="shape",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value

class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        weights = attention_weights(attention_scores(query, key), mask)
        heads = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # L4
        "not-the-pair",
        mistake="not-the-pair",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return {"output": output, "weights": weights}
""",
    ),
    Case(  # L4
        "forward-output-alone",
        mistake="output-alone",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x, mask)[0]
""",
    ),
    Case(  # F20
        "values-of-the-first-sample",
        mistake="values-of-the-first-sample",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ (value[:1] if value.dim() > 2 else value), weights
""",
    ),
    Case(  # H23
        "values-as-wide-as-keys",
        mistake="values-as-wide-as-keys",
        shown_by="shape",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    output = torch.zeros_like(query)
    width = min(query.shape[-1], value.shape[-1])
    output[..., :width] = weights @ value[..., :width]
    return output, weights
""",
    ),
    Case(  # H21
        "residual-in-attention",
        mistake="residual-in-attention",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value + value.mean(dim=-2, keepdim=True), weights
""",
    ),
    Case(  # own: values weighted elementwise, the first key counts alone
        "output-of-first-key",
        mistake="output-of-first-key",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights[..., :1] * value[..., :1, :], weights
""",
    ),
    Case(  # own: a running sum that starts at key 1
        "output-skips-first-key",
        mistake="output-skips-first-key",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    output = 0 * (weights @ value)
    for j in range(1, key.shape[-2]):
        output = output + weights[..., j, None] * value[..., j, None, :]
    return output, weights
""",
    ),
    Case(  # own: keys and values out of step
        "values-shifted-by-one",
        mistake="values-shifted-by-one",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value.roll(1, dims=-2), weights
""",
    ),
    Case(  # C30
        "always-causal-in-the-whole",
        mistake="always-causal",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = attention_scores(query, key)
    weights = attention_weights(scores, torch.ones_like(scores, dtype=torch.bool).tril())
    return weights @ value, weights
""",
    ),
    # --- forward: projections
    Case(  # H8
        "value-not-projected",
        mistake="value-not-projected",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = self.split_heads(self.W_Q(x)), self.split_heads(self.W_K(x)), self.split_heads(x)
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H8
        "query-not-projected",
        mistake="query-not-projected",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = self.split_heads(x), self.split_heads(self.W_K(x)), self.split_heads(self.W_V(x))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H8
        "nothing-projected",
        mistake="nothing-projected",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        split = self.split_heads(x)
        heads, weights = scaled_dot_product_attention(split, split, split, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # F5, H6
        "value-from-key",
        mistake="value-from-key",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key = self.split_heads(self.W_Q(x)), self.split_heads(self.W_K(x))
        heads, weights = scaled_dot_product_attention(query, key, key, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H6: copy and paste
        "value-through-W_K",
        mistake="value-from-key",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query = self.split_heads(self.W_Q(x))
        key = self.split_heads(self.W_K(x))
        value = self.split_heads(self.W_K(x))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H6
        "value-through-W_Q",
        mistake="value-from-query",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query = self.split_heads(self.W_Q(x))
        key = self.split_heads(self.W_K(x))
        value = self.split_heads(self.W_Q(x))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H6
        "key-through-W_Q",
        mistake="key-from-query",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, value = self.split_heads(self.W_Q(x)), self.split_heads(self.W_V(x))
        heads, weights = scaled_dot_product_attention(query, query, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H6
        "query-through-W_K",
        mistake="query-from-key",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        key, value = self.split_heads(self.W_K(x)), self.split_heads(self.W_V(x))
        heads, weights = scaled_dot_product_attention(key, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H9
        "key-and-value-swapped",
        mistake="key-and-value-swapped",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, value, key = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H9, F3
        "query-and-key-swapped-in-forward",
        mistake="query-and-key-swapped",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        key, query, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H9: value, query, key in the order of a fused layer
        "fused-order-v-q-k",
        mistake="fused-order-v-q-k",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        fused = torch.cat([self.W_Q.weight, self.W_K.weight, self.W_V.weight])
        value, query, key = (x @ fused.T).chunk(3, dim=-1)
        query, key, value = (self.split_heads(t) for t in (query, key, value))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # own: nn.Linear keeps (out, in)
        "projections-not-transposed",
        mistake="projections-not-transposed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query = self.split_heads(x @ self.W_Q.weight)
        key = self.split_heads(x @ self.W_K.weight)
        value = self.split_heads(x @ self.W_V.weight)
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # own: projected after attention instead of before it
        "value-projected-after",
        mistake="value-projected-after",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key = self.split_heads(self.W_Q(x)), self.split_heads(self.W_K(x))
        heads, weights = scaled_dot_product_attention(query, key, self.split_heads(x), mask)
        heads = self.split_heads(self.W_V(heads.transpose(1, 2).flatten(2)))
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # G14: each head sees its own slice of the input only
        "input-split-before-projection",
        mistake="input-split-before-projection",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        slices = self.split_heads(x)
        blocks = torch.stack([torch.arange(self.d_head) + h * self.d_head for h in range(self.n_heads)])

        def project(layer):
            per_head = layer.weight[blocks[:, :, None], blocks[:, None, :]]  # (H, d_head, d_head)
            return slices @ per_head.transpose(-2, -1)

        query, key, value = project(self.W_Q), project(self.W_K), project(self.W_V)
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # G14: one block for all heads
        "one-projection-for-all-heads",
        mistake="one-projection-for-all-heads",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        d, slices = self.d_head, self.split_heads(x)
        query, key, value = (slices @ w.weight[:d, :d].T for w in (self.W_Q, self.W_K, self.W_V))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H4
        "activation-on-projections",
        mistake="activation-on-projections",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(torch.relu(w(x))) for w in (self.W_Q, self.W_K, self.W_V))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H21
        "layer-norm-before",
        mistake="layer-norm-before",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(nn.functional.layer_norm(x, x.shape[-1:]), mask)
""",
    ),
    Case(  # H21
        "layer-norm-after",
        mistake="layer-norm-after",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return nn.functional.layer_norm(output, output.shape[-1:]), weights
""",
    ),
    Case(  # H21
        "residual-in-forward",
        mistake="residual",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return x + output, weights
""",
    ),
    Case(  # H21
        "query-key-norm",
        mistake="query-key-norm",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        query, key = (nn.functional.rms_norm(t, (self.d_head,)) for t in (query, key))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # H21: as in embeddings
        "input-times-root-d-model",
        mistake="input-times-root-d-model",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x * math.sqrt(x.shape[-1]), mask)
""",
    ),
    Case(  # own: positions do not belong in here
        "positions-added",
        mistake="positions-added",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        position = torch.arange(x.shape[1], dtype=x.dtype, device=x.device).unsqueeze(-1)
        return super().forward(x + torch.sin(position), mask)
""",
    ),
    # --- forward: axes
    Case(  # F12: (B, L, H, d_head), attention over the heads
        "attention-over-heads",
        mistake="attention-over-heads",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (
            w(x).unflatten(-1, (self.n_heads, self.d_head)) for w in (self.W_Q, self.W_K, self.W_V)
        )
        over_heads = attention_weights(attention_scores(query, key))
        heads = (over_heads @ value).transpose(1, 2)
        weights = attention_weights(attention_scores(query.transpose(1, 2), key.transpose(1, 2)), mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # F13: a batch_first layer, fed length first
        "attention-over-batch",
        mistake="attention-over-batch",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x.transpose(0, 1))
        return output.transpose(0, 1), weights
""",
    ),
    Case(  # F14
        "batch-and-length-flattened",
        mistake="batch-and-length-flattened",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        B, L, D = x.shape
        query, key, value = (
            w(x).reshape(B * L, self.n_heads, -1).transpose(0, 1) for w in (self.W_Q, self.W_K, self.W_V)
        )
        long = torch.softmax(attention_scores(query, key), dim=-1)  # (H, B * L, B * L)
        heads = (long @ value).reshape(self.n_heads, B, L, -1).transpose(0, 1)
        _, weights = super().forward(x, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # own: one attention over the whole width
        "heads-not-split",
        mistake="heads-not-split",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = scaled_dot_product_attention(self.W_Q(x), self.W_K(x), self.W_V(x), None)
        return self.W_O(output), weights
""",
    ),
    Case(  # G9: the weights of one head serve them all
        "weights-of-the-first-head",
        mistake="weights-of-the-first-head",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        weights = attention_weights(attention_scores(query, key), mask)
        weights = weights[:, :1].expand_as(weights)
        return self.combine_heads(weights @ value), weights
""",
    ),
    Case(  # G9
        "weights-averaged-over-heads",
        mistake="weights-averaged-over-heads",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        weights = attention_weights(attention_scores(query, key), mask)
        weights = weights.mean(dim=1, keepdim=True).expand_as(weights)
        return self.combine_heads(weights @ value), weights
""",
    ),
    Case(  # L4: what nn.MultiheadAttention returns unless told not to
        "returned-weights-averaged",
        mistake="returned-weights-averaged",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return output, weights.mean(dim=1)
""",
    ),
    Case(  # L4
        "returned-weights-flat",
        mistake="returned-weights-flat",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return output, weights.flatten(0, 1)
""",
    ),
    Case(  # own: a query-first report
        "returned-weights-transposed",
        mistake="returned-weights-transposed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return output, weights.transpose(-2, -1)
""",
    ),
    # --- forward: the mask
    Case(  # C29
        "forward-mask-ignored",
        mistake="mask-ignored",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(w(x)) for w in (self.W_Q, self.W_K, self.W_V))
        heads, weights = scaled_dot_product_attention(query, key, value)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # C30
        "forward-always-causal",
        mistake="always-causal",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x, causal_mask(x.shape[1], x.device))
""",
    ),
    Case(  # C30
        "forward-causal-when-no-mask",
        mistake="causal-when-no-mask",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        if mask is None:
            mask = causal_mask(x.size(1), x.device)
        return super().forward(x, mask)
""",
    ),
    Case(  # C27
        "forward-causal-added-to-mask",
        mistake="causal-added-to-mask",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        if mask is not None:
            own = torch.eye(x.size(1), dtype=torch.bool, device=x.device)
            mask = mask & causal_mask(x.size(1), x.device) | own
        return super().forward(x, mask)
""",
    ),
    Case(  # C2
        "forward-mask-inverted",
        mistake="mask-inverted",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x, None if mask is None else mask.logical_not())
""",
    ),
    Case(  # D5
        "forward-mask-transposed",
        mistake="mask-transposed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask.expand(*mask.shape[:-2], x.shape[1], x.shape[1]).transpose(-2, -1)
        return super().forward(x, mask)
""",
    ),
    Case(  # E4, E6: heads and batch folded into one axis, masks tiled in the other order
        "mask-tiled-in-the-wrong-order",
        mistake="mask-tiled-in-the-wrong-order",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        B, L, _ = x.shape
        H = self.n_heads
        query, key, value = (self.split_heads(w(x)).flatten(0, 1) for w in (self.W_Q, self.W_K, self.W_V))
        if mask is not None:
            mask = mask.expand(B, H, L, L)[:, 0].repeat(H, 1, 1)
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads.unflatten(0, (B, H))), weights.unflatten(0, (B, H))
""",
    ),
    Case(  # E5
        "forward-mask-of-the-first-sample",
        mistake="mask-of-the-first-sample",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask[:1]
        return super().forward(x, mask)
""",
    ),
    Case(  # E1: (1, L, L) and (H, L, L) are masks too
        "forward-mask-unsqueezed",
        mistake="mask-unsqueezed-for-heads",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)
        return super().forward(x, mask)
""",
    ),
    Case(  # E3, L3: a padding mask (B, L) is expected
        "forward-mask-rank-2-as-padding",
        mistake="mask-rank-2-as-padding",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        if mask is not None and mask.dim() == 2:
            mask = mask[:, None, None, :]
        return super().forward(x, mask)
""",
    ),
    Case(  # E10
        "padding-guessed-from-zeros",
        mistake="padding-guessed-from-zeros",
        shown_by="zero tokens",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        real = x.abs().sum(dim=-1).ne(0)[:, None, None, :]
        own = torch.eye(x.shape[1], dtype=torch.bool, device=x.device)
        mask = real | own if mask is None else mask & (real | own)
        return super().forward(x, mask)
""",
    ),
    Case(  # C11
        "forward-mask-on-the-input",
        mistake="mask-on-the-input",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        if mask is not None:
            seen = mask.expand(x.shape[0], self.n_heads, x.shape[1], x.shape[1]).any(dim=1).any(dim=1)
            x = x * seen.unsqueeze(-1)
        return super().forward(x)
""",
    ),
]
