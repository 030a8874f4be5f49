"""Mistakes in what happens to queries, keys and values, and to the leading dimensions of what they give."""

import itertools
import math

import torch
import torch.nn.functional as F

from grader.judge.catalogue.scaling import product, scaled
from grader.judge.catalogue.softmax import weights_of
from grader.judge.mistakes import mistake

_FUNCTIONS = (
    torch.relu,
    lambda x: F.elu(x) + 1,
    lambda x: torch.softmax(x, -1),
    lambda x: torch.softmax(x, -2),
    torch.sigmoid,
    torch.tanh,
    torch.exp,
    torch.abs,
    torch.square,
    F.gelu,
    F.softplus,
    torch.trunc,
    torch.round,
    torch.floor,
)


@mistake(
    "scores-of-altered-vectors",
    en=(
        "queries or keys go through a function (such as relu, a softmax or rounding) before the product",
        "A score is the dot product of query and key as they are. Feature maps like elu(x) + 1 belong to "
        "linear attention, an invention of later models.",
        "What happens to query and key in the formula before they are multiplied?",
    ),
    zh=(
        "query 或 key 在相乘之前先经过了某个函数（例如 relu、softmax 或取整）",
        "分数就是 query 与 key 本身的点积。elu(x) + 1 之类的特征映射属于线性 attention，是后来的模型才有的。",
        "公式里，query 和 key 在相乘之前做过什么吗？",
    ),
    parameters=itertools.product(_FUNCTIONS, ((0, 1), (0,), (1,)), (scaled, product)),
)
def attention_scores(self, form, query, key):
    function, sides, scores_of = form
    return scores_of(*(function(x) if side in sides else x for side, x in enumerate((query, key))))


