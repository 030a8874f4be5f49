"""Mistakes of attention_scores: the product of queries and keys, and its scale."""

import itertools
import math

import torch

from grader.judge.mistakes import UNSTEADY, mistake, signed_mistake, softmax


def product(query, key):
    """The plain products q.k of all pairs, without a scale."""
    return query @ key.mT


def scaled(query, key):
    """The right scores."""
    return query @ key.mT / math.sqrt(query.shape[-1])


def factor_of(call, scores):
    """The one factor between the scores and the plain products, if there is one."""
    plain = product(*(arg.double() for arg in call.args))
    factor = float((scores * plain).sum() / (plain * plain).sum())
    return factor if math.isfinite(factor) else None


def variance_of(scores, dim, correction):
    """The variance along a dimension, without torch's warning where there is one number only."""
    squares = (scores - scores.mean(dim, keepdim=True)).square().sum(dim, keepdim=True)
    return squares / (scores.numel() // squares.numel() - correction)


# --- the scale


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
    return product(query, key)


@mistake(
    "scale-by-d",
    en=(
        "the scores are divided by d_k and not by its square root",
        "The variance of q.k is d_k, so its standard deviation is sqrt(d_k). Dividing by d_k makes the "
        "scores too small, and the softmax nearly uniform. Scaling twice by sqrt(d_k) does the same.",
        "Which number has to be divided out to bring the spread of the scores back to 1: variance or "
        "standard deviation? And does it happen once only?",
    ),
    zh=(
        "分数除以了 d_k，而不是它的平方根",
        "q·k 的方差是 d_k，标准差是 sqrt(d_k)。除以 d_k 会让分数过小，softmax 接近均匀分布。除了两次 "
        "sqrt(d_k) 也是同样的效果。",
        "要让分数的波动回到 1，应该除掉方差还是标准差？缩放是不是只做了一次？",
    ),
)
def attention_scores(self, query, key):
    return product(query, key) / query.shape[-1]


@mistake(
    "scale-multiplied",
    en=(
        "the scores are multiplied by sqrt(d_k)",
        "The scale is there to make the scores smaller. Multiplying, or dividing by a factor that is "
        "inverted already, makes the softmax pick one key almost alone.",
        "Is your factor sqrt(d_k) or one over it, and does the operator go with it?",
    ),
    zh=(
        "分数乘上了 sqrt(d_k)",
        "缩放的目的是让分数变小。乘上它，或者除以一个已经取过倒数的因子，都会让 softmax 几乎只看一个 key。",
        "你的因子是 sqrt(d_k) 还是它的倒数？运算符与它相配吗？",
    ),
)
def attention_scores(self, query, key):
    return product(query, key) * math.sqrt(query.shape[-1])


def _n_heads(query):
    return query.shape[-3] if query.dim() == 4 else 1


def _dim_minus_3(query):
    return query.shape[-3] if query.dim() > 2 else 1


def _dim_1(query):
    return query.shape[1]


@mistake(
    "scale-by-d-model",
    en=(
        "the scale is that of d_model, all heads together, and not of one head",
        "d_k in the formula is the size of one query, the number of products in q.k. With H heads that is "
        "d_model / H.",
        "How many products are summed up in one score of one head?",
    ),
    zh=(
        "缩放用的是所有头合起来的 d_model，而不是单个头的维度",
        "公式里的 d_k 是一个 query 的维度，也就是 q·k 中乘积的个数。有 H 个头时，它等于 d_model / H。",
        "在一个头里，一个分数由多少个乘积相加而成？",
    ),
    parameters=(_n_heads, _dim_minus_3, lambda query: query.shape[-3], _dim_1),
)
def attention_scores(self, heads, query, key):
    return product(query, key) / math.sqrt(heads(query) * query.shape[-1])


@mistake(
    "scale-by-length",
    en=(
        "the scores are scaled by the number of keys and not by d_k",
        "The number of keys has no part in a single score q.k. Scores would shrink as the text grows.",
        "Which dimension is summed away in q.k? Read the size of that one, before or after a transpose.",
    ),
    zh=(
        "缩放用的是 key 的个数，而不是 d_k",
        "单个分数 q·k 与 key 的个数无关。这样做，文本越长分数就越小。",
        "q·k 中被求和消去的是哪一维？读那一维的大小，并留意是在转置之前还是之后读的。",
    ),
    parameters=(-0.5, -1, 0.5),
)
def attention_scores(self, power, query, key):
    return product(query, key) * key.shape[-2] ** power


@mistake(
    "scale-by-query-length",
    en=(
        "the scores are scaled by the number of queries and not by d_k",
        "The number of queries has no part in a single score q.k. Its spread comes from the features that "
        "are summed up.",
        "The last two dimensions of the query are tokens and features. Which of them is d_k?",
    ),
    zh=(
        "缩放用的是 query 的个数，而不是 d_k",
        "单个分数 q·k 与 query 的个数无关，它的波动来自被求和的那些特征。",
        "query 的最后两维分别是 token 和特征，哪一个是 d_k？",
    ),
    parameters=(-0.5, -1, 0.5),
)
def attention_scores(self, power, query, key):
    return product(query, key) * query.shape[-2] ** power


@mistake(
    "scale-by-number-of-heads",
    en=(
        "the scores are scaled by the number of heads, or whatever is second in the shape, and not by d_k",
        "Each head computes its scores alone; how many heads there are has no part in them.",
        "Count from the end: where in the shape is the size of a single query?",
    ),
    zh=(
        "缩放用的是头的个数（shape 的第二个数），而不是 d_k",
        "每个头独立计算自己的分数，头有几个与分数无关。",
        "从末尾数起：单个 query 的维度在 shape 的哪个位置？",
    ),
    parameters=itertools.product((_dim_1, lambda query: query.shape[-3], _n_heads, _dim_minus_3), (-0.5, -1)),
)
def attention_scores(self, form, query, key):
    size, power = form
    return product(query, key) * size(query) ** power


@mistake(
    "scale-by-batch",
    en=(
        "the scores are scaled by the first size of the shape, the batch, and not by d_k",
        "len() and shape[0] give the number of samples. A score must not depend on how many sentences happen "
        "to be computed together.",
        "Count from the end: where in the shape is the size of a single query?",
    ),
    zh=(
        "缩放用的是 shape 的第一个数（batch 大小），而不是 d_k",
        "len() 和 shape[0] 给出的是样本数。一个分数不应取决于同时计算了多少个句子。",
        "从末尾数起：单个 query 的维度在 shape 的哪个位置？",
    ),
    parameters=(-0.5, -1, 0.5),
)
def attention_scores(self, power, query, key):
    return product(query, key) * query.shape[0] ** power


@mistake(
    "scale-fourth-root-once",
    en=(
        "the scores are divided by the fourth root of d_k alone",
        "The fourth root is half of a trick: it belongs on the query and on the key, so that both together "
        "give sqrt(d_k).",
        "By how much is the product of the two divided in all? Or was the root taken twice?",
    ),
    zh=(
        "分数只除以了 d_k 的四次方根",
        "四次方根只是半个技巧：它应当同时用在 query 和 key 上，两者合起来才是 sqrt(d_k)。",
        "两者相乘之后，总共除掉了多少？还是平方根开了两次？",
    ),
)
def attention_scores(self, query, key):
    return product(query, key) * query.shape[-1] ** -0.25


@mistake(
    "scale-integer-root",
    en=(
        "the square root of d_k is rounded to a whole number",
        "int(), isqrt() and // are exact for d_k = 4, 16 or 64 only. The root of 10 is not 3.",
        "Which of your steps turns a fraction into an integer? Try d_k = 10 by hand.",
    ),
    zh=(
        "d_k 的平方根被取整了",
        "int()、isqrt() 和 // 只在 d_k 为 4、16、64 这样的平方数时才精确。10 的平方根并不是 3。",
        "哪一步把小数变成了整数？用 d_k = 10 手算一遍。",
    ),
    parameters=(math.floor, round, math.ceil),
)
def attention_scores(self, whole, query, key):
    return product(query, key) / whole(math.sqrt(query.shape[-1]))


@mistake(
    "scale-floor-division",
    en=(
        "the scores are rounded to whole numbers",
        "// divides and rounds down. Scores that differ by less than 1 become equal, and no gradient passes.",
        "Which operator divides without rounding?",
    ),
    zh=(
        "分数被取成了整数",
        "// 在相除之后还会向下取整：相差不到 1 的分数变得一样，梯度也传不回去。",
        "哪个运算符做除法而不取整？",
    ),
    parameters=(torch.floor, torch.trunc, torch.round),
)
def attention_scores(self, whole, query, key):
    return whole(scaled(query, key))


@mistake(
    "scale-by-half-d",
    en=(
        "the scores are divided by d_k / 2",
        "d_k ** 1 / 2 is (d_k ** 1) / 2: the power binds more tightly than the division.",
        "Does your exponent need parentheses?",
    ),
    zh=(
        "分数除以了 d_k / 2",
        "d_k ** 1 / 2 等于 (d_k ** 1) / 2：乘方的优先级高于除法。",
        "你的指数要不要加括号？",
    ),
)
def attention_scores(self, query, key):
    return product(query, key) / (query.shape[-1] / 2)


@mistake(
    "scale-by-twice-d",
    en=(
        "the scores are divided by 2 d_k",
        "d_k ** -1 / 2 is (1 / d_k) / 2: the power binds more tightly than the division.",
        "Does your exponent need parentheses?",
    ),
    zh=(
        "分数除以了 2 d_k",
        "d_k ** -1 / 2 等于 (1 / d_k) / 2：乘方的优先级高于除法。",
        "你的指数要不要加括号？",
    ),
)
def attention_scores(self, query, key):
    return product(query, key) / (2 * query.shape[-1])


@mistake(
    "scale-by-two-d",
    en=(
        "the scores are divided by sqrt(2 d_k)",
        "A score is one dot product of d_k terms. The size of the query and that of the key are the same "
        "d_k, and count once.",
        "How many products are summed up in one q.k?",
    ),
    zh=(
        "分数除以了 sqrt(2 d_k)",
        "一个分数是一个含 d_k 项的点积。query 和 key 的维度是同一个 d_k，只算一次。",
        "一个 q·k 里有多少个乘积相加？",
    ),
    parameters=(0.5, -0.5),
)
def attention_scores(self, power, query, key):
    return scaled(query, key) / 2**power


@mistake(
    "scale-by-d-minus-one",
    en=(
        "d_k is off by one under the square root",
        "A dot product of d_k terms has the variance d_k, no more and no less: this is not the d - 1 of a "
        "sample variance.",
        "How many products are summed up in one q.k?",
    ),
    zh=(
        "平方根里的 d_k 差了 1",
        "含 d_k 项的点积，方差就是 d_k，不多也不少；样本方差里的 d - 1 与此无关。",
        "一个 q·k 里有多少个乘积相加？",
    ),
    parameters=(-1, 1),
)
def attention_scores(self, step, query, key):
    return product(query, key) / math.sqrt(max(1, query.shape[-1] + step))


@mistake(
    "scale-cube-root",
    en=(
        "the scores are divided by the cube root of d_k",
        "Variances add up: d_k terms of variance 1 spread like the square root of d_k, and no other root.",
        "Which root turns a variance into a standard deviation?",
    ),
    zh=(
        "分数除以了 d_k 的立方根",
        "方差是相加的：d_k 个方差为 1 的项之和，其波动正比于 d_k 的平方根，而不是别的方根。",
        "从方差得到标准差，要开几次方？",
    ),
)
def attention_scores(self, query, key):
    return product(query, key) / query.shape[-1] ** (1 / 3)


@mistake(
    "scale-log",
    en=(
        "the scores are divided by a logarithm of d_k",
        "Variances add up: d_k terms of variance 1 spread like the square root of d_k. A logarithm grows far "
        "too slowly.",
        "Which function turns a variance into a standard deviation?",
    ),
    zh=(
        "分数除以了 d_k 的对数",
        "方差是相加的：d_k 个方差为 1 的项之和，其波动正比于 d_k 的平方根。对数增长得太慢了。",
        "哪个函数能从方差得到标准差？",
    ),
    parameters=(math.log, math.log1p, math.log2, math.log10, lambda d: math.log2(d + 1)),
)
def attention_scores(self, log, query, key):
    return product(query, key) / log(query.shape[-1])


@mistake(
    "scale-by-d-to-the-three-halves",
    en=(
        "the scores are the mean of the products over sqrt(d_k), that is, divided by d_k ** 1.5",
        "A dot product is a sum. A mean divides by d_k once more, and leaves the softmax nearly uniform.",
        "Does your product sum over the features, or average over them?",
    ),
    zh=(
        "分数是乘积的平均值再除以 sqrt(d_k)，即总共除以 d_k ** 1.5",
        "点积是求和。求平均等于又除了一次 d_k，softmax 会接近均匀分布。",
        "你对特征维做的是求和还是求平均？",
    ),
)
def attention_scores(self, query, key):
    return product(query, key) * query.shape[-1] ** -1.5


@mistake(
    "scale-by-other-size",
    en=(
        "the scale is made of other sizes than d_k: lengths, heads, batch or a number of elements",
        "Only the number of products that are summed up in one score makes it large: d_k.",
        "Print the number under your root for one call. Is it the size of a single query?",
    ),
    zh=(
        "缩放用的是 d_k 以外的大小：长度、头数、batch 或元素总数",
        "让一个分数变大的，只有其中相加的乘积个数，也就是 d_k。",
        "打印一次调用中平方根里的数：它是单个 query 的维度吗？",
    ),
    parameters=itertools.product(
        (
            lambda q, k: q.shape[-2] + k.shape[-2],
            lambda q, k: q.shape[-2] * k.shape[-2],
            lambda q, k: q.shape[:-2].numel(),
            lambda q, k: q.numel(),
            lambda q, k: k.numel(),
            lambda q, k: q.shape[-2] * q.shape[-1],
            lambda q, k: k.shape[-2] * k.shape[-1],
            lambda q, k: q.dim(),
        ),
        (-0.5, -1),
    ),
)
def attention_scores(self, form, query, key):
    size, power = form
    return product(query, key) * size(query, key) ** power


@mistake(
    "scale-only-in-4d",
    en=(
        "the scores are scaled for inputs of some number of dimensions and not for others",
        "The scale belongs to every dot product. How many leading dimensions ride along makes no difference.",
        "Which of your branches leaves the scale out? One line for all ranks is enough.",
    ),
    zh=(
        "只有某些维数的输入才做缩放，其余的没有缩放",
        "每个点积都要缩放，前面带着几个维度并无区别。",
        "哪个分支漏掉了缩放？一行代码就能处理任意维数。",
    ),
    parameters=((4,), (4, 5), (3, 4, 5), (3,), (2,), (2, 3), (3, 4), (2, 3, 5), (2, 4, 5), (2, 3, 4)),
)
def attention_scores(self, ranks, query, key):
    return scaled(query, key) if query.dim() in ranks else product(query, key)


@mistake(
    "scale-sometimes",
    en=(
        "whether the scores are scaled depends on the number of queries or keys",
        "The variance of a dot product depends on d_k alone. One query alone, or as many keys as queries, "
        "changes nothing about it.",
        "Which condition decides whether your code divides, and what has it to do with d_k?",
    ),
    zh=(
        "是否缩放取决于 query 或 key 的个数",
        "点积的方差只与 d_k 有关。只有一个 query，或者 query 与 key 一样多，都不改变这一点。",
        "你的代码根据什么条件决定除不除？它与 d_k 有什么关系？",
    ),
    parameters=itertools.product(
        (
            lambda rows, columns: rows == columns,
            lambda rows, columns: rows > 1,
            lambda rows, columns: columns > 1,
            lambda rows, columns: rows <= columns,
        ),
        (True, False),
    ),
)
def attention_scores(self, form, query, key):
    condition, when = form
    divides = condition(query.shape[-2], key.shape[-2]) == when
    return scaled(query, key) if divides else product(query, key)


@mistake(
    "scale-on-a-part",
    en=(
        "only a part of the sum is divided by sqrt(d_k): one half of the features",
        "The whole dot product is one number, and the root divides all of it. In a + b / c, only b is "
        "divided.",
        "Where do the parentheses of your sum end?",
    ),
    zh=(
        "只有和的一部分除以了 sqrt(d_k)：一半的特征",
        "整个点积是一个数，应当整个除以这个根。在 a + b / c 里，只有 b 被除。",
        "你的求和式，括号到哪里结束？",
    ),
    parameters=itertools.product((0, 1), (0, 1)),
)
def attention_scores(self, form, query, key):
    part, larger_first = form
    half = (query.shape[-1] + larger_first) // 2
    parts = [product(query[..., own], key[..., own]) for own in (slice(None, half), slice(half, None))]
    parts[part] = parts[part] / math.sqrt(query.shape[-1])
    return parts[0] + parts[1]


@mistake(
    "scale-by-d-model-too",
    en=(
        "the scores are divided by sqrt(d_model) as well as by sqrt(d_k)",
        "One division brings the variance back to 1; a second one makes it too small. The usual cause: the "
        "query is scaled already before attention_scores scales.",
        "How many times is something divided on the way from W_Q to the softmax?",
    ),
    zh=(
        "分数除以了 sqrt(d_k)，又除以了 sqrt(d_model)",
        "除一次，方差就回到 1；再除一次，方差就太小了。常见原因：query 在进入 attention_scores 之前已经缩放"
        "过。",
        "从 W_Q 到 softmax 的路上，一共除了几次？",
    ),
    parameters=(_n_heads, _dim_minus_3),
)
def attention_scores(self, heads, query, key):
    return scaled(query, key) / math.sqrt(heads(query) * query.shape[-1])


@mistake(
    "scale-by-largest-score",
    en=(
        "the scores are divided by the largest of them",
        "Then the scores of one pair depend on all the others, and on the batch. sqrt(d_k) depends on the "
        "size of the vectors alone.",
        "Does the score of one pair change in your function if another key changes?",
    ),
    zh=(
        "分数除以了其中最大的一个",
        "这样一对的分数就取决于其他所有的分数，还取决于 batch。而 sqrt(d_k) 只与向量的大小有关。",
        "在你的函数里，换掉另一个 key，这一对的分数会变吗？",
    ),
    parameters=itertools.product(
        (lambda s: s.abs(), lambda s: s),
        (lambda s: s.max(), lambda s: s.amax(-1, keepdim=True), lambda s: s.amax((-2, -1), keepdim=True)),
        (product, scaled),
    ),
)
def attention_scores(self, form, query, key):
    size, largest, scores_of = form
    scores = scores_of(query, key)
    return scores / largest(size(scores))


@mistake(
    "scale-rounded",
    en=(
        "sqrt(d_k), or 1 / sqrt(d_k), is rounded to a few decimals",
        "The factor is then right to a few digits only, and so is every score. Let Python work it out.",
        "How many digits does the number have that you multiply by or divide by?",
    ),
    zh=(
        "sqrt(d_k) 或 1 / sqrt(d_k) 只保留了几位小数",
        "这样缩放因子只有几位数字是对的，每个分数也就只有几位是对的。让 Python 去算就行。",
        "你用来乘或除的那个数有几位有效数字？",
    ),
    parameters=itertools.product((-0.5, 0.5), range(1, 9)),
)
def attention_scores(self, form, query, key):
    power, digits = form
    factor = round(query.shape[-1] ** power, digits)
    return product(query, key) * factor if power < 0 else product(query, key) / factor


@mistake(
    "scale-subtracted",
    en=(
        "sqrt(d_k) is subtracted from the scores (or added) instead of dividing them",
        "The softmax does not see a number that is the same for a whole row: the scores are as large as "
        "before.",
        "What happens to the differences between scores if the same number is taken off all of them?",
    ),
    zh=(
        "分数减去（或加上）了 sqrt(d_k)，而不是除以它",
        "整行都加减同一个数，softmax 是看不到的：分数之间的差距和原来一样大。",
        "所有分数都减去同一个数，它们之间的差会变吗？",
    ),
    parameters=(-1, 1),
)
def attention_scores(self, sign, query, key):
    return product(query, key) + sign * math.sqrt(query.shape[-1])


@mistake(
    "scale-by-standard-deviation",
    en=(
        "the scores are divided by the standard deviation that they happen to have",
        "A measured scale ties every score to all others: another key or another sample changes them all. "
        "sqrt(d_k) is known without measuring.",
        "Which number is the expected spread of q.k, for any data?",
    ),
    zh=(
        "分数除以了它们自身的标准差",
        "用测得的尺度去缩放，会把每个分数和其他所有分数绑在一起：换一个 key 或样本，全部分数都变。sqrt(d_k) "
        "无需测量就知道。",
        "不看数据，q·k 的波动预期是多少？",
    ),
    parameters=itertools.product((None, -1, (-2, -1), -2), (0, 1)),
)
def attention_scores(self, form, query, key):
    dim, correction = form
    scores = product(query, key)
    return scores / variance_of(scores, dim, correction).sqrt()


@mistake(
    "scores-standardised",
    en=(
        "the scores are standardised to mean 0 and variance 1",
        "A layer norm of the scores ties every score to all others of its row or table, and hides from the "
        "softmax how sure it may be.",
        "Which number is the expected spread of q.k, for any data?",
    ),
    zh=(
        "分数被标准化成了均值 0、方差 1",
        "对分数做 layer norm，会把每个分数和同一行（或整张表）的其他分数绑在一起，softmax 也就看不出该有多确"
        "定。",
        "不看数据，q·k 的波动预期是多少？",
    ),
    parameters=itertools.product((-1, (-2, -1), None), (0, 1), (0, 1e-5), (product, scaled)),
)
def attention_scores(self, form, query, key):
    dim, correction, eps, scores_of = form
    scores = scores_of(query, key)
    centred = scores - scores.mean(dim, keepdim=True)
    return centred / torch.sqrt(variance_of(scores, dim, correction) + eps)


@mistake(
    "float32-root",
    en=(
        "the square root of d_k is rounded to float32",
        "A tensor made of a Python number is float32, so its root has 7 digits, and float64 scores no more.",
        "math.sqrt works in float64. Which line makes a tensor where a number would do?",
    ),
    zh=(
        "d_k 的平方根被舍入到了 float32",
        "由 Python 数值生成的张量是 float32，平方根只有 7 位有效数字，float64 的分数也就只剩这么多。",
        "math.sqrt 用的是 float64。哪一行本来用一个数就够，却造了一个张量？",
    ),
    parameters=(
        lambda d: 1 / float(torch.sqrt(torch.tensor(float(d)))),
        lambda d: float(torch.rsqrt(torch.tensor(float(d)))),
        lambda d: float(1 / torch.sqrt(torch.tensor(float(d)))),
        lambda d: float(torch.tensor(d**-0.5, dtype=torch.float32)),
    ),
)
def attention_scores(self, factor, query, key):
    return product(query, key) * factor(query.shape[-1])


def _eps(formula, call, scores):
    """What is added to sqrt(d_k), if little is."""
    eps = 1 / factor_of(call, scores) - math.sqrt(call.args[0].shape[-1])
    return eps if 1e-14 < abs(eps) < 0.1 else None


@mistake(
    "scale-eps",
    en=(
        "a small number is added to sqrt(d_k)",
        "An epsilon guards against a division by zero, but d_k is never 0. It only makes every score a "
        "little too small.",
        "Can d_k be 0? If not, what is there to guard against?",
    ),
    zh=(
        "sqrt(d_k) 上加了一个很小的数",
        "加 epsilon 是为了防止除以零，而 d_k 不会是 0。它只会让每个分数都偏小一点。",
        "d_k 可能是 0 吗？不可能的话，又要防什么呢？",
    ),
    fit=_eps,
)
def attention_scores(self, eps, query, key):
    return product(query, key) / (math.sqrt(query.shape[-1]) + eps)


def _power(formula, call, scores):
    """The power of d_k that the factor is, if it is a simple fraction."""
    twelfths = 12 * math.log(factor_of(call, scores)) / math.log(call.args[0].shape[-1])
    return round(twelfths) / 12 if abs(twelfths - round(twelfths)) < 1e-3 else None


@mistake(
    "scale-by-another-power",
    en=(
        "the scores are scaled by another power of d_k than -1/2",
        "Variances add up: d_k terms of variance 1 spread like the square root of d_k. Another power makes "
        "the scores shrink or grow with d_k.",
        "Which power turns a variance into a standard deviation?",
    ),
    zh=(
        "缩放用的是 d_k 的别的幂，而不是 -1/2 次幂",
        "方差是相加的：d_k 个方差为 1 的项之和，其波动正比于 d_k 的平方根。换成别的幂，分数就会随 d_k 变大或"
        "变小。",
        "从方差得到标准差，要取几次幂？",
    ),
    fit=_power,
)
def attention_scores(self, power, query, key):
    return product(query, key) * query.shape[-1] ** power


def _added_to_root(formula, call, scores):
    """What is added to sqrt(d_k)."""
    return 1 / factor_of(call, scores) - math.sqrt(call.args[0].shape[-1])


@mistake(
    "scale-root-plus-number",
    en=(
        "a number is added to sqrt(d_k)",
        "The standard deviation of a dot product of d_k terms is sqrt(d_k), and dividing by it gives 1. "
        "There is no danger of a zero that something has to be added against.",
        "Which number do you divide by for d_k = 4, and which for d_k = 100?",
    ),
    zh=(
        "sqrt(d_k) 又加上了一个数",
        "含 d_k 项的点积，标准差就是 sqrt(d_k)，除以它就得到 1。这里不会出现零，不需要加什么来防备。",
        "d_k = 4 时你除以的是多少？d_k = 100 时呢？",
    ),
    fit=_added_to_root,
)
def attention_scores(self, added, query, key):
    return product(query, key) / (math.sqrt(query.shape[-1]) + added)


@mistake(
    "scores-negated",
    en=(
        "the scores have the opposite sign",
        "A large q.k says that key and query match. With the sign turned, every query attends most to what "
        "fits it least.",
        "Should a better match have a higher or a lower score?",
    ),
    zh=(
        "分数的符号反了",
        "q·k 大，说明 key 与 query 匹配。符号一反，每个 query 最关注的恰恰是最不匹配的 key。",
        "匹配得越好，分数应该越高还是越低？",
    ),
)
def attention_scores(self, query, key):
    return -scaled(query, key)


@mistake(
    "scores-all-equal",
    en=(
        "all scores are the same number, whatever queries and keys are",
        "Attention gets its weights from the content. With equal scores it is a plain average.",
        "Does your result use query and key at all?",
    ),
    zh=(
        "所有分数都是同一个数，与 query 和 key 无关",
        "attention 的权重来自内容。分数都一样，就只是普通的平均。",
        "你的结果用到 query 和 key 了吗？",
    ),
    fit=lambda formula, call, scores: float(scores.flatten()[0]),
)
def attention_scores(self, number, query, key):
    return 0 * product(query, key) + number


def _factor(formula, call, scores):
    return factor_of(call, scores)


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
    return factor * product(query, key)


# --- which vectors meet


@mistake(
    "key-reshaped",
    en=(
        "the key is reshaped to (d_k, L_k) instead of transposed",
        "reshape and view keep the order of the numbers in memory and cut them up anew: a column then holds "
        "pieces of several keys. A transpose turns rows into columns.",
        "After your step, does column j still hold exactly the numbers of key j?",
    ),
    zh=(
        "key 是用 reshape 变成 (d_k, L_k) 的，而不是转置",
        "reshape 和 view 保持内存中数字的次序、重新切分：一列里会混进好几个 key 的碎片。转置才是把行变成列。",
        "在这一步之后，第 j 列是否恰好还是第 j 个 key 的那些数？",
    ),
    parameters=(math.sqrt, lambda d: 1),
)
def attention_scores(self, root, query, key):
    *lead, length, d_k = key.shape
    return query @ key.reshape(*lead, d_k, length) / root(d_k)


@mistake(
    "scores-transposed",
    en=(
        "rows and columns of the scores are swapped",
        "Row i belongs to query i, and its softmax runs over the keys. k @ q^T has a row for each key.",
        "The result should be (L_q, L_k). Which of the two has to stand on the left?",
    ),
    zh=(
        "分数的行和列对调了",
        "第 i 行属于第 i 个 query，softmax 沿着 key 的方向进行。k @ q^T 的每一行却属于一个 key。",
        "结果应当是 (L_q, L_k)。两者之中，哪一个应该放在左边？",
    ),
    parameters=(scaled, product),
)
def attention_scores(self, scores_of, query, key):
    return scores_of(query, key).mT


@mistake(
    "scores-of-query-alone",
    en=(
        "both sides of the product are the query, or both the key",
        "A score says how well a query matches a key. One of them alone says nothing about the other.",
        "Which two names stand on the two sides of your product?",
    ),
    zh=(
        "乘积的两边都是 query，或者都是 key",
        "分数表示 query 与 key 有多匹配。只用其中一个，就看不出与另一个的关系。",
        "你的乘积两边各是哪个变量？",
    ),
    parameters=itertools.product((0, 1), (scaled, product)),
)
def attention_scores(self, form, query, key):
    side, scores_of = form
    both = (query, key)[side]
    return scores_of(both, both)


@mistake(
    "scores-summed-out",
    en=(
        "the scores are summed over the keys (or the queries) as well",
        "A label of einsum that is missing on the right is summed over. Every pair of query and key needs a "
        "number of its own.",
        "Which dimensions of the result are named on the right of the arrow, and which should be?",
    ),
    zh=(
        "分数对 key（或 query）也求了和",
        "einsum 右边没有写出的标签会被求和。每一对 query 和 key 都要有自己的一个数。",
        "箭头右边写了结果的哪些维？应该有哪些？",
    ),
    parameters=((-1, False), (-2, False), (-1, True), (-2, True)),
)
def attention_scores(self, form, query, key):
    dim, keepdim = form
    return scaled(query, key).sum(dim, keepdim=keepdim)


@mistake(
    "scores-of-feature-sums",
    en=(
        "the features of query and key are summed up apart, and then multiplied",
        "Two labels in einsum are two independent sums. A dot product pairs feature with feature, which "
        "needs the same label on both sides.",
        "Do the feature dimensions of query and key have the same letter?",
    ),
    zh=(
        "query 和 key 的特征先各自求和、再相乘",
        "einsum 里两个不同的标签就是两次互不相干的求和。点积要把特征一一配对，两边必须用同一个标签。",
        "query 和 key 的特征维用的是同一个字母吗？",
    ),
    parameters=(math.sqrt, lambda d: 1),
)
def attention_scores(self, root, query, key):
    return query.sum(-1, keepdim=True) * key.sum(-1).unsqueeze(-2) / root(query.shape[-1])


def _first_of(dim, least):
    """The first along a dimension, for tensors of at least some rank."""
    return lambda tensor: tensor.narrow(dim, 0, 1) if tensor.dim() >= least else tensor


_FIRST_SAMPLE = (_first_of(0, 3), _first_of(0, 4), _first_of(-4, 4))
_FIRST_HEAD = (_first_of(-3, 3), _first_of(-3, 4), _first_of(1, 4))
_FIRST_MATRIX = (lambda tensor: tensor.reshape(-1, *tensor.shape[-2:])[0],)


@mistake(
    "keys-of-the-first-sample",
    en=(
        "all samples use the keys of the first one",
        "Each sentence of a batch has keys of its own. It shows only when there is more than one.",
        "Where does your code pick one element of the first dimension of the key?",
    ),
    zh=(
        "所有样本都用了第一个样本的 key",
        "batch 里的每个句子都有自己的 key。只有一个样本时看不出这个错误。",
        "你的代码在哪里取了 key 第一维的某一个元素？",
    ),
    parameters=_FIRST_SAMPLE,
)
def attention_scores(self, first, query, key):
    return scaled(query, first(key))


@mistake(
    "keys-of-the-first-head",
    en=(
        "all heads use the keys of the first head",
        "Each head has learned keys of its own; with shared ones the heads cannot specialise.",
        "Where does your code pick one element along the dimension of the heads?",
    ),
    zh=(
        "所有头都用了第一个头的 key",
        "每个头都有自己学到的 key，共用一份，各头就无法分工。",
        "你的代码在哪里沿着头那一维只取了一个元素？",
    ),
    parameters=_FIRST_HEAD,
)
def attention_scores(self, first, query, key):
    return scaled(query, first(key))


@mistake(
    "keys-of-the-first-matrix",
    en=(
        "all samples and heads use the very first matrix of keys",
        "Samples and heads are separate attentions. Flattened into one long sequence, the first L_k keys are "
        "those of one head of one sample.",
        "Matrix products work on the last two dimensions and let the others ride along. Is there a need to "
        "flatten them?",
    ),
    zh=(
        "所有样本和所有头都用了最前面的那一个 key 矩阵",
        "样本与头都是各自独立的 attention。一旦摊平成一条长序列，最前面的 L_k 个 key 只属于一个样本的一个"
        "头。",
        "矩阵乘法作用在最后两维，其余维度会自动跟着走。真的需要摊平吗？",
    ),
    parameters=_FIRST_MATRIX,
)
def attention_scores(self, first, query, key):
    return scaled(query, first(key))


@mistake(
    "queries-of-the-first",
    en=(
        "the queries of the first sample, or of the first head, stand for all",
        "Each sample and each head has queries of its own. It shows only when there is more than one.",
        "Where does your code pick one element of a leading dimension of the query?",
    ),
    zh=(
        "所有样本（或所有头）都用了第一个样本（头）的 query",
        "每个样本、每个头都有自己的 query。只有一个时看不出这个错误。",
        "你的代码在哪里对 query 的前几维只取了一个元素？",
    ),
    parameters=(*_FIRST_SAMPLE, *_FIRST_HEAD, *_FIRST_MATRIX),
)
def attention_scores(self, first, query, key):
    return scaled(first(query).expand_as(query), key)


@mistake(
    "keys-of-another-sample",
    en=(
        "each sample, or each head, meets the keys of another one",
        "Samples and heads are separate attentions: query and key of a score come from the same one.",
        "Does a flip, a roll or a reshape change the order of the leading dimensions of one side only?",
    ),
    zh=(
        "每个样本（或每个头）配上的是别的样本（头）的 key",
        "样本与头都是各自独立的 attention：一个分数里的 query 和 key 必须来自同一个。",
        "有没有哪个 flip、roll 或 reshape 只改了其中一边前几维的次序？",
    ),
    parameters=itertools.product((0, -3, -4), (1, -1, 0)),
)
def attention_scores(self, form, query, key):
    dim, step = form
    if key.dim() > 2 and -dim <= key.dim():
        key = key.roll(step, dim) if step else key.flip(dim)
    return scaled(query, key)


@mistake(
    "scores-averaged-over-heads",
    en=(
        "the scores are averaged (or summed) over heads or samples",
        "Each head is to find something of its own. After an average they all see the same table.",
        "Which dimensions may a score sum over? Only one.",
    ),
    zh=(
        "分数在各个头（或各个样本）之间取了平均或求了和",
        "每个头要找自己的东西。一旦平均，所有头看到的就是同一张表。",
        "一个分数可以沿哪些维求和？只有一个。",
    ),
    parameters=itertools.product((-3, 0, 1), (torch.mean, torch.sum), (range(3, 9), (4,))),
)
def attention_scores(self, form, query, key):
    dim, merge, ranks = form
    scores = scaled(query, key)
    if scores.dim() not in ranks:
        return scores
    return merge(scores, dim, keepdim=True).expand_as(scores)


@mistake(
    "scores-keys-moved",
    en=(
        "the columns are those of other keys: in reverse order, or shifted by one",
        "Column j belongs to key j; a mask and the values count on that order.",
        "Which step moves the keys along their dimension of tokens?",
    ),
    zh=(
        "各列对应的是别的 key：次序颠倒，或错开了一位",
        "第 j 列属于第 j 个 key，mask 和 value 都依赖这个次序。",
        "哪一步沿着 token 那一维移动了 key？",
    ),
    parameters=(lambda k: k.flip(-2), lambda k: k.roll(1, -2), lambda k: k.roll(-1, -2)),
)
def attention_scores(self, move, query, key):
    return scaled(query, move(key))


@mistake(
    "scores-queries-moved",
    en=(
        "the rows are those of other queries: in reverse order, or shifted by one",
        "Row i belongs to query i; the mask and the output count on that order.",
        "Which step moves the queries along their dimension of tokens?",
    ),
    zh=(
        "各行对应的是别的 query：次序颠倒，或错开了一位",
        "第 i 行属于第 i 个 query，mask 和输出都依赖这个次序。",
        "哪一步沿着 token 那一维移动了 query？",
    ),
    parameters=(lambda q: q.flip(-2), lambda q: q.roll(1, -2), lambda q: q.roll(-1, -2)),
)
def attention_scores(self, move, query, key):
    return scaled(move(query), key)


@mistake(
    "scores-last-feature-dropped",
    en=(
        "the last (or the first) feature is left out of the dot products",
        "A range or slice that stops one short leaves out one product. For random numbers it looks nearly "
        "right.",
        "With d_k features, which indices does your loop or slice visit?",
    ),
    zh=(
        "点积漏掉了最后（或最前）一个特征",
        "range 或切片少走一步，就漏掉一个乘积。对随机数来说，结果看上去差不多是对的。",
        "有 d_k 个特征时，你的循环或切片取到了哪些下标？",
    ),
    parameters=itertools.product((slice(None, -1), slice(1, None)), (0, 1)),
)
def attention_scores(self, form, query, key):
    kept, fewer = form
    return product(query[..., kept], key[..., kept]) / math.sqrt(max(1, query.shape[-1] - fewer))


@mistake(
    "scores-half-of-the-features",
    en=(
        "half of the features are left out of the dot products",
        "Each product of query feature and key feature is a part of the score; with half of them the other "
        "half of W_Q and W_K learns nothing.",
        "Which features does your slice or step keep?",
    ),
    zh=(
        "点积漏掉了一半的特征",
        "query 与 key 的每一对特征的乘积都是分数的一部分；只用一半，W_Q 和 W_K 的另一半就什么也学不到。",
        "你的切片或步长保留了哪些特征？",
    ),
    parameters=itertools.product(
        (
            lambda d: slice(None, d // 2),
            lambda d: slice(d // 2, None),
            lambda d: slice(None, None, 2),
            lambda d: slice(1, None, 2),
        ),
        (True, False),
    ),
)
def attention_scores(self, form, query, key):
    part, of_all = form
    kept = part(query.shape[-1])
    short_query, short_key = query[..., kept], key[..., kept]
    d_k = query.shape[-1] if of_all else short_query.shape[-1]
    return product(short_query, short_key) / math.sqrt(d_k)


@mistake(
    "scores-key-flipped",
    en=(
        "the features of the key are in another order than those of the query",
        "A dot product pairs feature f of the query with feature f of the key. In another order it "
        "multiplies numbers that have nothing to do with each other.",
        "Which step changes the order along the last dimension of one side only?",
    ),
    zh=(
        "key 的特征次序与 query 的不一致",
        "点积把 query 的第 f 个特征与 key 的第 f 个特征配对。次序一变，相乘的就是毫不相干的数。",
        "哪一步只改变了其中一边最后一维的次序？",
    ),
    parameters=(lambda k: k.flip(-1), lambda k: k.roll(1, -1), lambda k: k.roll(-1, -1)),
)
def attention_scores(self, move, query, key):
    return scaled(query, move(key))


# --- another measure of how well they match


def cosine(query, key):
    """q.k / (|q| |k|)"""
    return product(query / query.norm(dim=-1, keepdim=True), key / key.norm(dim=-1, keepdim=True))


@mistake(
    "scores-cosine",
    en=(
        "the scores are cosines: queries and keys are normalised to length 1",
        "A cosine is between -1 and 1 whatever the model learns, so no weight can get far from the others. "
        "The lengths of q and k are information.",
        "The formula has one division. Which one, and are there others in your code?",
    ),
    zh=(
        "分数是余弦：query 和 key 都被归一化成了长度 1",
        "无论模型学到什么，余弦都在 -1 和 1 之间，权重就拉不开差距。q 和 k 的长度也是信息。",
        "公式里只有一个除法。是哪一个？你的代码里还有别的除法吗？",
    ),
)
def attention_scores(self, query, key):
    return cosine(query, key)


def _factor_of_cosine(formula, call, scores):
    """What the cosines are multiplied by."""
    plain = cosine(*(arg.double() for arg in call.args))
    return float((scores * plain).sum() / (plain * plain).sum()) * math.sqrt(call.args[0].shape[-1])


@mistake(
    "scores-cosine-and-scale",
    en=(
        "the scores are cosines, and scaled by sqrt(d_k) as well",
        "Normalised vectors and the scale are two different remedies for large scores. With both the scores "
        "are next to nothing, and the softmax is uniform.",
        "The formula has one division. Which one, and are there others in your code?",
    ),
    zh=(
        "分数是余弦，又按 sqrt(d_k) 缩放了一次",
        "向量归一化和缩放是两种不同的办法，都用来对付过大的分数。两者都用，分数几乎为零，softmax 就成了均匀"
        "分布。",
        "公式里只有一个除法。是哪一个？你的代码里还有别的除法吗？",
    ),
    fit=_factor_of_cosine,
)
def attention_scores(self, factor, query, key):
    return cosine(query, key) * factor / math.sqrt(query.shape[-1])


def _normal(x, dim, eps=0.0):
    return x / (x.square().mean(dim, keepdim=True) + eps).sqrt()


@mistake(
    "scores-of-normalised-vectors",
    en=(
        "queries or keys are normalised before the product",
        "Some models normalise q and k (QK-Norm). This formula takes them as they are: their lengths are "
        "information.",
        "Which step changes query or key before the product?",
    ),
    zh=(
        "query 或 key 在相乘之前做了归一化",
        "有些模型会对 q 和 k 做归一化（QK-Norm）。这里的公式直接使用它们：长度也是信息。",
        "在相乘之前，哪一步改动了 query 或 key？",
    ),
    parameters=itertools.product(
        (("q", "length"), ("k", "length"), *itertools.product(("q", "k", "qk"), ("rms", "layer"))),
        (scaled, product),
    ),
)
def attention_scores(self, form, query, key):
    (sides, kind), scores_of = form

    def normal(x):
        if kind == "length":
            return x / x.norm(dim=-1, keepdim=True)
        return _normal(x - x.mean(-1, keepdim=True), -1, 1e-5) if kind == "layer" else _normal(x, -1)

    return scores_of(normal(query) if "q" in sides else query, normal(key) if "k" in sides else key)


@mistake(
    "scores-absolute",
    en=(
        "the scores have lost their sign",
        "A negative q.k says that the two do not fit. Without the sign the worst match counts like the best.",
        "What should a query do with a key that points the opposite way?",
    ),
    zh=(
        "分数的正负号丢了",
        "q·k 为负，说明两者不匹配。去掉符号，最差的匹配就和最好的一样了。",
        "遇到方向相反的 key，query 应该怎么办？",
    ),
)
def attention_scores(self, query, key):
    return scaled(query, key).abs()


@mistake(
    "scores-relu",
    en=(
        "negative scores are set to 0",
        "All keys that fit badly then look alike, and no gradient reaches them. The softmax handles negative "
        "scores by itself: exp is never negative.",
        "Why should the scores be positive, if exp comes after them?",
    ),
    zh=(
        "负的分数被置成了 0",
        "这样所有不匹配的 key 都变得一样，梯度也传不到它们。softmax 自己能处理负分数：exp 不会是负的。",
        "后面有 exp，分数还需要是正的吗？",
    ),
)
def attention_scores(self, query, key):
    return scaled(query, key).relu()


_CAPS = (1, 2, 5, 10, 15, 20, 30, 50)


@mistake(
    "scores-tanh",
    en=(
        "the scores go through a tanh",
        "A tanh caps the scores: beyond some size all matches count alike, and the gradient vanishes. The "
        "scale alone is to keep them moderate.",
        "Which function in your code is not in the formula?",
    ),
    zh=(
        "分数经过了 tanh",
        "tanh 给分数封了顶：超过一定大小，所有匹配都一样，梯度也消失了。让分数适中，只靠缩放就够了。",
        "你的代码里有哪个函数是公式里没有的？",
    ),
    parameters=(
        *(lambda q, k, cap=cap: cap * torch.tanh(scaled(q, k) / cap) for cap in _CAPS),
        lambda q, k: torch.tanh(product(q, k)),
        lambda q, k: torch.tanh(product(q, k)) / math.sqrt(q.shape[-1]),
    ),
)
def attention_scores(self, capped, query, key):
    return capped(query, key)


_FUNCTIONS = (
    torch.sigmoid,
    torch.exp,
    torch.square,
    torch.sign,
    torch.nn.functional.gelu,
    torch.nn.functional.leaky_relu,
    torch.nn.functional.softplus,
    torch.nn.functional.elu,
    torch.nn.functional.silu,
    torch.sin,
    torch.log1p,
    lambda s: s**3,
    lambda s: torch.sign(s) * torch.sqrt(torch.abs(s)),
    lambda s: torch.log1p(torch.exp(s)),
    lambda s: s.relu().square(),
    lambda s: 1 + s,
)


@mistake(
    "scores-through-another-function",
    en=(
        "the scores go through one more function, such as exp, a sigmoid or a square",
        "The scores are the plain scaled products. What turns them into weights is the softmax, in TODO 1.",
        "Which function in your code is not in the formula for the scores?",
    ),
    zh=(
        "分数又经过了一个函数，例如 exp、sigmoid 或平方",
        "分数就是缩放后的点积本身。把它变成权重的是 TODO 1 里的 softmax。",
        "你的代码里有哪个函数是分数的公式里没有的？",
    ),
    parameters=itertools.product(_FUNCTIONS, ("scaled", "before", "unscaled")),
)
def attention_scores(self, form, query, key):
    function, scale = form
    if scale == "scaled":
        return function(scaled(query, key))
    return function(product(query, key)) / (math.sqrt(query.shape[-1]) if scale == "before" else 1)


_DISTANCE_SCALES = (
    lambda d: 1,
    lambda d: math.sqrt(d),
    lambda d: 2,
    lambda d: 2 * math.sqrt(d),
    lambda d: d,
    lambda d: 2 * d,
)


@mistake(
    "scores-distance",
    en=(
        "the scores are made of distances between queries and keys",
        "A distance and a dot product are different measures: a long key can have a high score from afar. "
        "The formula is q.k.",
        "What has to be multiplied and summed up for one score? Is there a difference of vectors in it?",
    ),
    zh=(
        "分数由 query 与 key 之间的距离构成",
        "距离和点积是不同的度量：一个很长的 key 即使相距很远，分数也可以很高。公式用的是 q·k。",
        "一个分数由什么相乘、相加得到？里面有向量的差吗？",
    ),
    parameters=itertools.product((2.0, 1.0), (-1, 1), _DISTANCE_SCALES),
)
def attention_scores(self, form, query, key):
    norm, sign, scale = form
    return sign * torch.cdist(query, key, p=norm) / scale(query.shape[-1])


@mistake(
    "scores-squared-distance",
    en=(
        "the scores are made of squared distances between queries and keys",
        "-|q - k|^2 / 2 is q.k minus half the squares of both: the square of the key prefers short keys, "
        "which the dot product does not.",
        "What has to be multiplied and summed up for one score? Is there a difference of vectors in it?",
    ),
    zh=(
        "分数由 query 与 key 之间距离的平方构成",
        "-|q - k|^2 / 2 等于 q·k 再减去两者平方的一半：key 的平方项会偏向短的 key，点积则不会。",
        "一个分数由什么相乘、相加得到？里面有向量的差吗？",
    ),
    parameters=itertools.product((-1, 1), _DISTANCE_SCALES),
)
def attention_scores(self, form, query, key):
    sign, scale = form
    squares = (query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)
    return sign * squares / scale(query.shape[-1])


@mistake(
    "scores-additive",
    en=(
        "query and key are added where they should be multiplied",
        "A sum of q and k has a part for each that ignores the other. Only the product tells how they fit "
        "together.",
        "Which operation pairs feature f of the query with feature f of the key?",
    ),
    zh=(
        "query 和 key 本该相乘，却相加了",
        "q 与 k 之和由互不相干的两部分组成，只有乘积才能说明两者是否匹配。",
        "query 的第 f 个特征和 key 的第 f 个特征之间，应该做什么运算？",
    ),
    parameters=itertools.product(
        (torch.tanh, lambda x: x, torch.relu), (1, -1), (math.sqrt, lambda d: 1, lambda d: d)
    ),
)
def attention_scores(self, form, query, key):
    function, sign, scale = form
    pairs = query.unsqueeze(-2) + sign * key.unsqueeze(-3)
    return function(pairs).sum(-1) / scale(query.shape[-1])


# --- more than the scores


@mistake(
    "scores-already-softmax",
    en=(
        "the softmax is already in the scores",
        "attention_weights applies the softmax, after the mask. Done here too, it runs twice, and the first "
        "one sees blocked keys.",
        "Which function of the exercise turns scores into weights?",
    ),
    zh=(
        "分数里已经做过 softmax 了",
        "softmax 由 attention_weights 在加上 mask 之后进行。这里再做就成了两次，而且第一次会看到被屏蔽的 ke"
        "y。",
        "在这个练习里，由哪个函数把分数变成权重？",
    ),
    parameters=itertools.product((scaled, product), (-1, -2)),
)
def attention_scores(self, form, query, key):
    scores_of, dim = form
    return softmax(scores_of(query, key), dim)


@mistake(
    "scores-already-log-softmax",
    en=(
        "a log_softmax is already in the scores",
        "The sum in it runs over all keys, blocked ones too, so one key's score depends on all others. "
        "Normalising is the work of attention_weights.",
        "Should score (i, j) change when another key changes?",
    ),
    zh=(
        "分数里已经做过 log_softmax 了",
        "其中的求和包含所有 key，连被屏蔽的也在内，一个 key 的分数于是取决于其他 key。归一化是 "
        "attention_weights 的工作。",
        "换掉另一个 key，分数 (i, j) 应该变吗？",
    ),
    parameters=(scaled, product),
)
def attention_scores(self, scores_of, query, key):
    return softmax(scores_of(query, key)).log()


@mistake(
    "scores-shifted-to-max-zero",
    en=(
        "the largest score is subtracted from all",
        "The softmax needs that shift to stay finite, and does it by itself. Here it makes a score depend on "
        "other keys, blocked ones too.",
        "Should score (i, j) change when another key changes?",
    ),
    zh=(
        "所有分数都减去了最大的分数",
        "这个平移是 softmax 为了不溢出而自己做的。放在这里，一个分数就会取决于别的 key，连被屏蔽的也在内。",
        "换掉另一个 key，分数 (i, j) 应该变吗？",
    ),
    parameters=(-1, (-2, -1), -2, None),
)
def attention_scores(self, dim, query, key):
    scores = scaled(query, key)
    return scores - (scores.max() if dim is None else scores.amax(dim, keepdim=True))


@mistake(
    "scores-of-centred-keys",
    en=(
        "the mean of the keys, or of each row of scores, is subtracted",
        "The softmax does not see it, but it makes a score depend on all other keys, future and blocked ones "
        "too.",
        "Should score (i, j) change when another key changes?",
    ),
    zh=(
        "减去了 key 的平均值（也就是每一行分数的平均值）",
        "softmax 看不到这个平移，但它让一个分数取决于其他所有 key，包括未来的和被屏蔽的。",
        "换掉另一个 key，分数 (i, j) 应该变吗？",
    ),
    parameters=(-1, -2, (-2, -1), None),
)
def attention_scores(self, dim, query, key):
    scores = scaled(query, key)
    return scores - scores.mean(dim, keepdim=True)


@mistake(
    "scores-of-centred-features",
    en=(
        "the mean over the features is subtracted from queries or keys",
        "The mean of a vector is a part of what the model has learned. q.k takes all of it.",
        "Which step changes query or key before the product?",
    ),
    zh=(
        "query 或 key 减去了自身各特征的平均值",
        "向量的平均值也是模型学到的一部分，q·k 要用到全部内容。",
        "在相乘之前，哪一步改动了 query 或 key？",
    ),
)
def attention_scores(self, query, key):
    return scaled(query - query.mean(-1, keepdim=True), key)


@mistake(
    "scores-causal",
    en=(
        "the scores are masked already",
        "attention_scores has no mask: which keys are allowed is decided by the caller, in "
        "attention_weights. Masked here, attention without a mask is impossible.",
        "Which function of the exercise gets the mask?",
    ),
    zh=(
        "分数里已经加上了 mask",
        "attention_scores 没有 mask 参数：哪些 key 可见由调用者决定，在 attention_weights 里处理。在这里就屏"
        "蔽，便无法做不带 mask 的 attention。",
        "在这个练习里，哪个函数会收到 mask？",
    ),
    parameters=itertools.product((-math.inf, -1e9, -1e4, 0.0), (scaled, product)),
)
def attention_scores(self, form, query, key):
    fill, scores_of = form
    scores = scores_of(query, key)
    return scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), fill)


def _limits(formula, call, scores):
    """The smallest and the largest score, if several scores stop there."""
    low, high = scores.min(), scores.max()
    stopped = int((scores == low).sum()) + int((scores == high).sum())
    return (float(low), float(high)) if stopped > 2 else None


@mistake(
    "scores-clamped",
    en=(
        "the scores are clamped to a range",
        "Beyond the limits all scores are alike, and get no gradient. The softmax stays finite by itself if "
        "it subtracts the largest score.",
        "Two keys with the scores 60 and 80: should the query still prefer the second one?",
    ),
    zh=(
        "分数被截断在一个范围里",
        "超出界限的分数全都一样，也得不到梯度。softmax 只要先减去最大的分数，自己就不会溢出。",
        "两个 key 的分数分别是 60 和 80，query 还应该更偏向第二个吗？",
    ),
    fit=_limits,
)
def attention_scores(self, limits, query, key):
    return scaled(query, key).clamp(*limits)


def _distances(query, key):
    i, j = torch.arange(query.shape[-2]), torch.arange(key.shape[-2])
    return (i[:, None] - j).double()


def _slope(formula, call, scores):
    """What is added for each step between query and key, or for each step back alone."""
    query, key = (arg.double() for arg in call.args)
    added = scores - scaled(query, key)
    distances = _distances(query, key)
    for kind in (torch.abs, torch.Tensor.double):
        steps = kind(distances)
        slope = float((added * steps).sum() / (steps.square().expand_as(added)).sum())
        if torch.allclose(added, slope * steps.expand_as(added), atol=1e-5):
            return kind, slope
    return None


@mistake(
    "scores-with-position",
    en=(
        "a number for the distance between query and key is added to the scores",
        "Some models add positions in this way (ALiBi). This formula has the content alone.",
        "Which term of your scores does not come from q.k?",
    ),
    zh=(
        "分数上加了一个与 query、key 间距离有关的数",
        "有些模型用这种方式加入位置信息（ALiBi）。这里的公式只看内容。",
        "你的分数里，哪一项不来自 q·k？",
    ),
    fit=_slope,
)
def attention_scores(self, form, query, key):
    kind, slope = form
    return scaled(query, key) + slope * kind(_distances(query, key))


# --- the gradient


def _value_of(scores, gradient_of):
    """The numbers of one, with the gradient of the other."""
    return gradient_of + (scores - gradient_of).detach()


@mistake(
    "query-detached",
    en=(
        "no gradient reaches the queries",
        "detach and .data cut a tensor off from what it was made of: W_Q learns nothing.",
        "Which name on the query's side of the product is cut off?",
    ),
    zh=(
        "梯度传不到 query",
        "detach 和 .data 会把张量与它的来源切断：W_Q 什么也学不到。",
        "乘积里 query 这一边，是哪里被切断了？",
    ),
)
def attention_scores(self, query, key):
    return scaled(query.detach(), key)


@mistake(
    "key-detached",
    en=(
        "no gradient reaches the keys",
        "detach and .data cut a tensor off from what it was made of: W_K learns nothing.",
        "Which name on the key's side of the product is cut off?",
    ),
    zh=(
        "梯度传不到 key",
        "detach 和 .data 会把张量与它的来源切断：W_K 什么也学不到。",
        "乘积里 key 这一边，是哪里被切断了？",
    ),
)
def attention_scores(self, query, key):
    return scaled(query, key.detach())


@mistake(
    "scale-not-in-gradient",
    en=(
        "the scores are right and their gradient is that of scores without the scale",
        "What is divided on the way forward is divided on the way back as well. If the scale is applied "
        "under no_grad, to .data, or in a backward of your own, that is lost.",
        "Is the division a step that autograd can see?",
    ),
    zh=(
        "分数是对的，梯度却是没有缩放过的分数的梯度",
        "前向除以多少，反向也要除以多少。如果缩放放在 no_grad 里、作用在 .data 上，或者自己写了 backward，这"
        "一步就丢了。",
        "autograd 能看到这一步除法吗？",
    ),
    parameters=(lambda d: 1, lambda d: d, lambda d: 1 / math.sqrt(d)),
)
def attention_scores(self, divisor, query, key):
    return _value_of(scaled(query, key), product(query, key) / divisor(query.shape[-1]))


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores, limit):
        ctx.limit = limit
        return scores.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.clamp(-ctx.limit, ctx.limit), None


