"""Mistakes of attention_scores: the product of queries and keys, and its scale."""

import math

from grader.judge.mistakes import mistake


@mistake(
    "scale-missing",
    en=(
        "the scores are not divided by sqrt(d_k)",
        "The variance of q.k is d_k: the more dimensions, the larger the scores. The softmax then picks one "
        "key almost alone, and its gradient vanishes.",
        "How large is a sum of d_k products of independent numbers of variance 1? Bring it back to 1.",
    ),
    zh=(
        "分数没有除以 sqrt(d_k)",
        "q·k 的方差等于 d_k：维度越高，分数天然越大，softmax 于是几乎只看一个 key，梯度随之消失。",
        "d_k 个方差为 1 的独立乘积相加，和的方差是多少？把它缩回到 1。",
    ),
)
def attention_scores(self, query, key):
    return query @ key.mT


def _factor(formula, call, scores):
    """The one factor between the scores and the plain products, if there is one."""
    query, key = (arg.double() for arg in call.args)
    plain = query @ key.mT
    factor = float((scores * plain).sum() / (plain * plain).sum())
    return factor if math.isfinite(factor) else None


@mistake(
    "scale-hard-coded",
    en=(
        "the scale is a fixed number and does not depend on d_k",
        "The size of a head differs from model to model. A constant is right for one of them only.",
        "Read d_k off the query: it is the size of its last dimension.",
    ),
    zh=(
        "缩放因子是写死的常数，与 d_k 无关",
        "不同模型的头维度不同，常数只对其中一种成立。",
        "从 query 的最后一维读出 d_k。",
    ),
    fit=_factor,
)
def attention_scores(self, factor, query, key):
    return factor * (query @ key.mT)
