"""combine_heads and W_O."""

from . import Case

CASES = [
    # --- the merge
    Case(  # G2
        "merge-without-transpose",
        todo="W_O",
        mistake="merge-without-transpose",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return self.W_O(heads.reshape(B, L, H * d))
""",
    ),
    Case(  # G8
        "merge-cat-along-tokens",
        todo="W_O",
        mistake="merge-without-transpose",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        long = torch.cat([heads[:, h] for h in range(H)], dim=1)  # (B, H * L, d)
        return self.W_O(long.reshape(B, L, H * d))
""",
    ),
    Case(  # G2: contiguous does not bring the axes back
        "merge-contiguous-for-transpose",
        todo="W_O",
        mistake="merge-without-transpose",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        heads.transpose(1, 2)
        return self.W_O(heads.contiguous().view(B, -1, H * d))
""",
    ),
    Case(  # G6
        "merge-interleaved",
        todo="W_O",
        mistake="merge-interleaved",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.permute(0, 2, 3, 1).flatten(2))
""",
    ),
    Case(  # G6
        "merge-stacked-on-the-last-axis",
        todo="W_O",
        mistake="merge-interleaved",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return self.W_O(torch.stack(list(heads.unbind(1)), dim=-1).reshape(B, L, H * d))
""",
    ),
    Case(  # G13
        "merge-heads-reversed",
        todo="W_O",
        mistake="merge-heads-reversed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(torch.cat([heads[:, h] for h in reversed(range(self.n_heads))], dim=-1))
""",
    ),
    Case(  # G13: concatenated in front of each other
        "merge-heads-prepended",
        todo="W_O",
        mistake="merge-heads-reversed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        joined = heads[:, 0]
        for head in heads.unbind(1)[1:]:
            joined = torch.cat([head, joined], dim=-1)
        return self.W_O(joined)
""",
    ),
    Case(  # G11
        "merge-last-head-repeated",
        todo="W_O",
        mistake="merge-last-head-repeated",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        for h in range(self.n_heads):
            head = heads[:, h]
        return self.W_O(head.repeat(1, 1, self.n_heads))
""",
    ),
    Case(  # G11
        "merge-first-head-only",
        todo="W_O",
        mistake="merge-first-head-only",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        padded = nn.functional.pad(heads[:, 0], (0, (self.n_heads - 1) * self.d_head))
        return self.W_O(padded)
""",
    ),
    Case(  # G9
        "merge-heads-averaged",
        todo="W_O",
        mistake="merge-heads-averaged",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.mean(dim=1).repeat(1, 1, self.n_heads))
""",
    ),
    Case(  # G9
        "merge-heads-summed",
        todo="W_O",
        mistake="merge-heads-summed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(torch.cat([heads.sum(dim=1)] * self.n_heads, dim=-1))
""",
    ),
    Case(  # G9: max, as in one of the sources
        "merge-heads-max",
        todo="W_O",
        mistake="merge-heads-max",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.amax(dim=1).repeat(1, 1, self.n_heads))
""",
    ),
    Case(  # own: the features are brought in front of the tokens, then refilled
        "merge-features-before-tokens",
        todo="W_O",
        mistake="merge-features-before-tokens",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return self.W_O(heads.transpose(2, 3).reshape(B, L, H * d))
""",
    ),
    Case(  # G19: (B, d, H, L) refilled
        "merge-wrong-permutation",
        todo="W_O",
        mistake="merge-wrong-permutation",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return self.W_O(heads.permute(0, 3, 1, 2).reshape(B, L, H * d))
""",
    ),
    Case(  # G4
        "merge-batch-and-length-mixed",
        todo="W_O",
        mistake="merge-batch-and-length-mixed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return self.W_O(heads.permute(2, 0, 1, 3).reshape(B, L, H * d))
""",
    ),
    Case(  # G4
        "merge-batch-and-heads-mixed",
        todo="W_O",
        mistake="merge-batch-and-heads-mixed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return self.W_O(heads.reshape(H, B, L, d).permute(1, 2, 0, 3).reshape(B, L, H * d))
""",
    ),
    # --- W_O
    Case(  # H1
        "output-projection-missing",
        todo="W_O",
        mistake="output-projection-missing",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return heads.transpose(1, 2).flatten(2)
""",
    ),
    Case(  # H2
        "output-projection-dropped",
        todo="W_O",
        mistake="output-projection-missing",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        x = heads.transpose(1, 2).flatten(-2)
        self.W_O(x)
        return x
""",
    ),
    Case(  # own: forward does it instead, so that the whole is right and the part is wrong
        "output-projection-in-forward",
        todo="W_O",
        mistake="output-projection-missing",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return heads.transpose(1, 2).flatten(2)

    def forward(self, x, mask=None):
        joined, weights = super().forward(x, mask)
        return self.W_O(joined), weights
""",
    ),
    Case(  # H1, G2
        "merge-without-transpose-or-projection",
        todo="W_O",
        mistake="merge-without-transpose-or-projection",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return heads.reshape(B, L, H * d)
""",
    ),
    Case(  # H3
        "output-projection-twice",
        todo="W_O",
        mistake="output-projection-twice",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(self.W_O(heads.transpose(1, 2).flatten(2)))
""",
    ),
    Case(  # H3: here and by the caller
        "output-projection-twice-in-forward",
        mistake="output-projection-twice",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        output, weights = super().forward(x, mask)
        return self.W_O(output), weights
""",
    ),
    Case(  # H3: before the heads are brought together
        "output-projection-before-merge",
        todo="W_O",
        mistake="output-projection-before-merge",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return self.W_O(heads.reshape(B, L, H * d)).view(B, H, L, d).transpose(1, 2).reshape(B, L, H * d)
""",
    ),
    Case(  # G18: W_O works on each head, heads do not mix
        "output-projection-per-head",
        todo="W_O",
        mistake="output-projection-per-head",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        d = self.d_head
        mixed = [
            heads[:, h] @ self.W_O.weight[h * d : (h + 1) * d, h * d : (h + 1) * d].T
            for h in range(self.n_heads)
        ]
        return torch.cat(mixed, dim=-1)
""",
    ),
    Case(  # H6
        "output-projection-is-W_V",
        todo="W_O",
        mistake="output-projection-is-W_V",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_V(heads.transpose(1, 2).flatten(2))
""",
    ),
    Case(  # H6
        "output-projection-is-W_Q",
        todo="W_O",
        mistake="output-projection-is-W_Q",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_Q(heads.transpose(1, 2).flatten(2))
""",
    ),
    Case(  # own
        "output-projection-not-transposed",
        todo="W_O",
        mistake="output-projection-not-transposed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return heads.transpose(1, 2).flatten(2) @ self.W_O.weight
""",
    ),
    Case(  # own: the einsum sums over the wrong axis of the weight
        "output-einsum-not-transposed",
        todo="W_O",
        mistake="output-projection-not-transposed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        w = self.W_O.weight.view(self.n_heads, self.d_head, -1)
        return torch.einsum("bhld,hdm->blm", heads, w)
""",
    ),
    Case(  # H16
        "output-projection-made-anew",
        todo="W_O",
        mistake="output-projection-made-anew",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        joined = heads.transpose(1, 2).flatten(2)
        layer = nn.Linear(joined.shape[-1], joined.shape[-1], bias=False)
        return layer.to(joined)(joined)
""",
    ),
    Case(  # H4
        "output-relu",
        todo="W_O",
        mistake="output-relu",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return torch.relu(self.W_O(heads.transpose(1, 2).flatten(2)))
""",
    ),
    Case(  # H4
        "output-gelu",
        todo="W_O",
        mistake="output-gelu",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return nn.functional.gelu(self.W_O(heads.transpose(1, 2).flatten(2)))
""",
    ),
    Case(  # H4
        "output-tanh-before",
        todo="W_O",
        mistake="output-tanh-before",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(torch.tanh(heads.transpose(1, 2).flatten(2)))
""",
    ),
    Case(  # H21
        "output-residual",
        todo="W_O",
        mistake="output-residual",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        joined = heads.transpose(1, 2).flatten(2)
        return joined + self.W_O(joined)
""",
    ),
    Case(  # H21
        "output-layer-norm",
        todo="W_O",
        mistake="output-layer-norm",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        output = self.W_O(heads.transpose(1, 2).flatten(2))
        return nn.functional.layer_norm(output, output.shape[-1:])
""",
    ),
    Case(  # A1, G9
        "output-divided-by-heads",
        todo="W_O",
        mistake="output-divided-by-heads",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.transpose(1, 2).flatten(2)) / self.n_heads
""",
    ),
    Case(  # I6: F.dropout does not know the module's mode
        "output-dropout",
        todo="W_O",
        mistake="dropout-active",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return nn.functional.dropout(self.W_O(heads.transpose(1, 2).flatten(2)), p=0.1)
""",
    ),
    # --- shapes
    Case(  # H3: W_O wants d_model features
        "output-projection-on-d-head",
        todo="W_O",
        mistake="output-projection-on-d-head",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads).transpose(1, 2).flatten(2)
