"""Mistakes of causal_mask, and of attention_weights in what it does with a mask."""

import itertools
import math

import torch

from grader.judge.mistakes import UNSTEADY, blocked, mistake, signed_mistake, softmax

STRONG = (-math.inf, -1e9)  # they differ where everything is blocked


def square(length, device=None):
    return torch.ones(length, length, dtype=torch.bool, device=device)


def indices(length, device=None):
    """i (L, 1) of the queries, j (1, L) of the keys."""
    i = torch.arange(length, device=device)
    return i[:, None], i[None, :]


def past_of(scores):
    """A causal mask in the shape of the last two dimensions of the scores."""
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril()


# --- causal_mask


@mistake(
    "causal-mask-future-kept",
    en=(
        "the mask allows the future and blocks the past (rows and columns are swapped)",
        "Row i is a query and column j a key. The upper triangle lets each position see exactly the answers "
        "that it is to predict.",
        "For query 0, which keys may be True? In which triangle do they lie?",
    ),
    zh=(
        "mask 允许看未来、屏蔽了过去（行列颠倒）",
        "行 i 是 query，列 j 是 key。保留上三角，每个位置看到的恰恰是它要预测的答案。",
        "对 query 0 来说，哪些 key 可以是 True？它们在哪个三角？",
    ),
)
def causal_mask(self, length, device=None):
    return square(length, device).triu()


@mistake(
    "causal-mask-inverted",
    en=(
        "True marks the blocked keys",
        "Here True means that the query may see the key. nn.MultiheadAttention uses the opposite convention, "
        "and a float mask of 0 and -inf turned to bool also comes out inverted.",
        "What does True mean in this exercise? Check entry (0, 0): a token may see itself.",
    ),
    zh=(
        "True 标的是被屏蔽的 key",
        "这里 True 表示 query 可以看到这个 key。nn.MultiheadAttention 的约定正好相反；把 0 和 -inf 的浮点 "
        "mask 转成 bool，也会得到相反的结果。",
        "在这个练习里 True 是什么意思？看看 (0, 0)：一个 token 可以看到自己。",
    ),
)
def causal_mask(self, length, device=None):
    return square(length, device).triu(1)


@mistake(
    "causal-mask-self-excluded",
    en=(
        "a query may not see its own position",
        "Position i predicts token i + 1 and may use token i. Without itself the first query has no key at "
        "all, and its softmax is NaN.",
        "Should the diagonal be True? Look at what your diagonal or your range starts and ends with.",
    ),
    zh=(
        "query 看不到自己所在的位置",
        "位置 i 预测第 i + 1 个 token，可以用第 i 个。去掉自己，第一个 query 就一个 key 都没有，softmax 得到 "
        "NaN。",
        "对角线应该是 True 吗？检查 diagonal 参数，或 range 的起止。",
    ),
)
def causal_mask(self, length, device=None):
    return square(length, device).tril(-1)


@mistake(
    "causal-mask-one-future-token",
    en=(
        "each query may see one token of the future",
        "Token i + 1 is just the answer that position i has to predict. A model trained so copies it and has "
        "learned nothing.",
        "Is the diagonal above the main one True? Look at what your diagonal or your range ends with.",
    ),
    zh=(
        "每个 query 能多看到一个未来的 token",
        "第 i + 1 个 token 正是位置 i 要预测的答案。这样训练，模型只会照抄，什么也学不到。",
        "主对角线上方那一条是 True 吗？检查 diagonal 参数，或 range 的终点。",
    ),
)
def causal_mask(self, length, device=None):
    return square(length, device).tril(1)


@mistake(
    "causal-mask-all-true",
    en=(
        "the mask allows everything",
        "Nothing is hidden, so each position sees the answer that it has to predict. tril returns a new "
        "tensor; the old one stays as it is.",
        "Which entries of your mask are False? And is the result of each step used?",
    ),
    zh=(
        "mask 什么都没有屏蔽",
        "没有遮住任何东西，每个位置都看得到要预测的答案。tril 返回的是新张量，原来的不会变。",
        "你的 mask 里有哪些 False？每一步的返回值都用上了吗？",
    ),
)
def causal_mask(self, length, device=None):
    return square(length, device)


@mistake(
    "causal-mask-all-false",
    en=(
        "the mask blocks everything",
        "A query without any key has nothing to average, and its softmax is NaN. The triangle of a matrix of "
        "zeros is zeros.",
        "Which entries of your mask are True? What do you start from, zeros or ones?",
    ),
    zh=(
        "mask 屏蔽了一切",
        "query 一个 key 都看不到，就没有东西可以平均，softmax 得到 NaN。全零矩阵的三角部分还是零。",
        "你的 mask 里有哪些 True？你是从全零还是全一开始的？",
    ),
)
def causal_mask(self, length, device=None):
    return ~square(length, device)


@mistake(
    "causal-mask-identity",
    en=(
        "a query may see itself alone",
        "The identity switches attention off: each token gets its own value back and hears of no other.",
        "Which keys besides its own may query 3 see?",
    ),
    zh=(
        "query 只能看到自己",
        "单位矩阵等于关掉了 attention：每个 token 只拿回自己的 value，听不到别人的。",
        "除了自己，query 3 还能看到哪些 key？",
    ),
)
def causal_mask(self, length, device=None):
    return square(length, device).triu().tril()


