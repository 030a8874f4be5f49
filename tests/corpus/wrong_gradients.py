"""Exact forward, wrong backward."""

from . import Case

CASES = [
    # --- attention_scores
    Case(  # J3
        "scores-no-grad",
        todo="scaling",
        mistake="scores-detached",
        shown_by="gradient",
        code="""
@torch.no_grad()
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # J1
        "scores-detached",
        todo="scaling",
        mistake="scores-detached",
        shown_by="gradient",
        code="""
def attention_scores(query, key):
    return (query @ key.transpose(-2, -1)).detach() / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # J3: leaves tensors behind that no later computation may use
        "scores-inference-mode",
        todo="scaling",
        mistake="scores-detached",
        shown_by="gradient",
        code="""
@torch.inference_mode()
def attention_scores(query, key):
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # J5
        "scores-of-key-data",
        todo="scaling",
        mistake="key-detached",
        shown_by="gradient",
        code="""
def attention_scores(query, key):
    return query @ key.data.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # J1
        "scores-of-detached-query",
        todo="scaling",
        mistake="query-detached",
        shown_by="gradient",
        code="""
def attention_scores(query, key):
    return query.detach() @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
""",
    ),
    Case(  # J3: through numpy
        "scores-through-numpy",
        todo="scaling",
        mistake="scores-detached",
        shown_by="gradient",
        code="""
import numpy as np

def attention_scores(query, key):
    q, k = query.detach().cpu().numpy(), key.detach().cpu().numpy()
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) / math.sqrt(q.shape[-1])
    return torch.from_numpy(scores).to(query.device)
""",
    ),
    Case(  # J3: a tensor built from Python numbers
        "scores-from-items",
        todo="scaling",
        mistake="scores-detached",
        shown_by="gradient",
        code="""
def attention_scores(query, key):
    q, k = query.reshape(-1, *query.shape[-2:]), key.reshape(-1, *key.shape[-2:])
    rows = [[[torch.dot(a, b).item() for b in kb] for a in qb] for qb, kb in zip(q, k)]
    scores = torch.tensor(rows, dtype=query.dtype, device=query.device) / math.sqrt(query.shape[-1])
    return scores.reshape(*query.shape[:-1], key.shape[-2])
""",
    ),
    Case(  # J7: numpy on a tensor that wants a gradient
        "scores-numpy-of-a-leaf",
        todo="scaling",
        mistake="backward-raises",
        shown_by="gradient",
        code="""
import numpy as np

def attention_scores(query, key):
    scores = np.einsum("...qd,...kd->...qk", query.numpy(), key.numpy()) / np.sqrt(query.shape[-1])
    return torch.from_numpy(scores).to(query)
""",
    ),
    Case(  # own: the values of the right scores, the gradient of the unscaled ones
        "scores-scale-not-in-gradient",
        todo="scaling",
        mistake="scale-not-in-gradient",
        shown_by="gradient",
        code="""
def attention_scores(query, key):
    raw = query @ key.transpose(-2, -1)
    return raw + (raw / math.sqrt(query.shape[-1]) - raw).detach()
""",
    ),
    Case(  # own: a hand-written backward without the scale
        "scores-own-backward-without-scale",
        todo="scaling",
        mistake="scale-not-in-gradient",
        shown_by="gradient",
        code="""
class Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key):
        ctx.save_for_backward(query, key)
        return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])

    @staticmethod
    def backward(ctx, grad):
        query, key = ctx.saved_tensors
        return grad @ key, grad.transpose(-2, -1) @ query

def attention_scores(query, key):
    return Scores.apply(query, key)
""",
    ),
    Case(  # own: the gradient is clipped on its way
        "scores-gradient-clipped",
        todo="scaling",
        mistake="gradient-clipped",
        shown_by="gradient",
        code="""
def attention_scores(query, key):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if scores.requires_grad:
        scores.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
    return scores
""",
    ),
    # --- attention_weights
    Case(  # J1
        "weights-detached",
        todo="mask",
        mistake="weights-detached",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1).detach()
""",
    ),
    Case(  # J5
        "weights-data",
        todo="mask",
        mistake="weights-detached",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    scores = scores.data.clone()
    if mask is not None:
        scores[~mask.expand_as(scores)] = float("-inf")
    return scores.softmax(dim=-1)
""",
    ),
    Case(  # J3
        "weights-no-grad",
        todo="mask",
        mistake="weights-detached",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    with torch.no_grad():
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # J3: masked scores alone lose their graph
        "weights-no-grad-when-masked",
        todo="mask",
        mistake="weights-detached",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        with torch.no_grad():
            scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # J3: a copy made with torch.tensor
        "weights-of-a-new-tensor",
        todo="mask",
        mistake="weights-detached",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    scores = torch.tensor(scores.tolist(), dtype=scores.dtype, device=scores.device)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1)
