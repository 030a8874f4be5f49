"""Several heads: what they cost, what each of them sees, and where they meet."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from student.measures.formula import attend
from student.measures.sentences import KINDS_OF_WORDS

D_MODEL, N_HEADS = 512, 8
LENGTH = len(KINDS_OF_WORDS[0])
STRENGTH = 3.0  # the score of a key that a toy head looks for; the others have 0

# What each toy head looks for. The first four read kinds of word, the others positions.
HEADS = ("pronoun", "doer", "object", "reason", "previous", "second", "first", "itself")
_LOOKS_FOR = {
    "pronoun": {("pronoun", "animal")},
    "doer": {("action", "animal"), ("action", "pronoun")},
    "object": {("thing", "action")},
    "reason": {("link", "action"), ("action", "link")},
}
_STEPS_BACK = {"previous": 1, "second": 2, "itself": 0}


@dataclass(frozen=True)
class HeadChange:
    """How far each of the 512 columns moves when the values of one head change."""

    before: np.ndarray  # (512,) the heads side by side, before W_O
    after: np.ndarray  # (512,) the output, after W_O

    @property
    def columns_before(self) -> int:
        """How many columns move before W_O."""
        return int(np.count_nonzero(self.before))

    @property
    def columns_after(self) -> int:
        """How many columns move after W_O."""
        return int(np.count_nonzero(self.after))


class Readers(nn.Module):
    """Heads with a W_Q, W_K and W_V each, of d_model / n_heads rows, and one W_O for all."""

    def __init__(self, n_heads: int = N_HEADS, d_model: int = D_MODEL):
        super().__init__()
        d_head = d_model // n_heads
        self.projections = nn.ModuleList(
            nn.ModuleDict({name: nn.Linear(d_model, d_head, bias=False) for name in ("Q", "K", "V")})
            for _ in range(n_heads)
        )
        self.W_O = nn.Linear(d_model, d_model, bias=False)


def parameter_count(n_heads: int = N_HEADS, d_model: int = D_MODEL) -> int:
    """Count the parameters of `n_heads` heads, in the modules themselves."""
    with torch.device("meta"):  # shapes without numbers
        readers = Readers(n_heads, d_model)
    return sum(parameter.numel() for parameter in readers.parameters())


def head_maps() -> np.ndarray:
    """Return the causal weights (8, 7, 7) of eight toy heads on the first sentence, in the order of HEADS."""
    scores = np.array(
        [[[_score(head, i, j) for j in range(LENGTH)] for i in range(LENGTH)] for head in HEADS]
    )
    ones = np.eye(LENGTH) * LENGTH**0.5  # keys that hand the scores through the formula as they are
    return attend(scores, ones, ones, causal=True).weights


def _score(head: str, query: int, key: int) -> float:
    kinds = KINDS_OF_WORDS[0]
    if head == "first":
        found = key == 0
    elif head in _STEPS_BACK:
        found = query - key == _STEPS_BACK[head]
    else:
        found = (kinds[query], kinds[key]) in _LOOKS_FOR[head]
    return STRENGTH * found


def change_one_head(head: int = 2) -> HeadChange:
    """Replace the values of one head by others, and compare both ends of W_O."""
    random = np.random.default_rng(0)
    d_head = D_MODEL // N_HEADS
    query, key, value = (random.standard_normal((N_HEADS, LENGTH, d_head)) for _ in "qkv")
    w_o = random.standard_normal((D_MODEL, D_MODEL)) / D_MODEL**0.5
    changed = value.copy()
    changed[head] = random.standard_normal((LENGTH, d_head))

    def concatenated(values: np.ndarray) -> np.ndarray:
        return np.concatenate(list(attend(query, key, values).output), axis=1)  # (L, 512)

    heads, others = concatenated(value), concatenated(changed)
    return HeadChange(np.abs(heads - others).max(0), np.abs(heads @ w_o - others @ w_o).max(0))


def shape_flow(batch: int = 2, length: int = LENGTH) -> list[tuple[str, tuple[int, ...]]]:
    """Run a forward pass of eight heads and return each step with the shape that came out."""
    torch.manual_seed(0)
    readers, flow = Readers(), []

    def note(step: str, value: Tensor) -> Tensor:
        flow.append((step, tuple(value.shape)))
        return value

    with torch.no_grad():
        x = note("x", torch.randn(batch, length, D_MODEL))
        query, key, value = (_project(readers, name, x) for name in ("Q", "K", "V"))
        note("project", torch.cat(query, -1))
        query, key, value = (torch.stack(heads, 1) for heads in (query, key, value))
        note("split", query)
        scores = note("scores", query @ key.mT * query.shape[-1] ** -0.5)
        weights = note("weights", scores.softmax(-1))
        mixed = note("mix", weights @ value)
        side_by_side = note("concatenate", torch.cat(mixed.unbind(1), -1))
        note("W_O", readers.W_O(side_by_side))
    return flow


def _project(readers: Readers, name: str, x: Tensor) -> list[Tensor]:
    return [reader[name](x) for reader in readers.projections]
