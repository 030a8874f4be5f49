"""Mistakes of scaled_dot_product_attention and forward: right parts, put together wrongly."""

import itertools
import math

import torch
import torch.nn.functional as F

from grader.judge.catalogue.heads import FUNCTIONS, NORMS
from grader.judge.mistakes import mistake, signed_mistake


def _weights(formula, query, key, mask):
    return formula.attention_weights(formula.attention_scores(query, key), mask)


# --- scaled_dot_product_attention


@mistake(
    "query-and-key-swapped",
    en=(
        "queries and keys have changed places",
        "Row i then holds how well the keys of others fit token i, instead of what token i looks for: the "
        "rows of the table are those of the keys. With as many queries as keys, no error is raised.",
        "Who asks and who is asked? The rows of the scores belong to those who ask.",
    ),
    zh=(
        "query 和 key 互换了",
        "这样第 i 行不再是 token i 在找什么，而是别人在它身上找到了什么：表的行变成了 key。query 和 key 一样"
        "多时，不会报错。",
        "谁在提问，谁在被查找？分数的行属于提问的一方。",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, key, query, mask)
    return weights @ value, weights


@mistake(
    "output-mixes-keys",
    en=(
        "the weights average the keys instead of the values",
        "A key says what a token can be found by, a value what it has to tell. The values are never read, "
        "and W_V never learns.",
        "Which of the three inputs have you not used?",
    ),
    zh=(
        "权重加权平均的是 key，而不是 value",
        "key 说明一个 token 凭什么被找到，value 才是它要传递的内容。这样 value 从未被读取，W_V 也永远学不到"
        "东西。",
        "三个输入中，哪一个没有用到？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ key, weights


@mistake(
    "output-mixes-queries",
    en=(
        "the weights average the queries instead of the values",
        "A query says what a token looks for, a value what it has to tell. The values are never read, and "
        "W_V never learns.",
        "Which of the three inputs have you not used?",
    ),
    zh=(
        "权重加权平均的是 query，而不是 value",
        "query 说明一个 token 在找什么，value 才是它要传递的内容。这样 value 从未被读取，W_V 也永远学不到东"
        "西。",
        "三个输入中，哪一个没有用到？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ query, weights


@mistake(
    "weights-transposed-before-values",
    en=(
        "the weights are transposed before they meet the values",
        "Row i of the weights belongs to query i. Transposed, each value is handed out by what was asked of "
        "it: the shares no longer sum to 1, and the future leaks in.",
        "Which dimension of the weights must meet the keys' dimension of the values?",
    ),
    zh=(
        "权重与 value 相乘之前被转置了",
        "权重的第 i 行属于 query i。转置之后，一行的份额之和不再是 1，未来的信息也漏了进来。",
        "权重的哪一维应当与 value 的 key 那一维相对应？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights.mT @ value, weights


@mistake(
    "output-einsum-sums-queries",
    en=(
        "the sum runs over the queries instead of the keys",
        "Each value is multiplied by all the weight that it receives, and no query gets an output. In an "
        "einsum, a letter that is missing on the right is summed.",
        "An output has a row for each query. Which letter must then go, and which one must stay?",
    ),
    zh=(
        "求和的是 query，而不是 key",
        "这样每个 value 乘上了它收到的全部权重，而没有一个 query 得到输出。einsum 右边没有的字母会被求和。",
        "输出的每一行对应一个 query。那么哪个字母应当消失，哪个应当保留？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights.sum(-2).unsqueeze(-1) * value, weights


@mistake(
    "output-sums-all-values",
    en=(
        "every output is the same sum of all values",
        "The weights and the values do not share the dimension of the keys, so each is summed by itself: a "
        "row of weights sums to 1, and nothing is left of it.",
        "Which dimension do the weights and the values have in common? They must be summed over it together.",
    ),
    zh=(
        "每个输出都是所有 value 的同一个和",
        "权重和 value 没有共用 key 这一维，于是各自求和：每行权重的和是 1，什么信息也没留下。",
        "权重和 value 共有的是哪一维？应当沿这一维相乘再求和。",
    ),
    parameters=("sum", "mean"),
)
def scaled_dot_product_attention(self, how, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights.sum(-1, keepdim=True) * getattr(value, how)(-2, keepdim=True), weights


@mistake(
    "keys-from-query",
    en=(
        "the queries are compared with themselves, and the keys are never read",
        "With keys from elsewhere (another sentence, a cache) the scores say nothing about them. With "
        "itself alone, every token mostly finds itself.",
        "Which two arguments does attention_scores compare?",
    ),
    zh=(
        "query 与自己比较，key 从未被读取",
        "如果 key 来自别处（另一句话、缓存），分数就与它们毫无关系；只与自己比较，每个 token 找到的多半是自"
        "己。",
        "attention_scores 比较的是哪两个参数？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, query, mask)
    return weights @ value, weights


@mistake(
    "output-of-unmasked-weights",
    en=(
        "the output comes from weights without the mask, while masked weights are returned",
        "The table that one looks at is right, and the output sees the future all the same. Both must be "
        "made with the same weights.",
        "How often are the weights computed? Once is enough.",
    ),
    zh=(
        "输出用的是没有 mask 的权重，返回的却是有 mask 的权重",
        "看到的表是对的，输出却照样看到了未来。两者必须来自同一份权重。",
        "权重计算了几次？一次就够了。",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    return _weights(self, query, key, None) @ value, _weights(self, query, key, mask)


@mistake(
    "returned-weights-unmasked",
    en=(
        "the output is right, but the weights that are returned are those without the mask",
        "Who looks at the table sees attention to the future that did not happen. Return the weights that "
        "made the output.",
        "How often are the weights computed? Once is enough.",
    ),
    zh=(
        "输出是对的，返回的权重却是没有 mask 的那一份",
        "看这张表的人会以为模型看了未来。应当返回真正产生输出的权重。",
        "权重计算了几次？一次就够了。",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    return _weights(self, query, key, mask) @ value, _weights(self, query, key, None)


@mistake(
    "mask-on-values",
    en=(
        "the mask sets values to zero instead of blocking scores",
        "A blocked key still takes its share of the weights. A value of zero then pulls the output towards "
        "zero, and a mask that differs from query to query cannot be obeyed at all.",
        "Where must a key be hidden so that it is not in the sum under the softmax?",
    ),
    zh=(
        "mask 把 value 置成了零，而不是屏蔽分数",
        "被屏蔽的 key 仍然分走了它那份权重，value 为零只是把输出拉向零；而各个 query 不同的 mask 根本无法满"
        "足。",
        "要让一个 key 不出现在 softmax 的分母里，应当在哪里把它藏起来？",
    ),
    parameters=("any", "all"),
)
def scaled_dot_product_attention(self, which, query, key, value, mask=None):
    weights = _weights(self, query, key, None)
    if mask is not None:
        value = value * getattr(mask, which)(-2).unsqueeze(-1)
    return weights @ value, weights


@mistake(
    "mask-on-keys",
    en=(
        "the mask sets keys to zero instead of blocking scores",
        "A key of zeros gets the score 0, and exp(0) = 1: it still receives weight. Only a score of -inf "
        "blocks.",
        "Which weight does the softmax give to a score of 0?",
    ),
    zh=(
        "mask 把 key 置成了零，而不是屏蔽分数",
        "全零的 key 得到的分数是 0，而 exp(0) = 1：它照样分到权重。只有 -inf 才能真正屏蔽。",
        "分数为 0 时，softmax 会给它多少权重？",
    ),
    parameters=("any", "all"),
)
def scaled_dot_product_attention(self, which, query, key, value, mask=None):
    if mask is not None:
        key = key * getattr(mask, which)(-2).unsqueeze(-1)
    weights = _weights(self, query, key, None)
    return weights @ value, weights


@mistake(
    "mask-on-queries",
    en=(
        "the mask sets queries to zero instead of blocking scores",
        "A query of zeros has the score 0 with every key, and attends to all of them alike. A mask says "
        "which keys a query may see, not which queries count.",
        "The mask has a row for each query and a column for each key: to what must it be applied?",
    ),
    zh=(
        "mask 把 query 置成了零，而不是屏蔽分数",
        "全零的 query 与每个 key 的分数都是 0，于是平等地关注所有 key。mask 说的是一个 query 能看哪些 key，"
        "而不是哪些 query 有效。",
        "mask 的行是 query，列是 key：它应当作用在什么上面？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    if mask is not None:
        query = query * mask.all(-1).unsqueeze(-1)
    weights = _weights(self, query, key, None)
    return weights @ value, weights


@mistake(
    "mask-on-the-output",
    en=(
        "the mask is applied to the output instead of the scores",
        "By then the blocked values are in the sum already. A mask has to act before the softmax.",
        "At which of the four steps does the formula of the lesson hide the future?",
    ),
    zh=(
        "mask 作用在了输出上，而不是分数上",
        "到那时，被屏蔽的 value 早已加进去了。mask 必须在 softmax 之前起作用。",
        "课程公式的四步里，未来是在哪一步被遮住的？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, None)
    output = weights @ value
    return output if mask is None else output * mask.all(-1).unsqueeze(-1), weights


@mistake(
    "scores-returned-for-weights",
    en=(
        "the output is right, but scores are returned in the place of the weights",
        "Scores may be negative and do not sum to 1. The caller wants to see who looks at whom, after the "
        "softmax.",
        "What are the two results called in the docstring?",
    ),
    zh=(
        "输出是对的，但返回的是分数，而不是权重",
        "分数可以是负的，每行之和也不是 1。调用者想看的是经过 softmax 之后谁在看谁。",
        "docstring 里，两个返回值各叫什么？",
    ),
    parameters=(None, -math.inf, -1e9, 0.0),
)
def scaled_dot_product_attention(self, fill, query, key, value, mask=None):
    scores = self.attention_scores(query, key)
    output = self.attention_weights(scores, mask) @ value
    if fill is not None and mask is not None:
        scores = scores.masked_fill(~mask, fill)
    return output, scores


@mistake(
    "softmax-missing",
    en=(
        "the scores themselves weigh the values: there is no softmax",
        "Scores may be negative, and do not sum to 1. Without the softmax the output is no average, and its "
        "size grows with the number of keys.",
        "Which step turns scores into shares of one whole?",
    ),
    zh=(
        "直接用分数去加权 value，没有经过 softmax",
        "分数可以是负的，每行之和也不是 1。没有 softmax，输出就不是平均，大小还会随 key 的个数增长。",
        "哪一步把分数变成总和为一的份额？",
    ),
    parameters=((0.0, "scores"), (0.0, "weights"), (None, "scores"), (None, "weights")),
)
def scaled_dot_product_attention(self, how, query, key, value, mask=None):
    fill, returned = how
    scores = self.attention_scores(query, key)
    if fill is not None and mask is not None:
        scores = scores.masked_fill(~mask, fill)
    return scores @ value, scores if returned == "scores" else _weights(self, query, key, mask)


@mistake(
    "weights-first",
    en=(
        "the weights are returned first, and the output second",
        "The caller unpacks output, weights, in this order. Swapped, everything after it works on the wrong "
        "tensor.",
        "In which order does the docstring list the results?",
    ),
    zh=(
        "先返回了权重，后返回输出",
        "调用者按 output, weights 的顺序取值。顺序一反，后面用的就都是错的张量。",
        "docstring 中，返回值是什么顺序？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights, weights @ value


@mistake(
    "returned-weights-transposed",
    en=(
        "the output is right, but the weights are returned transposed",
        "Row i must say where query i looks. In a transposed table the rows do not sum to 1, and a causal "
        "mask seems to show the future.",
        "Which of the last two dimensions belongs to the queries?",
    ),
    zh=(
        "输出是对的，但返回的权重被转置了",
        "第 i 行应当说明 query i 在看哪里。转置之后每行之和不再是 1，看起来还像是看到了未来。",
        "最后两维中，哪一维属于 query？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ value, weights.mT


@mistake(
    "output-before-softmax-twice",
    en=(
        "the returned weights went through another softmax than those of the output",
        "The weights that are returned have to be those that made the output, or the table does not show "
        "what the model does.",
        "Which tensor multiplies the values, and which one is returned?",
    ),
    zh=(
        "返回的权重比产生输出的权重多做了一次 softmax",
        "返回的权重必须就是产生输出的那一份，否则这张表显示的就不是模型真正做的事。",
        "与 value 相乘的是哪个张量？返回的又是哪个？",
    ),
    parameters=(True, False),
)
def scaled_dot_product_attention(self, output_is_right, query, key, value, mask=None):
    once = _weights(self, query, key, mask)
    twice = torch.softmax(once, -1)
    return (once @ value, twice) if output_is_right else (twice @ value, once)


@mistake(
    "values-of-the-first-sample",
    en=(
        "the values of one sample are used for the whole batch",
        "A batch is several sentences side by side. This goes unnoticed while one tests with a batch of 1.",
        "Is there an index [0] or a slice [:1] left in from trying things out?",
    ),
    zh=(
        "整个 batch 用的都是同一个样本的 value",
        "batch 是并排放着的几个句子。只用 batch 为 1 来试，是发现不了的。",
        "是不是有试验时留下的 [0] 或 [:1]？",
    ),
    parameters=((0, slice(0, 1)), (0, slice(-1, None)), (1, slice(0, 1)), (-3, slice(0, 1))),
)
def scaled_dot_product_attention(self, which, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    dim, part = which
    if value.dim() > 2 and -3 <= dim < value.dim() - 2:
        value = value.narrow(dim, value.shape[dim] - 1 if part.start else 0, 1).expand_as(value)
    return weights @ value, weights


@mistake(
    "values-as-wide-as-keys",
    en=(
        "the output is as wide as the queries, whatever the width of the values",
        "d_v need not be d_k: the output has the width of the values, which it averages.",
        "From which argument does the last dimension of the output come?",
    ),
    zh=(
        "输出与 query 一样宽，而不管 value 有多宽",
        "d_v 不一定等于 d_k：输出是 value 的加权平均，宽度与 value 相同。",
        "输出的最后一维来自哪个参数？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    width = query.shape[-1] - value.shape[-1]
    return F.pad(weights @ value, (0, width)), weights  # a negative width cuts


@mistake(
    "residual-in-attention",
    en=(
        "something is added to the average of the values",
        "An output of attention is the weighted average of the values and nothing else. Adding what came in "
        "is the task of the block around it.",
        "If all values are equal, what should the output be?",
    ),
    zh=(
        "在 value 的加权平均之外又加了别的东西",
        "attention 的输出就是 value 的加权平均，仅此而已。把输入加回来是外面那一层的事。",
        "如果所有 value 都相等，输出应当是什么？",
    ),
    parameters=("mean", "sum", "value", "query"),
)
def scaled_dot_product_attention(self, what, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    if what in ("mean", "sum"):
        return weights @ value + getattr(value, what)(-2, keepdim=True), weights
    return weights @ value + {"value": value, "query": query}[what], weights


@mistake(
    "output-of-first-key",
    en=(
        "one key alone contributes to the output",
        "The output is a sum over all keys, each with its weight. In a loop, a result that is assigned and "
        "not added to keeps one round only.",
        "How many terms has the sum that makes one output?",
    ),
    zh=(
        "只有一个 key 对输出有贡献",
        "输出是对所有 key 加权求和。循环里如果是赋值而不是累加，就只剩下一轮的结果。",
        "一个输出是几项之和？",
    ),
    parameters=(slice(0, 1), slice(-1, None)),
)
def scaled_dot_product_attention(self, own, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights[..., own] @ value[..., own, :], weights


@mistake(
    "output-skips-first-key",
    en=(
        "a key at the edge is left out of the sum",
        "The weights of a query share out one whole among all keys. One that is left out takes its share "
        "with it, so that the output is too small.",
        "If all values are 1, the output is 1. Which key is missing from yours: the first or the last?",
    ),
    zh=(
        "求和时漏掉了一头的一个 key",
        "一个 query 的权重把一个整体分给所有 key。漏掉一个，它那份也就没了，输出于是偏小。",
        "如果所有 value 都是 1，输出应当是 1。你漏掉的是第一个 key 还是最后一个？",
    ),
    parameters=(slice(1, None), slice(0, -1)),
)
def scaled_dot_product_attention(self, own, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights[..., own] @ value[..., own, :], weights


@mistake(
    "last-tile-dropped",
    en=(
        "keys behind the last whole tile are left out of the sum",
        "A loop over length // tile tiles ends too early where the tile does not divide the length.",
        "How many tiles do 7 keys need if a tile holds 4?",
    ),
    zh=(
        "最后一个不满的分块里的 key 没有计入求和",
        "分块大小不能整除长度时，循环 length // tile 次就结束得太早了。",
        "每块 4 个 key，7 个 key 需要几块？",
    ),
    parameters=tuple(itertools.product((2, 3, 4, 5, 6, 8, 16, 32, 64), (False, True))),
)
def scaled_dot_product_attention(self, how, query, key, value, mask=None):
    tile, only_long = how
    weights = _weights(self, query, key, mask)
    length = key.shape[-2]
    kept = length if only_long and length <= tile else length // tile * tile
    return weights[..., :kept] @ value[..., :kept, :], weights


def _running(formula, query, key, mask):
    """The scores of blocked keys as a large negative number, and their largest so far, from key to key."""
    scores = formula.attention_scores(query, key)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    return scores, scores.cummax(-1).values


@mistake(
    "online-softmax-without-rescaling",
    en=(
        "keys are added tile by tile, each tile against its own maximum, and what was added before is not "
        "rescaled",
        "When a larger maximum turns up, everything summed so far was measured with another ruler. It has "
        "to be multiplied by exp(old maximum - new maximum) first.",
        "What happens to the sums of the first tile when the second one has a larger score?",
    ),
    zh=(
        "逐块累加 key，每块用当时的最大值，而之前累加的部分没有重新缩放",
        "出现更大的最大值时，此前的和是用另一把尺子量的，要先乘以 exp(旧最大值 - 新最大值)。",
        "第二块出现更大的分数时，第一块的和应当怎样处理？",
    ),
    parameters=(1, 2, 3, 4, 8, 16),
)
def scaled_dot_product_attention(self, tile, query, key, value, mask=None):
    scores, tops = _running(self, query, key, mask)
    ends = (torch.arange(scores.shape[-1]) // tile * tile + tile - 1).clamp(max=scores.shape[-1] - 1)
    exps = torch.exp(scores - tops[..., ends])
    return exps @ value / exps.sum(-1, keepdim=True), _weights(self, query, key, mask)


@mistake(
    "online-softmax-output-not-rescaled",
    en=(
        "the running sum under the softmax is rescaled when a larger score turns up, and the running output "
        "is not",
        "Numerator and denominator must be measured with the same ruler: what is multiplied by exp(old "
        "maximum - new maximum) below must be so above as well.",
        "Two numbers are carried along from key to key besides the maximum. Are both rescaled?",
    ),
    zh=(
        "出现更大的分数时，分母的累计和重新缩放了，输出的累计和却没有",
        "分子和分母要用同一把尺子量：分母乘了 exp(旧最大值 - 新最大值)，分子也要乘。",
        "除最大值以外，还有两个量逐个 key 累计。它们都重新缩放了吗？",
    ),
    parameters=("output", "sum"),
)
def scaled_dot_product_attention(self, what, query, key, value, mask=None):
    scores, tops = _running(self, query, key, mask)
    early, late = torch.exp(scores - tops), torch.exp(scores - tops[..., -1:])
    above, below = (early, late) if what == "output" else (late, early)
    return above @ value / below.sum(-1, keepdim=True), _weights(self, query, key, mask)


@mistake(
    "values-shifted-by-one",
    en=(
        "keys and values are out of step: the weight of one key meets the value of its neighbour",
        "A value is found by its own key. Keys, values and the columns of the mask belong together.",
        "If all weight is on key 0, which value should come out?",
    ),
    zh=(
        "key 和 value 错开了：一个 key 的权重遇到的是相邻 key 的 value",
        "value 由自己的 key 找到。key、value 和 mask 的列是一一对应的。",
        "如果全部权重都在 key 0 上，输出应当是哪个 value？",
    ),
    parameters=(1, -1),
)
def scaled_dot_product_attention(self, shift, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ value.roll(shift, -2), weights


@mistake(
    "values-reversed",
    en=(
        "the values are in reversed order: the weight of the first key meets the last value",
        "A value is found by its own key. Keys, values and the columns of the mask belong together.",
        "If all weight is on key 0, which value should come out?",
    ),
    zh=(
        "value 的顺序颠倒了：第一个 key 的权重遇到的是最后一个 value",
        "value 由自己的 key 找到。key、value 和 mask 的列是一一对应的。",
        "如果全部权重都在 key 0 上，输出应当是哪个 value？",
    ),
    parameters=(-2, -1),
)
def scaled_dot_product_attention(self, dim, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ value.flip(dim), weights


@mistake(
    "scale-after-softmax",
    en=(
        "the weights are divided by sqrt(d_k), after the softmax instead of before it",
        "The softmax has then seen the large scores already, and the rows no longer sum to 1. The scale is "
        "there to keep the softmax away from saturation.",
        "What does the scale protect, and must it then come before it or after it?",
    ),
    zh=(
        "除以 sqrt(d_k) 的是 softmax 之后的权重，而不是之前的分数",
        "这时 softmax 早已面对过大的分数，每行之和也不再是 1。缩放的目的正是不让 softmax 进入饱和区。",
        "缩放保护的是哪一步？那么它应当在那一步之前还是之后？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    root = math.sqrt(query.shape[-1])
    weights = self.attention_weights(query @ key.mT, mask) / root
    return weights @ value, weights


@mistake(
    "scale-on-the-output",
    en=(
        "the output is divided by sqrt(d_k), instead of the scores",
        "The softmax has then seen the large scores already, and the output is too small. The scale is "
        "there to keep the softmax away from saturation.",
        "What does the scale protect, and must it then come before it or after it?",
    ),
    zh=(
        "除以 sqrt(d_k) 的是输出，而不是分数",
        "这时 softmax 早已面对过大的分数，输出也偏小了。缩放的目的正是不让 softmax 进入饱和区。",
        "缩放保护的是哪一步？那么它应当在那一步之前还是之后？",
    ),
    parameters=(False, True),
)
def scaled_dot_product_attention(self, scores_too, query, key, value, mask=None):
    root = math.sqrt(query.shape[-1])
    weights = self.attention_weights(query @ key.mT / (root if scores_too else 1), mask)
    return weights @ value / root, weights


@mistake(
    "scale-only-with-a-mask",
    en=(
        "the scores are divided by sqrt(d_k) in one branch only: with a mask, or without one",
        "What a mask hides has nothing to do with the scale. Two ways through the code must compute the "
        "same.",
        "Which lines belong to both branches? Put them before the if.",
    ),
    zh=(
        "只在一个分支里除以 sqrt(d_k)：有 mask 时，或者没有 mask 时",
        "mask 遮住什么与缩放无关。代码的两条路必须算出同样的东西。",
        "哪几行是两个分支都需要的？把它们放到 if 之前。",
    ),
    parameters=(True, False),
)
def scaled_dot_product_attention(self, with_mask, query, key, value, mask=None):
    scores = query @ key.mT
    if (mask is not None) == with_mask:
        scores = scores / math.sqrt(query.shape[-1])
    weights = self.attention_weights(scores, mask)
    return weights @ value, weights


@mistake(
    "value-detached",
    en=(
        "the values are cut off from the gradient",
        "The output is right, but nothing that made the values learns: W_V gets no gradient.",
        "Is there a detach, a .data or a no_grad on the way of the values?",
    ),
    zh=(
        "value 与梯度断开了",
        "输出是对的，但产生 value 的参数学不到东西：W_V 没有梯度。",
        "value 经过的地方，有没有用 detach、.data 或 no_grad？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ value.detach(), weights


@mistake(
    "weights-detached",
    en=(
        "the weights are cut off from the gradient",
        "The output is right, but queries and keys never learn: W_Q and W_K get no gradient, and the model "
        "cannot learn where to look.",
        "Is there a detach, a .data or a no_grad between the queries and keys and the weights?",
    ),
    zh=(
        "权重与梯度断开了",
        "输出是对的，但 query 和 key 永远学不到东西：W_Q 和 W_K 没有梯度，模型学不会该看哪里。",
        "从 query 和 key 到权重之间，有没有用 detach、.data 或 no_grad？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask).detach()
    return weights @ value, weights


@mistake(
    "output-squared-weights",
    en=(
        "the weights are applied to the values twice",
        "One round of attention averages the values once. Applied again, each token gets an average of "
        "averages.",
        "How often do the weights multiply the values? Is a variable used again that holds the output "
        "already?",
    ),
    zh=(
        "权重在 value 上用了两次",
        "一次 attention 只对 value 平均一次。再用一次，每个 token 得到的就是平均的平均。",
        "权重与 value 相乘了几次？是不是又用了已经存着输出的那个变量？",
    ),
)
def scaled_dot_product_attention(self, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ (weights @ value), weights


@mistake(
    "last-axis-of-values-summed",
    en=(
        "the values are averaged over their features",
        "A value is a vector: the weights average over the keys, and leave the features side by side.",
        "Over which dimension of the values does the sum run?",
    ),
    zh=(
        "对 value 的特征求了平均",
        "value 是向量：权重沿 key 求平均，各个特征仍然并排保留。",
        "求和沿 value 的哪一维进行？",
    ),
    parameters=("sum", "mean"),
)
def scaled_dot_product_attention(self, how, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ getattr(value, how)(-1, keepdim=True).expand_as(value), weights


@mistake(
    "output-activation-in-attention",
    en=(
        "an activation function, a norm or a softmax is applied to the output of attention",
        "An output of attention is the weighted average of the values and nothing else; what is made of it "
        "comes later in the block.",
        "If all values are equal, what should the output be?",
    ),
    zh=(
        "对 attention 的输出用了激活函数、归一化或 softmax",
        "attention 的输出就是 value 的加权平均，仅此而已；其余的处理在后面的层里。",
        "如果所有 value 都相等，输出应当是什么？",
    ),
    parameters=(
        torch.relu,
        F.gelu,
        torch.tanh,
        torch.sigmoid,
        lambda x: F.layer_norm(x, x.shape[-1:]),
        lambda x: F.normalize(x, dim=-1),
        lambda x: torch.softmax(x, -1),
    ),
)
def scaled_dot_product_attention(self, function, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return function(weights @ value), weights


@mistake(
    "values-altered-before-mixing",
    en=(
        "an activation function or a norm is applied to the values",
        "The output is the weighted average of the values as they are: what is negative must stay so, and "
        "what is large.",
        "If all values are equal, the output is that value. Is it in yours?",
    ),
    zh=(
        "对 value 用了激活函数或归一化",
        "输出就是 value 原样的加权平均：负的要保持为负，大的要保持为大。",
        "如果所有 value 都相等，输出就应当等于它。你的是这样吗？",
    ),
    parameters=(*FUNCTIONS, *NORMS, lambda x: torch.softmax(x, -1), lambda x: torch.softmax(x, -2)),
)
def scaled_dot_product_attention(self, function, query, key, value, mask=None):
    weights = _weights(self, query, key, mask)
    return weights @ function(value), weights


@mistake(
    "output-divided-by-number-of-keys",
    en=(
        "the output is divided (or multiplied) by the number of keys or queries: a mean stands for the sum",
        "The weights of a row sum to 1 already, so that their sum of the values is an average. A mean over "
        "the keys divides once more.",
        "If all values are equal, what should the output be, and what is yours?",
    ),
    zh=(
        "输出除以（或乘以）了 key 或 query 的个数：用平均代替了求和",
        "一行权重之和已经是 1，用它们对 value 求和就是平均。再对 key 取平均，就多除了一次。",
        "如果所有 value 都相等，输出应当是多少？你的是多少？",
    ),
    parameters=itertools.product((-1, -2), (-1, -0.5, 1)),
)
def scaled_dot_product_attention(self, form, query, key, value, mask=None):
    dim, power = form
    weights = _weights(self, query, key, mask)
    return weights @ value * weights.shape[dim] ** power, weights


@mistake(
    "weights-to-a-power",
    en=(
        "the weights are raised to a power and normalised again",
        "This is a second, sharper or flatter softmax. The formula uses the weights as the softmax gives "
        "them.",
        "What happens to the weights between the softmax and the values in the formula?",
    ),
    zh=(
        "权重又取了某次幂，再重新归一化",
        "这相当于又做了一次更尖或更平的 softmax。公式直接使用 softmax 给出的权重。",
        "公式里，softmax 之后、乘以 value 之前，权重还要经过什么？",
    ),
    parameters=itertools.product((2, 3, 0.5), (True, False)),
)
def scaled_dot_product_attention(self, form, query, key, value, mask=None):
    power, returned = form
    weights = _weights(self, query, key, mask)
    sharper = weights**power / (weights**power).sum(-1, keepdim=True)
    return sharper @ value, sharper if returned else weights


# --- forward: the projections


def _projected(formula, x, names):
    """Tokens through the named projections, "x" for none, cut into heads."""
    return [formula.split_heads(x if name == "x" else x @ formula.projections[name].T) for name in names]


def _attend(formula, query, key, value, mask):
    heads, weights = formula.scaled_dot_product_attention(query, key, value, mask)
    return formula.combine_heads(heads), weights


def _wired(*names):
    """A forward with other projections for query, key and value; "x" for none."""

    def forward(self, x, mask=None):
        return _attend(self, *_projected(self, x, names), mask)

    return forward


mistake(
    "value-not-projected",
    en=(
        "the values are the tokens themselves: W_V is not used",
        "W_V learns what a token tells those who look at it. Without it, the parameter gets no gradient.",
        "How many of the four layers have you called?",
    ),
    zh=(
        "value 就是 token 本身：没有用 W_V",
        "W_V 学的是一个 token 要告诉看它的人什么。不用它，这个参数就没有梯度。",
        "四个层里，你调用了几个？",
    ),
)(_wired("W_Q", "W_K", "x"))

mistake(
    "query-not-projected",
    en=(
        "the queries are the tokens themselves: W_Q is not used",
        "W_Q learns what a token looks for. Without it, the parameter gets no gradient.",
        "How many of the four layers have you called?",
    ),
    zh=(
        "query 就是 token 本身：没有用 W_Q",
        "W_Q 学的是一个 token 在找什么。不用它，这个参数就没有梯度。",
        "四个层里，你调用了几个？",
    ),
)(_wired("x", "W_K", "W_V"))

mistake(
    "key-not-projected",
    en=(
        "the keys are the tokens themselves: W_K is not used",
        "W_K learns what a token can be found by. Without it, the parameter gets no gradient.",
        "How many of the four layers have you called?",
    ),
    zh=(
        "key 就是 token 本身：没有用 W_K",
        "W_K 学的是一个 token 凭什么被找到。不用它，这个参数就没有梯度。",
        "四个层里，你调用了几个？",
    ),
)(_wired("W_Q", "x", "W_V"))

mistake(
    "nothing-projected",
    en=(
        "queries, keys and values are all the tokens themselves",
        "W_Q, W_K and W_V are what attention learns. Without them every token mostly finds itself.",
        "Where do W_Q, W_K and W_V come in?",
    ),
    zh=(
        "query、key、value 都是 token 本身",
        "attention 要学的正是 W_Q、W_K 和 W_V。没有它们，每个 token 找到的多半是自己。",
        "W_Q、W_K 和 W_V 用在了哪里？",
    ),
)(_wired("x", "x", "x"))

mistake(
    "value-from-key",
    en=(
        "the values are the keys: they come from W_K, and W_V is not used",
        "A key says what a token can be found by, a value what it has to tell. One set of weights cannot "
        "learn both, and W_V gets no gradient.",
        "Compare the three lines with the projections, letter by letter.",
    ),
    zh=(
        "value 就是 key：来自 W_K，没有用 W_V",
        "key 说明一个 token 凭什么被找到，value 才是它要传递的内容。一套权重学不了两件事，W_V 也没有梯度。",
        "把三行投影逐个字母比较一下。",
    ),
)(_wired("W_Q", "W_K", "W_K"))

mistake(
    "value-from-query",
    en=(
        "the values are the queries: they come from W_Q, and W_V is not used",
        "A query says what a token looks for, a value what it has to tell. One set of weights cannot learn "
        "both, and W_V gets no gradient.",
        "Compare the three lines with the projections, letter by letter.",
    ),
    zh=(
        "value 就是 query：来自 W_Q，没有用 W_V",
        "query 说明一个 token 在找什么，value 才是它要传递的内容。一套权重学不了两件事，W_V 也没有梯度。",
        "把三行投影逐个字母比较一下。",
    ),
)(_wired("W_Q", "W_K", "W_Q"))

mistake(
    "key-from-query",
    en=(
        "the keys are the queries: they come from W_Q, and W_K is not used",
        "What a token looks for and what it can be found by are two things. With one set of weights for "
        "both the scores are symmetric, and W_K gets no gradient.",
        "Compare the three lines with the projections, letter by letter.",
    ),
    zh=(
        "key 就是 query：来自 W_Q，没有用 W_K",
        "一个 token 在找什么，与它凭什么被找到，是两回事。共用一套权重，分数就是对称的，W_K 也没有梯度。",
        "把三行投影逐个字母比较一下。",
    ),
)(_wired("W_Q", "W_Q", "W_V"))

mistake(
    "query-from-key",
    en=(
        "the queries are the keys: they come from W_K, and W_Q is not used",
        "What a token looks for and what it can be found by are two things. With one set of weights for "
        "both the scores are symmetric, and W_Q gets no gradient.",
        "Compare the three lines with the projections, letter by letter.",
    ),
    zh=(
        "query 就是 key：来自 W_K，没有用 W_Q",
        "一个 token 在找什么，与它凭什么被找到，是两回事。共用一套权重，分数就是对称的，W_Q 也没有梯度。",
        "把三行投影逐个字母比较一下。",
    ),
)(_wired("W_K", "W_K", "W_V"))

mistake(
    "key-and-value-swapped",
    en=(
        "keys and values have changed places",
        "The weights are made from W_V, and average what comes from W_K. Weights that were learnt elsewhere "
        "do not fit any more.",
        "In which order are the three made, and in which order handed on?",
    ),
    zh=(
        "key 和 value 互换了",
        "这样权重由 W_V 的结果算出，而加权平均的是 W_K 的结果。别处训练好的权重就对不上了。",
        "三者按什么顺序产生，又按什么顺序传下去？",
    ),
)(_wired("W_Q", "W_V", "W_K"))

mistake(
    "query-and-key-swapped",
    en=(
        "queries and keys have changed places",
        "Row i then holds how well token i is found by others, instead of what it looks for. Weights that "
        "were learnt elsewhere do not fit any more.",
        "In which order are the three made, and in which order handed on?",
    ),
    zh=(
        "query 和 key 互换了",
        "这样第 i 行不再是 token i 在找什么，而是它怎样被别人找到。别处训练好的权重就对不上了。",
        "三者按什么顺序产生，又按什么顺序传下去？",
    ),
)(_wired("W_K", "W_Q", "W_V"))

mistake(
    "query-and-value-swapped",
    en=(
        "queries and values have changed places",
        "The weights are made from W_V and W_K, and average what comes from W_Q. Weights that were learnt "
        "elsewhere do not fit any more.",
        "In which order are the three made, and in which order handed on?",
    ),
    zh=(
        "query 和 value 互换了",
        "这样权重由 W_V 和 W_K 的结果算出，而加权平均的是 W_Q 的结果。别处训练好的权重就对不上了。",
        "三者按什么顺序产生，又按什么顺序传下去？",
    ),
)(_wired("W_V", "W_K", "W_Q"))

mistake(
    "fused-order-v-q-k",
    en=(
        "the three projections are taken in the order value, query, key",
        "A fused layer has an order, and both sides must agree on it: here the second is taken for the "
        "query, the third for the key and the first for the value.",
        "In which order are the three put together, and in which order taken apart?",
    ),
    zh=(
        "三个投影是按 value、query、key 的顺序取出的",
        "合并的层有它的顺序，装和拆必须一致：这里把第二个当成了 query，第三个当成了 key，第一个当成了 "
        "value。",
        "三者按什么顺序合在一起，又按什么顺序拆开？",
    ),
)(_wired("W_K", "W_V", "W_Q"))

mistake(
    "fused-order-k-v-q",
    en=(
        "the three projections are taken in the order key, value, query",
        "A fused layer has an order, and both sides must agree on it: here the third is taken for the "
        "query, the first for the key and the second for the value.",
        "In which order are the three put together, and in which order taken apart?",
    ),
    zh=(
        "三个投影是按 key、value、query 的顺序取出的",
        "合并的层有它的顺序，装和拆必须一致：这里把第三个当成了 query，第一个当成了 key，第二个当成了 "
        "value。",
        "三者按什么顺序合在一起，又按什么顺序拆开？",
    ),
)(_wired("W_V", "W_Q", "W_K"))


@mistake(
    "projections-mixed-up",
    en=(
        "queries, keys or values come from the wrong projections",
        "Each of the four layers has a task of its own: W_Q what a token looks for, W_K what it is found "
        "by, W_V what it tells, W_O how the heads are mixed. All are square, so that no error is raised.",
        "Compare the three lines with the projections, letter by letter: is each layer used once?",
    ),
    zh=(
        "query、key 或 value 来自错误的投影",
        "四个层各有各的任务：W_Q 管在找什么，W_K 管凭什么被找到，W_V 管传递什么，W_O 管怎样混合各个头。它们"
        "都是方阵，所以不会报错。",
        "把三行投影逐个字母比较一下：每个层都恰好用了一次吗？",
    ),
    parameters=tuple(
        names
        for names in itertools.product(("W_Q", "W_K", "W_V", "W_O", "x"), repeat=3)
        if names != ("W_Q", "W_K", "W_V")
    ),
)
def forward(self, names, x, mask=None):
    return _attend(self, *_projected(self, x, names), mask)


@mistake(
    "projections-not-transposed",
    en=(
        "tokens are multiplied by the weight of a projection itself, without a transpose",
        "nn.Linear keeps its weight as (out, in) and computes x @ weight.T. Since the weights are square, "
        "the wrong product has the right shape.",
        "Call the layer instead of its weight, or look at what nn.Linear does with it.",
    ),
    zh=(
        "token 直接乘以投影的权重，没有转置",
        "nn.Linear 按 (out, in) 保存权重，计算的是 x @ weight.T。权重是方阵，所以乘错了形状也对。",
        "不要直接用权重，调用这个层；或者看看 nn.Linear 是怎样使用权重的。",
    ),
    parameters=tuple(
        names
        for size in (4, 3, 2, 1)
        for names in itertools.combinations(("W_Q", "W_K", "W_V", "W_O"), size)
        if names != ("W_O",)
    ),
)
def forward(self, names, x, mask=None):
    def project(x, name):
        return x @ (self.projections[name] if name in names else self.projections[name].T)

    query, key, value = (self.split_heads(project(x, name)) for name in ("W_Q", "W_K", "W_V"))
    heads, weights = self.scaled_dot_product_attention(query, key, value, mask)
    return project(heads.transpose(1, 2).flatten(2), "W_O"), weights


@mistake(
    "projection-twice",
    en=(
        "tokens go through a projection twice",
        "Each projection is one linear map from the tokens. Applied to its own output, it computes another "
        "thing.",
        "Is a variable projected again that holds the projected tokens already?",
    ),
    zh=(
        "token 经过了同一个投影两次",
        "每个投影都是对 token 的一次线性映射。再作用到自己的输出上，算的就是另一回事了。",
        "是不是把已经投影过的变量又投影了一次？",
    ),
    parameters=tuple(
        names for size in (3, 2, 1) for names in itertools.combinations(("W_Q", "W_K", "W_V"), size)
    ),
)
def forward(self, names, x, mask=None):
    def project(name):
        once = x @ self.projections[name].T
        return self.split_heads(once @ self.projections[name].T if name in names else once)

    return _attend(self, project("W_Q"), project("W_K"), project("W_V"), mask)


@mistake(
    "projections-chained",
    en=(
        "a projection works on the result of another one instead of the tokens",
        "Queries, keys and values are three views of the same tokens. A variable that is overwritten on the "
        "way makes one of them a view of another.",
        "Is x still the tokens when the second and the third projection are computed?",
    ),
    zh=(
        "某个投影作用在另一个投影的结果上，而不是 token 上",
        "query、key 和 value 是同样的 token 的三个侧面。中途覆盖了变量，其中一个就成了另一个的侧面。",
        "计算第二个和第三个投影时，x 还是原来的 token 吗？",
    ),
    parameters=((1, 1), (0, 1), (0, 2), (1, 0)),
)
def forward(self, how, x, mask=None):
    names = ("W_Q", "W_K", "W_V")
    query = x @ self.projections["W_Q"].T
    key = (query if how[0] else x) @ self.projections[names[1]].T
    value = (x, key, query)[how[1]] @ self.projections[names[2]].T
    return _attend(self, *map(self.split_heads, (query, key, value)), mask)


@mistake(
    "value-projected-after",
    en=(
        "W_V is applied after the attention instead of before it",
        "Each head averages values of its own, made by its rows of W_V. Afterwards the heads have averaged "
        "slices of the tokens, and W_V mixes them.",
        "What should be projected and cut into heads before the weights meet it?",
    ),
    zh=(
        "W_V 用在了 attention 之后，而不是之前",
        "每个头平均的是自己的 value，由 W_V 中属于它的那几行产生。放到之后，各个头平均的是 token 的切片，再"
        "由 W_V 混合。",
        "权重与它相乘之前，什么应当先投影并切成各个头？",
    ),
)
def forward(self, x, mask=None):
    query, key, value = _projected(self, x, ("W_Q", "W_K", "x"))
    heads, weights = self.scaled_dot_product_attention(query, key, value, mask)
    value = self.split_heads(heads.transpose(1, 2).flatten(2) @ self.projections["W_V"].T)
    return self.combine_heads(value), weights


@mistake(
    "input-split-before-projection",
    en=(
        "the tokens are cut into heads first, and each head projects its own slice only",
        "A head may draw on all d_model features of a token: its rows of W_Q, W_K and W_V pick what it "
        "needs. Cut first, it never sees the features of the other slices.",
        "Which comes first: the projection of the whole token, or the cut?",
    ),
    zh=(
        "先把 token 切成各个头，每个头只投影自己的那一段",
        "每个头都可以用到 token 的全部 d_model 个特征，由 W_Q、W_K、W_V 中属于它的那几行来提取。先切开，它就"
        "看不到其他段的特征了。",
        "投影整个 token 和切分，哪一步在前？",
    ),
)
def forward(self, x, mask=None):
    slices, n_heads = self.split_heads(x), self.n_heads

    def project(name):
        blocks = self.projections[name].unflatten(0, (n_heads, -1)).unflatten(2, (n_heads, -1))
        own = torch.stack([blocks[h, :, h] for h in range(n_heads)])
        return slices @ own.mT

    return _attend(self, project("W_Q"), project("W_K"), project("W_V"), mask)


@mistake(
    "one-projection-for-all-heads",
    en=(
        "all heads share one small projection of d_head features",
        "Every head has its own rows of W_Q, W_K and W_V, and so its own way of reading. Shared ones make "
        "the heads alike, and most of the weights are never used.",
        "How large is W_Q, and how much of it do you use?",
    ),
    zh=(
        "所有的头共用一个只有 d_head 维的小投影",
        "每个头在 W_Q、W_K、W_V 中都有自己的几行，也就有自己的阅读习惯。共用会让各个头都一样，大部分权重也从"
        "未用到。",
        "W_Q 有多大？你用到了多少？",
    ),
)
def forward(self, x, mask=None):
    slices = self.split_heads(x)
    d_head = slices.shape[-1]
    own = (slices @ self.projections[name][:d_head, :d_head].T for name in ("W_Q", "W_K", "W_V"))
    return _attend(self, *own, mask)


_PLACES = ((0, 1, 2), (0, 1), (2,), (0,), (1,))


@mistake(
    "activation-on-projections",
    en=(
        "an activation function is applied to projections",
        "Queries, keys and values are plain linear maps of the tokens: a ReLU would take all negative "
        "features away before they are compared. The activation belongs to the feed-forward layer.",
        "Twice the tokens should give twice the queries. Do they in yours?",
    ),
    zh=(
        "在投影上用了激活函数",
        "query、key 和 value 都是 token 的单纯线性映射：例如 ReLU 会在比较之前去掉所有负的特征。激活函数属于"
        "前馈层。",
        "token 加倍，query 也应当加倍。你的是这样吗？",
    ),
    parameters=tuple(itertools.product(FUNCTIONS, _PLACES)),
)
def forward(self, how, x, mask=None):
    function, places = how
    parts = _projected(self, x, ("W_Q", "W_K", "W_V"))
    return _attend(self, *(function(part) if i in places else part for i, part in enumerate(parts)), mask)


@mistake(
    "layer-norm-before",
    en=(
        "the tokens are normalised before they are projected",
        "A norm belongs to the block around attention, before or after the whole layer, not inside it.",
        "What should happen to x before W_Q, W_K and W_V get it?",
    ),
    zh=(
        "token 在投影之前做了归一化",
        "归一化属于 attention 外面的那一层，在整个层之前或之后，而不在里面。",
        "x 在交给 W_Q、W_K 和 W_V 之前，应当做什么？",
    ),
    parameters=NORMS,
)
def forward(self, norm, x, mask=None):
    return _attend(self, *_projected(self, norm(x), ("W_Q", "W_K", "W_V")), mask)


@mistake(
    "layer-norm-after",
    en=(
        "the output is normalised",
        "A norm belongs to the block around attention, before or after the whole layer, not inside it.",
        "What should happen to the output after W_O?",
    ),
    zh=(
        "对输出做了归一化",
        "归一化属于 attention 外面的那一层，在整个层之前或之后，而不在里面。",
        "W_O 之后，输出还应当做什么？",
    ),
    parameters=tuple(itertools.product(NORMS, (False, True))),
)
def forward(self, how, x, mask=None):
    norm, residual = how
    output, weights = _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)
    return norm(output + x if residual else output), weights


@mistake(
    "output-gated",
    en=(
        "the output is multiplied by the tokens, or by a function of them such as a sigmoid",
        "A gate is an invention of later models. The output of the lesson's formula leaves combine_heads and "
        "is returned as it is.",
        "What happens to the output after combine_heads in the formula?",
    ),
    zh=(
        "输出乘上了 token 本身，或它的某个函数（例如 sigmoid）",
        "门控是后来的模型才有的做法。按本课的公式，combine_heads 的结果原样返回。",
        "公式里，combine_heads 之后输出还要经过什么？",
    ),
    parameters=(torch.sigmoid, lambda x: x, F.silu, torch.tanh, F.gelu, torch.relu),
)
def forward(self, gate, x, mask=None):
    output, weights = _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)
    return output * gate(x), weights


@mistake(
    "input-projected-first",
    en=(
        "the tokens go through one of the layers before queries, keys and values are made of them",
        "W_Q, W_K and W_V read the tokens themselves, and W_O comes last, on the joined heads.",
        "What do the three projections get as their input?",
    ),
    zh=(
        "在算 query、key 和 value 之前，token 先经过了四个层中的一个",
        "W_Q、W_K 和 W_V 直接读 token，W_O 最后才用在拼接后的头上。",
        "三个投影的输入是什么？",
    ),
    parameters=("W_O", "W_V", "W_Q", "W_K"),
)
def forward(self, name, x, mask=None):
    first = x @ self.projections[name].T
    return _attend(self, *_projected(self, first, ("W_Q", "W_K", "W_V")), mask)


@mistake(
    "residual",
    en=(
        "the tokens are added to the output",
        "The residual connection belongs to the block around attention, which adds x itself: here it would "
        "count twice.",
        "Does the docstring of forward say anything about adding?",
    ),
    zh=(
        "输出又加上了 token 本身",
        "残差连接属于 attention 外面的那一层，那一层会自己加 x：放在这里就算了两次。",
        "forward 的 docstring 里提到过相加吗？",
    ),
    parameters=("x", "value"),
)
def forward(self, what, x, mask=None):
    query, key, value = _projected(self, x, ("W_Q", "W_K", "W_V"))
    output, weights = _attend(self, query, key, value, mask)
    return output + (x if what == "x" else value.transpose(1, 2).flatten(2)), weights


@mistake(
    "query-key-norm",
    en=(
        "queries, keys or values are normalised after their projection",
        "For queries and keys this is QK-Norm, an invention of later models. The formula of the lesson takes "
        "all three as the projections give them.",
        "What happens between the projections and the attention in the formula?",
    ),
    zh=(
        "query、key 或 value 在投影之后做了归一化",
        "对 query 和 key 这样做叫 QK-Norm，是后来的模型才有的做法。本课的公式直接使用投影的结果。",
        "公式里，投影之后、attention 之前，还有别的步骤吗？",
    ),
    parameters=tuple(itertools.product(NORMS, ((0, 1), (0,), (1,), (2,), (0, 1, 2)), (True, False))),
)
def forward(self, how, x, mask=None):
    norm, places, per_head = how
    parts = [x @ self.projections[name].T for name in ("W_Q", "W_K", "W_V")]
    before, after = (self.split_heads, norm) if per_head else (norm, self.split_heads)
    parts = [after(before(part)) if i in places else self.split_heads(part) for i, part in enumerate(parts)]
    return _attend(self, *parts, mask)


@mistake(
    "input-times-root-d-model",
    en=(
        "the tokens are scaled by sqrt(d_model) first",
        "This factor belongs to the embedding, if anywhere. Inside attention it makes the scores larger by "
        "d_model, which is what the scale was to prevent.",
        "What should happen to x before W_Q, W_K and W_V get it?",
    ),
    zh=(
        "先把 token 乘以或除以 sqrt(d_model)",
        "这个因子即使需要，也属于 embedding。放在 attention 里，分数会放大 d_model 倍，而这正是缩放要避免"
        "的。",
        "x 在交给 W_Q、W_K 和 W_V 之前，应当做什么？",
    ),
    parameters=(0.5, -0.5),
)
def forward(self, power, x, mask=None):
    return _attend(self, *_projected(self, x * x.shape[-1] ** power, ("W_Q", "W_K", "W_V")), mask)


def _sinusoids(x, interleaved=True):
    """The positional encoding of the Transformer paper: (L, d_model)."""
    length, d_model = x.shape[-2:]
    half = torch.arange(0, d_model, 2, dtype=x.dtype)
    angles = torch.arange(length, dtype=x.dtype).unsqueeze(-1) * torch.exp(half * (-math.log(1e4) / d_model))
    if interleaved:
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[:, :d_model]
    return torch.cat([angles.sin(), angles.cos()], -1)[:, :d_model]


def _sine(x):
    return torch.arange(x.shape[-2], dtype=x.dtype).sin().unsqueeze(-1)


def _index(x):
    return torch.arange(x.shape[-2], dtype=x.dtype).unsqueeze(-1)


@mistake(
    "positions-added",
    en=(
        "positions are added to the tokens",
        "Where a token stands is added once, at the embedding or in a layer of its own. Attention by itself "
        "finds values by their keys, not by their places.",
        "If two tokens change places, should anything but the order of the outputs change (without a mask)?",
    ),
    zh=(
        "在 token 上加了位置信息",
        "位置只需加一次，在 embedding 处或专门的层里。attention 本身是按 key 找 value，与位置无关。",
        "没有 mask 时，两个 token 交换位置，除了输出的顺序，还应当有别的变化吗？",
    ),
    parameters=(_sine, _sinusoids, lambda x: _sinusoids(x, False), _index),
)
def forward(self, positions, x, mask=None):
    return _attend(self, *_projected(self, x + positions(x), ("W_Q", "W_K", "W_V")), mask)


# --- forward: the dimensions


@mistake(
    "attention-over-heads",
    en=(
        "the heads of one token attend to each other, and no token sees another",
        "Attention works on the last two dimensions. With (B, L, H, d_head) these are the heads and their "
        "features: the product runs, and tokens never communicate.",
        "What are the last two dimensions of the queries where the scores are computed?",
    ),
    zh=(
        "同一个 token 的各个头互相关注，token 之间却看不到彼此",
        "attention 作用在最后两维上。若是 (B, L, H, d_head)，那就是头和特征：乘法照样能做，但 token 之间从未"
        "通信。",
        "计算分数时，query 的最后两维是什么？",
    ),
    parameters=("right weights", "own weights", "merged"),
)
def forward(self, how, x, mask=None):
    query, key, value = (part.transpose(1, 2) for part in _projected(self, x, ("W_Q", "W_K", "W_V")))
    own = self.attention_weights(self.attention_scores(query, key))
    heads = (own @ value).transpose(1, 2)
    if how == "own weights":
        return self.combine_heads(heads), own
    weights = _weights(self, query.transpose(1, 2), key.transpose(1, 2), mask)
    if how == "merged":
        heads = heads.transpose(1, 2).reshape(heads.shape)
    return self.combine_heads(heads), weights


@mistake(
    "attention-over-batch",
    en=(
        "tokens attend across the batch: batch and length have changed places",
        "Each token then looks at the tokens of other sentences at the same place, and at none of its own. "
        "Some layers of torch want the length first, this exercise wants the batch first.",
        "Change one sentence of a batch: may the output of another one change?",
    ),
    zh=(
        "token 跨 batch 互相关注：batch 和长度换了位置",
        "这样每个 token 看的是别的句子里同一位置的 token，而不看自己的句子。torch 的有些层要求长度在前，本练"
        "习要求 batch 在前。",
        "改动 batch 中的一句话，另一句的输出可以变吗？",
    ),
    parameters=(False, True),
)
def forward(self, right_weights, x, mask=None):
    output, weights = _attend(self, *_projected(self, x.transpose(0, 1), ("W_Q", "W_K", "W_V")), None)
    if right_weights:
        weights = _weights(self, *_projected(self, x, ("W_Q", "W_K")), mask)
    return output.transpose(0, 1), weights


@mistake(
    "batch-and-length-flattened",
    en=(
        "all sentences of the batch are one long sentence: batch and length are joined",
        "Tokens then look at those of other sentences. A batch is several sentences side by side that know "
        "nothing of each other.",
        "Change one sentence of a batch: may the output of another one change?",
    ),
    zh=(
        "batch 中所有的句子连成了一个长句：batch 和长度被合并了",
        "这样 token 会看到别的句子。batch 是并排放着的几个句子，彼此互不知情。",
        "改动 batch 中的一句话，另一句的输出可以变吗？",
    ),
    parameters=(False, True),
)
def forward(self, own_weights, x, mask=None):
    batch, length, d_model = x.shape
    long = x.reshape(1, batch * length, d_model)
    output, weights = _attend(self, *_projected(self, long, ("W_Q", "W_K", "W_V")), None)
    if not own_weights:
        weights = _weights(self, *_projected(self, x, ("W_Q", "W_K")), mask)
    return output.view(x.shape), weights


@mistake(
    "heads-not-split",
    en=(
        "there is one attention over the whole width instead of one for each head",
        "One table of weights has to serve all relations in a sentence at once. The heads are there so that "
        "each can draw a table of its own.",
        "How many (L, L) tables of weights should one sample get?",
    ),
    zh=(
        "只做了一次全宽度的 attention，而不是每个头各做一次",
        "这样一张权重表要同时照顾一句话里的所有关系。多头正是为了让每个头各画各的表。",
        "一个样本应当得到几张 (L, L) 的权重表？",
    ),
    parameters=tuple(itertools.product((True, False), ("flat", "one", "copied"))),
)
def forward(self, how, x, mask=None):
    masked, returned = how
    if mask is not None:
        mask = mask[:, 0] if mask.dim() == 4 else mask
    query, key, value = (x @ self.projections[name].T for name in ("W_Q", "W_K", "W_V"))
    output, weights = self.scaled_dot_product_attention(query, key, value, mask if masked else None)
    if returned != "flat":
        weights = weights.unsqueeze(1).expand(-1, self.n_heads if returned == "copied" else 1, -1, -1)
    return output @ self.projections["W_O"].T, weights


@mistake(
    "weights-of-the-first-head",
    en=(
        "the weights of one head serve all of them",
        "The heads are there to look at different things, each by its own table. One table for all is "
        "attention with a single head.",
        "Do the weights still have one table for each head when they meet the values?",
    ),
    zh=(
        "所有的头用的都是同一个头的权重",
        "多头的意义就在于各画各的表，各看各的。所有头共用一张表，就成了单头 attention。",
        "权重与 value 相乘时，还是每个头一张表吗？",
    ),
    parameters=tuple(itertools.product((slice(0, 1), slice(-1, None)), ("same", "own"))),
)
def forward(self, how, x, mask=None):
    which, returned = how
    query, key, value = _projected(self, x, ("W_Q", "W_K", "W_V"))
    own = _weights(self, query, key, mask)
    same = own[:, which].expand_as(own)
    return self.combine_heads(same @ value), same if returned == "same" else own


@mistake(
    "weights-averaged-over-heads",
    en=(
        "the weights are averaged over the heads before they meet the values",
        "The heads are there to look at different things, each by its own table. An average of the tables "
        "is attention with a single head.",
        "Do the weights still have one table for each head when they meet the values?",
    ),
    zh=(
        "权重先对各个头求了平均，再与 value 相乘",
        "多头的意义就在于各画各的表，各看各的。把表一平均，就成了单头 attention。",
        "权重与 value 相乘时，还是每个头一张表吗？",
    ),
    parameters=("same", "own"),
)
def forward(self, returned, x, mask=None):
    query, key, value = _projected(self, x, ("W_Q", "W_K", "W_V"))
    own = _weights(self, query, key, mask)
    same = own.mean(1, keepdim=True).expand_as(own)
    return self.combine_heads(same @ value), same if returned == "same" else own


@mistake(
    "weights-of-the-next-head",
    en=(
        "each head uses the weights of another head",
        "A head reads by its own table: its queries, keys and values belong together.",
        "Are the heads in the same order in the weights and in the values?",
    ),
    zh=(
        "每个头用的是别的头的权重",
        "每个头按自己的表来读：它的 query、key 和 value 是一体的。",
        "权重和 value 中，各个头的顺序一样吗？",
    ),
    parameters=tuple(itertools.product((1, -1, 0), (True, False))),
)
def forward(self, how, x, mask=None):
    shift, moved_too = how
    query, key, value = _projected(self, x, ("W_Q", "W_K", "W_V"))
    own = _weights(self, query, key, mask)
    other = own.roll(shift, 1) if shift else own.flip(1)
    return self.combine_heads(other @ value), other if moved_too else own


@mistake(
    "one-value-for-all-heads",
    en=(
        "queries, keys or values of head 0 serve all heads",
        "Every head has its own slice of the queries, of the keys and of the values. Sharing some of them "
        "is what multi-query attention does, an invention of later models.",
        "Do all three have as many heads as the docstring says?",
    ),
    zh=(
        "所有的头共用头 0 的 query、key 或 value",
        "每个头都有自己的那一段 query、key 和 value。共用其中几个是 multi-query attention 的做法，那是后来的"
        "模型才有的。",
        "三者的头数都和 docstring 里说的一样吗？",
    ),
    parameters=((1, 2), (2,), (1,), (0,), (0, 1), (0, 2)),
)
def forward(self, places, x, mask=None):
    parts = _projected(self, x, ("W_Q", "W_K", "W_V"))
    shared = [part[:, :1].expand_as(part) if i in places else part for i, part in enumerate(parts)]
    return _attend(self, *shared, mask)


@mistake(
    "returned-weights-averaged",
    en=(
        "the weights are returned as one table instead of one for each head",
        "nn.MultiheadAttention averages them unless told not to. Here the caller wants to see every head: "
        "(B, H, L, L).",
        "How many (L, L) tables of weights should one sample get?",
    ),
    zh=(
        "返回的权重只有一张表，而不是每个头一张",
        "nn.MultiheadAttention 默认会把它们平均。这里调用者想看到每个头的表：(B, H, L, L)。",
        "一个样本应当得到几张 (L, L) 的权重表？",
    ),
    parameters=("mean", "sum", "first", "mean kept"),
)
def forward(self, how, x, mask=None):
    output, weights = _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)
    if how == "mean kept":
        return output, weights.mean(1, keepdim=True).expand_as(weights)
    return output, weights[:, 0] if how == "first" else getattr(weights, how)(1)


@mistake(
    "returned-weights-flat",
    en=(
        "the weights are returned in another arrangement than (B, H, L, L)",
        "Which sample and which head a table belongs to should be readable from its place: the batch first, "
        "the heads second.",
        "Which four dimensions does the docstring list for the weights?",
    ),
    zh=(
        "返回的权重不是按 (B, H, L, L) 排列的",
        "一张表属于哪个样本、哪个头，应当能从它的位置看出来：batch 在前，头在第二维。",
        "docstring 中，权重的四个维度是什么？",
    ),
    parameters=("flat", "heads first", "heads last", "heads behind queries"),
)
def forward(self, how, x, mask=None):
    output, weights = _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)
    order = {"heads first": (1, 0, 2, 3), "heads last": (0, 2, 3, 1), "heads behind queries": (0, 2, 1, 3)}
    return output, weights.flatten(0, 1) if how == "flat" else weights.permute(order[how])


@mistake(
    "forward-weights-first",
    en=(
        "the weights are returned first, and the output second",
        "The caller unpacks output, weights, in this order. Swapped, everything after it works on the wrong "
        "tensor.",
        "In which order does the docstring list the results?",
    ),
    zh=(
        "先返回了权重，后返回输出",
        "调用者按 output, weights 的顺序取值。顺序一反，后面用的就都是错的张量。",
        "docstring 中，返回值是什么顺序？",
    ),
)
def forward(self, x, mask=None):
    output, weights = _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)
    return weights, output


@mistake(
    "output-and-input-exchanged",
    en=(
        "the tokens themselves are returned as the output",
        "What came in goes out again, and the result of the attention is lost.",
        "Which variable holds what combine_heads gave back?",
    ),
    zh=(
        "把 token 本身当作输出返回了",
        "输入原样出去了，attention 的结果却丢了。",
        "哪个变量保存着 combine_heads 的返回值？",
    ),
    parameters=("x", "value"),
)
def forward(self, what, x, mask=None):
    query, key, value = _projected(self, x, ("W_Q", "W_K", "W_V"))
    _, weights = _attend(self, query, key, value, mask)
    return x if what == "x" else self.combine_heads(value), weights


# --- forward: the mask


@mistake(
    "causal-added-to-mask",
    en=(
        "the causal mask is always added to the mask that is given",
        "The caller decides what is hidden. Not every attention is causal: with mask=None all tokens are "
        "visible, and a padding mask hides the padding alone.",
        "Who calls causal_mask in this exercise: the layer, or the one who uses it?",
    ),
    zh=(
        "在给定的 mask 之外，总是再加上 causal mask",
        "遮住什么由调用者决定。并非每个 attention 都是因果的：mask=None 时所有 token 都可见，padding mask 只"
        "遮住填充。",
        "在本练习中，causal_mask 由谁来调用：是这个层，还是使用它的人？",
    ),
    parameters=(True, False),
)
def forward(self, own_kept, x, mask=None):
    if mask is not None:
        mask = mask & self.causal_mask(x.shape[1])
        if own_kept:
            mask = mask | torch.eye(x.shape[1], dtype=torch.bool)
    return _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)


@mistake(
    "mask-tiled-in-the-wrong-order",
    en=(
        "masks are repeated for the heads in the wrong order: heads meet the masks of other samples",
        "With batch and heads joined, B * H counts the heads fastest: sample 0 with all its heads, then "
        "sample 1. repeat counts the samples fastest.",
        "Write down the order of (sample, head) in the joined dimension, and the order of the masks beside "
        "it.",
    ),
    zh=(
        "为各个头重复 mask 时顺序错了：有的头用到了其他样本的 mask",
        "batch 和头合并之后，B * H 中变化更快的是头：先是样本 0 的所有头，再是样本 1。而 repeat 让样本变化得"
        "更快。",
        "写出合并后那一维里 (样本, 头) 的顺序，再在旁边写出 mask 的顺序。",
    ),
)
def forward(self, x, mask=None):
    batch, length, n_heads = *x.shape[:2], self.n_heads
    parts = (part.flatten(0, 1) for part in _projected(self, x, ("W_Q", "W_K", "W_V")))
    if mask is not None:
        mask = mask.expand(batch, n_heads, length, length)[:, 0].repeat(n_heads, 1, 1)
    heads, weights = self.scaled_dot_product_attention(*parts, mask)
    output = self.combine_heads(heads.unflatten(0, (batch, n_heads)))
    return output, weights.unflatten(0, (batch, n_heads))


@mistake(
    "mask-rank-2-as-padding",
    en=(
        "a mask of two dimensions is taken for a padding mask (B, L)",
        "A mask of two dimensions is (L, L) here, a row for each query: the causal mask is one.",
        "What shape has the causal mask that you made, and what happens to it in forward?",
    ),
    zh=(
        "两维的 mask 被当成了 padding mask (B, L)",
        "在这里，两维的 mask 是 (L, L)，每个 query 一行：causal mask 就是这样。",
        "你做的 causal mask 是什么形状？它在 forward 里怎么样了？",
    ),
)
def forward(self, x, mask=None):
    if mask is not None and mask.dim() == 2:
        mask = mask[:, None, None, :]
    return _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)


@mistake(
    "padding-guessed-from-zeros",
    en=(
        "tokens that are all zeros are hidden, as if they were padding",
        "A token of zeros is a token like any other: the first layers may well make one. Only the mask says "
        "what is hidden.",
        "Where does your code look at the numbers of x to decide who may be seen?",
    ),
    zh=(
        "全零的 token 被当成填充遮住了",
        "全零的 token 也是 token，前面的层完全可能产生这样的 token。遮住什么只由 mask 决定。",
        "你的代码在哪里根据 x 的数值来决定谁可以被看见？",
    ),
    parameters=(True, False),
)
def forward(self, own_kept, x, mask=None):
    real = x.abs().sum(-1).ne(0)[:, None, None, :]
    if own_kept:
        real = real | torch.eye(x.shape[1], dtype=torch.bool)
    mask = real if mask is None else mask & real
    return _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)


@mistake(
    "mask-on-the-input",
    en=(
        "the mask sets tokens to zero instead of blocking scores",
        "A token of zeros has keys of zeros and scores of 0, and exp(0) = 1: it still receives weight. And "
        "a mask that differs from query to query cannot be obeyed in this way at all.",
        "Where must a key be hidden so that it is not in the sum under the softmax?",
    ),
    zh=(
        "mask 把 token 置成了零，而不是屏蔽分数",
        "全零的 token，key 也全零，分数是 0，而 exp(0) = 1：它照样分到权重。各个 query 不同的 mask 更是无法"
        "这样满足。",
        "要让一个 key 不出现在 softmax 的分母里，应当在哪里把它藏起来？",
    ),
    parameters=("any", "all"),
)
def forward(self, which, x, mask=None):
    if mask is not None:
        every = mask.expand(x.shape[0], self.n_heads, x.shape[1], x.shape[1])
        seen = getattr(getattr(every, which)(1), which)(1)
        x = x * seen.unsqueeze(-1)
    return _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), None)


@mistake(
    "mask-for-the-first-head-only",
    en=(
        "the mask reaches one head only, and the others see everything",
        "Each head has a table of its own, and the mask holds for all of them. One head that sees the "
        "future is enough to give the answer away.",
        "What shape has the mask when it meets the scores (B, H, L, L)?",
    ),
    zh=(
        "mask 只作用于一个头，其他的头什么都能看见",
        "每个头各有一张表，mask 对所有的头都有效。只要有一个头看到未来，答案就泄露了。",
        "mask 遇到 (B, H, L, L) 的分数时是什么形状？",
    ),
    parameters=(0, -1),
)
def forward(self, head, x, mask=None):
    if mask is not None:
        mask = mask.expand(x.shape[0], self.n_heads, x.shape[1], x.shape[1]).clone()
        others = [h for h in range(self.n_heads) if h != head % self.n_heads]
        mask[:, others] = True
    return _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)


# --- forward: the gradient


@mistake(
    "input-detached",
    en=(
        "the tokens are cut off from the gradient at the entrance",
        "The layer itself learns, but nothing before it does: the gradient ends here.",
        "Is there a detach, a .data or a new tensor made of x?",
    ),
    zh=(
        "token 一进来就与梯度断开了",
        "这一层自己能学，但它之前的一切都学不到东西：梯度到此为止。",
        "有没有对 x 用 detach、.data，或者用它新建了张量？",
    ),
)
def forward(self, x, mask=None):
    return _attend(self, *_projected(self, x.detach(), ("W_Q", "W_K", "W_V")), mask)


@mistake(
    "projections-detached",
    en=(
        "the weights of some projections are cut off from the gradient",
        "The values are right, but these weights never learn: they stay what they were drawn as.",
        "Call the layers themselves: .data, detach and requires_grad_(False) keep the gradient away from "
        "the weights.",
    ),
    zh=(
        "某些投影的权重与梯度断开了",
        "数值是对的，但这些权重永远学不到东西，始终是初始化时的样子。",
        "直接调用这些层：.data、detach 和 requires_grad_(False) 都会让权重得不到梯度。",
    ),
    parameters=tuple(
        names
        for size in (3, 4, 2, 1)
        for names in itertools.combinations(("W_Q", "W_K", "W_V", "W_O"), size)
        if names != ("W_O",)
    ),
)
def forward(self, names, x, mask=None):
    formula = type(self)(self.n_heads, dict(self.projections))
    for name in names:
        formula.projections[name] = self.projections[name].detach()
    return _attend(formula, *_projected(formula, x, ("W_Q", "W_K", "W_V")), mask)


@mistake(
    "query-and-key-through-a-detached-input",
    en=(
        "the tokens get their gradient through the values alone, not through queries and keys",
        "The parameters learn, but the layers before never hear where others looked.",
        "Is there a detach on the way from x to the queries or the keys?",
    ),
    zh=(
        "token 只通过 value 得到梯度，没有通过 query 和 key",
        "参数能学，但前面的层永远不知道别人在看哪里。",
        "从 x 到 query 或 key 的路上，有没有用 detach？",
    ),
    parameters=((0, 1),),
)
def forward(self, places, x, mask=None):
    return _of_detached(self, places, x, mask)


@mistake(
    "part-through-a-detached-input",
    en=(
        "the tokens get no gradient through some of the three: queries, keys or values",
        "All three are made of the same tokens, and each sends a part of the gradient back. A detached copy "
        "keeps its part away from the layers before.",
        "Is there a detach on the way from x to the queries, the keys or the values?",
    ),
    zh=(
        "token 没有通过 query、key、value 中的某几个得到梯度",
        "三者都来自同样的 token，各自送回一部分梯度。用了 detach 的副本，前面的层就得不到那一部分。",
        "从 x 到 query、key 或 value 的路上，有没有用 detach？",
    ),
    parameters=((2,), (0,), (1,), (1, 2), (0, 2)),
)
def forward(self, places, x, mask=None):
    return _of_detached(self, places, x, mask)


def _of_detached(self, places, x, mask):
    """The whole, with the tokens detached on their way to queries (0), keys (1) or values (2)."""
    inputs = [x.detach() if i in places else x for i in range(3)]
    query, key, value = (
        _projected(self, one, (name,))[0] for one, name in zip(inputs, ("W_Q", "W_K", "W_V"), strict=True)
    )
    return _attend(self, query, key, value, mask)


@mistake(
    "backward-inside",
    en=(
        "backward is called inside, on the sum of the output, and its gradients add to those of the caller",
        "Only the one who trains knows the loss. A backward inside puts gradients of something else into "
        "every parameter.",
        "Who should call backward, and on what?",
    ),
    zh=(
        "在里面对输出之和调用了 backward，它的梯度加到了调用者的梯度上",
        "只有训练的人才知道损失是什么。在里面调用 backward，会把别的东西的梯度加到每个参数上。",
        "backward 应当由谁调用，对什么调用？",
    ),
)
def forward(self, x, mask=None):
    output, weights = _attend(self, *_projected(self, x, ("W_Q", "W_K", "W_V")), mask)
    return _AndItsSum.apply(output), weights


class _AndItsSum(torch.autograd.Function):
    """The output, with a gradient as if its sum were part of the loss as well."""

    @staticmethod
    def forward(ctx, output):
        return output.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient + 1


def _right(formula, call):
    args = [
        arg.double() if isinstance(arg, torch.Tensor) and arg.is_floating_point() else arg
        for arg in call.args
    ]
    return getattr(formula, call.function)(*args)


def _drops_weights(formula, call, answer):
    """Each weight is 0 or the right one times a constant above 1."""
    _, right = _right(formula, call)
    ratio = answer.results[1].double()[right > 1e-6] / right[right > 1e-6]
    kept = ratio[ratio != 0]
    return bool((kept > 1.001).all()) and torch.allclose(kept, kept[:1], rtol=1e-3)


for _function in ("scaled_dot_product_attention", "forward"):
    signed_mistake(
        "dropout-active",
        _function,
        signs=(),
        en=(
            "weights are dropped at random, and the others enlarged",
            "This is what dropout does: nn.Dropout in train mode, F.dropout unless it is told otherwise. "
            "The formula has none, and the same tokens must give the same output.",
            "Do two calls with the same input give the same output?",
        ),
        zh=(
            "有些权重被随机丢弃，其余的被放大",
            "这正是 dropout 的作用：nn.Dropout 在训练模式下如此，F.dropout 默认也如此。公式里没有它，同样的 "
            "token 必须得到同样的输出。",
            "用同样的输入调用两次，输出相同吗？",
        ),
        holds=_drops_weights,
    )


def _returns_other_weights(formula, call, answer):
    """The output is right, and the weights have the right shape at least."""
    (output, weights), right = answer.results, _right(formula, call)
    if output.shape != right[0].shape or weights.shape != right[1].shape:
        return False
    return torch.allclose(right[0], output.double(), rtol=1e-4, atol=1e-5)


for _function in ("scaled_dot_product_attention", "forward"):
    signed_mistake(
        "returned-weights-altered",
        _function,
        signs=(),
        en=(
            "the output is right, but the weights that are returned are not those that made it",
            "Who looks at the table wants to see what the model does: the weights of the output, after mask "
            "and softmax.",
            "Which tensor multiplies the values, and which one is returned?",
        ),
        zh=(
            "输出是对的，但返回的权重不是产生它的那一份",
            "看这张表的人想知道模型到底做了什么：应当是 mask 和 softmax 之后、产生输出的权重。",
            "与 value 相乘的是哪个张量？返回的又是哪个？",
        ),
        holds=_returns_other_weights,
    )
