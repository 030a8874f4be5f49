"""Mistakes of attention_weights in the softmax: its axis, its form, its range and its gradient."""

import itertools
import math

import torch

from grader.judge.catalogue.scaling import Clipped, loses_half_the_digits, narrow_dtype, variance_of
from grader.judge.mistakes import blocked, mistake, softmax

FILLS = (-math.inf, -1e9)  # they differ where everything that is summed up is blocked


def weights_of(scores, mask):
    """The right weights."""
    return softmax(blocked(scores, mask))


def exps_of(scores, mask):
    """exp of the scores over that of the largest in the row; 0 for blocked keys."""
    scores = blocked(scores, mask)
    return torch.exp(scores - scores.amax(-1, keepdim=True))


# --- the axis


@mistake(
    "softmax-over-queries",
    en=(
        "the softmax runs over the queries and not over the keys",
        "Each query shares out its attention among the keys, so each row must sum to 1. Over the queries the "
        "columns do, and the future flows in through the sum.",
        "In (..., L_q, L_k), which dimension is that of the keys? Count it from the end.",
    ),
    zh=(
        "softmax 沿 query 的方向做了，而不是沿 key 的方向",
        "每个 query 要把注意力分给各个 key，所以每一行之和为 1。沿 query 方向做，和为 1 的是列，未来的信息也"
        "会经由求和混进来。",
        "在 (..., L_q, L_k) 中，哪一维是 key？请从末尾数起。",
    ),
    parameters=itertools.product((-2, 2), FILLS),
)
def attention_weights(self, form, scores, mask=None):
    dim, fill = form
    return softmax(blocked(scores, mask, fill), dim)


@mistake(
    "softmax-over-heads",
    en=(
        "the softmax runs over the heads",
        "A fixed dimension such as 1 is the heads in rank 4 and the queries in rank 3. The heads then "
        "compete for each pair of tokens, instead of the keys for a query.",
        "Which dimension is that of the keys, for any number of leading dimensions?",
    ),
    zh=(
        "softmax 沿头的方向做了",
        "写死的维度（例如 1）在 4 维张量里是头，在 3 维里是 query。这样是各个头在争夺一对 token，而不是各个 "
        "key 在争夺一个 query。",
        "无论前面有几维，key 总是哪一维？",
    ),
    parameters=itertools.product((1, -3), FILLS),
)
def attention_weights(self, form, scores, mask=None):
    dim, fill = form
    return softmax(blocked(scores, mask, fill), dim)


@mistake(
    "softmax-over-batch",
    en=(
        "the softmax runs over the first dimension, the samples of the batch",
        "Sentences then share out attention among each other, and with a single sample every weight is 1.",
        "Which dimension is that of the keys? Count it from the end.",
    ),
    zh=(
        "softmax 沿第一维（batch 中的样本）做了",
        "这样是各个句子在互相分配注意力；只有一个样本时，所有权重都是 1。",
        "哪一维是 key？请从末尾数起。",
    ),
    parameters=itertools.product((0, -4), FILLS),
)
def attention_weights(self, form, scores, mask=None):
    dim, fill = form
    return softmax(blocked(scores, mask, fill), dim)


@mistake(
    "softmax-dim-omitted",
    en=(
        "the softmax has no dim, and torch picks one by the number of dimensions",
        "Without dim, torch takes dimension 0 for rank 1 and 3 and dimension 1 for all others. That is "
        "hardly ever the keys.",
        "Name the dimension of the keys in your call.",
    ),
    zh=(
        "softmax 没有写 dim，由 torch 按维数自行选择",
        "不写 dim 时，torch 对 1 维和 3 维张量取第 0 维，其余取第 1 维，几乎都不是 key 那一维。",
        "请在调用中写明 key 所在的维度。",
    ),
    parameters=FILLS,
)
def attention_weights(self, fill, scores, mask=None):
    return softmax(blocked(scores, mask, fill), 0 if scores.dim() in (1, 3) else 1)


@mistake(
    "softmax-over-matrix",
    en=(
        "the softmax runs over queries and keys at once, so that each whole table sums to 1",
        "Every query has one whole to share out. In one sum for all, a query with large scores takes it from "
        "the others, and the future has its part in the sum.",
        "What should sum to 1: a table, a column or a row?",
    ),
    zh=(
        "softmax 同时沿 query 和 key 做，每张表的总和才是 1",
        "每个 query 各有一份完整的注意力可分配。合在一个求和里，分数大的 query 会抢走别人的份额，未来也混进"
        "了分母。",
        "应该是整张表、一列，还是一行之和为 1？",
    ),
    parameters=FILLS,
)
def attention_weights(self, fill, scores, mask=None):
    return softmax(blocked(scores, mask, fill).flatten(-2)).reshape(scores.shape)


@mistake(
    "softmax-over-everything",
    en=(
        "the softmax is taken over the whole tensor (or over all of a sample)",
        "max() and sum() without dim take all rows, heads and samples together. Every query has one whole to "
        "share out among its own keys.",
        "Which of your reductions lacks its dim?",
    ),
    zh=(
        "softmax 是对整个张量（或整个样本）做的",
        "max() 和 sum() 不写 dim，就会把所有的行、头和样本放在一起。每个 query 应当在自己的 key 之间分配一份"
        "完整的注意力。",
        "哪个归约操作漏写了 dim？",
    ),
    parameters=(0, 1, -3),
)
def attention_weights(self, start, scores, mask=None):
    exps = torch.exp(blocked(scores, mask))
    return exps / exps.sum(tuple(range(scores.dim()))[start:], keepdim=True)


@mistake(
    "softmax-keepdim-missing",
    en=(
        "the sums of the rows lack keepdim, and divide the columns",
        "Without keepdim a sum of (L_q, L_k) is (L_q), which broadcasts along the last dimension: number j "
        "divides column j. It raises only where the sizes differ.",
        "Which shape has the sum, and which should it have to divide each row by its own?",
    ),
    zh=(
        "行和没有写 keepdim，结果除到了列上",
        "不写 keepdim，(L_q, L_k) 求和得到 (L_q)，它沿最后一维广播：第 j 个数除的是第 j 列。只有大小不同时才"
        "会报错。",
        "求和结果的形状是什么？要让每一行除以自己的和，又该是什么形状？",
    ),
)
def attention_weights(self, scores, mask=None):
    exps = torch.exp(blocked(scores, mask))
    return exps / exps.sum(-1)