""",
    ),
    Case(  # own: needs contiguous or reshape
        "merge-view-not-contiguous",
        todo="W_O",
        mistake="view-of-non-contiguous",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        B, H, L, d = heads.shape
        return self.W_O(heads.transpose(1, 2).view(B, L, H * d))
""",
    ),
    Case(  # own
        "merge-batch-flattened",
        todo="W_O",
        mistake="merge-batch-flattened",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.transpose(1, 2).reshape(-1, self.n_heads * self.d_head))
""",
    ),
    Case(  # own
        "merge-still-split",
        todo="W_O",
        mistake="merge-still-split",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        output = self.W_O(heads.transpose(1, 2).flatten(2))
        return output.view(*output.shape[:2], self.n_heads, self.d_head)
""",
    ),
    Case(  # own
        "merge-length-first",
        todo="W_O",
        mistake="merge-length-first",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.permute(2, 0, 1, 3).flatten(2))
""",
    ),
    Case(  # G9
        "merge-sum-of-heads",
        todo="W_O",
        mistake="merge-sum-of-heads",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return heads.sum(dim=1) @ self.W_O.weight[: self.d_head, : self.d_head].T
""",
    ),
    Case(  # own
        "merge-squeezes",
        todo="W_O",
        mistake="squeezes-size-one",
        shown_by="L=1",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def combine_heads(self, heads):
        return self.W_O(heads.transpose(1, 2).flatten(2).squeeze(1))
""",
    ),
]