@mistake(
    "gradient-clipped",
    en=(
        "the gradient of the scores is clipped",
        "Clipping is a decision of the training loop, for all parameters together. Inside attention it "
        "changes what the model learns, unseen.",
        "Does a hook or a backward of your own change the gradient?",
    ),
    zh=(
        "分数的梯度被裁剪了",
        "梯度裁剪是训练循环对全部参数一起做的决定。藏在 attention 里，会不知不觉改变模型学到的东西。",
        "有没有 hook 或自己写的 backward 改动了梯度？",
    ),
    parameters=(0.01, 0.1, 0.5, 1.0),
)
def attention_scores(self, limit, query, key):
    return Clipped.apply(scaled(query, key), limit)


# --- calls that do not repeat


def _growing(formula, call, scores):
    factor = factor_of(call, scores)
    plain = product(*(arg.double() for arg in call.args))
    return factor if torch.allclose(scores, factor * plain, atol=1e-5 * float(scores.abs().max())) else None


signed_mistake(
    "scale-grows",
    function="attention_scores",
    signs=(UNSTEADY,),
    en=(
        "the scale changes from call to call",
        "A scale that is kept between calls, and multiplied or divided again in each of them, is right at "
        "most once. The same query and key must always give the same scores.",
        "Which number outlives a call, and which line changes it?",
    ),
    zh=(
        "缩放因子每次调用都在变",
        "缩放因子保存在两次调用之间，每次又乘或除一遍，最多只有一次是对的。同样的 query 和 key，必须总是得到"
        "同样的分数。",
        "哪个数在一次调用结束后还留着？哪一行改了它？",
    ),
    fit=_growing,
)