@mistake(
    "softmax-max-over-queries",
    en=(
        "the largest score is taken over the wrong dimension before exp",
        "Any shift that is the same for a whole row cancels in the fraction. One that differs from key to "
        "key changes the weights or gives NaN.",
        "Over which dimension must the subtracted maximum be the same?",
    ),
    zh=(
        "exp 之前，最大分数取错了维度",
        "整行减去同一个数，会在分式中约掉；若各个 key 减去的数不同，权重就会改变，或者变成 NaN。",
        "被减去的最大值，应当沿哪一维保持不变？",
    ),
    parameters=itertools.product((-2, -3, 0, 1), FILLS),
)
def attention_weights(self, form, scores, mask=None):
    dim, fill = form
    scores = blocked(scores, mask, fill)
    exps = torch.exp(scores - scores.amax(dim, keepdim=True))
    return exps / exps.sum(-1, keepdim=True)


# --- the form


@mistake(
    "softmax-twice",
    en=(
        "the softmax is applied twice, with the mask in between",
        "Weights are between 0 and 1. A second softmax takes them for scores, and exp of such numbers makes "
        "them all nearly alike.",
        "What goes into your last softmax: scores, or numbers that sum to 1 already?",
    ),
    zh=(
        "softmax 做了两次，中间加了 mask",
        "权重都在 0 和 1 之间。第二次 softmax 把它们当成分数，取 exp 之后就几乎一样大了。",
        "最后一次 softmax 的输入是分数，还是已经和为 1 的数？",
    ),
)
def attention_weights(self, scores, mask=None):
    return weights_of(weights_of(scores, mask), mask)


@mistake(
    "softmax-mask-softmax",
    en=(
        "the mask comes between two softmaxes",
        "The first softmax has blocked keys in its sum, and the second takes weights for scores, which makes "
        "them all nearly alike. One softmax, after the mask, is enough.",
        "How many softmaxes does the formula have, and does the mask come before all of them?",
    ),
    zh=(
        "mask 加在了两次 softmax 之间",
        "第一次 softmax 的求和里还有被屏蔽的 key，第二次又把权重当成分数，让它们几乎一样大。加上 mask 之后做"
        "一次 softmax 就够了。",
        "公式里有几次 softmax？mask 在它们之前吗？",
    ),
)
def attention_weights(self, scores, mask=None):
    return weights_of(softmax(scores), mask)


