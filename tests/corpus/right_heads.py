"""Right ways to split heads and to bring them together again."""

from . import Case

_CLASS = "\nclass MultiHeadAttention(MultiHeadAttention):\n"


def _split(name: str, body: str) -> Case:
    return Case(name, code=f"{_CLASS}    def split_heads(self, x):{body}")


def _merge(name: str, body: str) -> Case:
    return Case(name, code=f"{_CLASS}    def combine_heads(self, heads):{body}")


CASES = [
    _split(
        "split-view-and-transpose",
        """
        B, L, D = x.shape
        return x.view(B, L, self.n_heads, self.d_head).transpose(1, 2)
""",
    ),
    _split(
        "split-reshape-and-permute",
        """
        B, L, _ = x.size()
        return x.reshape(B, L, self.n_heads, self.d_head).permute(0, 2, 1, 3)
""",
    ),
    _split(
        "split-view-with-minus-one",
        """
        return x.view(x.size(0), -1, self.n_heads, self.d_head).transpose(1, 2).contiguous()
""",
    ),
    _split(
        "split-sizes-from-input",
        """
        batch, length, width = x.shape
        return x.reshape(batch, length, self.n_heads, width // self.n_heads).transpose(-3, -2)
""",
    ),
    _split(
        "split-chunk-and-stack",
        """
        return torch.stack(x.chunk(self.n_heads, dim=-1), dim=1)
""",
    ),
    _split(
        "split-split-and-stack",
        """
        return torch.stack(torch.split(x, self.d_head, dim=2), dim=0).transpose(0, 1)
""",
    ),
    _split(
        "split-tensor-split-and-cat",
        """
        return torch.cat([part.unsqueeze(1) for part in x.tensor_split(self.n_heads, dim=-1)], dim=1)
""",
    ),
    _split(
        "split-loop-over-slices",
        """
        heads = []
        for h in range(self.n_heads):
            start = h * self.d_head
            heads.append(x[:, :, start : start + self.d_head])
        return torch.stack(heads, 1)
""",
    ),
    _split(
        "split-into-a-buffer",
        """
        B, L, _ = x.shape
        out = torch.empty(B, self.n_heads, L, self.d_head, dtype=x.dtype, device=x.device)
        for h in range(self.n_heads):
            out[:, h] = x[..., h * self.d_head : (h + 1) * self.d_head]
        return out
""",
    ),
    _split(
        "split-unfold",
        """
        return x.unfold(2, self.d_head, self.d_head).transpose(1, 2)
""",
    ),
    _split(
        "split-as-gather",
        """
        columns = torch.arange(x.shape[-1], device=x.device).view(self.n_heads, self.d_head)
        return x[:, :, columns].movedim(2, 1)
""",
    ),
    _split(
        "split-interleaved-trick-undone",
        """
        B, L, D = x.shape
        return x.transpose(1, 2).reshape(B, self.n_heads, self.d_head, L).transpose(2, 3)
""",
    ),
    _split(
        "split-einsum-with-selection",
        """
        eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
        select = eye.view(-1, self.n_heads, self.d_head)
        return torch.einsum("blm,mhd->bhld", x, select)
""",
    ),
    _split(
        "split-rearranged-by-einsum",
        """
        return torch.einsum("blhd->bhld", x.unflatten(2, (self.n_heads, -1)))
""",
    ),
    _split(
        "split-folded-batch-there-and-back",
        """
        B, L, _ = x.shape
        x = x.reshape(B, L, self.n_heads, self.d_head)
        x = x.permute(0, 2, 1, 3)
        x = x.reshape(-1, L, self.d_head)
        return x.reshape(B, self.n_heads, L, self.d_head)
""",
    ),
    _split(
        "split-swapaxes-of-contiguous",
        """
        x = x.contiguous()
        return x.view(*x.shape[:-1], self.n_heads, self.d_head).swapaxes(1, 2)
""",
    ),
    _split(
        "split-sample-by-sample",
        """
        samples = [s.reshape(len(s), self.n_heads, self.d_head).transpose(0, 1) for s in x]
        return torch.stack(samples)
""",
    ),
    _split(
        "split-as-strided-of-contiguous",
        """
        x = x.contiguous()
        B, L, D = x.shape
        sizes, strides = (B, self.n_heads, L, self.d_head), (L * D, self.d_head, D, 1)
        return x.as_strided(sizes, strides, x.storage_offset())
""",
    ),
    _merge(
        "merge-transpose-contiguous-view",
        """
        B, H, L, d = heads.shape
        return self.W_O(heads.transpose(1, 2).contiguous().view(B, L, H * d))
""",
    ),
    _merge(
        "merge-transpose-reshape",
        """
        B, _, L, _ = heads.shape
        x = heads.transpose(1, 2).reshape(B, L, -1)
        return self.W_O(x)
""",
    ),
    _merge(
        "merge-permute-flatten",
        """
        return self.W_O(heads.permute(0, 2, 1, 3).flatten(start_dim=2))
""",
    ),
    _merge(
        "merge-cat-of-unbind",
        """
        return self.W_O(torch.cat(heads.unbind(dim=1), dim=-1))
""",
    ),
    _merge(
        "merge-cat-of-list",
        """
        return self.W_O(torch.cat([heads[:, h] for h in range(self.n_heads)], dim=2))
""",
    ),
    _merge(
        "merge-hstack-of-samples",
        """
        joined = torch.stack([torch.hstack(list(sample)) for sample in heads])
        return self.W_O(joined)
""",
    ),
    _merge(
        "merge-stack-then-flatten",
        """
        return self.W_O(torch.stack(heads.unbind(1), dim=2).flatten(2, 3))
""",
    ),
    _merge(
        "merge-into-a-buffer",
        """
        B, H, L, d = heads.shape
        joined = heads.new_empty(B, L, H * d)
        for h in range(H):
            joined[:, :, h * d : (h + 1) * d] = heads[:, h]
        return self.W_O(joined)
""",
    ),
    _merge(
        "merge-functional-linear",
        """
        return nn.functional.linear(heads.transpose(1, 2).flatten(2), self.W_O.weight)
""",
    ),
    _merge(
        "merge-matmul-with-weight",
        """
        return heads.transpose(1, 2).flatten(2) @ self.W_O.weight.T
""",
    ),
    _merge(
        "merge-einsum-without-transpose",
        """
        w = self.W_O.weight.view(-1, self.n_heads, self.d_head)
        return torch.einsum("bhld,mhd->blm", heads, w)
""",
    ),
    _merge(
        "merge-sum-of-heads-through-their-columns",
        """
        total = 0
        for head, columns in zip(heads.unbind(1), self.W_O.weight.split(self.d_head, dim=1)):
            total = total + head @ columns.T
        return total
""",
    ),
    _merge(
        "merge-batched-columns-summed",
        """
        columns = self.W_O.weight.T.reshape(self.n_heads, self.d_head, -1)
        return (heads @ columns).sum(dim=1)
""",
    ),
    _merge(
        "merge-tensordot",
        """
        w = self.W_O.weight.unflatten(1, (self.n_heads, self.d_head))
        return torch.tensordot(heads, w, dims=([1, 3], [1, 2]))
""",
    ),
    _merge(
        "merge-flat-tokens",
        """
        B, H, L, d = heads.shape
        flat = heads.transpose(1, 2).reshape(B * L, H * d)
        return self.W_O(flat).view(B, L, H * d)
""",
    ),
    _merge(
        "merge-token-by-token",
        """
        tokens = [self.W_O(heads[:, :, i].flatten(1)) for i in range(heads.shape[2])]
        return torch.stack(tokens, dim=1)
""",
    ),
    _merge(
        "merge-movedim",
        """
        tokens = torch.movedim(heads, 1, 2)
        return self.W_O.forward(tokens.reshape(*tokens.shape[:2], self.n_heads * self.d_head))
""",
    ),
    _merge(
        "merge-features-first",
        """
        columns = heads.transpose(2, 3).flatten(1, 2)  # (B, d_model, L)
        return (self.W_O.weight @ columns).transpose(1, 2)
""",
    ),
]