@mistake(
    "causal-mask-not-self",
    en=(
        "a query may see all keys but its own",
        "The future is visible and the present is not. j != i is another condition than j <= i.",
        "Which comparison of i and j says not later than?",
    ),
    zh=(
        "query 能看到除自己以外的所有 key",
        "这样未来可见，当前位置反而不可见。j != i 与 j <= i 是两个不同的条件。",
        "i 和 j 怎样比较，才表示“不晚于”？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return i != j


@mistake(
    "causal-mask-antidiagonal",
    en=(
        "the mask is an antidiagonal",
        "A flip turns the order of one side: query 0 then sees the last key alone.",
        "Which keys may query 0 see, and which does it see in yours?",
    ),
    zh=(
        "mask 是一条反对角线",
        "flip 颠倒了其中一边的次序：query 0 只看得到最后一个 key。",
        "query 0 应该看到哪些 key？在你的 mask 里又看到哪些？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return i + j == length - 1


@mistake(
    "causal-mask-flipped-columns",
    en=(
        "the triangle is mirrored: the columns are in reverse order",
        "Query 0 then sees the last key instead of the first one. Both sides count from the start of the "
        "text.",
        "Which keys may query 0 see, and which does it see in yours?",
    ),
    zh=(
        "三角形左右颠倒了：各列的次序相反",
        "这样 query 0 看到的是最后一个 key，而不是第一个。两边都要从文本开头数起。",
        "query 0 应该看到哪些 key？在你的 mask 里又看到哪些？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return i + j >= length - 1


@mistake(
    "causal-mask-flipped-rows",
    en=(
        "the triangle is upside down: the rows are in reverse order",
        "Query 0 then sees everything and the last one the first key alone. The later a query is, the more "
        "it may see.",
        "How many keys may query 0 see, and how many the last one?",
    ),
    zh=(
        "三角形上下颠倒了：各行的次序相反",
        "这样 query 0 什么都看得到，最后一个 query 却只看得到第一个 key。位置越靠后，能看到的应该越多。",
        "query 0 能看到几个 key？最后一个 query 呢？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return i + j < length


@mistake(
    "causal-mask-first-row-empty",
    en=(
        "the first query sees nothing",
        "A loop that starts at 1 leaves row 0 as it was. A query without any key has a softmax of NaN.",
        "Which value has i in the first round of your loop?",
    ),
    zh=(
        "第一个 query 什么都看不到",
        "循环从 1 开始，第 0 行就还是原样。query 一个 key 都没有，softmax 得到 NaN。",
        "循环第一轮里 i 是多少？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return (j <= i) & (i > 0)


@mistake(
    "causal-mask-last-row-empty",
    en=(
        "the last query sees nothing",
        "A loop that ends one short leaves the last row as it was. A query without any key has a softmax of "
        "NaN.",
        "Which value has i in the last round of your loop?",
    ),
    zh=(
        "最后一个 query 什么都看不到",
        "循环早结束一步，最后一行就还是原样。query 一个 key 都没有，softmax 得到 NaN。",
        "循环最后一轮里 i 是多少？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return (j <= i) & (i < length - 1)


@mistake(
    "causal-mask-first-row-open",
    en=(
        "the first query may see everything",
        "A loop that starts at 1 leaves row 0 as it was. The first position has the most future to leak.",
        "Which value has i in the first round of your loop?",
    ),
    zh=(
        "第一个 query 能看到一切",
        "循环从 1 开始，第 0 行就还是原样。第一个位置后面的未来最多，泄漏也最多。",
        "循环第一轮里 i 是多少？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return (j <= i) | (i == 0)


@mistake(
    "causal-mask-first-column-empty",
    en=(
        "no query may see the first key",
        "An inner loop or a slice that starts at 1 leaves out column 0. Every query may see the first token.",
        "Which value has j in the first round of your loop?",
    ),
    zh=(
        "所有 query 都看不到第一个 key",
        "内层循环或切片从 1 开始，就漏掉了第 0 列。第一个 token 是每个 query 都能看到的。",
        "内层循环第一轮里 j 是多少？",
    ),
)
def causal_mask(self, length, device=None):
    i, j = indices(length, device)
    return (j <= i) & (j > 0)


@mistake(
    "causal-mask-of-one-side",
    en=(
        "all rows (or all columns) of the mask are alike",
        "What a query may see depends on both positions, that of the query and that of the key. One alone, "
        "or one with a fixed number, makes no triangle.",
        "Which two numbers have to be compared for entry (i, j)?",
    ),
    zh=(
        "mask 的所有行（或所有列）都一样",
        "query 能看到什么，取决于 query 和 key 两者的位置。只用其中一个，或者与固定的数比较，得不到三角形。",
        "对 (i, j) 这一格，应该比较哪两个数？",
    ),
    parameters=(
        lambda i, j, length: (j == 0) & (i == i),
        lambda i, j, length: (j == length - 1) & (i == i),
        lambda i, j, length: (i == 0) & (j == j),
        lambda i, j, length: (i == length - 1) & (j == j),
        lambda i, j, length: (j < length - 1) & (i == i),
        lambda i, j, length: (i < length - 1) & (j == j),
        lambda i, j, length: (j > 0) & (i == i),
        lambda i, j, length: (i > 0) & (j == j),
        lambda i, j, length: (j < length // 2) & (i == i),
        lambda i, j, length: (i < length // 2) & (j == j),
        lambda i, j, length: (i >= length // 2) & (j == j),
        lambda i, j, length: (j >= length // 2) & (i == i),
    ),
)
def causal_mask(self, allowed, length, device=None):
    return allowed(*indices(length, device), length)


def _steps(formula, call, mask):
    """How many tokens back the last query sees, if not all."""
    seen = int(mask[-1].sum())
    return seen - 1 if 1 < seen < len(mask) else None


@mistake(
    "causal-mask-window",
    en=(
        "a query sees only the last few tokens before it",
        "A sliding window saves memory in some models. Causal attention here may look back to the start.",
        "May the last query see the first key?",
    ),
    zh=(
        "query 只能看到前面最近的几个 token",
        "滑动窗口在某些模型里用来省内存。这里的 causal attention 可以一直回看到开头。",
        "最后一个 query 能看到第一个 key 吗？",
    ),
    fit=_steps,
)
def causal_mask(self, steps, length, device=None):
    return square(length, device).tril().triu(-steps)


def _width(formula, call, mask):
    """How far the first query sees ahead, if not all the way."""
    seen = int(mask[0].sum())
    return seen - 1 if 1 < seen < len(mask) else None


@mistake(
    "causal-mask-band",
    en=(
        "the mask is a band around the diagonal, with as much future as past",
        "|i - j| forgets which of the two comes first. The future has to stay hidden, however near it is.",
        "Which entries above the diagonal are True, and why?",
    ),
    zh=(
        "mask 是对角线两侧的一条带，未来与过去看到的一样多",
        "|i - j| 分不出谁先谁后。未来再近，也必须遮住。",
        "对角线上方哪些格是 True？为什么？",
    ),
    fit=_width,
)
def causal_mask(self, width, length, device=None):
    return square(length, device).tril(width).triu(-width)


def _last_diagonal(formula, call, mask):
    """The last diagonal that the triangle includes."""
    ones = mask.nonzero()
    return int((ones[:, 1] - ones[:, 0]).max()) if len(mask) > 60 and len(ones) else None


@mistake(
    "causal-mask-shifted",
    en=(
        "the triangle is shifted: it ends some diagonals too early or too late",
        "Each diagonal above the main one is a token of the future that gets through, each one below it a "
        "token of the past that is lost.",
        "Which diagonal is the last that may be True?",
    ),
    zh=(
        "三角形错了位：早了或晚了几条对角线",
        "主对角线上方每多一条，就漏进来一个未来的 token；下方每少一条，就丢掉一个过去的 token。",
        "最后一条可以为 True 的对角线是哪一条？",
    ),
    fit=_last_diagonal,
)
def causal_mask(self, diagonal, length, device=None):
    return square(length, device).tril(diagonal)


def _first_diagonal(formula, call, mask):
    ones = mask.nonzero()
    return int((ones[:, 1] - ones[:, 0]).min()) if len(mask) > 60 and len(ones) else None


@mistake(
    "causal-mask-future-kept-shifted",
    en=(
        "the mask allows the future and blocks the past, and is shifted as well",
        "Row i is a query and column j a key: what comes later lies above the diagonal and has to be False.",
        "For query 0, which keys may be True? In which triangle do they lie?",
    ),
    zh=(
        "mask 允许看未来、屏蔽了过去，并且还错了位",
        "行 i 是 query，列 j 是 key：后来的位于对角线上方，必须是 False。",
        "对 query 0 来说，哪些 key 可以是 True？它们在哪个三角？",
    ),
    fit=_first_diagonal,
)
def causal_mask(self, diagonal, length, device=None):
    return square(length, device).triu(diagonal)


def _prefix(formula, call, mask):
    """How many keys the first query sees."""
    seen = int(mask[0].sum())
    return seen if 1 < seen < len(mask) else None


@mistake(
    "causal-mask-open-prefix",
    en=(
        "the first keys are open for all queries",
        "A prefix that all may see is made for prompts. In training, the first positions then see their "
        "answers.",
        "How many keys may query 0 see?",
    ),
    zh=(
        "最前面的几个 key 对所有 query 都可见",
        "所有人可见的前缀是为提示词准备的。训练时，最前面的几个位置就看到了答案。",
        "query 0 能看到几个 key？",
    ),
    fit=_prefix,
)
def causal_mask(self, prefix, length, device=None):
    i, j = indices(length, device)
    return (j <= i) | (j < prefix)


@mistake(
    "causal-mask-blocks",
    en=(
        "the positions are compared in blocks, so that a block sees its own future",
        "A division without rest puts several positions into one. Causality is a matter of single tokens.",
        "Which step makes two different positions equal?",
    ),
    zh=(
        "位置是按块比较的，同一块内能看到自己的未来",
        "整除会把好几个位置当成一个。因果性是针对单个 token 的。",
        "哪一步让两个不同的位置变得相等？",
    ),
    parameters=(2, 3, 4, 8, 16, 32, 64),
)
def causal_mask(self, size, length, device=None):
    i, j = indices(length, device)
    return j // size <= i // size


@mistake(
    "causal-mask-strided",
    en=(
        "a query sees only every second (or third) token of its past",
        "Sparse patterns exist, but here every earlier token is visible.",
        "Which of its earlier tokens does query 3 not see?",
    ),
    zh=(
        "query 只能看到过去每隔一个（或两个）的 token",
        "确实有这类稀疏的模式，但这里之前的每个 token 都可见。",
        "query 3 看不到之前的哪些 token？",
    ),
    parameters=itertools.product((2, 3, 4), ("distance", "key", "query")),
)
def causal_mask(self, form, length, device=None):
    step, kind = form
    i, j = indices(length, device)
    count = {"distance": i - j, "key": j + 0 * i, "query": i + 0 * j}[kind]
    return (j <= i) & (count % step == 0)


@mistake(
    "causal-mask-additive",
    en=(
        "the mask holds 0 and -inf (or another large negative number) instead of True and False",
        "Two conventions exist: numbers to add to the scores, and bools. This exercise wants bools; turned "
        "into them, 0 becomes False and -inf True, the opposite of what is meant.",
        "Which dtype does the docstring ask for, and what does True mean there?",
    ),
    zh=(
        "mask 里是 0 和 -inf（或别的大负数），而不是 True 和 False",
        "mask 有两种约定：加到分数上的数，或者布尔值。这个练习要布尔值；把它转成 bool，0 变成 False、-inf 变"
        "成 True，意思正好相反。",
        "文档字符串要求什么 dtype？其中 True 表示什么？",
    ),
    parameters=(-math.inf, -1e9, -1e4, -1e10, -1e30, float(torch.finfo(torch.float32).min)),
)
def causal_mask(self, fill, length, device=None):
    return torch.full((length, length), fill, dtype=torch.float64, device=device).triu(1)


def _fixed(formula, call, mask):
    length = call.args[0]
    return len(mask) if len(mask) not in (1, length - 1, length + 1) and mask.dim() == 2 else None


@mistake(
    "causal-mask-fixed-size",
    en=(
        "the mask has one size, whatever length is asked for",
        "A mask of the largest length has to be cut to the length of the text.",
        "Where does `length` enter into your mask?",
    ),
    zh=(
        "不管要求的长度是多少，mask 都是同一个大小",
        "按最大长度做的 mask，要截取到文本的实际长度。",
        "`length` 在你的 mask 里用在哪里？",
    ),
    fit=_fixed,
)
def causal_mask(self, size, length, device=None):
    return square(size, device).tril()


def _cap(formula, call, mask):
    return len(mask) if 1 < len(mask) < call.args[0] - 1 and mask.dim() == 2 else None


signed_mistake(
    "causal-mask-random",
    function="causal_mask",
    signs=(UNSTEADY,),
    en=(
        "the mask is another one each time it is made",
        "A mask made of random numbers or of memory that was not initialised hides other keys in each call. "
        "The triangle depends on the length alone.",
        "What do you start from, before the triangle is cut out?",
    ),
    zh=(
        "每次生成的 mask 都不一样",
        "由随机数或未初始化的内存得到的 mask，每次调用遮住的 key 都不同。三角形只取决于长度。",
        "在取三角形之前，你是从什么开始的？",
    ),
    fit=lambda formula, call, mask: mask.shape == (call.args[0],) * 2 or None,
)


@mistake(
    "causal-mask-remembered",
    en=(
        "the mask of an earlier call comes back, whatever length is asked for now",
        "A mask that is kept between calls fits only texts of the same length, on the same device.",
        "Which name outlives a call, and when is it made anew?",
    ),
    zh=(
        "不管这次要求的长度是多少，返回的都是之前某次调用的 mask",
        "保存在两次调用之间的 mask，只适合同样长度、同一设备上的文本。",
        "哪个变量在一次调用结束后还留着？它什么时候会重新生成？",
    ),
    fit=lambda formula, call, mask: len(mask),
    signs=(UNSTEADY,),
)
def causal_mask(self, size, length, device=None):
    return square(size, device).tril()


@mistake(
    "causal-mask-capped",
    en=(
        "the mask is too small for long texts",
        "A slice beyond the end of a tensor is silently short. A mask made for a fixed largest length does "
        "not grow with the text.",
        "What happens in your code when `length` is larger than any number written in it?",
    ),
    zh=(
        "文本一长，mask 就不够大",
        "切片超出张量末尾时不会报错，只会变短。按固定的最大长度做的 mask，不会随文本变长。",
        "当 `length` 比代码里写的任何数都大时，会发生什么？",
    ),
    fit=_cap,
)
def causal_mask(self, cap, length, device=None):
    return square(min(cap, length), device).tril()


@mistake(
    "causal-mask-extra-dimensions",
    en=(
        "the mask has additional dimensions in front",
        "(L, L) broadcasts to any number of samples and heads by itself; a fixed number of dimensions fits "
        "one rank only.",
        "Which shape does the docstring ask for?",
    ),
    zh=(
        "mask 前面多了几个维度",
        "(L, L) 自己就能广播到任意多的样本和头；固定的维数只适合一种情况。",
        "文档字符串要求什么形状？",
    ),
    parameters=(1, 2),
)
def causal_mask(self, more, length, device=None):
    return square(length, device).tril()[(None,) * more]


@mistake(
    "causal-mask-wrong-size",
    en=(
        "the mask has not the shape (length, length)",
        "There is a row for each query and a column for each key, so both sizes are the length itself.",
        "For a text of 1 token, which shape has your mask?",
    ),
    zh=(
        "mask 的形状不是 (length, length)",
        "每个 query 一行、每个 key 一列，所以两个大小都等于 length。",
        "文本只有 1 个 token 时，你的 mask 是什么形状？",
    ),
    parameters=(
        lambda length, device: square(max(0, length - 1), device).tril(),
        lambda length, device: square(length + 1, device).tril(),
        lambda length, device: torch.ones(length, dtype=torch.bool, device=device),
        lambda length, device: square(length, device).tril()[:, :-1],
        lambda length, device: square(length, device).tril()[:-1],
        lambda length, device: square(length, device).tril()[-1:],
        lambda length, device: square(length, device).tril()[:1],
        lambda length, device: torch.ones(length, 1, dtype=torch.bool, device=device),
        lambda length, device: torch.tril_indices(length, length, device=device or "cpu"),
    ),
)
def causal_mask(self, mask_of, length, device=None):
    return mask_of(length, device)


# --- the mask has no effect, or only sometimes


@mistake(
    "mask-ignored",
    en=(
        "the mask has no effect",
        "Every query then sees all keys, the future too. masked_fill, where and + make a new tensor: the old "
        "scores stay as they are.",
        "Which tensor goes into your softmax, and has the mask changed it?",
    ),
    zh=(
        "mask 没有起作用",
        "这样每个 query 都看得到所有 key，包括未来的。masked_fill、where 和 + 都会生成新张量，原来的分数不会"
        "变。",
        "送进 softmax 的是哪个张量？mask 改动它了吗？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(scores)


@mistake(
    "mask-condition-reversed",
    en=(
        "the mask is applied when there is none, and ignored when there is one",
        "The condition is the wrong way round: with None your code fails, and with a mask every query sees "
        "all keys.",
        "Read your `if` aloud: in which case does the next line run?",
    ),
    zh=(
        "没有 mask 时才去用 mask，有 mask 时反而忽略",
        "条件写反了：传 None 时代码出错，传 mask 时每个 query 却看得到所有 key。",
        "把你的 `if` 念一遍：什么情况下会执行下一行？",
    ),
)
def attention_weights(self, scores, mask=None):
    if mask is None:
        raise TypeError("no mask to apply")
    return softmax(scores)


def _rank_in(*ranks):
    return lambda scores, mask: scores.dim() in ranks


@mistake(
    "mask-only-in-4d",
    en=(
        "the mask is applied for scores of some number of dimensions and not for others",
        "A mask broadcasts to the scores in any rank. A condition on the rank lets the others see "
        "everything.",
        "Which condition stands before the line that applies the mask, and is it only about None?",
    ),
    zh=(
        "只有某些维数的分数才加了 mask，其余的没有",
        "任何维数下 mask 都能广播到分数上。按维数加条件，其他情况就什么都看得到。",
        "加 mask 的那一行前面有什么条件？它只判断了 None 吗？",
    ),
    parameters=(
        *(_rank_in(*ranks) for ranks in ((4,), (4, 5), (3, 4), (3, 4, 5))),
        lambda scores, mask: scores.dim() < 3,
        lambda scores, mask: scores.dim() == 3,
        lambda scores, mask: scores.dim() < 4,
        lambda scores, mask: scores.dim() < 5,
    ),
)
def attention_weights(self, applies, scores, mask=None):
    return softmax(blocked(scores, mask) if mask is not None and applies(scores, mask) else scores)


@mistake(
    "mask-only-when-same-rank",
    en=(
        "the mask is applied only if it has as many dimensions as the scores, or only if it has few",
        "A mask may be shared: (L_q, L_k) for all, or one for each sample. Broadcasting takes care of it.",
        "Which condition stands before the line that applies the mask, and is it only about None?",
    ),
    zh=(
        "只有 mask 与分数维数相同（或维数较少）时才加了 mask",
        "mask 可以共用：所有样本共用一个 (L_q, L_k)，或者每个样本一个。广播会处理好这一切。",
        "加 mask 的那一行前面有什么条件？它只判断了 None 吗？",
    ),
    parameters=(
        lambda scores, mask: scores.dim() == mask.dim(),
        lambda scores, mask: scores.shape == mask.shape,
        lambda scores, mask: scores.shape[-2:] == mask.shape[-2:],
        lambda scores, mask: mask.dim() == 2,
        lambda scores, mask: mask.dim() == 3,
        lambda scores, mask: mask.dim() == 4,
        lambda scores, mask: mask.dim() > 2,
        lambda scores, mask: mask.dim() < 4,
        lambda scores, mask: mask.dim() in (2, 4),
        lambda scores, mask: scores.dim() != mask.dim(),
    ),
)
def attention_weights(self, applies, scores, mask=None):
    return softmax(blocked(scores, mask) if mask is not None and applies(scores, mask) else scores)


@mistake(
    "mask-only-when-square",
    en=(
        "the mask is applied only if there are as many queries as keys",
        "Padding and attention between two texts have masks that are not square.",
        "Which condition stands before the line that applies the mask, and is it only about None?",
    ),
    zh=(
        "只有 query 与 key 个数相同时才加了 mask",
        "padding 以及两段文本之间的 attention，mask 都不是方的。",
        "加 mask 的那一行前面有什么条件？它只判断了 None 吗？",
    ),
    parameters=(True, False),
)
def attention_weights(self, square, scores, mask=None):
    applies = (scores.shape[-1] == scores.shape[-2]) == square
    return softmax(blocked(scores, mask) if applies else scores)


@mistake(
    "mask-only-for-several-queries",
    en=(
        "the mask is ignored where there is one query alone, or one key alone",
        "One query needs its mask as much as many do: when text is made token by token, every call has one "
        "query, and padding is hidden all the same.",
        "Which condition stands before the line that applies the mask, and is it only about None?",
    ),
    zh=(
        "只有一个 query 或只有一个 key 时，mask 被忽略了",
        "只有一个 query 时同样需要 mask：逐个 token 生成文本时，每次调用都只有一个 query，填充照样要遮住。",
        "加 mask 的那一行前面有什么条件？它只判断了 None 吗？",
    ),
    parameters=(lambda scores: scores.shape[-2] > 1, lambda scores: scores.shape[-1] > 1),
)
def attention_weights(self, applies, scores, mask=None):
    return softmax(blocked(scores, mask) if applies(scores) else scores)


@mistake(
    "mask-only-for-batches",
    en=(
        "whether the mask is applied depends on the size of the first dimension: 1, or more",
        "One sample needs its mask as much as many do. It shows only with a batch of one.",
        "Which condition stands before the line that applies the mask, and is it only about None?",
    ),
    zh=(
        "mask 是否起作用，取决于第一维的大小是 1 还是更大",
        "只有一个样本时同样需要 mask。这个错误只有在 batch 为 1 时才看得出来。",
        "加 mask 的那一行前面有什么条件？它只判断了 None 吗？",
    ),
    parameters=(
        lambda scores: scores.shape[0] > 1,
        lambda scores: scores.dim() < 3 or scores.shape[0] > 1,
        lambda scores: scores.shape[0] == 1,
    ),
)
def attention_weights(self, applies, scores, mask=None):
    return softmax(blocked(scores, mask) if applies(scores) else scores)


# --- True and False


def _added(self, scores, bias):
    """The sum as it comes out in the dtype of the call: float32 loses the scores beside 1e9."""
    return (scores.to(self.dtype) + bias.to(self.dtype)).double()


@mistake(
    "mask-inverted",
    en=(
        "True is read as blocked: the allowed keys are taken out and the blocked ones stay",
        "In this exercise True means that a query may see a key. masked_fill fills where its mask is True, "
        "and nn.MultiheadAttention calls blocked what is True.",
        "Which entries does your code fill: those with True or those with False?",
    ),
    zh=(
        "把 True 当成了屏蔽：可见的 key 被去掉，被屏蔽的反而留下",
        "在这个练习里，True 表示 query 可以看到这个 key。masked_fill 填充的是 True 的位置；"
        "nn.MultiheadAttention 里 True 则表示屏蔽。",
        "你的代码填充的是哪些位置：True 的还是 False 的？",
    ),
    parameters=("-inf", "finite", "added", "added as float32"),
)
def attention_weights(self, form, scores, mask=None):
    if mask is None:
        return softmax(scores)
    if form.startswith("added"):
        return softmax(_added(self, scores, -1e9 * mask))
    return softmax(blocked(scores, ~mask, -math.inf if form == "-inf" else -1e9))


@mistake(
    "mask-inverted-after-softmax",
    en=(
        "the weights of the allowed keys are set to 0 and the blocked ones stay",
        "True means that a query may see a key. And a mask belongs before the softmax, so that blocked keys "
        "are not in its sum.",
        "Which weights should be 0: those with True or those with False? And what do the rest sum to?",
    ),
    zh=(
        "可见的 key 权重被置成 0，被屏蔽的反而留下",
        "True 表示 query 可以看到这个 key。而且 mask 要加在 softmax 之前，被屏蔽的 key 才不会进入求和。",
        "权重为 0 的应该是 True 还是 False 的位置？剩下的和是多少？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(scores) if mask is None else softmax(scores) * ~mask


@mistake(
    "mask-inverted-fill-zero",
    en=(
        "the scores of the allowed keys are set to 0 and the blocked ones stay",
        "True means that a query may see a key. And 0 is an ordinary score: exp(0) = 1.",
        "Which scores should be changed: those with True or those with False? To what?",
    ),
    zh=(
        "可见的 key 分数被置成 0，被屏蔽的反而留下",
        "True 表示 query 可以看到这个 key。而且 0 只是一个普通的分数：exp(0) = 1。",
        "应该改动的是 True 还是 False 的分数？改成什么？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(scores if mask is None else blocked(scores, ~mask, 0.0))


# --- what is filled in


@mistake(
    "fill-zero",
    en=(
        "the scores of blocked keys are set to 0 (or multiplied by the mask, or filled with -1e-9)",
        "0 is an ordinary score: exp(0) = 1, so a blocked key still gets a share. -1e-9 is 0 as well; -1e9 "
        "is the large number.",
        "Which number x has exp(x) = 0?",
    ),
    zh=(
        "被屏蔽的 key 分数被置成了 0（或者乘上了 mask，或者填了 -1e-9）",
        "0 是一个普通的分数：exp(0) = 1，被屏蔽的 key 仍会分到权重。-1e-9 也几乎是 0，-1e9 才是绝对值很大的"
        "数。",
        "哪个数 x 能让 exp(x) = 0？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(blocked(scores, mask, 0.0))


@mistake(
    "mask-added",
    en=(
        "the mask itself is added to the scores, as 1 and 0",
        "A mask that is added has to hold 0 for allowed and -inf for blocked keys. True is 1: the allowed "
        "ones are only a little ahead.",
        "Which numbers would have to be added so that a blocked key drops out altogether?",
    ),
    zh=(
        "mask 本身（1 和 0）被直接加到了分数上",
        "要相加的 mask，可见处应是 0，屏蔽处应是 -inf。True 是 1，可见的 key 只比别人领先一点点。",
        "加上什么数，被屏蔽的 key 才会完全消失？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(scores if mask is None else scores + mask.double())


@mistake(
    "mask-subtracted",
    en=(
        "the mask is subtracted from the scores, or its opposite added, as 1 and 0",
        "The blocked keys even come out ahead by 1. A mask that is added has to hold 0 for allowed and -inf "
        "for blocked keys.",
        "Which numbers would have to be added so that a blocked key drops out altogether?",
    ),
    zh=(
        "分数减去了 mask，或者加上了取反的 mask（1 和 0）",
        "这样被屏蔽的 key 反而领先 1。要相加的 mask，可见处应是 0，屏蔽处应是 -inf。",
        "加上什么数，被屏蔽的 key 才会完全消失？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(scores if mask is None else scores - mask.double())


@mistake(
    "fill-plus-inf",
    en=(
        "every row with a blocked key is NaN, as it is with a fill of +inf or NaN",
        'exp(+inf) is infinite, and infinity over infinity is NaN. Two minus signs, as in -float("-inf"), '
        "make a plus.",
        "Which sign has the number that you fill in?",
    ),
    zh=(
        "只要一行里有被屏蔽的 key，整行就是 NaN，填入 +inf 或 NaN 时就是这样",
        'exp(+inf) 是无穷，无穷除以无穷就是 NaN。两个负号（如 -float("-inf")）会变成正号。',
        "你填入的数是正的还是负的？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(blocked(scores, mask, math.inf))


@mistake(
    "fill-plus-large",
    en=(
        "blocked keys get a very large positive score",
        "They then take all the weight from the allowed ones. exp is near 0 for large negative numbers.",
        "Which sign has the number that you fill in?",
    ),
    zh=(
        "被屏蔽的 key 得到了很大的正分数",
        "它们会从可见的 key 那里拿走全部权重。要让 exp 接近 0，必须是绝对值很大的负数。",
        "你填入的数是正的还是负的？",
    ),
    parameters=(False, True),
)
def attention_weights(self, added, scores, mask=None):
    if mask is None:
        return softmax(scores)
    return softmax(_added(self, scores, 1e9 * ~mask) if added else blocked(scores, mask, 1e9))


@mistake(
    "mask-zero-times-inf",
    en=(
        "0 is multiplied by infinity, which is NaN",
        "(1 - mask) * -inf looks like 0 for allowed keys, but 0 * inf is not a number, and one NaN fills the "
        "whole row.",
        "How can a number be chosen by a mask without a multiplication?",
    ),
    zh=(
        "0 乘上了无穷，得到 NaN",
        "(1 - mask) * -inf 看上去在可见处是 0，但 0 * inf 不是数，一个 NaN 就会毁掉整行。",
        "不用乘法，怎样按 mask 来选择一个数？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(scores) if mask is None else torch.full_like(scores, math.nan)


@mistake(
    "mask-not-of-integers",
    en=(
        "all keys are blocked as soon as there is a mask",
        "~ inverts the bits: of a bool it is the opposite, of the integers 1 and 0 it gives -2 and -1, which "
        "are both true.",
        "Which dtype has the mask where you invert it?",
    ),
    zh=(
        "只要有 mask，所有 key 都被屏蔽了",
        "~ 是按位取反：对 bool 得到相反的值，对整数 1 和 0 却得到 -2 和 -1，两者都为真。",
        "取反的时候，mask 是什么 dtype？",
    ),
)
def attention_weights(self, scores, mask=None):
    return softmax(scores if mask is None else torch.full_like(scores, -1e9))


@mistake(
    "mask-guessed-from-zero-scores",
    en=(
        "every score of exactly 0 is taken for blocked",
        "A query at right angles to a key has the score 0 and may still see it. Only the mask says what is "
        "blocked.",
        "Can a score be 0 without the mask's doing?",
    ),
    zh=(
        "恰好为 0 的分数都被当成了屏蔽",
        "query 与 key 正交时分数就是 0，但它仍然可以看到这个 key。什么被屏蔽，只由 mask 决定。",
        "不经过 mask，分数有可能是 0 吗？",
    ),
    parameters=itertools.product((-math.inf, -1e9), (True, False)),
)
def attention_weights(self, form, scores, mask=None):
    fill, only_with_mask = form
    if mask is None and only_with_mask:
        return softmax(scores)
    scores = blocked(scores, mask, 0.0)
    return softmax(scores.masked_fill(scores == 0, fill))


def _shown(call, weights):
    """Scores, weights and mask of a call with a blocked key in it; None if it has none."""
    scores, mask = call.args[0].double(), (*call.args[1:], None)[0]
    if mask is None or not bool((~mask).any()) or not bool(weights.isfinite().all()):
        return None
    return scores, weights, mask.expand_as(scores)


def _fills(call, weights):
    """In each place, the score that a blocked key with this weight has; NaN where none shows."""
    shown = _shown(call, weights)
    if shown is None:
        return None
    scores, weights, mask = shown
    best, at = (weights * mask).max(-1, keepdim=True)
    fills = weights.log() - best.log() + scores.gather(-1, at)
    known = ~mask & (best > 1e-300) & (weights > 1e-300)
    return fills.masked_fill(~known, math.nan)


_STRONG_BUT_FINITE = -1000.0  # drowns ordinary scores, and is above the checks' large negative ones


def _fill(formula, call, weights):
    """The score that blocked keys get."""
    fills = _fills(call, weights)
    if fills is None:
        return None
    if fills.isnan().all():
        _, weights, mask = _shown(call, weights)
        return _STRONG_BUT_FINITE if bool((weights * ~mask).any()) else None
    return float(fills.nanmedian())


@mistake(
    "fill-weak",
    en=(
        "blocked keys get a score that is only somewhat low, such as -5, -10 or -1000",
        "exp(-10) is small and not 0, and -1000 is no lower than real scores can be. What is left over lets "
        "the future through.",
        "Which number is below every score that can occur?",
    ),
    zh=(
        "被屏蔽的 key 得到的分数只是偏低，例如 -5、-10 或 -1000",
        "exp(-10) 虽小却不是 0，而真实的分数也可能低到 -1000。剩下的一点就会让未来漏过来。",
        "哪个数比一切可能出现的分数都低？",
    ),
    fit=_fill,
)
def attention_weights(self, fill, scores, mask=None):
    return softmax(blocked(scores, mask, fill))


def _bias(formula, call, weights):
    """What is added to the scores of blocked keys."""
    fills = _fills(call, weights)
    if fills is None:
        return None
    if fills.isnan().all():
        _, weights, mask = _shown(call, weights)
        return _STRONG_BUT_FINITE if bool((weights * ~mask).any()) else None
    return float((fills - call.args[0].double()).nanmedian())


@mistake(
    "add-weak",
    en=(
        "only a moderate number is taken off the scores of blocked keys",
        "A difference of 10 leaves a share of e^-10, and one of 100 is made up for by large scores. A "
        "blocked key must get exactly 0.",
        "Which number can be added to any score so that exp of it is 0?",
    ),
    zh=(
        "被屏蔽的 key 的分数只减去了一个不大的数",
        "相差 10 还会剩下 e^-10 的份额，相差 100 也会被很大的分数抵消。被屏蔽的 key 必须严格为 0。",
        "无论分数是多少，加上哪个数才能让 exp 为 0？",
    ),
    fit=_bias,
)
def attention_weights(self, bias, scores, mask=None):
    return softmax(scores if mask is None else scores + bias * ~mask)


_MINIMA = (
    lambda scores, mask: scores.min(),
    lambda scores, mask: scores.amin(-1, keepdim=True),
    lambda scores, mask: scores.amin((-2, -1), keepdim=True),
    lambda scores, mask: scores.masked_fill(~mask, math.inf).amin(-1, keepdim=True),
    lambda scores, mask: scores.masked_fill(~mask, math.inf).min(),
    lambda scores, mask: scores.mean(-1, keepdim=True),
    lambda scores, mask: scores.mean(),
)


def _below(formula, call, weights):
    """(number, difference): the fill in relation to the smallest score, of everything or of a row."""
    fills = _fills(call, weights)
    if fills is None or bool(fills.isnan().all()) or fills.shape[:-2].numel() == 1:
        return None  # in a single table, the smallest of it is the smallest of everything
    scores, _, mask = _shown(call, weights)
    for number, minimum in enumerate(_MINIMA):
        below = fills - minimum(scores, mask)
        below = below[~below.isnan()]
        if len(below) > 1 and float(below.max() - below.min()) < 1e-5:
            return number, float(below.median())
    return None


@mistake(
    "fill-relative-to-minimum",
    en=(
        "blocked keys get a score relative to the smallest (or mean) one",
        "The fill then depends on other scores, blocked ones and other samples too, and a difference of 5 "
        "leaves e^-5 of a share.",
        "Which number is below every score without looking at any?",
    ),
    zh=(
        "被屏蔽的 key 得到的分数是相对于最小（或平均）分数而定的",
        "这样填入的数取决于别的分数，甚至别的样本；而且只低 5，还会剩下 e^-5 的份额。",
        "不看任何分数，哪个数就一定比它们都低？",
    ),
    fit=_below,
)
def attention_weights(self, form, scores, mask=None):
    number, difference = form
    if mask is None:
        return softmax(scores)
    return softmax(torch.where(mask, scores, _MINIMA[number](scores, mask) + difference))


# --- when it is applied


@mistake(
    "mask-after-softmax",
    en=(
        "the mask is applied after the softmax",
        "The blocked keys are still in the sum below the fraction: the weights of the allowed ones sum to "
        "less than 1, and depend on the future.",
        "What do the weights of a row sum to after your last step? When should a key drop out?",
    ),
    zh=(
        "mask 加在了 softmax 之后",
        "被屏蔽的 key 仍在分母的求和里：可见 key 的权重之和小于 1，而且会受未来影响。",
        "最后一步之后，一行权重之和是多少？一个 key 应该在哪一步被去掉？",
    ),
)
def attention_weights(self, scores, mask=None):
    return blocked(softmax(scores), mask, 0.0)


@mistake(
    "mask-after-softmax-with-minus-inf",
    en=(
        "-inf is filled in after the softmax",
        "Before the softmax -inf turns into 0 by exp. After it there is no exp any more, and the output is "
        "infinite or NaN.",
        "Which step turns -inf into a weight of 0? Does it come after your mask?",
    ),
    zh=(
        "-inf 填在了 softmax 之后",
        "在 softmax 之前，-inf 会被 exp 变成 0。之后就不再有 exp，输出会变成无穷或 NaN。",
        "哪一步把 -inf 变成权重 0？它在你的 mask 之后吗？",
    ),
    parameters=(-math.inf, -1e9, -1e4, -1e10),
)
def attention_weights(self, fill, scores, mask=None):
    return blocked(softmax(scores), mask, fill)


@mistake(
    "renormalise-after-softmax",
    en=(
        "blocked keys take part in the softmax and are divided out afterwards",
        "That is right on paper. But if a blocked score is far above the allowed ones, their exps are 0 by "
        "then, and 0 / 0 is NaN. So it is, too, if the largest score is taken before the mask is applied.",
        "Where does the mask belong, so that no blocked score takes part in anything?",
    ),
    zh=(
        "被屏蔽的 key 先参与了 softmax，之后才被除掉",
        "在纸面上这是对的。但如果被屏蔽的分数远高于可见的，可见 key 的 exp 这时已经是 0，而 0 / 0 是 NaN。在"
        "加 mask 之前就取最大分数，也会这样。",
        "mask 应该加在哪里，才能让被屏蔽的分数什么都不参与？",
    ),
    parameters=(0.0, 1e-300, 1e-12, 1e-9, 1e-38),
)
def attention_weights(self, least, scores, mask=None):
    weights = blocked(softmax(scores), mask, 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp_min(least)


# --- another mask than the one that was given


def _aligned_past(scores):
    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril(scores.shape[-1] - scores.shape[-2])


@mistake(
    "always-causal",
    en=(
        "the weights are always causal, whatever mask is given",
        "Which keys are allowed is the caller's decision: no mask means all of them, and a padding mask is "
        "not causal.",
        "Where does the argument `mask` enter into your result?",
    ),
    zh=(
        "不管传入什么 mask，权重总是 causal 的",
        "哪些 key 可见由调用者决定：不传 mask 就是全部可见，padding mask 也不是 causal 的。",
        "参数 `mask` 在你的结果里用在哪里？",
    ),
    parameters=itertools.product((past_of, _aligned_past), STRONG),
)
def attention_weights(self, form, scores, mask=None):
    past, fill = form
    return softmax(blocked(scores, past(scores), fill))


@mistake(
    "causal-when-no-mask",
    en=(
        "a causal mask is used when none is given",
        "None means that every query may see every key.",
        "What should happen to the scores when `mask` is None?",
    ),
    zh=(
        "没有传 mask 时自动用了 causal mask",
        "None 表示每个 query 都可以看到每个 key。",
        "`mask` 为 None 时，应该对分数做什么？",
    ),
    parameters=itertools.product((past_of, _aligned_past), STRONG),
)
def attention_weights(self, form, scores, mask=None):
    past, fill = form
    return softmax(blocked(scores, past(scores) if mask is None else mask, fill))


@mistake(
    "mask-replaced-by-causal",
    en=(
        "a causal mask is used in place of the mask that is given",
        "The argument is the mask itself and no switch. Padding and other masks get lost.",
        "Where do the entries of the argument `mask` enter into your result?",
    ),
    zh=(
        "传入的 mask 被换成了 causal mask",
        "这个参数就是 mask 本身，而不是一个开关。padding 等其他 mask 都丢了。",
        "参数 `mask` 里的各个值在你的结果里用在哪里？",
    ),
    parameters=itertools.product((past_of, _aligned_past), STRONG),
)
def attention_weights(self, form, scores, mask=None):
    past, fill = form
    return softmax(blocked(scores, None if mask is None else past(scores), fill))


@mistake(
    "mask-or-causal",
    en=(
        "a key is visible if the mask allows it or if it is not in the future",
        "Masks that say allowed are combined with and: every one of them must agree. Here the caller's mask "
        "is all there is.",
        "If two masks say who may see what, and one of them says no, what should come out?",
    ),
    zh=(
        "只要 mask 允许，或者 key 不在未来，它就可见",
        "表示“允许”的 mask 要用“与”来组合：每一个都同意才行。而这里只需要用调用者给的 mask。",
        "两个 mask 规定谁能看到什么，其中一个说不行，结果应该是什么？",
    ),
    parameters=(past_of, _aligned_past),
)
def attention_weights(self, past, scores, mask=None):
    return softmax(scores if mask is None else blocked(scores, mask | past(scores)))


@mistake(
    "mask-and-causal",
    en=(
        "the future is blocked in addition to what the mask blocks",
        "The caller says all there is to say: a mask of two texts or of padding may allow later keys.",
        "Where does a triangle come into your weights, and who asked for it?",
    ),
    zh=(
        "除了 mask 屏蔽的之外，未来也被屏蔽了",
        "该屏蔽什么，调用者已经全说了：两段文本之间的 mask 或 padding mask，可以允许看后面的 key。",
        "你的权重里哪来的三角形？是谁要求的？",
    ),
    parameters=itertools.product((past_of, _aligned_past), STRONG, (True, False)),
)
def attention_weights(self, form, scores, mask=None):
    past, fill, also_without = form
    if mask is None:
        return softmax(blocked(scores, past(scores) if also_without else None, fill))
    return softmax(blocked(scores, mask & past(scores), fill))


@mistake(
    "mask-keeps-self",
    en=(
        "the diagonal is always visible, whatever the mask says",
        "A guard against rows that see nothing gives every query key i, even where it is blocked, and even "
        "where queries and keys are different texts.",
        "Is there an entry that your code allows although the mask blocks it?",
    ),
    zh=(
        "不管 mask 怎么规定，对角线总是可见",
        "为了防止某行什么都看不到，让第 i 个 key 总是可见，结果被屏蔽的也放了进来；何况 query 和 key 可能来"
        "自不同的文本。",
        "有没有哪一格是 mask 屏蔽了、你的代码却放行的？",
    ),
)
def attention_weights(self, scores, mask=None):
    own = torch.eye(*scores.shape[-2:], dtype=torch.bool)
    return softmax(scores if mask is None else blocked(scores, mask | own))


@mistake(
    "mask-keeps-first-key",
    en=(
        "the first (or last) key is always visible, whatever the mask says",
        "Some models keep a first token open for all. Here the mask decides for every key.",
        "Is there a key that your code allows although the mask blocks it?",
    ),
    zh=(
        "不管 mask 怎么规定，第一个（或最后一个）key 总是可见",
        "有些模型会让第一个 token 对所有人开放。这里每个 key 都由 mask 决定。",
        "有没有哪个 key 是 mask 屏蔽了、你的代码却放行的？",
    ),
    parameters=(0, -1),
)
def attention_weights(self, at, scores, mask=None):
    if mask is None:
        return softmax(scores)
    open_ = torch.zeros(scores.shape[-1], dtype=torch.bool)
    open_[at] = True
    return softmax(blocked(scores, mask | open_))


@mistake(
    "mask-transposed",
    en=(
        "rows and columns of the mask are swapped",
        "mask[i, j] says whether query i may see key j. Swapped, a causal mask lets every query see its "
        "future. It raises wherever queries and keys are not as many.",
        "Which side of the mask goes with the queries?",
    ),
    zh=(
        "mask 的行和列对调了",
        "mask[i, j] 表示 query i 能否看到 key j。行列对调后，causal mask 会让每个 query 看到未来。query 与 "
        "key 个数不同时则会报错。",
        "mask 的哪一维对应 query？",
    ),
    parameters=STRONG,
)
def attention_weights(self, fill, scores, mask=None):
    return softmax(blocked(scores, None if mask is None else mask.mT, fill))


@mistake(
    "padding-on-the-query-axis",
    en=(
        "a mask of keys, with one row for all queries, is laid along the queries",
        "Padding takes out keys: a column of the scores, for every query. Along the queries it takes out "
        "rows, and the padded keys stay visible.",
        "In (..., 1, L_k), which dimension is shared by all queries?",
    ),
    zh=(
        "对 key 的 mask（所有 query 共用一行）被放到了 query 的方向上",
        "padding 去掉的是 key：对每个 query 而言，是分数中的一列。放到 query 方向，去掉的就是行，padding 的 "
        "key 依然可见。",
        "在 (..., 1, L_k) 中，哪一维由所有 query 共用？",
    ),
    parameters=STRONG,
)
def attention_weights(self, fill, scores, mask=None):
    if mask is not None and mask.shape[-2] == 1:
        mask = mask.mT
    return softmax(blocked(scores, mask, fill))


@mistake(
    "mask-cut-square",
    en=(
        "the mask is cut to as many keys as there are queries",
        "Queries and keys may be of different number; the mask has a column for each key.",
        "Which size of the scores do you cut the columns of the mask to?",
    ),
    zh=(
        "mask 被截成了与 query 个数相同的列数",
        "query 与 key 的个数可以不同，mask 的每一列对应一个 key。",
        "你是按分数的哪个大小来截 mask 的列的？",
    ),
)
def attention_weights(self, scores, mask=None):
    length = scores.shape[-2]
    return softmax(blocked(scores, None if mask is None else mask[..., :length, :length]))


@mistake(
    "mask-unsqueezed-for-heads",
    en=(
        "the mask gets one more dimension before it meets the scores",
        "A mask comes in a shape that broadcasts to the scores. Another dimension shifts samples to heads, "
        "and makes the result larger.",
        "Which shapes does the docstring allow for the mask, and does it need any more help?",
    ),
    zh=(
        "mask 在与分数相遇之前又多了一个维度",
        "传入的 mask 形状本来就能广播到分数上。再加一维，样本会错位成头，结果也会变大。",
        "文档字符串允许 mask 有哪些形状？还需要额外处理吗？",
    ),
    parameters=(1, 0, -3),
)
def attention_weights(self, dim, scores, mask=None):
    return softmax(blocked(scores, None if mask is None else mask.unsqueeze(dim)))


@mistake(
    "mask-rank-3-as-batch",
    en=(
        "a mask of three dimensions is read as one for each sample",
        "By the rules of broadcasting (A, L_q, L_k) is one mask for each head. To tell samples apart it has "
        "to be (B, 1, L_q, L_k), and that is up to the caller.",
        "With which dimension of the scores does broadcasting match the first of a three-dimensional mask?",
    ),
    zh=(
        "三维的 mask 被当成了每个样本一个",
        "按广播规则，(A, L_q, L_k) 是每个头一个 mask。要区分样本，就得是 (B, 1, L_q, L_k)，这由调用者负责。",
        "广播时，三维 mask 的第一维与分数的哪一维对齐？",
    ),
)
def attention_weights(self, scores, mask=None):
    if mask is not None and mask.dim() == 3 and scores.dim() == 4:
        mask = mask.unsqueeze(1)
    return softmax(blocked(scores, mask))


@mistake(
    "mask-of-the-first-sample",
    en=(
        "the mask of the first sample is used for all",
        "Each sentence of a batch has padding of its own. It shows only where the masks differ.",
        "Where does your code pick one element of the first dimension of the mask?",
    ),
    zh=(
        "所有样本都用了第一个样本的 mask",
        "batch 里每个句子都有自己的 padding。只有 mask 各不相同时才看得出这个错误。",
        "你的代码在哪里取了 mask 第一维的某一个元素？",
    ),
    parameters=(
        lambda mask: mask[:1] if mask.dim() > 2 else mask,
        lambda mask: mask[:1] if mask.dim() > 3 else mask,
        lambda mask: mask[:1] if mask.dim() == 4 else mask,
        lambda mask: mask[0] if mask.dim() > 2 else mask,
        lambda mask: mask[-1:] if mask.dim() > 2 else mask,
        lambda mask: mask[0] if mask.dim() == 3 else mask,
        lambda mask: mask[:1],
    ),
)
def attention_weights(self, first, scores, mask=None):
    return softmax(blocked(scores, None if mask is None else first(mask)))


@mistake(
    "mask-of-the-first-head",
    en=(
        "the mask of the first head is used for all",
        "A mask may differ from head to head; broadcasting takes care of those that do not.",
        "Where does your code pick one element of the dimension of the heads?",
    ),
    zh=(
        "所有头都用了第一个头的 mask",
        "各个头的 mask 可以不同；相同的话，广播自会处理。",
        "你的代码在哪里对头那一维只取了一个元素？",
    ),
    parameters=(
        lambda mask: mask[:, :1] if mask.dim() == 4 else mask,
        lambda mask: mask[..., :1, :, :] if mask.dim() > 2 else mask,
        lambda mask: mask[..., :1, :, :] if mask.dim() > 3 else mask,
        lambda mask: mask[:, :1] if mask.dim() > 3 else mask,
        lambda mask: mask[..., -1:, :, :] if mask.dim() > 2 else mask,
    ),
)
def attention_weights(self, first, scores, mask=None):
    return softmax(blocked(scores, None if mask is None else first(mask)))


@mistake(
    "mask-of-the-first-everything",
    en=(
        "the very first matrix of the mask is used for all samples and heads",
        "A squeeze, a reshape or an index [0] keeps one (L_q, L_k) of many. It shows only where the masks "
        "differ.",
        "Which step makes a mask of many dimensions one of two?",
    ),
    zh=(
        "所有样本和所有头都用了 mask 的第一个矩阵",
        "squeeze、reshape 或下标 [0] 只留下了众多 (L_q, L_k) 中的一个。只有 mask 各不相同时才看得出来。",
        "哪一步把多维的 mask 变成了二维的？",
    ),
    parameters=(0, -1),
)
def attention_weights(self, at, scores, mask=None):
    return softmax(blocked(scores, None if mask is None else mask.reshape(-1, *mask.shape[-2:])[at]))


@mistake(
    "mask-of-the-last-query",
    en=(
        "one row of the mask is used for all queries",
        "Each query has a row of its own. In a causal mask the last row hides nothing.",
        "Where does your code pick one element along the dimension of the queries?",
    ),
    zh=(
        "所有 query 都用了 mask 的同一行",
        "每个 query 都有自己的一行。causal mask 的最后一行什么也不遮。",
        "你的代码在哪里沿着 query 那一维只取了一个元素？",
    ),
    parameters=(slice(-1, None), slice(0, 1)),
)
def attention_weights(self, row, scores, mask=None):
    return softmax(blocked(scores, None if mask is None else mask[..., row, :]))


@mistake(
    "mask-of-one-key",
    en=(
        "one column of the mask is used for all keys",
        "The mask says yes or no for each pair. A single column takes out whole queries, and no keys.",
        "Where does your code pick one element along the dimension of the keys?",
    ),
    zh=(
        "所有 key 都用了 mask 的同一列",
        "mask 对每一对 query 和 key 分别规定可否。只用一列，去掉的是整个 query，而不是 key。",
        "你的代码在哪里沿着 key 那一维只取了一个元素？",
    ),
    parameters=itertools.product((slice(0, 1), slice(-1, None)), STRONG),
)
def attention_weights(self, form, scores, mask=None):
    column, fill = form
    return softmax(blocked(scores, None if mask is None else mask[..., column], fill))


_MERGED = (
    lambda mask: mask.any(-2, keepdim=True),
    lambda mask: mask.any(-3, keepdim=True) if mask.dim() > 2 else mask,
    lambda mask: mask.any(0, keepdim=True) if mask.dim() > 2 else mask,
    lambda mask: mask.all(-2, keepdim=True),
    lambda mask: mask.all(-3, keepdim=True) if mask.dim() > 2 else mask,
    lambda mask: mask.all(0, keepdim=True) if mask.dim() > 2 else mask,
)


@mistake(
    "mask-any-query-sees",
    en=(
        "the mask is merged over queries, heads or samples before it is used",
        "With any, a key is open for all as soon as one may see it; with all, it is closed for all as soon "
        "as one may not. Each query has a row of its own.",
        "Which step makes the mask smaller than it came?",
    ),
    zh=(
        "mask 在使用之前，沿 query、头或样本被合并了",
        "用 any，只要有一个能看到，对所有人就都开放；用 all，只要有一个不能看，对所有人就都关闭。每个 query "
        "都有自己的一行。",
        "哪一步让 mask 变得比传入时小？",
    ),
    parameters=itertools.product(_MERGED, STRONG),
)
def attention_weights(self, form, scores, mask=None):
    merged, fill = form
    return softmax(blocked(scores, None if mask is None else merged(mask), fill))


@mistake(
    "mask-moved",
    en=(
        "the mask is flipped or shifted against the scores",
        "Entry (i, j) of the mask belongs to score (i, j). Moved by one, each query sees one key too many or "
        "too few.",
        "Which step changes the order of rows or columns of the mask?",
    ),
    zh=(
        "mask 相对于分数翻转或错位了",
        "mask 的 (i, j) 对应分数的 (i, j)。错开一位，每个 query 就会多看或少看一个 key。",
        "哪一步改变了 mask 的行或列的次序？",
    ),
    parameters=itertools.product((-1, -2), (1, -1, 0), STRONG),
)
def attention_weights(self, form, scores, mask=None):
    dim, step, fill = form
    if mask is not None:
        mask = mask.roll(step, dim) if step else mask.flip(dim)
    return softmax(blocked(scores, mask, fill))