@mistake(
    "softmax-twice-unmasked",
    en=(
        "the softmax is applied twice, the second time without the mask",
        "A blocked key has weight 0 after the first softmax, and exp(0) = 1: the second one lets it in "
        "again, and makes all weights nearly alike.",
        "What goes into your last softmax: scores, or numbers that sum to 1 already?",
    ),
    zh=(
        "softmax 做了两次，第二次没有加 mask",
        "第一次之后被屏蔽的 key 权重为 0，而 exp(0) = 1：第二次又把它放了进来，还让所有权重几乎一样大。",
        "最后一次 softmax 的输入是分数，还是已经和为 1 的数？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(weights_of(scores, mask))


@mistake(
    "log-softmax",
    en=(
        "the weights are logarithms: log_softmax instead of softmax",
        "log_softmax belongs to a loss. Its numbers are negative and do not sum to 1, so they are no shares.",
        "Which sign have your weights, and what do they sum to?",
    ),
    zh=(
        "权重是对数：用了 log_softmax 而不是 softmax",
        "log_softmax 是给损失函数用的。它的结果是负数，和也不是 1，不能当作份额。",
        "你的权重是什么符号？它们的和是多少？",
    ),
)
def attention_weights(self, scores, mask=None):
    return torch.log_softmax(blocked(scores, mask), -1)


@mistake(
    "exp-not-normalised",
    en=(
        "the exps are not divided by their sum",
        "Weights are shares of one whole. Without the division an output grows with the number of keys.",
        "What is the denominator of a softmax?",
    ),
    zh=(
        "exp 没有除以它们的和",
        "权重是对一个整体的分配。不做除法，输出会随 key 的个数变大。",
        "softmax 的分母是什么？",
    ),
    parameters=(False, True),
)
def attention_weights(self, shifted, scores, mask=None):
    return exps_of(scores, mask) if shifted else torch.exp(blocked(scores, mask))


@mistake(
    "normalised-without-exp",
    en=(
        "the scores themselves are divided by their sum, without exp",
        "Scores can be negative, and their sum can be 0: what comes out are no shares. exp makes them "
        "positive first.",
        "What does the formula do to each score before it divides?",
    ),
    zh=(
        "分数没有取 exp，直接除以了它们的和",
        "分数可以为负，和可以是 0，这样得不到份额。exp 先把它们变成正数。",
        "在做除法之前，公式对每个分数做了什么？",
    ),
    parameters=(
        lambda s, mask: blocked(s, mask, 0.0) / blocked(s, mask, 0.0).sum(-1, keepdim=True),
        lambda s, mask: blocked(s, mask, 0.0) / blocked(s, mask, 0.0).abs().sum(-1, keepdim=True),
        lambda s, mask: blocked(s, mask, 0.0).abs() / blocked(s, mask, 0.0).abs().sum(-1, keepdim=True),
        lambda s, mask: blocked(s, mask) / blocked(s, mask).sum(-1, keepdim=True),
        lambda s, mask: blocked(s / s.sum(-1, keepdim=True), mask, 0.0),
        lambda s, mask: blocked(s, mask, -1e9) / blocked(s, mask, -1e9).sum(-1, keepdim=True),
        lambda s, mask: blocked(s, mask, 0.0) / (blocked(s, mask, 0.0).sum(-1, keepdim=True) + 1e-9),
    ),
)
def attention_weights(self, normalised, scores, mask=None):
    return normalised(scores, mask)


@mistake(
    "weights-are-scores",
    en=(
        "the masked scores are returned as they are, without a softmax",
        "Scores are no shares: they can be negative and sum to anything.",
        "Which step turns scores into numbers that sum to 1?",
    ),
    zh=(
        "直接返回了加过 mask 的分数，没有做 softmax",
        "分数不是份额：它可以为负，和也可以是任意值。",
        "哪一步能把分数变成和为 1 的数？",
    ),
    parameters=(-math.inf, 0.0, -1e9, None),
)
def attention_weights(self, fill, scores, mask=None):
    return scores if fill is None else blocked(scores, mask, fill)


@mistake(
    "sigmoid-for-softmax",
    en=(
        "each score goes through a sigmoid by itself",
        "A sigmoid looks at one score alone, so the weights of a row do not compete and do not sum to 1.",
        "Should the weight of a key go down when another key gets a higher score?",
    ),
    zh=(
        "每个分数各自经过了 sigmoid",
        "sigmoid 只看单个分数，同一行的权重互不竞争，和也不是 1。",
        "另一个 key 的分数变高时，这个 key 的权重应该下降吗？",
    ),
)
def attention_weights(self, scores, mask=None):
    return torch.sigmoid(blocked(scores, mask))


@mistake(
    "relu-for-exp",
    en=(
        "the positive scores are divided by their sum, and negative ones get nothing",
        "exp gives every key a share, however small, and with it a gradient. relu cuts off all scores below "
        "0, and a row without a positive one gets no weights at all.",
        "Which function makes any score positive without losing its order?",
    ),
    zh=(
        "只有正的分数除以了它们的和，负的分数什么也没得到",
        "exp 让每个 key 都有份额（哪怕很小），也就都有梯度。relu 会切掉所有小于 0 的分数，一行若没有正分数，"
        "就完全没有权重。",
        "哪个函数能把任意分数变成正数，又不丢失大小次序？",
    ),
    parameters=(0.0, 1e-9, 1e-6, 1e-8, 1e-12, 1.0),
)
def attention_weights(self, least, scores, mask=None):
    positive = blocked(scores, mask, 0.0).relu()
    return positive / positive.sum(-1, keepdim=True).clamp_min(least)


_POSITIVE = (
    torch.sigmoid,
    torch.nn.functional.softplus,
    lambda s: torch.nn.functional.elu(s) + 1,
    torch.square,
    lambda s: s.relu().square(),
    lambda s: torch.exp(s) - 1,
    lambda s: 1 + torch.tanh(s),
    lambda s: 1 + s + s * s / 2,
    lambda s: 1 + s,
    torch.cosh,
    lambda s: torch.exp(-s * s),
)


@mistake(
    "another-function-for-exp",
    en=(
        "the weights are shares of another function than exp, such as a sigmoid, a square or a softplus",
        "Only with exp do equal steps of a score multiply the weight by equal factors, and that is what "
        "makes a softmax.",
        "Which function stands above and below the fraction in a softmax?",
    ),
    zh=(
        "份额用的是 exp 以外的函数，例如 sigmoid、平方或 softplus",
        "只有 exp 能让分数每增加同样的量、权重就乘上同样的倍数，这才是 softmax。",
        "softmax 的分子和分母里是哪个函数？",
    ),
    parameters=_POSITIVE,
)
def attention_weights(self, function, scores, mask=None):
    positive = function(scores)
    positive = positive if mask is None else torch.where(mask, positive, 0.0)
    return positive / positive.sum(-1, keepdim=True)


@mistake(
    "sparsemax",
    en=(
        "the weights are those of a sparsemax, which sets small ones to exactly 0",
        "A sparsemax is a projection, without exp. Here the formula is a softmax: every allowed key gets "
        "some weight and some gradient.",
        "Should an allowed key ever have weight 0?",
    ),
    zh=(
        "权重来自 sparsemax，小的权重被置成了 0",
        "sparsemax 是一种投影，不用 exp。这里的公式是 softmax：每个可见的 key 都有权重，也都有梯度。",
        "可见的 key，权重会恰好为 0 吗？",
    ),
)
def attention_weights(self, scores, mask=None):
    scores = blocked(scores, mask, -1e9)
    ordered = scores.sort(-1, descending=True).values
    count = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype)
    above = (ordered.cumsum(-1) - 1) / count
    support = (ordered > above).sum(-1, keepdim=True)
    return (scores - above.gather(-1, support - 1)).relu()


@mistake(
    "softmax-base-2",
    en=(
        "the powers have the base 2 (or 10) and not e",
        "2^x is e^(0.69 x): the softmax gets another temperature than the scale was made for.",
        "Which base does exp have? A power of 2 needs a factor in its exponent.",
    ),
    zh=(
        "幂的底是 2（或 10）而不是 e",
        "2^x 等于 e^(0.69 x)：softmax 的温度变了，与缩放不再相配。",
        "exp 的底是多少？用 2 的幂，指数里还需要一个系数。",
    ),
    parameters=(2, 10),
)
def attention_weights(self, base, scores, mask=None):
    return weights_of(scores * math.log(base), mask)


@mistake(
    "softmax-scaled-by-length",
    en=(
        "the scores are scaled once more, by the number of keys or queries",
        "The scores that come in are scaled already. A scale that depends on the length makes the attention "
        "of long texts flatter or sharper.",
        "Which step before your softmax is neither mask nor shift?",
    ),
    zh=(
        "分数又按 key 或 query 的个数缩放了一次",
        "传进来的分数已经缩放过。再做与长度有关的缩放，长文本的注意力就会变得更平或更尖。",
        "在你的 softmax 之前，哪一步既不是 mask 也不是平移？",
    ),
    parameters=itertools.product((-1, -2), (-0.5, -1, 0.5)),
)
def attention_weights(self, form, scores, mask=None):
    dim, power = form
    return weights_of(scores * scores.shape[dim] ** power, mask)


@mistake(
    "softmin",
    en=(
        "the scores have the opposite sign in the softmax",
        "The largest score should get the largest weight. With the sign turned (softmin, or max - score), "
        "every query attends most to what fits it least.",
        "Does a higher score give a higher weight in your code?",
    ),
    zh=(
        "softmax 里分数的符号反了",
        "分数最大的应当得到最大的权重。符号一反（softmin，或者用最大值减去分数），每个 query 最关注的恰恰是"
        "最不匹配的 key。",
        "在你的代码里，分数越高权重就越大吗？",
    ),
)
def attention_weights(self, scores, mask=None):
    return weights_of(-scores, mask)


@mistake(
    "scores-absolute",
    en=(
        "the scores lose their sign before the softmax",
        "A negative score says that the two do not fit. Without the sign the worst match counts like the "
        "best.",
        "Which weight should a score of -5 get beside one of 0?",
    ),
    zh=(
        "softmax 之前分数的正负号丢了",
        "负分数说明两者不匹配。去掉符号，最差的匹配就和最好的一样了。",
        "分数 -5 和 0 相比，应该得到怎样的权重？",
    ),
    parameters=(torch.abs, torch.square),
)
def attention_weights(self, function, scores, mask=None):
    return weights_of(function(scores), mask)


@mistake(
    "scores-through-another-function",
    en=(
        "the scores go through one more function before the softmax",
        "The softmax takes the scores as they are. A relu, tanh or sigmoid before it makes different scores "
        "alike, and cuts off their gradient.",
        "Which step before your softmax is neither mask nor shift?",
    ),
    zh=(
        "分数在 softmax 之前又经过了一个函数",
        "softmax 直接使用分数。之前再加 relu、tanh 或 sigmoid，不同的分数会变得一样，梯度也会被切断。",
        "在你的 softmax 之前，哪一步既不是 mask 也不是平移？",
    ),
    parameters=(
        torch.relu,
        torch.tanh,
        torch.sigmoid,
        torch.exp,
        torch.nn.functional.gelu,
        torch.nn.functional.leaky_relu,
        torch.nn.functional.softplus,
        lambda s: (s - s.mean(-1, keepdim=True)) / variance_of(s, -1, 1).sqrt(),
        lambda s: s / s.norm(dim=-1, keepdim=True),
        lambda s: (s - s.amin(-1, keepdim=True)) / (s.amax(-1, keepdim=True) - s.amin(-1, keepdim=True)),
        lambda s: s / s.amax(-1, keepdim=True),
        *(lambda s, cap=cap: cap * torch.tanh(s / cap) for cap in (2, 5, 10, 20, 30, 50)),
    ),
)
def attention_weights(self, function, scores, mask=None):
    return weights_of(function(scores), mask)


@mistake(
    "scores-clamped",
    en=(
        "the scores are clamped to a range before the softmax",
        "A clamp keeps exp finite and makes all scores beyond the limit alike. Subtracting the largest score "
        "of the row keeps exp finite and changes nothing.",
        "Two keys with the scores 100 and 130: should they get equal weights?",
    ),
    zh=(
        "softmax 之前分数被截断在一个范围里",
        "截断能让 exp 不溢出，却把超出界限的分数都变得一样。减去该行最大的分数，同样不会溢出，而且什么都不改"
        "变。",
        "两个 key 的分数是 100 和 130，权重应该相等吗？",
    ),
    parameters=itertools.product(
        (1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 60, 64, 70, 80, 88, 100), (True, False)
    ),
)
def attention_weights(self, form, scores, mask=None):
    limit, both = form
    return weights_of(scores.clamp(-limit if both else None, limit), mask)


@mistake(
    "weights-l2-normalised",
    en=(
        "the exps are divided by the root of the sum of their squares",
        "Shares add up to 1; a vector of length 1 does not.",
        "Which sum of the weights of a row has to be 1?",
    ),
    zh=(
        "exp 除以了平方和的平方根",
        "份额之和才是 1；长度为 1 的向量，各分量之和并不是 1。",
        "一行权重的哪种和应当是 1？",
    ),
)
def attention_weights(self, scores, mask=None):
    exps = exps_of(scores, mask)
    return exps / exps.norm(dim=-1, keepdim=True)


@mistake(
    "softmax-plus-one",
    en=(
        "1 is added to the sum of the exps",
        '"Softmax plus one" lets a query attend to nothing. Here each query shares out all of its '
        "attention: its weights sum to 1.",
        "What should the weights of a row sum to?",
    ),
    zh=(
        "exp 之和上加了 1",
        "“softmax 加一”允许一个 query 什么都不看。这里每个 query 都要把注意力全部分出去：权重之和为 1。",
        "一行权重之和应当是多少？",
    ),
)
def attention_weights(self, scores, mask=None):
    exps = torch.exp(blocked(scores, mask))
    return exps / (1 + exps.sum(-1, keepdim=True))


@mistake(
    "softmax-plus-one-shifted",
    en=(
        "1 is added to the sum of the exps after the largest score was subtracted",
        "The row has lost up to half of its attention: its weights must sum to 1. The shift has changed what "
        "the 1 means, too.",
        "What should the weights of a row sum to?",
    ),
    zh=(
        "减去最大分数之后，exp 之和上又加了 1",
        "这一行最多会丢掉一半的注意力，而权重之和应当是 1。况且平移之后，这个 1 的含义也变了。",
        "一行权重之和应当是多少？",
    ),
)
def attention_weights(self, scores, mask=None):
    exps = exps_of(scores, mask)
    return exps / (1 + exps.sum(-1, keepdim=True))


def _eps(formula, call, weights):
    """(shifted, eps): what is added to the sum of the exps, if it is the same in all rows."""
    scores, mask = call.args[0].double(), (*call.args[1:], None)[0]
    missing = 1 / weights.sum(-1) - 1
    sums = exps_of(scores, mask).sum(-1), torch.exp(blocked(scores, mask)).sum(-1)
    found = [(missing * sum_).flatten() for sum_ in sums]
    spreads = [float(eps.max() - eps.min()) for eps in found]
    best = spreads.index(min(spreads))
    eps = float(found[best].median())
    return (best == 0, eps) if abs(eps) > 1e-14 else None


@mistake(
    "softmax-eps",
    en=(
        "a small number is added to the sum of the exps",
        "After the shift by the largest score the sum is at least 1, so there is no division by zero to "
        "guard against. The epsilon only keeps each row from summing to 1.",
        "How small can the sum of the exps get, once the largest score is subtracted?",
    ),
    zh=(
        "exp 之和上加了一个很小的数",
        "减去最大分数之后，和至少是 1，不存在除以零的问题。这个 epsilon 只会让每一行之和不再是 1。",
        "减去最大的分数之后，exp 之和最小可能是多少？",
    ),
    fit=_eps,
)
def attention_weights(self, form, scores, mask=None):
    shifted, eps = form
    exps = exps_of(scores, mask) if shifted else torch.exp(blocked(scores, mask))
    return exps / (exps.sum(-1, keepdim=True) + eps)


@mistake(
    "hard-attention",
    en=(
        "the best key gets all the weight (argmax)",
        "A softmax is soft so that every key gets a gradient. An argmax has none: queries and keys learn "
        "nothing.",
        "Which function gives shares instead of a choice?",
    ),
    zh=(
        "最匹配的 key 拿走了全部权重（argmax）",
        "softmax 之所以是“软”的，是为了让每个 key 都有梯度。argmax 没有梯度，query 和 key 什么也学不到。",
        "哪个函数给出的是份额，而不是唯一的选择？",
    ),
    parameters=(True, False),
)
def attention_weights(self, one_of_equals, scores, mask=None):
    scores = blocked(scores, mask)
    if one_of_equals:
        return torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).double()
    return (scores == scores.amax(-1, keepdim=True)).double()