signed_mistake(
    "noise-on-scores",
    function="attention_scores",
    signs=(UNSTEADY,),
    en=(
        "the same query and key give other scores each time",
        "The formula has no random numbers (dropout is applied elsewhere, and in training only) and no "
        "memory of earlier calls.",
        "Which part of your result does not come from query and key?",
    ),
    zh=(
        "同样的 query 和 key，每次得到的分数都不同",
        "公式里没有随机数（dropout 用在别处，而且只在训练时使用），也不记得之前的调用。",
        "你的结果里，哪一部分不来自 query 和 key？",
    ),
)


# --- precision


def narrow_dtype(formula, call, result):
    """The 16-bit type that holds every number of the result, if there is one."""
    if not result.is_floating_point() or len(result.unique()) < 8:
        return None
    types = (torch.float16, torch.bfloat16)
    return next((dtype for dtype in types if result.to(dtype).double().equal(result)), None)


def loses_half_the_digits(formula, call, result):
    """Whether a result in float64 is off as float32 rounds, on inputs too small to show another formula."""
    if formula.dtype != torch.float64 or any(float(arg.abs().max()) > 0.5 for arg in call.args[:1]):
        return None
    right = getattr(formula, call.function)(
        *(
            arg.double() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg
            for arg in call.args
        )
    )
    off = float((result - right).abs().max()) / float(right.abs().max())
    return True if off > 2e-9 else None


