"""Inputs for the checks, drawn from a seed."""

import hashlib
import random
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.judge.exercise import PROJECTIONS


@dataclass(frozen=True)
class Sizes:
    """Sizes that differ pairwise, so that none can be taken for another, with d_k and d_head no squares.

    B batch, H heads; for attention between two sequences L_q queries, L_k keys, d_k and d_v; for
    multi-head attention L tokens of d_model = H * d_head. At d_k <= 13 every right way of writing the
    scores stays below 1e-16 at the scale of tier 4.
    """

    B: int = 2
    H: int = 3
    L_q: int = 5
    L_k: int = 7
    d_k: int = 10
    d_v: int = 6
    L: int = 4
    d_head: int = 5

    @property
    def d_model(self) -> int:
        """H * d_head"""
        return self.H * self.d_head


def secret_sizes(seed: int | str) -> Sizes:
    """Other sizes with the same properties, for the hidden checks."""
    choose = random.Random(f"sizes {seed}")
    while True:
        batch, heads, length, d_head = (
            choose.choice(c) for c in ((2, 3, 4), (2, 3, 4), (6, 8, 9), (3, 5, 7))
        )
        l_q, l_k, d_k, d_v = (choose.choice(c) for c in ((4, 6, 8, 9), (11, 12, 14), (5, 7, 13), (3, 10, 15)))
        alone = {batch, heads, l_q, l_k, d_k, d_v}
        together = {batch, heads, length, d_head, heads * d_head}
        if len(alone) == 6 and len(together) == 5:
            return Sizes(batch, heads, l_q, l_k, d_k, d_v, length, d_head)


def other_layout(tensor: Tensor) -> Tensor:
    """The same numbers, not contiguous: the dimensions lie the other way round in memory."""
    back = tuple(reversed(range(tensor.dim())))
    return tensor.permute(back).contiguous().permute(back)


class Draw:
    """Random inputs for one check: the same for the same seed and name, whatever ran before."""

    def __init__(self, seed: int | str, name: str, sizes: Sizes | None = None):
        digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
        self._generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big", signed=True))
        self.sizes = sizes or Sizes()

    def normal(self, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
        """Numbers of N(0, 1)."""
        return torch.randn(*shape, generator=self._generator, dtype=torch.float64).to(dtype)

    def normal_like(self, tensor: Tensor) -> Tensor:
        """Numbers of N(0, 1) in the shape and dtype of a tensor."""
        return self.normal(*tensor.shape, dtype=tensor.dtype)

    def query(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """(B, H, L_q, d_k) of N(0, 1)"""
        return self.normal(self.sizes.B, self.sizes.H, self.sizes.L_q, self.sizes.d_k, dtype=dtype)

    def key(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """(B, H, L_k, d_k) of N(0, 1)"""
        return self.normal(self.sizes.B, self.sizes.H, self.sizes.L_k, self.sizes.d_k, dtype=dtype)

    def value(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """(B, H, L_k, d_v) of N(0, 1)"""
        return self.normal(self.sizes.B, self.sizes.H, self.sizes.L_k, self.sizes.d_v, dtype=dtype)

    def scores(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """(B, H, L_q, L_k) of N(0, 1), what scaled scores are like"""
        return self.normal(self.sizes.B, self.sizes.H, self.sizes.L_q, self.sizes.L_k, dtype=dtype)

    def tokens(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """(B, L, d_model) of N(0, 1)"""
        return self.normal(self.sizes.B, self.sizes.L, self.sizes.d_model, dtype=dtype)

    def heads(self, dtype: torch.dtype = torch.float64) -> Tensor:
        """(B, H, L, d_head) of N(0, 1)"""
        return self.normal(self.sizes.B, self.sizes.H, self.sizes.L, self.sizes.d_head, dtype=dtype)

    def projections(self, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
        """W_Q, W_K, W_V, W_O, by name -> (d_model, d_model) of N(0, 1) / sqrt(d_model).

        This keeps queries, keys and values of order 1: with weights of std 0.02 every softmax is near
        uniform, and most mistakes are out of sight.
        """
        d_model = self.sizes.d_model
        return {name: self.normal(d_model, d_model, dtype=dtype) / d_model**0.5 for name in PROJECTIONS}

    def output_projection(self, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
        """W_O alone: what combine_heads needs, and no more, so that no other parameter can spoil it."""
        return {"W_O": self.projections(dtype)["W_O"]}

    def mask(self) -> Tensor:
        """A mask for each sample: bool (B, 1, L_q, L_k)."""
        return self.bools(self.sizes.B, 1, self.sizes.L_q, self.sizes.L_k)

    def token_mask(self) -> Tensor:
        """A mask for each sample: bool (B, 1, L, L)."""
        return self.bools(self.sizes.B, 1, self.sizes.L, self.sizes.L)

    def number(self, lowest: int, highest: int) -> int:
        """A whole number, both ends included."""
        return int(torch.randint(lowest, highest + 1, (), generator=self._generator))

    def leading(self) -> tuple[int, ...]:
        """None to three leading dimensions."""
        return tuple(self.number(1, 4) for _ in range(self.number(0, 3)))

    def permutation(self, length: int) -> Tensor:
        """The numbers 0 to length - 1 in random order."""
        return torch.randperm(length, generator=self._generator)

    def bools(self, *shape: int) -> Tensor:
        """Bool (..., L_q, L_k): about half of it True, and something in every row."""
        allowed = torch.rand(*shape, generator=self._generator, dtype=torch.float64) < 0.5
        always = torch.randint(shape[-1], (*shape[:-1], 1), generator=self._generator)
        return allowed.scatter(-1, always, torch.ones_like(always, dtype=torch.bool))