@mistake(
    "top-k-only",
    en=(
        "only the few best keys of each query get weights",
        "Sparse attention of this kind exists, but here every allowed key has its share, and its gradient.",
        "Which allowed keys does your code leave out?",
    ),
    zh=(
        "每个 query 只有得分最高的几个 key 有权重",
        "这类稀疏 attention 确实存在，但这里每个可见的 key 都有自己的份额和梯度。",
        "你的代码漏掉了哪些可见的 key？",
    ),
    parameters=(2, 3, 4, 5, 0.5),
)
def attention_weights(self, count, scores, mask=None):
    scores = blocked(scores, mask)
    length = scores.shape[-1]
    count = min(count, length) if isinstance(count, int) else max(1, int(count * length))
    least = scores.topk(count, -1).values[..., -1:]
    return softmax(scores.masked_fill(scores < least, -math.inf))


@mistake(
    "uniform-weights",
    en=(
        "all keys that a query may see get the same weight, whatever the scores",
        "Attention is an average that the content steers. Without the scores, queries and keys have no "
        "influence, and no gradient.",
        "Does your result use the scores at all?",
    ),
    zh=(
        "query 可见的 key 权重全都一样，与分数无关",
        "attention 是由内容决定的加权平均。不用分数，query 和 key 就没有影响，也没有梯度。",
        "你的结果用到分数了吗？",
    ),
    parameters=("allowed", "all", "zeros"),
)
def attention_weights(self, kind, scores, mask=None):
    if kind == "allowed":
        return weights_of(0 * scores, mask)
    return blocked(weights_of(0 * scores, None), mask if kind == "zeros" else None, 0.0)