@mistake(
    "half-inside",
    en=(
        "the scores are computed in a 16-bit type",
        "float16 has 3 digits and bfloat16 has 2. The caller chose the precision by the dtype of query and "
        "key.",
        "Which step changes the dtype? Every step can stay in the dtype of the arguments.",
    ),
    zh=(
        "分数是用 16 位类型计算的",
        "float16 只有 3 位有效数字，bfloat16 只有 2 位。精度由调用者通过 query 和 key 的 dtype 决定。",
        "哪一步改变了 dtype？每一步都可以保持参数本来的 dtype。",
    ),
    fit=narrow_dtype,
    same=3e-2,
)
def attention_scores(self, dtype, query, key):
    return scaled(query, key)


@mistake(
    "float32-inside",
    en=(
        "some step of the scores is less precise than float64, as in float32",
        "float64 arguments ask for 16 digits. One step in float32, or one constant that is cut short, leaves "
        "7 of them.",
        "Which step changes the dtype, or makes a new tensor without naming one?",
    ),
    zh=(
        "计算分数时有一步的精度低于 float64（例如用了 float32）",
        "传入 float64，就是要 16 位有效数字。只要有一步用 float32，或者有一个常数被截短，就只剩 7 位。",
        "哪一步改变了 dtype，或者新建张量时没有指定 dtype？",
    ),
    fit=loses_half_the_digits,
    same=5e-6,
)
def attention_scores(self, _, query, key):
    return scaled(query, key)
