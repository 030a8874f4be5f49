"""More mistakes with masks: triangles of another form, fills made of the scores, masks that are altered."""

import itertools
import math

import torch

from grader.judge.catalogue.mask import STRONG, indices
from grader.judge.mistakes import blocked, mistake, softmax


def _overflowed(i, bits):
    """The numbers as a signed integer of so many bits holds them."""
    return (i + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


@mistake(
    "causal-mask-overflows",
    en=(
        "positions or powers outgrow their integer type, so that long masks are wrong",
        "int8 ends at 127 and int64 at 2 ** 63 - 1; what is larger wraps around to negative numbers, without "
        "an error.",
        "What is the largest number in your function for a text of 1000 tokens?",
    ),
    zh=(
        "位置或幂超出了整数类型的范围，长文本的 mask 就错了",
        "int8 最大到 127，int64 最大到 2 ** 63 - 1；再大就会绕回负数，而且不报错。",
        "文本有 1000 个 token 时，你的函数里最大的数是多少？",
    ),
    parameters=(
        lambda i, j: _overflowed(j, 8) <= _overflowed(i, 8),
        lambda i, j: j % 256 <= i % 256,
        lambda i, j: ((2 ** (i + 1) - 1) >> j) & 1 == 1,
        lambda i, j: _overflowed(j, 16) <= _overflowed(i, 16),
    ),
)
def causal_mask(self, allowed, length, device=None):
    return allowed(*indices(length, device))


@mistake(
    "causal-mask-other-slope",
    en=(
        "the edge of the mask is not the diagonal: how far a query sees is another function of its place",
        "Query i sees the keys 0 to i, one more than the query before it: neither half as many nor twice as "
        "many, and the length of the text plays no part.",
        "Write down which keys query 0, query 1 and query 2 may see, and what your condition says of them.",
    ),
    zh=(
        "mask 的边界不是对角线：一个 query 能看多远，与它的位置不是应有的关系",
        "query i 能看 key 0 到 i，比前一个 query 多一个：不是一半，也不是两倍，与文本长度无关。",
        "写出 query 0、1、2 各能看哪些 key，再看看你的条件怎么说。",
    ),
    parameters=(
        lambda i, j, length: j <= i + length // 2,
        lambda i, j, length: j <= i // 2,
        lambda i, j, length: j <= 2 * i,
        lambda i, j, length: j <= i - length // 2,
        lambda i, j, length: j < 2 * i,
        lambda i, j, length: j * j <= i,
        lambda i, j, length: j <= i * i,
        lambda i, j, length: 2 * j <= length + 0 * i,
    ),
)
def causal_mask(self, allowed, length, device=None):
    return allowed(*indices(length, device), length)


@mistake(
    "causal-mask-self-excluded-but-first",
    en=(
        "only the first query may see its own position, the others see what comes before them",
        "The one entry keeps the first row from being empty, and all other rows still lack their diagonal: j "
        "<= i includes j = i.",
        "May query 3 see key 3?",
    ),
    zh=(
        "只有第一个 query 能看自己的位置，其余的只能看前面的",
        "补上的那一项让第一行不为空，但其他各行仍然缺少对角线：j <= i 包括 j = i。",
        "query 3 能看 key 3 吗？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return (j < i) | ((i == 0) & (j == 0))


_FILLS = (
    lambda scores: -scores,
    lambda scores: scores * -1e9,
    lambda scores: scores * -math.inf,
    lambda scores: scores * 1e9,
    lambda scores: scores * -1e4,
    lambda scores: scores * 1e-9,
    lambda scores: scores / 2,
    lambda scores: -scores.abs(),
    lambda scores: -scores.abs() * 1e9,
    lambda scores: -scores.abs().max(),
    lambda scores: -scores.abs().amax(-1, keepdim=True),
    lambda scores: -scores.max(),
    lambda scores: -scores.amax(-1, keepdim=True),
)


@mistake(
    "fill-made-of-scores",
    en=(
        "blocked keys get a score that is made of the scores: multiplied, negated, or minus the largest",
        "Such a number may be of either sign and need not be small, so that a blocked key still receives "
        "weight, or all of it. What blocks is a number that does not depend on the scores.",
        "Which score has exp(score) = 0, whatever the other scores are?",
    ),
    zh=(
        "被屏蔽的 key 得到的是由分数算出来的数：乘以某数、取负，或者最大值的相反数",
        "这样的数可正可负，也不一定小，被屏蔽的 key 仍会分到权重，甚至分到全部。真正能屏蔽的，是与分数无关的"
        "数。",
        "无论其他分数是多少，哪个分数满足 exp(score) = 0？",
    ),
    parameters=_FILLS,
)
def attention_weights(self, fill, scores, mask=None):
    return softmax(scores if mask is None else torch.where(mask, scores, fill(scores)))


@mistake(
    "renormalised-wrongly",
    en=(
        "blocked keys are set to 0 after the softmax, and what is left is divided by something else than the "
        "sum of its row",
        "Shares have to sum to 1 over the keys of each query. A key that is hidden before the softmax leaves "
        "nothing to divide.",
        "What do the rows of your weights sum to, and what should they?",
    ),
    zh=(
        "softmax 之后才把被屏蔽的 key 置零，剩下的又没有除以各行之和，而是除以了别的数",
        "对每个 query 来说，各个 key 的份额之和应当是 1。在 softmax 之前就遮住，之后便不需要再除。",
        "你的权重每行之和是多少？应当是多少？",
    ),
    parameters=(
        lambda w, mask: w / w.sum(-2, keepdim=True).clamp(min=1e-9),
        lambda w, mask: w / w.norm(dim=-1, keepdim=True).clamp(min=1e-12),
        lambda w, mask: w / mask.sum(-1, keepdim=True),
        lambda w, mask: w / w.amax(-1, keepdim=True),
        lambda w, mask: w / w.sum((-2, -1), keepdim=True),
        lambda w, mask: w * w.shape[-1] / mask.sum(-1, keepdim=True),
    ),
)
def attention_weights(self, divided, scores, mask=None):
    weights = softmax(scores)
    return weights if mask is None else divided(weights * mask, mask)


@mistake(
    "number-of-allowed-keys",
    en=(
        "scores or weights are divided by the number of keys that a query may see",
        "The softmax makes each row sum to 1, however many keys are allowed. A division before it flattens "
        "the weights, and one behind it spoils the sum.",
        "Which number does the formula divide by, and what else do you divide by?",
    ),
    zh=(
        "分数或权重除以了一个 query 能看到的 key 的个数",
        "无论允许几个 key，softmax 都会让每行之和为 1。在它之前除，权重就被拉平；在它之后除，和就不对了。",
        "公式里除以的是哪个数？你还除以了什么？",
    ),
    parameters=itertools.product(("scores", "weights"), (1, 0.5, -1)),
)
def attention_weights(self, form, scores, mask=None):
    what, power = form
    if mask is None:
        return softmax(scores)
    count = mask.sum(-1, keepdim=True).double() ** power
    return (
        softmax(blocked(scores / count, mask)) if what == "scores" else softmax(blocked(scores, mask)) / count
    )


_ALTERED = (
    lambda mask: mask.int().cumprod(-1).bool(),
    lambda mask: mask.int().cumsum(-1).bool(),
    lambda mask: mask.int().cumprod(-2).bool(),
    lambda mask: mask.int().cumsum(-2).bool(),
    lambda mask: mask.flip(-1).int().cumprod(-1).bool().flip(-1),
    lambda mask: mask.flip(-1).int().cumsum(-1).bool().flip(-1),
)


@mistake(
    "mask-cumulated",
    en=(
        "the mask is cumulated: one key decides over all keys behind it",
        "A mask says of each key by itself whether it may be seen. It may have holes: padding at the front, "
        "or a key in the middle.",
        "Which keys does your code hide if the mask hides the first one alone?",
    ),
    zh=(
        "mask 被累积了：一个 key 决定了它后面所有的 key",
        "mask 对每个 key 单独规定能不能看。它可以有空洞：填充可能在前面，被遮住的也可能是中间的某个 key。",
        "如果 mask 只遮住第一个 key，你的代码遮住了哪些？",
    ),
    parameters=itertools.product(_ALTERED, STRONG),
)
def attention_weights(self, form, scores, mask=None):
    altered, fill = form
    return softmax(scores if mask is None else blocked(scores, altered(mask), fill))


@mistake(
    "mask-and-not-self",
    en=(
        "a query may not see its own position, whatever the mask says",
        "The mask decides, and a token may look at itself: for the first one under a causal mask there is "
        "nothing else to see.",
        "Which keys are hidden in your function that the mask allows?",
    ),
    zh=(
        "无论 mask 怎么规定，query 都看不到自己的位置",
        "由 mask 决定，而 token 可以看自己：在 causal mask 下，第一个 token 能看的只有自己。",
        "在你的函数里，哪些 mask 允许的 key 被遮住了？",
    ),
    parameters=itertools.product(STRONG, (True, False)),
)
def attention_weights(self, form, scores, mask=None):
    fill, also_without = form
    others = ~torch.eye(*scores.shape[-2:], dtype=torch.bool)
    if mask is None:
        return softmax(blocked(scores, others if also_without else None, fill))
    return softmax(blocked(scores, mask & others, fill))


@mistake(
    "weights-of-one-sample",
    en=(
        "the weights of one sample, or of one head, stand for all of them",
        "Each sample and each head has scores of its own. Usual causes: a loop that keeps the result of its "
        "last round only, and an index left in from trying things out.",
        "What becomes of the results of the first rounds of your loop?",
    ),
    zh=(
        "一个样本或一个头的权重被用于全部",
        "每个样本、每个头都有自己的分数。常见原因：循环只留下了最后一轮的结果，或者留下了试验时的下标。",
        "循环前几轮的结果到哪里去了？",
    ),
    parameters=itertools.product((0, -3, 1), (0, -1), (3, 4)),
)
def attention_weights(self, form, scores, mask=None):
    dim, at, rank = form
    weights = softmax(blocked(scores, mask))
    if weights.dim() < rank:
        return weights
    return weights.narrow(dim, weights.shape[dim] - 1 if at else 0, 1).expand_as(weights)


def _shifted(scores, top, zeroed):
    exps = torch.exp(scores - top)
    exps = exps if zeroed is None else exps * zeroed
    return exps / exps.sum(-1, keepdim=True)


@mistake(
    "softmax-max-of-another-set",
    en=(
        "the largest score that is subtracted before exp is not that of the keys in the sum",
        "Subtracting the largest score keeps exp between 0 and 1, if it is the largest of the scores that "
        "are summed up. One of another set lets exp overflow, or makes a sum of zeros.",
        "Which keys are in your maximum, and which are in your sum?",
    ),
    zh=(
        "取 exp 之前减去的最大值，不是参与求和的那些 key 的最大值",
        "减去最大值能让 exp 落在 0 到 1 之间，前提是它就是参与求和的分数中的最大值。换一组数取最大值，exp 可"
        "能溢出，或者和变成零。",
        "你取最大值时包括了哪些 key？求和时又包括了哪些？",
    ),
    parameters=(
        lambda s, mask: _shifted(s, blocked(s, mask).amax(-1, keepdim=True), mask),
        lambda s, mask: _shifted(blocked(s, mask), (s * mask).amax(-1, keepdim=True), None),
        lambda s, mask: _shifted(s, s.amax(-1, keepdim=True), mask),
        lambda s, mask: _shifted(blocked(s, mask), s.amax(-1, keepdim=True), None),
    ),
)
def attention_weights(self, form, scores, mask=None):
    return softmax(scores) if mask is None else form(scores, mask)