@mistake(
    "one-minus-softmax",
    en=(
        "the weights are subtracted from 1",
        "What matches best then counts least, and blocked keys count most.",
        "Which weight should the best match get: a large or a small one?",
    ),
    zh=(
        "用 1 减去了权重",
        "这样最匹配的反而最不受重视，被屏蔽的 key 反而最受重视。",
        "最匹配的 key 应该得到大的还是小的权重？",
    ),
)
def attention_weights(self, scores, mask=None):
    return 1 - weights_of(scores, mask)


def _allowed_count(scores, mask):
    return torch.ones_like(scores) if mask is None else mask.expand_as(scores).double()


@mistake(
    "weights-divided-by-length",
    en=(
        "the weights are divided (or multiplied) by a number of keys or queries",
        "The softmax divides by the sum already: the output is an average. Another division makes it shrink "
        "as the text grows.",
        "What do the weights of a row sum to after your last step?",
    ),
    zh=(
        "权重又除以（或乘上）了 key 或 query 的个数",
        "softmax 已经除以了总和，输出就是平均值。再除一次，文本越长输出越小。",
        "最后一步之后，一行权重之和是多少？",
    ),
    parameters=(
        lambda s, mask: 1 / s.shape[-1],
        lambda s, mask: s.shape[-1],
        lambda s, mask: s.shape[-1] ** -0.5,
        lambda s, mask: 1 / s.shape[-2],
        lambda s, mask: s.shape[-2] ** -0.5,
        lambda s, mask: 1 / _allowed_count(s, mask).sum(-1, keepdim=True),
        lambda s, mask: _allowed_count(s, mask).sum(-1, keepdim=True),
        lambda s, mask: 1 / s.shape[0],
    ),
)
def attention_weights(self, factor, scores, mask=None):
    return weights_of(scores, mask) * factor(scores, mask)


@mistake(
    "weights-normalised-over-queries-too",
    en=(
        "the weights are normalised over the queries as well",
        "After a second normalisation the columns sum to 1 and the rows no longer do, and every weight "
        "depends on later queries.",
        "What do the weights of a row sum to after your last step?",
    ),
    zh=(
        "权重沿 query 的方向又做了一次归一化",
        "第二次归一化之后，和为 1 的是列，行不再是，而且每个权重都会受后面的 query 影响。",
        "最后一步之后，一行权重之和是多少？",
    ),
    parameters=(False, True),
)
def attention_weights(self, exponential, scores, mask=None):
    weights = weights_of(scores, mask)
    return softmax(weights, -2) if exponential else weights / weights.sum(-2, keepdim=True)


@mistake(
    "weights-transposed",
    en=(
        "rows and columns of the weights are swapped",
        "Row i holds the weights of query i. If the scores were transposed for the softmax, they have to be "
        "transposed back.",
        "How often does your code transpose, and is the last shape the first one?",
    ),
    zh=(
        "权重的行和列对调了",
        "第 i 行是第 i 个 query 的权重。如果为了做 softmax 转置过，之后要转置回来。",
        "你的代码转置了几次？最后的形状与最初的一样吗？",
    ),
)
def attention_weights(self, scores, mask=None):
    return weights_of(scores, mask).mT


