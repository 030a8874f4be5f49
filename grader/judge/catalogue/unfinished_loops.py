"""Mistakes of loops, in any function: a place never filled, a sum not reset, one index for two."""

import itertools
import math

import torch

from grader.judge.catalogue.scaling import product, scaled
from grader.judge.catalogue.softmax import weights_of
from grader.judge.mistakes import mistake

_ENDS = (-1, 0)


def _left_zero(tensor, form):
    """The tensor with 0 at the first or the last place of a dimension."""
    dim, at = form
    filled = torch.ones(tensor.shape[dim], *[1] * (-1 - dim), dtype=tensor.dtype)
    filled[at] = 0
    return tensor * filled


def _forms(*dims):
    return tuple(itertools.product(dims, _ENDS))


def _left_out(en, zh, parameters):
    """A loop that misses its first or its last step; en, zh: what is left at zero."""
    return mistake(
        "part-left-zero",
        en=(
            f"{en} is left at zero",
            "Everything else is right. Usual causes: a loop that starts one step too late or ends one step "
            "too early, and a slice that stops at -1.",
            "Which numbers does the counter of your loop run through, and which should it? Is a loop needed?",
        ),
        zh=(
            f"{zh}没有填，一直是零",
            "其余都是对的。常见原因：循环晚开始了一步或早结束了一步，或者切片在 -1 处停住了。",
            "你的循环变量取了哪些值？应当取哪些？真的需要循环吗？",
        ),
        parameters=parameters,
    )


@_left_out(
    "the first or the last row (a query) or column (a key) of the scores",
    "分数的第一行或最后一行（query）、第一列或最后一列（key）",
    tuple(itertools.product(_forms(-2, -1), (scaled, product))),
)
def attention_scores(self, form, query, key):
    at, scores_of = form
    return _left_zero(scores_of(query, key), at)


@_left_out(
    "the first or the last row (a query) or column (a key) of the weights",
    "权重的第一行或最后一行（query）、第一列或最后一列（key）",
    _forms(-2, -1),
)
def attention_weights(self, at, scores, mask=None):
    return _left_zero(weights_of(scores, mask), at)


@_left_out(
    "the first or the last head, token or feature of each head",
    "第一个或最后一个头、token，或每个头的第一个或最后一个特征",
    _forms(-3, -2, -1),
)
def split_heads(self, at, x):
    return _left_zero(x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2), at)


@_left_out(
    "the first or the last head, token or feature of each head, before W_O,",
    "在 W_O 之前，第一个或最后一个头、token，或每个头的第一个或最后一个特征",
    _forms(-3, -2, -1),
)
def combine_heads(self, at, heads):
    return _left_zero(heads, at).transpose(1, 2).flatten(-2) @ self.projections["W_O"].T


@_left_out(
    "the output of the first or the last query, or its first or last feature,",
    "第一个或最后一个 query 的输出，或者输出的第一个或最后一个特征",
    _forms(-2, -1),
)
def scaled_dot_product_attention(self, at, query, key, value, mask=None):
    weights = self.attention_weights(self.attention_scores(query, key), mask)
    return _left_zero(weights @ value, at), weights


def _piled_up(en, zh, parameters):
    """A sum that goes on where a new one should begin; en, zh: what is added up, and along what."""
    return mistake(
        "sum-not-reset",
        en=(
            f"{en}: a sum is not set back to zero",
            "Each place has a sum of its own. The usual cause: the line total = 0 stands in front of the "
            "outer loop and not inside it, or a cumsum stands where no sum is asked for.",
            "Where does your loop begin a new sum?",
        ),
        zh=(
            f"{zh}：累加的和没有清零",
            "每个位置有自己的和。常见原因：total = 0 写在了外层循环之前，而不是循环里面；或者不该求和的地方"
            "用了 cumsum。",
            "你的循环在哪里开始一个新的和？",
        ),
        parameters=parameters,
    )


@_piled_up(
    "each score holds those of the keys (or queries) before it as well",
    "每个分数都加上了前面 key（或 query）的分数",
    tuple(itertools.product((-1, -2), (scaled, product))),
)
def attention_scores(self, form, query, key):
    dim, scores_of = form
    return scores_of(query, key).cumsum(dim)


@_piled_up(
    "each weight holds those of the keys (or queries) before it as well",
    "每个权重都加上了前面 key（或 query）的权重",
    (-1, -2),
)
def attention_weights(self, dim, scores, mask=None):
    return weights_of(scores, mask).cumsum(dim)


@_piled_up(
    "each head (or token) holds the numbers of those before it as well",
    "每个头（或 token）都加上了前面的数",
    (1, 2),
)
def split_heads(self, dim, x):
    return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2).cumsum(dim)


@_piled_up(
    "each head (or token) holds the numbers of those before it as well",
    "每个头（或 token）都加上了前面的数",
    (1, 2),
)
def combine_heads(self, dim, heads):
    return heads.cumsum(dim).transpose(1, 2).flatten(-2) @ self.projections["W_O"].T


@_piled_up(
    "each output (or value) holds those before it as well",
    "每个输出（或 value）都加上了前面的",
    ("outputs", "values"),
)
def scaled_dot_product_attention(self, what, query, key, value, mask=None):
    weights = self.attention_weights(self.attention_scores(query, key), mask)
    return ((weights @ value).cumsum(-2) if what == "outputs" else weights @ value.cumsum(-2)), weights


@mistake(
    "one-index-for-two",
    en=(
        "one index is used for both: query i meets key i in every column, or key j query j in every row",
        "The table has an entry for each pair, so that two indices run independently of each other.",
        "Which index of your loops picks the query, and which one the key?",
    ),
    zh=(
        "两处用了同一个下标：每一列都是 query i 与 key i，或者每一行都是 query j 与 key j",
        "表里的每一项对应一对 query 和 key，因此需要两个各自独立的下标。",
        "你的循环里，哪个下标取 query，哪个取 key？",
    ),
    parameters=itertools.product(("query", "key"), (True, False), (math.sqrt, lambda d: 1)),
)
def attention_scores(self, form, query, key):
    kept, wraps, root = form
    rows, columns = query.shape[-2], key.shape[-2]
    index = torch.arange(rows if kept == "query" else columns)
    if kept == "query":
        same = (query * key[..., index % columns if wraps else index, :]).sum(-1).unsqueeze(-1)
    else:
        same = (query[..., index % rows if wraps else index, :] * key).sum(-1).unsqueeze(-2)
    return same.expand(*same.shape[:-2], rows, columns) / root(query.shape[-1])