def _rotated_halves(x):
    """Each feature of the first half turned with its fellow of the second, by an angle that grows with i."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * 1e4 ** (
        -torch.arange(half, dtype=x.dtype) / max(half, 1)
    )
    one, other, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    turned = one * angle.cos() - other * angle.sin(), one * angle.sin() + other * angle.cos()
    return torch.cat([*turned, rest], -1)


def _rotated_pairs(x):
    """The same for neighbours."""
    half = x.shape[-1] // 2
    even, odd, rest = x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2], x[..., 2 * half :]
    turned = _rotated_halves(torch.cat([even, odd], -1)).unflatten(-1, (2, half)).transpose(-2, -1)
    return torch.cat([turned.flatten(-2), rest], -1)


@mistake(
    "scores-with-rotary-positions",
    en=(
        "queries and keys are rotated by their positions before the product",
        "This is RoPE, an invention of later models. Attention by itself knows no positions: if the tokens "
        "change places, the results only change places too.",
        "Where does the formula of the lesson use the position of a token?",
    ),
    zh=(
        "query 和 key 在相乘之前按各自的位置做了旋转",
        "这是 RoPE，后来的模型才有的做法。attention 本身不知道位置：token 换了位置，结果只是跟着换位置。",
        "本课的公式里，什么地方用到了 token 的位置？",
    ),
    parameters=itertools.product((_rotated_halves, _rotated_pairs), (scaled, product)),
)
def attention_scores(self, form, query, key):
    rotated, scores_of = form
    return scores_of(rotated(query), rotated(key))


@mistake(
    "scores-largest-product",
    en=(
        "one product, the largest or the smallest, stands for the sum of the products of all features",
        "A dot product adds up the products of all features: every one of them has a say.",
        "How are the d_k products of a query and a key made into one number?",
    ),
    zh=(
        "用所有特征的乘积中最大（或最小）的一个代替了它们的和",
        "点积是把所有特征的乘积加起来：每个特征都起作用。",
        "一个 query 和一个 key 的 d_k 个乘积，怎样变成一个数？",
    ),
    parameters=itertools.product((torch.amax, torch.amin), (math.sqrt, lambda d: 1)),
)
def attention_scores(self, form, query, key):
    pick, root = form
    return pick(query.unsqueeze(-2) * key.unsqueeze(-3), -1) / root(query.shape[-1])


@mistake(
    "output-largest-product",
    en=(
        "the largest (or the smallest) weighted value is taken where they should be added up",
        "An output is the weighted average of the values: each value adds its share.",
        "How are the weighted values of all keys made into one output?",
    ),
    zh=(
        "取了加权后最大（或最小）的 value，而没有把它们加起来",
        "输出是 value 的加权平均：每个 value 都贡献自己的那一份。",
        "所有 key 的加权 value，怎样变成一个输出？",
    ),
    parameters=(torch.amax, torch.amin),
)
def scaled_dot_product_attention(self, pick, query, key, value, mask=None):
    weights = self.attention_weights(self.attention_scores(query, key), mask)
    return pick(weights.unsqueeze(-1) * value.unsqueeze(-3), -2), weights


@mistake(
    "values-clamped",
    en=(
        "the values are clamped to a range before they are mixed",
        "An output is an average of the values as they are: larger ones have to come through.",
        "If all values are 100, what should the output be?",
    ),
    zh=(
        "value 在加权平均之前被限制在一个范围内",
        "输出是 value 本身的加权平均：大的值也应当原样传过去。",
        "如果所有 value 都是 100，输出应当是多少？",
    ),
    parameters=(1, 2, 3, 0.5),
)
def scaled_dot_product_attention(self, limit, query, key, value, mask=None):
    weights = self.attention_weights(self.attention_scores(query, key), mask)
    return weights @ value.clamp(-limit, limit), weights


_NAMED = ((0, 1, 2), (1, 0, 2), (0, 1, 1), (0, 1, 0), (0, 0, 2))  # right, or entries of wiring.py


@mistake(
    "arguments-mixed-up",
    en=(
        "query, key and value stand in each other's places",
        "The query asks, the key is compared with it, and the value is what is averaged. With equal sizes no "
        "error is raised.",
        "Which two of the three make the scores, and which one is averaged?",
    ),
    zh=(
        "query、key 和 value 站错了位置",
        "query 提问，key 与它比较，value 才是被平均的。大小相等时不会报错。",
        "三者中哪两个算出分数？被平均的是哪一个？",
    ),
    parameters=tuple(places for places in itertools.product(range(3), repeat=3) if places not in _NAMED),
)
def scaled_dot_product_attention(self, places, query, key, value, mask=None):
    query, key, value = ((query, key, value)[place] for place in places)
    weights = self.attention_weights(self.attention_scores(query, key), mask)
    return weights @ value, weights


def _lost_leading(tensor, form):
    """The leading dimensions folded into one, summed up, or cut to their first."""
    how, dim = form
    if how == "folded":
        return tensor.reshape(-1, *tensor.shape[-2:])
    if how == "summed":
        return tensor.sum(tuple(range(tensor.dim() - 2))) if tensor.dim() > 2 else tensor
    return tensor.narrow(dim, 0, 1) if tensor.dim() > 2 + (dim == 1) else tensor


_LOST = (("folded", 0), ("summed", 0), ("first", 0), ("first", 1), ("first", -3))
_LEADING = {
    "en": (
        "the leading dimensions are folded, summed up or cut: not every sample and head has its own table",
        "What comes before the last two dimensions passes through unchanged: one table for each sample and "
        "each head. Usual causes: a reshape to three dimensions with no way back, an index left in, and an "
        "einsum whose right side lacks the dots.",
        "Which dimensions does your result have for an input of four, and which for one of two?",
    ),
    "zh": (
        "前面的维度被合并、求和或截断了：不是每个样本、每个头都有自己的表",
        "最后两维之前的维度应当原样保留：每个样本、每个头各有一张表。常见原因：reshape 成三维之后没有变回来，"
        "留下了某个下标，或者 einsum 右边漏写了省略号。",
        "输入是四维时，你的结果有哪几维？输入是两维时呢？",
    ),
}


@mistake("leading-dimensions-lost", **_LEADING, parameters=_LOST)
def attention_scores(self, form, query, key):
    return _lost_leading(scaled(query, key), form)


@mistake("leading-dimensions-lost", **_LEADING, parameters=_LOST)
def attention_weights(self, form, scores, mask=None):
    return _lost_leading(weights_of(scores, mask), form)