@mistake(
    "weights-rounded",
    en=(
        "the weights are rounded to a few decimals",
        "Rounding is for printing. It breaks the sum of 1 and has no gradient.",
        "Where does your code round, and who needs that?",
    ),
    zh=(
        "权重被四舍五入到几位小数",
        "四舍五入只该用于打印。它会让总和不再是 1，而且没有梯度。",
        "你的代码在哪里取了近似？有谁需要它？",
    ),
    parameters=range(7),
)
def attention_weights(self, decimals, scores, mask=None):
    return weights_of(scores, mask).round(decimals=decimals)


@mistake(
    "weights-thresholded",
    en=(
        "small weights are set to 0",
        "Small weights are a part of the sum of 1, and the way by which a key is learned. Only the mask may "
        "take a key out.",
        "Which weights does your last step change, and are they blocked ones?",
    ),
    zh=(
        "小的权重被置成了 0",
        "小的权重也是总和 1 的一部分，key 正是经由它学到东西的。只有 mask 可以去掉一个 key。",
        "最后一步改动了哪些权重？它们是被屏蔽的吗？",
    ),
    parameters=itertools.product(
        (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 5e-3, 1e-3, 1e-4, None), (False, True)
    ),
)
def attention_weights(self, form, scores, mask=None):
    least, normalised = form
    weights = weights_of(scores, mask)
    weights = torch.where(weights > (least or 1 / scores.shape[-1]), weights, 0.0)
    return weights / weights.sum(-1, keepdim=True) if normalised else weights


def _least(formula, call, weights):
    """The smallest weight, if several blocked keys have it."""
    mask = (*call.args[1:], None)[0]
    if mask is None or mask.expand_as(weights).all():
        return None
    least = weights.masked_select(~mask).unique()
    return float(least) if len(least) == 1 and float(least) > 0 else None


@mistake(
    "weights-clamped",
    en=(
        "the weights have a lower limit, so that blocked keys keep a trace of weight",
        "A blocked key must get exactly 0: what is left over lets the future through. A logarithm that needs "
        "more than 0 is for its own place.",
        "What weight does your last step leave to a blocked key?",
    ),
    zh=(
        "权重有一个下限，被屏蔽的 key 还留着一点权重",
        "被屏蔽的 key 必须严格为 0：剩下的一点也会让未来漏过来。如果某处要取对数而怕 0，就在那里处理。",
        "最后一步之后，被屏蔽的 key 还剩多少权重？",
    ),
    fit=_least,
)
def attention_weights(self, least, scores, mask=None):
    return weights_of(scores, mask).clamp(min=least)


@mistake(
    "weights-plus-eps",
    en=(
        "a small number is added to every weight",
        "A blocked key must get exactly 0, and a row must sum to 1. Neither holds any more.",
        "What weight does your last step leave to a blocked key?",
    ),
    zh=(
        "每个权重都加上了一个很小的数",
        "被屏蔽的 key 必须严格为 0，每一行之和必须是 1，现在两者都不成立了。",
        "最后一步之后，被屏蔽的 key 还剩多少权重？",
    ),
    fit=_least,
)
def attention_weights(self, eps, scores, mask=None):
    return weights_of(scores, mask) + eps


def _smoothing(formula, call, weights):
    """The share that is spread over all keys alike."""
    least = _least(formula, call, weights)
    return None if least is None else least * weights.shape[-1]


@mistake(
    "weights-smoothed",
    en=(
        "a part of the attention is spread over all keys alike",
        "Mixing with a uniform distribution gives blocked keys a weight, and takes from the allowed ones "
        "what is theirs.",
        "What weight does your last step leave to a blocked key?",
    ),
    zh=(
        "一部分注意力被平均分给了所有 key",
        "与均匀分布混合，会给被屏蔽的 key 权重，又从可见的 key 那里拿走它们应得的。",
        "最后一步之后，被屏蔽的 key 还剩多少权重？",
    ),
    fit=_smoothing,
)
def attention_weights(self, share, scores, mask=None):
    return (1 - share) * weights_of(scores, mask) + share / scores.shape[-1]


def _temperature(formula, call, weights):
    """What the scores are multiplied by: differences of log weights over those of scores."""
    scores, mask = call.args[0].double(), (*call.args[1:], None)[0]
    allowed = _allowed_count(scores, mask)
    logs = torch.where(allowed.bool(), weights, 1.0).log()
    count = allowed.sum(-1, keepdim=True)
    scores = (scores - (scores * allowed).sum(-1, keepdim=True) / count) * allowed
    factor = float((logs * scores).sum() / scores.square().sum())
    return factor if math.isfinite(factor) else None


def _cut_constant(formula, call, weights):
    factor = _temperature(formula, call, weights)
    return factor if factor and 1e-14 < abs(factor - 1) < 1e-3 else None


@mistake(
    "constant-cut-short",
    en=(
        "a constant in the exponent, such as log2(e), has too few digits",
        "A constant typed with 8 digits makes float64 weights right to 8 digits only.",
        "Can the constant be computed instead of typed?",
    ),
    zh=(
        "指数里的常数（例如 log2(e)）位数不够",
        "手写的常数只有 8 位，float64 的权重也就只准到 8 位。",
        "这个常数能不能算出来，而不是手写？",
    ),
    fit=_cut_constant,
)
def attention_weights(self, factor, scores, mask=None):
    return weights_of(scores * factor, mask)


@mistake(
    "softmax-temperature",
    en=(
        "the scores are multiplied by one more number before the softmax, a temperature",
        "The scores that come in are scaled already. A second factor makes the weights flatter or sharper "
        "than the formula says.",
        "Which step before your softmax is neither mask nor shift?",
    ),
    zh=(
        "softmax 之前分数又乘了一个数（温度）",
        "传进来的分数已经缩放过。再乘一个因子，权重就会比公式规定的更平或更尖。",
        "在你的 softmax 之前，哪一步既不是 mask 也不是平移？",
    ),
    fit=_temperature,
)
def attention_weights(self, factor, scores, mask=None):
    return weights_of(scores * factor, mask)


