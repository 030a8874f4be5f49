"""split_heads: the right shape is no proof."""

from . import Case

CASES = [
    # --- the right shape, the wrong numbers
    Case(  # G1
        "split-without-transpose",
        todo="head split",
        mistake="split-without-transpose",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        return x.reshape(B, self.n_heads, L, self.d_head)
""",
    ),
    Case(  # G1
        "split-view-of-folded-batch",
        todo="head split",
        mistake="split-without-transpose",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        x = x.contiguous().view(B * self.n_heads, L, self.d_head)
        return x.view(B, self.n_heads, L, self.d_head)
""",
    ),
    Case(  # G1: transposed and then back by mistake
        "split-reshaped-after-transpose",
        todo="head split",
        mistake="split-without-transpose",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        x = x.view(B, L, self.n_heads, self.d_head)
        x.transpose(1, 2)
        return x.reshape(B, self.n_heads, L, self.d_head)
""",
    ),
    Case(  # G5
        "split-interleaved",
        todo="head split",
        mistake="split-interleaved",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        return x.view(B, L, self.d_head, self.n_heads).permute(0, 3, 1, 2)
""",
    ),
    Case(  # G5
        "split-strided-slices",
        todo="head split",
        mistake="split-interleaved",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return torch.stack([x[..., h :: self.n_heads] for h in range(self.n_heads)], dim=1)
""",
    ),
    Case(  # G12
        "split-overlapping-slices",
        todo="head split",
        mistake="split-overlapping",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return torch.stack([x[..., h : h + self.d_head] for h in range(self.n_heads)], dim=1)
""",
    ),
    Case(  # G12
        "split-unfold-step-1",
        todo="head split",
        mistake="split-overlapping",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.unfold(-1, self.d_head, 1)[:, :, : self.n_heads].transpose(1, 2)
""",
    ),
    Case(  # G13
        "split-heads-reversed",
        todo="head split",
        mistake="split-heads-reversed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return torch.stack(x.chunk(self.n_heads, dim=-1)[::-1], dim=1)
""",
    ),
    Case(  # G13: each new head is put in front
        "split-heads-prepended",
        todo="head split",
        mistake="split-heads-reversed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        heads = x[:, None, :, : self.d_head]
        for h in range(1, self.n_heads):
            part = x[:, None, :, h * self.d_head : (h + 1) * self.d_head]
            heads = torch.cat([part, heads], dim=1)
        return heads
""",
    ),
    Case(  # own
        "split-heads-rolled",
        todo="head split",
        mistake="split-heads-rolled",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        x = x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
        return x.roll(1, dims=1)
""",
    ),
    Case(  # G11
        "split-first-head-repeated",
        todo="head split",
        mistake="split-first-head-repeated",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        first = x[..., : self.d_head]
        return first.unsqueeze(1).expand(-1, self.n_heads, -1, -1)
""",
    ),
    Case(  # G11: the loop variable is overwritten
        "split-last-head-repeated",
        todo="head split",
        mistake="split-last-head-repeated",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        for h in range(self.n_heads):
            part = x[..., h * self.d_head : (h + 1) * self.d_head]
        return torch.stack([part] * self.n_heads, dim=1)
""",
    ),
    Case(  # G11: a buffer of which only the last entry is filled
        "split-last-head-only",
        todo="head split",
        mistake="split-last-head-only",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        for h in range(self.n_heads):
            heads = x.new_zeros(x.shape[0], self.n_heads, x.shape[1], self.d_head)
            heads[:, h] = x[..., h * self.d_head : (h + 1) * self.d_head]
        return heads
""",
    ),
    Case(  # own: transpose first, then cut
        "split-after-transposing-features",
        todo="head split",
        mistake="split-after-transposing-features",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        return x.transpose(1, 2).reshape(B, self.n_heads, L, self.d_head)
""",
    ),
    Case(  # own: cut right, then tokens and features mixed up
        "split-features-as-tokens",
        todo="head split",
        mistake="split-features-as-tokens",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        return x.reshape(B, self.n_heads, self.d_head, L).transpose(2, 3)
""",
    ),
    Case(  # own: cut right, but the last two axes are refilled in the other order
        "split-head-refilled",
        todo="head split",
        mistake="split-after-transposing-features",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        x = x.view(B, L, self.n_heads, self.d_head).permute(0, 2, 3, 1)
        return x.reshape(B, self.n_heads, L, self.d_head)
""",
    ),
    Case(  # G4
        "split-batch-and-length-mixed",
        todo="head split",
        mistake="split-batch-and-length-mixed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        return x.reshape(L, B, self.n_heads, self.d_head).permute(1, 2, 0, 3)
""",
    ),
    Case(  # G4: (H, B, L, d_head) refilled as (B, H, L, d_head)
        "split-heads-first-then-view",
        todo="head split",
        mistake="split-batch-and-heads-mixed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        heads = torch.cat(x.split(self.d_head, dim=-1), dim=0)  # (H * B, L, d_head)
        return heads.view(x.shape[0], self.n_heads, x.shape[1], self.d_head)
""",
    ),
    Case(  # own: n_heads and d_head confused in the view, the shape repaired afterwards
        "split-sizes-swapped-then-reshaped",
        todo="head split",
        mistake="split-sizes-swapped-then-reshaped",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        x = x.view(B, L, self.d_head, self.n_heads).transpose(1, 2)
        return x.reshape(B, self.n_heads, L, self.d_head)
""",
    ),
    Case(  # own
        "split-tokens-reversed",
        todo="head split",
        mistake="split-tokens-reversed",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        x = x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
        return x.flip(2)
""",
    ),
    Case(  # G9
        "split-heads-averaged",
        todo="head split",
        mistake="split-heads-averaged",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        x = x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
        return x.mean(dim=1, keepdim=True).expand_as(x)
""",
    ),
    Case(  # own: scaled in here as well
        "split-scales",
        todo="head split",
        mistake="split-scales",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        x = x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
        return x / math.sqrt(self.d_head)
""",
    ),
    Case(  # own: projects what is projected already
        "split-projects",
        todo="head split",
        mistake="split-projects",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return self.W_Q(x).unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
""",
    ),
    Case(  # F20
        "split-first-sample",
        todo="head split",
        mistake="split-first-sample",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        x = x[:1].expand_as(x)
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
""",
    ),
    # --- the wrong shape
    Case(  # F12
        "split-heads-behind-tokens",
        todo="head split",
        mistake="split-heads-behind-tokens",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        return x.view(B, L, self.n_heads, self.d_head)
""",
    ),
    Case(  # F12
        "split-transpose-dropped",
        todo="head split",
        mistake="split-heads-behind-tokens",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        x = x.unflatten(-1, (self.n_heads, self.d_head))
        x.permute(0, 2, 1, 3)
        return x
""",
    ),
    Case(  # G19
        "split-features-before-tokens",
        todo="head split",
        mistake="split-features-before-tokens",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.unflatten(-1, (self.n_heads, self.d_head)).permute(0, 2, 3, 1)
""",
    ),
    Case(  # G4
        "split-heads-before-batch",
        todo="head split",
        mistake="split-heads-before-batch",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return torch.stack(x.chunk(self.n_heads, dim=-1))
""",
    ),
    Case(  # G1: heads folded into the batch, as nn.MultiheadAttention does it inside
        "split-folded-into-batch",
        todo="head split",
        mistake="split-folded-into-batch",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2).flatten(0, 1)
""",
    ),
    Case(  # own
        "split-sizes-swapped",
        todo="head split",
        mistake="split-sizes-swapped",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.unflatten(-1, (self.d_head, self.n_heads)).transpose(1, 2)
""",
    ),
    Case(  # own: chunk takes the number of pieces, split takes their size
        "split-chunk-by-d-head",
        todo="head split",
        mistake="split-sizes-swapped",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return torch.stack(x.chunk(self.d_head, dim=-1), dim=1)
""",
    ),
    Case(  # G16
        "split-every-head-full-width",
        todo="head split",
        mistake="split-every-head-full-width",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.unsqueeze(1).expand(-1, self.n_heads, -1, -1)
""",
    ),
    Case(  # own: the tokens are cut instead of the features
        "split-cuts-the-tokens",
        todo="head split",
        mistake="split-cuts-the-tokens",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return torch.stack(x.split(x.shape[1] // self.n_heads, dim=1), dim=1)
""",
    ),
    Case(  # G5
        "split-stacked-on-the-last-axis",
        todo="head split",
        mistake="split-stacked-on-the-last-axis",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return torch.stack(x.split(self.d_head, dim=-1), dim=-1)
""",
    ),
    Case(  # own
        "split-squeezes",
        todo="head split",
        mistake="squeezes-size-one",
        shown_by="B=1",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2).squeeze()
""",
    ),
    Case(  # L1
        "split-batch-hard-coded",
        todo="head split",
        mistake="split-batch-hard-coded",
        shown_by="shape",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.reshape(2, -1, self.n_heads, self.d_head).transpose(1, 2)
""",
    ),
    Case(  # D8: the length of the first call
        "split-length-remembered",
        todo="head split",
        mistake="split-length-remembered",
        shown_by="state",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        if not hasattr(self, "length"):
            self.length = x.shape[1]
        return x.reshape(-1, self.length, self.n_heads, self.d_head).transpose(1, 2)
""",
    ),
    Case(  # own: a view where the tensor in hand is not contiguous
        "split-view-not-contiguous",
        todo="head split",
        mistake="view-of-non-contiguous",
        shown_by="raises",
        code="""
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        B, L, D = x.shape
        return x.view(B * L, self.n_heads, self.d_head).view(B, L, self.n_heads, -1).transpose(1, 2)
""",
    ),
]