""",
    ),
    Case(  # J2
        "denominator-detached",
        todo="mask",
        mistake="denominator-detached",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e / e.sum(dim=-1, keepdim=True).detach()
""",
    ),
    Case(  # J2
        "logsumexp-detached",
        todo="mask",
        mistake="denominator-detached",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    with torch.no_grad():
        norm = torch.logsumexp(scores, dim=-1, keepdim=True)
    return torch.exp(scores - norm)
""",
    ),
    Case(  # J2: the other half
        "numerator-detached",
        todo="mask",
        mistake="numerator-detached",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return e.detach() / e.sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # own: detached too early, so that the max is not the one that was subtracted
        "max-half-detached",
        todo="mask",
        mistake="shift-changes-gradient",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    top = scores.amax(dim=-1, keepdim=True)
    e = torch.exp(scores - top)
    return e / torch.exp(scores - top.detach()).sum(dim=-1, keepdim=True)
""",
    ),
    Case(  # own: a hand-written backward, as for an elementwise function
        "softmax-own-backward-diagonal",
        todo="mask",
        mistake="denominator-detached",
        shown_by="gradient",
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
        return grad * weights

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return Softmax.apply(scores)
""",
    ),
    Case(  # own: w (1 - w) is the diagonal of the Jacobian alone
        "softmax-own-backward-like-sigmoid",
        todo="mask",
        mistake="softmax-backward-like-sigmoid",
        shown_by="gradient",
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
        return grad * weights * (1 - weights)

def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return Softmax.apply(scores)
""",
    ),
    Case(  # own: hard forward values come from softmax, the gradient goes straight through
        "weights-straight-through",
        todo="mask",
        mistake="weights-straight-through",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    masked = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(masked, dim=-1).detach()
    return weights + scores - scores.detach()
""",
    ),
    Case(  # J7: the quotient overwrites what exp needs for its backward
        "division-in-place",
        todo="mask",
        mistake="backward-raises",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    e /= e.sum(dim=-1, keepdim=True)
    return e
""",
    ),
    Case(  # J7: zeroing the result of softmax in place
        "zeros-in-place-after-softmax",
        todo="mask",
        mistake="backward-raises",
        shown_by="gradient",
        code="""
def attention_weights(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights.masked_fill_(~mask, 0.0)
    return weights
""",
    ),
    Case(  # C24: exp of what is not masked yet overflows, and 0 * inf comes back as NaN
        "gradient-nan-behind-where",
        todo="mask",
        mistake="gradient-nan-behind-where",
        shown_by="large logits",
        code="""
def attention_weights(scores, mask=None):
    if mask is None:
        return torch.softmax(scores, dim=-1)
    top = scores.masked_fill(~mask, float("-inf")).amax(dim=-1, keepdim=True)
    e = torch.where(mask, torch.exp(scores - top), 0.0)
    return e / e.sum(dim=-1, keepdim=True)
""",
    ),
    # --- the given bodies
    Case(  # J1
        "output-of-detached-weights",
        mistake="weights-detached",
        shown_by="gradient",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights.detach() @ value, weights
""",
    ),
    Case(  # J1
        "output-of-detached-values",
        mistake="value-detached",
        shown_by="gradient",
        code="""
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value.detach(), weights
""",
    ),
    Case(  # J3
        "whole-no-grad",
        mistake="output-detached",
        shown_by="gradient",
        code="""
@torch.no_grad()
def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights
""",
    ),
    Case(  # J3
        "forward-no-grad",
        mistake="output-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    @torch.no_grad()
    def forward(self, x, mask=None):
        return super().forward(x, mask)
""",
    ),
    Case(  # J3: a global switch, thrown at import
        "grad-switched-off-globally",
        mistake="output-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        result = super().forward(x, mask)
        torch.set_grad_enabled(before)
        return result
""",
    ),
    Case(  # J1
        "forward-input-detached",
        mistake="input-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x.detach(), mask)
""",
    ),
    Case(  # J5
        "forward-weights-data",
        mistake="projections-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        query, key, value = (self.split_heads(x @ w.weight.data.T) for w in (self.W_Q, self.W_K, self.W_V))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # J1: only the values' path is trained
        "forward-query-and-key-no-grad",
        mistake="weights-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        with torch.no_grad():
            query, key = self.split_heads(self.W_Q(x)), self.split_heads(self.W_K(x))
        heads, weights = scaled_dot_product_attention(query, key, self.split_heads(self.W_V(x)), mask)
        return self.combine_heads(heads), weights
""",
    ),
    Case(  # J1
        "split-detaches",
        todo="head split",
        mistake="split-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.detach().unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
""",
    ),
    Case(  # J3
        "split-no-grad",
        todo="head split",
        mistake="split-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        with torch.no_grad():
            return torch.stack(x.chunk(self.n_heads, dim=-1), dim=1)
""",
    ),
    Case(  # J5
        "split-copies-data",
        todo="head split",
        mistake="split-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        out = torch.empty(x.shape[0], self.n_heads, x.shape[1], self.d_head, dtype=x.dtype, device=x.device)
        for h in range(self.n_heads):
            out[:, h].data.copy_(x.data[..., h * self.d_head : (h + 1) * self.d_head])
        return out
""",
    ),
    Case(  # own: one head gets no gradient
        "split-first-head-detached",
        todo="head split",
        mistake="split-first-head-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        first, *rest = x.chunk(self.n_heads, dim=-1)
        return torch.stack([first.detach(), *rest], dim=1)
""",
    ),
    Case(  # J1
        "merge-detaches-heads",
        todo="W_O",
        mistake="merge-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.detach().transpose(1, 2).flatten(2))
""",
    ),
    Case(  # J5
        "output-projection-data",
        todo="W_O",
        mistake="output-projection-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return heads.transpose(1, 2).flatten(2) @ self.W_O.weight.data.T
""",
    ),
    Case(  # J1
        "output-projection-frozen",
        mistake="output-projection-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_O.weight.requires_grad_(False)
""",
    ),
    Case(  # J3
        "merge-no-grad",
        todo="W_O",
        mistake="merge-detached",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        with torch.no_grad():
            joined = torch.cat(heads.unbind(dim=1), dim=-1)
        return self.W_O(joined)
""",
    ),
    Case(  # own: the module's parameters count twice
        "output-gradient-doubled",
        todo="W_O",
        mistake="output-gradient-doubled",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        output = self.W_O(heads.transpose(1, 2).flatten(2))
        return 2 * output - output.detach()
""",
    ),
    Case(  # own: backward runs once, inside
        "graph-used-up-inside",
        mistake="backward-inside",
        shown_by="gradient",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        if output.requires_grad:
            output.sum().backward(retain_graph=True)
        return output, weights
""",
    ),
]