def _total(formula, call, weights):
    """What all rows sum to."""
    sums = weights.sum(-1)
    return float(sums.mean()) if float(sums.max() - sums.min()) < 1e-5 * abs(float(sums.mean())) else None


@mistake(
    "weights-times-constant",
    en=(
        "the weights are multiplied by a fixed number",
        "The weights of a row are shares of one whole and sum to 1. Outputs are averages, and must not grow "
        "or shrink.",
        "What do the weights of a row sum to after your last step?",
    ),
    zh=(
        "权重又乘了一个固定的数",
        "一行权重是对一个整体的分配，和为 1。输出是平均值，不应变大或变小。",
        "最后一步之后，一行权重之和是多少？",
    ),
    fit=_total,
)
def attention_weights(self, factor, scores, mask=None):
    return weights_of(scores, mask) * factor


# --- large scores


def _plain_exps(scores, mask):
    return torch.exp(blocked(scores, mask))


@mistake(
    "softmax-without-max",
    en=(
        "exp is taken of the scores as they are, and overflows",
        "exp(89) is too large for float32, exp(710) for float64: infinity over infinity is NaN. A shift by "
        "the largest score of the row changes nothing else.",
        "Which number can be subtracted from a whole row without changing its softmax?",
    ),
    zh=(
        "直接对分数取 exp，结果溢出",
        "exp(89) 超出 float32，exp(710) 超出 float64，无穷除以无穷就是 NaN。减去该行最大的分数，别的什么都不"
        "会变。",
        "整行减去哪个数，softmax 的结果不变？",
    ),
    parameters=(
        lambda s, mask: _plain_exps(s, mask) / _plain_exps(s, mask).sum(-1, keepdim=True),
        lambda s, mask: (e := s.exp() * _allowed_count(s, mask)) / e.sum(-1, keepdim=True),
        lambda s, mask: (_plain_exps(s, mask) / _plain_exps(s, mask).sum(-1, keepdim=True)).nan_to_num(),
        lambda s, mask: ((e := _plain_exps(s, mask)) / e.sum(-1, keepdim=True)).nan_to_num(1 / s.shape[-1]),
        lambda s, mask: ((e := s.exp() * _allowed_count(s, mask)) / e.sum(-1, keepdim=True)).nan_to_num(
            1 / s.shape[-1]
        ),
        lambda s, mask: torch.exp(blocked(s, mask) - _plain_exps(s, mask).sum(-1, keepdim=True).log()),
    ),
)
def attention_weights(self, form, scores, mask=None):
    return form(scores, mask)


@mistake(
    "softmax-global-max",
    en=(
        "the largest score of the whole tensor is subtracted, and not that of each row",
        "A row whose scores are far below the largest of all has exps of 0 only, and 0 / 0 is NaN. It also "
        "ties the samples of a batch together.",
        "Whose largest score should be subtracted from a row?",
    ),
    zh=(
        "减去的是整个张量的最大分数，而不是每一行自己的",
        "如果一行的分数都远低于全局最大值，它的 exp 就全是 0，而 0 / 0 是 NaN。这还会让同一 batch 的样本互相"
        "影响。",
        "一行应该减去谁的最大分数？",
    ),
    parameters=(4, 2, 3),
)
def attention_weights(self, last, scores, mask=None):
    scores = blocked(scores, mask)
    exps = torch.exp(scores - scores.amax(tuple(range(scores.dim()))[-last:], keepdim=True))
    return exps / exps.sum(-1, keepdim=True)


@mistake(
    "softmax-wrong-shift",
    en=(
        "something else than the largest score is subtracted before exp",
        "Any shift gives the same fraction on paper. Only with the largest score is every exp at most 1 and "
        "one of them 1, so that nothing overflows and the sum is never 0.",
        "After which shift is the largest exponent of a row exactly 0?",
    ),
    zh=(
        "exp 之前减去的不是最大的分数",
        "在纸面上，减去任何数结果都一样。但只有减去最大的分数，exp 才都不超过 1 且至少有一个等于 1，既不会溢"
        "出，和也不会是 0。",
        "做怎样的平移，一行中最大的指数恰好是 0？",
    ),
    parameters=itertools.product(
        (
            lambda s, mask: s.mean(-1, keepdim=True),
            lambda s, mask: s.amin(-1, keepdim=True),
            lambda s, mask: s.abs().amax(-1, keepdim=True),
            lambda s, mask: s.median(-1, keepdim=True).values,
            lambda s, mask: s.norm(dim=-1, keepdim=True),
            lambda s, mask: s.sum(-1, keepdim=True),
            lambda s, mask: s[..., :1],
            lambda s, mask: s[..., -1:],
        ),
        (True, False),
    ),
)
def attention_weights(self, form, scores, mask=None):
    shift, filled = form
    exps = torch.exp(scores - shift(scores, mask))
    exps = blocked(exps, mask, 0.0) if filled else exps * _allowed_count(scores, mask)
    return exps / exps.sum(-1, keepdim=True)


# --- the gradient


def _exps(detached, scores, mask):
    """As exps_of, with or without a gradient through the subtracted maximum."""
    scores = blocked(scores, mask)
    top = scores.amax(-1, keepdim=True)
    return torch.exp(scores - (top.detach() if detached else top))


@mistake(
    "denominator-detached",
    en=(
        "the weights are right, and the gradient leaves out the sum below the fraction",
        "Each score moves all weights of its row, because they share one sum. Without it every score seems "
        "to act on its own weight alone.",
        "Which factor of the fraction is cut off from autograd? Only the subtracted maximum may be.",
    ),
    zh=(
        "权重是对的，但梯度漏掉了分母里的求和",
        "同一行的权重共用一个和，每个分数都会影响整行的权重。漏掉它，每个分数就好像只影响自己的权重。",
        "分式的哪一部分被切断了梯度？只有减去的最大值可以不要梯度。",
    ),
    parameters=(True, False),
)
def attention_weights(self, top_too, scores, mask=None):
    exps = _exps(top_too, scores, mask)
    return exps / exps.sum(-1, keepdim=True).detach()


