"""Attention from scratch.

Fill the four TODOs below (five short function bodies), then run

    pytest grader                 everything
    pytest grader -m scaling      one TODO: mask, scaling, head_split or W_O

Names in the shapes: B batch, H heads, L length (L_q queries, L_k keys), d_k size of a query and of
a key, d_v size of a value, d_model = H * d_head. "..." stands for no to three leading dimensions.

What holds for every function:

- A mask is bool, True means "this query may attend to this key", and every row allows some key.
  F.scaled_dot_product_attention reads masks that way too; nn.MultiheadAttention reads them the
  other way round.
- float32 and float64 come out as they came in, on the device that they came from.
- Arguments are left as they are: no in-place change.
- No loop is needed anywhere. torch's own attention is out of bounds, except inside an
  `if __name__ == "__main__":` block, where you may compare with it.
"""

import math

import torch
from torch import Tensor, nn


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Return the bool mask (L, L) that hides the future.

    Entry (i, j) is True when query i may attend to key j, that is when j <= i.
    """
    # TODO 1 (mask): which entries of an (L, L) grid have j <= i?
    # Row 0 may see key 0 alone, the last row sees everything.
    # Return bool, made on `device`.
    raise NotImplementedError("TODO 1 (mask): not filled in yet")


def attention_scores(query: Tensor, key: Tensor) -> Tensor:
    """Compare every query with every key: q.k / sqrt(d_k).

    (..., L_q, d_k), (..., L_k, d_k) -> (..., L_q, L_k)
    """
    # TODO 2 (scaling): one dot product for each pair (query i, key j), in one matrix product.
    # The variance of a dot product grows with the number of its terms: undo that.
    # Read the number of terms off the arguments, it is not the same everywhere.
    raise NotImplementedError("TODO 2 (scaling): not filled in yet")


def attention_weights(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Turn scores into weights: a softmax over the keys, blocked keys get exactly 0.

    (..., L_q, L_k) -> (..., L_q, L_k), each row sums to 1. The mask broadcasts to the scores.
    """
    # TODO 1 (mask): a blocked key must not count in the sum under the softmax either,
    # so hide it before the softmax: which score has exp(score) = 0?
    # Scores may be large, of either sign. No mask means that every key is allowed.
    raise NotImplementedError("TODO 1 (mask): not filled in yet")


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mix the values by the attention weights (given).

    (..., L_q, d_k), (..., L_k, d_k), (..., L_k, d_v) -> output (..., L_q, d_v), weights (..., L_q, L_k)
    """
    weights = attention_weights(attention_scores(query, key), mask)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Several heads that attend side by side, each in d_head = d_model / n_heads dimensions."""

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} is not divisible by n_heads = {n_heads}")
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)

    def split_heads(self, x: Tensor) -> Tensor:
        """Give each head its slice of the features: (B, L, d_model) -> (B, H, L, d_head).

        Head h owns features h * d_head to (h + 1) * d_head.
        """
        # TODO 3 (head split): cut the last dimension into H slices of d_head,
        # then bring the heads in front of the tokens.
        # The shape alone proves nothing: each token must keep its own numbers.
        raise NotImplementedError("TODO 3 (head split): not filled in yet")

    def combine_heads(self, heads: Tensor) -> Tensor:
        """Put the heads side by side again and let W_O mix them: (B, H, L, d_head) -> (B, L, d_model)."""
        # TODO 4 (W_O): undo split_heads, so that each token has its H slices next to each other.
        # Up to here no head knows of another: one last projection mixes them.
        raise NotImplementedError("TODO 4 (W_O): not filled in yet")

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Attend from every token to every token (given).

        (B, L, d_model) -> output (B, L, d_model), weights (B, H, L, L).
        The mask broadcasts to (B, H, L, L).
        """
        query = self.split_heads(self.W_Q(x))
        key = self.split_heads(self.W_K(x))
        value = self.split_heads(self.W_V(x))
        heads, weights = scaled_dot_product_attention(query, key, value, mask)
        return self.combine_heads(heads), weights