@mistake(
    "numerator-detached",
    en=(
        "the weights are right, and the gradient comes from the sum below the fraction alone",
        "A higher score raises its own weight through the numerator, and lowers the others through the sum. "
        "Both parts are needed.",
        "Which part of the fraction is cut off from autograd?",
    ),
    zh=(
        "权重是对的，但梯度只来自分母里的求和",
        "分数升高，会经由分子提高自己的权重，又经由分母降低别人的权重。两部分缺一不可。",
        "分式的哪一部分被切断了梯度？",
    ),
    parameters=(True, False),
)
def attention_weights(self, top_too, scores, mask=None):
    exps = _exps(top_too, scores, mask)
    return exps.detach() / exps.sum(-1, keepdim=True)


class _OwnSoftmax(torch.autograd.Function):
    """A softmax with another backward: backward(gradient, weights)."""

    @staticmethod
    def forward(ctx, scores, backward):
        weights = softmax(scores)
        ctx.save_for_backward(weights)
        ctx.own = backward
        return weights

    @staticmethod
    def backward(ctx, gradient):
        return ctx.own(gradient, *ctx.saved_tensors), None


@mistake(
    "softmax-backward-like-sigmoid",
    en=(
        "the weights are right, and their gradient is w (1 - w), as for a sigmoid",
        "w (1 - w) is the diagonal of the softmax's Jacobian alone. Off the diagonal it is -w_i w_j: each "
        "score acts on all weights of its row.",
        "What happens to the other weights of a row when one score goes up?",
    ),
    zh=(
        "权重是对的，但梯度是 w (1 - w)，像 sigmoid 一样",
        "w (1 - w) 只是 softmax 雅可比矩阵的对角线。对角线之外是 -w_i w_j：每个分数都影响整行的权重。",
        "一个分数升高时，同一行的其他权重会怎样？",
    ),
)
def attention_weights(self, scores, mask=None):
    return _OwnSoftmax.apply(blocked(scores, mask), lambda gradient, w: gradient * w * (1 - w))


@mistake(
    "weights-straight-through",
    en=(
        "the weights are right, and the gradient is passed on to the scores unchanged",
        "A straight-through gradient pretends that the softmax is not there: blocked scores get one too.",
        "Which term carries the gradient in your result, and is it the softmax?",
    ),
    zh=(
        "权重是对的，但梯度原样传给了分数",
        "straight-through 的梯度等于假装没有 softmax：连被屏蔽的分数也会得到梯度。",
        "你的结果里，梯度从哪一项传过去？那一项是 softmax 吗？",
    ),
)
def attention_weights(self, scores, mask=None):
    return weights_of(scores, mask).detach() + scores - scores.detach()


@mistake(
    "shift-changes-gradient",
    en=(
        "the weights are right, and the subtracted maximum adds something to the gradient",
        "The shift cancels only if it is the same above and below the fraction, for the gradient as well. "
        "Detach it in both places or in none.",
        "Is the maximum above the fraction the very same tensor as below it?",
    ),
    zh=(
        "权重是对的，但减去的最大值给梯度添了一项",
        "只有分子和分母里的平移完全相同，它才会约掉，对梯度也是如此。要 detach 就两处都做，否则都不做。",
        "分子里的最大值和分母里的，是同一个张量吗？",
    ),
    parameters=(True, False),
)
def attention_weights(self, above, scores, mask=None):
    scores = blocked(scores, mask)
    top = scores.amax(-1, keepdim=True)
    tops = (top, top.detach()) if above else (top.detach(), top)
    return torch.exp(scores - tops[0]) / torch.exp(scores - tops[1]).sum(-1, keepdim=True)


@mistake(
    "gradient-changed-on-its-way",
    en=(
        "the weights are right, and their gradient is clipped or turned round on its way back",
        "Gradients are for autograd to work out. Clipping belongs to the training loop, on the gradients of "
        "all parameters together.",
        "Is there a hook, or a backward of your own?",
    ),
    zh=(
        "权重是对的，但梯度在返回途中被截断或变了号",
        "梯度由 autograd 来算。截断梯度属于训练循环，针对的是全部参数的梯度。",
        "有没有用 hook，或者自己写了 backward？",
    ),
    parameters=(None, 0.01, 0.1, 0.5, 1.0),
)
def attention_weights(self, limit, scores, mask=None):
    weights = weights_of(scores, mask)
    return 2 * weights.detach() - weights if limit is None else Clipped.apply(weights, limit)


# --- precision


@mistake(
    "half-inside",
    en=(
        "the softmax is computed in a 16-bit type",
        "float16 has 3 digits and bfloat16 has 2. The caller chose the precision by the dtype of the scores.",
        "Which step changes the dtype? Every step can stay in the dtype of the scores.",
    ),
    zh=(
        "softmax 是用 16 位类型计算的",
        "float16 只有 3 位有效数字，bfloat16 只有 2 位。精度由调用者通过分数的 dtype 决定。",
        "哪一步改变了 dtype？每一步都可以保持分数本来的 dtype。",
    ),
    fit=narrow_dtype,
    same=3e-2,
)
def attention_weights(self, dtype, scores, mask=None):
    return weights_of(scores, mask)


@mistake(
    "float32-inside",
    en=(
        "some step of the softmax is less precise than float64, as in float32",
        "float64 scores ask for 16 digits. One step in float32, or one constant that is cut short, leaves 7 "
        "of them.",
        "Which step changes the dtype, or makes a new tensor without naming one?",
    ),
    zh=(
        "softmax 中有一步的精度低于 float64（例如用了 float32）",
        "传入 float64，就是要 16 位有效数字。只要有一步用 float32，或者有一个常数被截短，就只剩 7 位。",
        "哪一步改变了 dtype，或者新建张量时没有指定 dtype？",
    ),
    fit=loses_half_the_digits,
    same=5e-6,
)
def attention_weights(self, _, scores, mask=None):
    return weights_of(scores, mask)
