"""Mistakes of split_heads: the right shape is no proof."""

import itertools
import math

import torch
import torch.nn.functional as F

from grader.judge.mistakes import mistake

# --- what is put in where it does not belong

FUNCTIONS = (torch.tanh, torch.sigmoid, F.silu, F.elu, F.leaky_relu, F.softplus, torch.relu, F.gelu)


def _layer_norm(x):
    return F.layer_norm(x, x.shape[-1:])


def _rms_norm(x, eps=1e-6):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def _rms_norm_of_torch(x):
    return _rms_norm(x, torch.finfo(x.dtype).eps)


def _unit(x):
    return F.normalize(x, dim=-1)


NORMS = (_layer_norm, _rms_norm, _rms_norm_of_torch, _unit)


def _cut(formula, x):
    """(B, L, d_model) -> (B, L, H, d_head), the features cut as they should be."""
    return x.unflatten(-1, (formula.n_heads, -1))


def _right(formula, x):
    """(B, L, d_model) -> (B, H, L, d_head), right."""
    return _cut(formula, x).transpose(1, 2)


def _sizes(formula, x):
    """B, L, H, d_head"""
    batch, length, d_model = x.shape
    return batch, length, formula.n_heads, d_model // formula.n_heads


@mistake(
    "split-without-transpose",
    en=(
        "the features are not cut at all: one reshape fills (B, H, L, d_head) with the numbers in their old "
        "order",
        "reshape and view never move a number, they only count anew. Here each head gets a block of whole "
        "tokens, so that later tokens leak into earlier places.",
        "Which two dimensions come out of the last one, and which dimension has to change its place after "
        "that?",
    ),
    zh=(
        "特征根本没有被切开：一次 reshape 把数按原来的顺序填进了 (B, H, L, d_head)",
        "reshape 和 view 从不移动任何数，只是重新计数。这样每个头分到的是几个完整的 token，后面的 token 会漏"
        "到前面的位置。",
        "最后一维应该拆成哪两维？拆开之后，哪一维还要换位置？",
    ),
)
def split_heads(self, x):
    batch, length, n_heads, d_head = _sizes(self, x)
    return x.reshape(batch, n_heads, length, d_head)


@mistake(
    "split-interleaved",
    en=(
        "the features are dealt out in turn: head h gets features h, h + H, h + 2H and so on",
        "The last dimension was read as (d_head, H) instead of (H, d_head). The shape is the same, but no "
        "head gets its own consecutive slice, so it does not fit W_O and the weights of others.",
        "Head 0 owns the first d_head features. Which of the two new dimensions must then vary more slowly?",
    ),
    zh=(
        "特征被轮流分给各个头：头 h 拿到第 h、h + H、h + 2H……个特征",
        "最后一维被看成了 (d_head, H)，而不是 (H, d_head)。形状一样，但每个头拿到的不再是自己连续的一段，与 "
        "W_O 和别人训练好的权重对不上。",
        "头 0 拥有最前面的 d_head 个特征。那么拆出的两维中，哪一维应当变化得更慢？",
    ),
)
def split_heads(self, x):
    return x.unflatten(-1, (-1, self.n_heads)).permute(0, 3, 1, 2)


@mistake(
    "split-heads-behind-tokens",
    en=(
        "the heads stay behind the tokens: the result is (B, L, H, d_head)",
        "Attention works on the last two dimensions. With the heads there, the heads of one token attend to "
        "each other, and no token sees another.",
        "The features are cut rightly. Which two dimensions must still change places (and is the result "
        "kept)?",
    ),
    zh=(
        "头这一维还留在 token 后面：结果是 (B, L, H, d_head)",
        "attention 作用在最后两维上。如果倒数第二维是头，就成了同一个 token 的各个头互相关注，token 之间却看"
        "不到彼此。",
        "特征已经切对了。还有哪两维要交换位置？交换的结果接住了吗？",
    ),
)
def split_heads(self, x):
    return _cut(self, x)


@mistake(
    "split-sizes-swapped",
    en=(
        "the number of heads and the size of a head are taken for each other: d_head heads of H features",
        "chunk and view(..., H, d_head) ask for the number of pieces first, split asks for the size of one "
        "piece.",
        "Say aloud how many heads there are, and how many features each of them has. Which number goes "
        "where?",
    ),
    zh=(
        "头的个数和头的大小弄反了：得到 d_head 个头，每个头 H 个特征",
        "chunk 和 view(..., H, d_head) 先要的是份数，split 要的是每一份的大小。",
        "说一说：一共有几个头？每个头有几个特征？哪个数该放在哪里？",
    ),
)
def split_heads(self, x):
    return x.unflatten(-1, (-1, self.n_heads)).transpose(1, 2)


@mistake(
    "split-features-before-tokens",
    en=(
        "features and tokens have changed places inside each head: the result is (B, H, d_head, L)",
        "Attention compares along the last dimension. With the tokens there, features attend to features.",
        "A permute lists the old places in the new order. What should the last two dimensions be?",
    ),
    zh=(
        "每个头里的特征和 token 换了位置：结果是 (B, H, d_head, L)",
        "attention 沿最后一维做点积。如果最后一维是 token，就成了特征与特征互相关注。",
        "permute 按新的顺序列出旧的维度。最后两维应当是什么？",
    ),
)
def split_heads(self, x):
    return _cut(self, x).permute(0, 2, 3, 1)


@mistake(
    "split-heads-before-batch",
    en=(
        "the heads stand before the batch: the result is (H, B, L, d_head)",
        "The batch comes first everywhere in this exercise, masks count on it: a mask for each sample would "
        "be applied to each head.",
        "At which place should the new dimension of heads go? stack and permute let you choose.",
    ),
    zh=(
        "头排在了 batch 前面：结果是 (H, B, L, d_head)",
        "本练习中 batch 永远是第一维，mask 也依赖这一点：否则每个样本的 mask 会被用到各个头上。",
        "新的“头”这一维应当放在第几个位置？stack 和 permute 都可以指定。",
    ),
)
def split_heads(self, x):
    return _cut(self, x).permute(2, 0, 1, 3)


@mistake(
    "split-folded-into-batch",
    en=(
        "heads and batch are folded into one dimension: the result is (B * H, L, d_head)",
        "Some libraries do this inside. Here the heads keep a dimension of their own, so that a mask "
        "broadcasts and combine_heads finds them again.",
        "What does the docstring say about the number of dimensions of the result?",
    ),
    zh=(
        "头和 batch 被合并成了一维：结果是 (B * H, L, d_head)",
        "有些库内部会这样做。但这里头要保留自己的一维，这样 mask 才能广播，combine_heads 才能再找到各个头。",
        "docstring 要求结果有几维？",
    ),
)
def split_heads(self, x):
    return _right(self, x).flatten(0, 1)


@mistake(
    "split-stacked-on-the-last-axis",
    en=(
        "the slices are stacked behind the features: the result is (B, L, d_head, H)",
        "The slices are right, but the dimension of heads is at the end, where attention expects the "
        "features.",
        "Where should the dimension that stack makes go? It takes a dim.",
    ),
    zh=(
        "切出的片段叠在了特征之后：结果是 (B, L, d_head, H)",
        "切片没有错，但头这一维到了最后，而 attention 认为最后一维是特征。",
        "stack 产生的新维应当放在哪里？它有一个 dim 参数。",
    ),
)
def split_heads(self, x):
    return _cut(self, x).transpose(-2, -1)


@mistake(
    "split-every-head-full-width",
    en=(
        "every head gets all d_model features",
        "The heads share the width out: d_model = H * d_head. Otherwise all heads start from the same "
        "numbers, at H times the cost.",
        "How many features may one head take if H heads share d_model among them?",
    ),
    zh=(
        "每个头都拿到了全部 d_model 个特征",
        "各个头平分宽度：d_model = H * d_head。否则所有头看到的是同样的数，计算量却是 H 倍。",
        "H 个头平分 d_model 个特征，每个头能拿几个？",
    ),
)
def split_heads(self, x):
    return x.unsqueeze(1).expand(-1, self.n_heads, -1, -1)


@mistake(
    "split-cuts-the-tokens",
    en=(
        "the tokens are cut into pieces instead of the features",
        "Every head reads the whole sentence; what is shared out among the heads is the width of the tokens.",
        "Which dimension has the size H * d_head?",
    ),
    zh=(
        "被切开的是 token，而不是特征",
        "每个头都要读完整句话；分给各个头的是每个 token 的特征。",
        "哪一维的大小是 H * d_head？",
    ),
)
def split_heads(self, x):
    return torch.stack(x.split(x.shape[1] // self.n_heads, dim=1), dim=1)


@mistake(
    "split-heads-reversed",
    en=(
        "the heads come in reversed order, the last slice first",
        "The heads are numbered: head h owns features h * d_head to (h + 1) * d_head. W_O and the weights "
        "of a saved model rely on it.",
        "Which slice is head 0? If the slices are joined one by one, is each new one put behind the others?",
    ),
    zh=(
        "头的顺序颠倒了，最后一段排在最前",
        "头是有编号的：头 h 拥有第 h * d_head 到 (h + 1) * d_head 个特征。W_O 和保存下来的权重都依赖这个顺"
        "序。",
        "头 0 是哪一段？如果是一段一段拼起来的，每一段新的都接在后面了吗？",
    ),
)
def split_heads(self, x):
    return _right(self, x).flip(1)


@mistake(
    "split-heads-rolled",
    en=(
        "the heads are in a shifted order: each head holds its neighbour's slice",
        "The heads are numbered: head h owns features h * d_head to (h + 1) * d_head, beginning with h = 0.",
        "Does the counting of the heads begin at 0, and where does slice number 0 end up?",
    ),
    zh=(
        "头的顺序错开了：每个头拿到的是相邻头的那一段",
        "头是有编号的：头 h 拥有第 h * d_head 到 (h + 1) * d_head 个特征，h 从 0 开始。",
        "头的编号是从 0 开始的吗？第 0 段最后放到了哪里？",
    ),
    parameters=(1, -1),
)
def split_heads(self, shift, x):
    return _right(self, x).roll(shift, 1)


@mistake(
    "split-overlapping",
    en=(
        "the slices of the heads start one feature apart and overlap",
        "Head h has to start after the h * d_head features of the heads before it. With starts at h the "
        "heads share most features, and the last features belong to no head.",
        "For d_head = 4, write down the first feature of head 0, of head 1 and of head 2.",
    ),
    zh=(
        "各个头的切片只错开一个特征，互相重叠",
        "头 h 之前的头已经占了 h * d_head 个特征，它要从那之后开始。若从第 h 个开始，各头的特征大多重复，最"
        "后的特征却不属于任何头。",
        "设 d_head = 4，写出头 0、头 1、头 2 的第一个特征各是第几个。",
    ),
)
def split_heads(self, x):
    d_head = x.shape[-1] // self.n_heads
    return torch.stack([x[..., h : h + d_head] for h in range(self.n_heads)], dim=1)


@mistake(
    "split-first-head-repeated",
    en=(
        "all heads hold the slice of head 0",
        "Every head then reads the same features, and the rest of each token is lost.",
        "Does the start of the slice depend on the head? An expanded dimension repeats what it has.",
    ),
    zh=(
        "所有的头拿到的都是头 0 的那一段",
        "这样每个头读的是同样的特征，每个 token 的其余部分都丢掉了。",
        "切片的起点随头而变吗？expand 只会重复已有的内容。",
    ),
)
def split_heads(self, x):
    return _right(self, x)[:, :1].expand(-1, self.n_heads, -1, -1)


@mistake(
    "split-last-head-repeated",
    en=(
        "all heads hold the slice of the last head",
        "A variable that each round of a loop assigns anew keeps only the last round: the other slices are "
        "lost.",
        "Where are the slices of the earlier rounds kept?",
    ),
    zh=(
        "所有的头拿到的都是最后一个头的那一段",
        "循环里每次都重新赋值的变量只会留下最后一次的结果，其他切片都丢了。",
        "前几轮循环得到的切片保存在哪里？",
    ),
)
def split_heads(self, x):
    return _right(self, x)[:, -1:].expand(-1, self.n_heads, -1, -1)


@mistake(
    "split-last-head-only",
    en=(
        "only one head is filled, and the other heads are zero",
        "A result that is made anew in each round of a loop forgets what was put into it before.",
        "How often is the empty result made: once before the loop, or once in every round?",
    ),
    zh=(
        "只有一个头有内容，其他的头全是零",
        "如果每一轮循环都重新创建结果张量，之前填进去的内容就没有了。",
        "空的结果张量创建了几次：循环之前一次，还是每一轮都创建？",
    ),
    parameters=(-1, 0),
)
def split_heads(self, head, x):
    right = _right(self, x)
    only = torch.zeros(self.n_heads, 1, 1, dtype=x.dtype)
    only[head] = 1
    return right * only


@mistake(
    "split-heads-averaged",
    en=(
        "all heads hold the average of the slices",
        "The heads are there to look at different things. An average makes them all alike, before any "
        "attention has happened.",
        "A split only moves numbers. Is there any arithmetic in it?",
    ),
    zh=(
        "每个头拿到的都是各段的平均值",
        "多头的意义就在于各看各的。一平均，attention 还没开始，所有的头就都一样了。",
        "切分只是移动数。这里需要任何运算吗？",
    ),
    parameters=("mean", "sum"),
)
def split_heads(self, how, x):
    right = _right(self, x)
    return getattr(right, how)(1, keepdim=True).expand_as(right)


@mistake(
    "split-after-transposing-features",
    en=(
        "tokens and features are transposed, and a reshape to (B, H, L, d_head) follows",
        "After this transpose the numbers lie feature by feature. The reshape counts them anew in that "
        "order, so a row of the result holds one feature of several tokens.",
        "First cut the last dimension in two, and only then bring the heads forward.",
    ),
    zh=(
        "token 和特征被转置，然后才 reshape 成 (B, H, L, d_head)",
        "转置之后，数是按特征排列的；reshape 又按这个顺序重新计数，于是结果的一行里是几个 token 的同一个特"
        "征。",
        "先把最后一维拆成两维，然后再把头移到前面。",
    ),
)
def split_heads(self, x):
    batch, length, n_heads, d_head = _sizes(self, x)
    return x.transpose(1, 2).reshape(batch, n_heads, length, d_head)


@mistake(
    "split-features-as-tokens",
    en=(
        "the numbers are read as (B, H, d_head, L), and tokens and features are swapped then",
        "A view may only split a dimension in place: L * d_model numbers in token order are not H blocks "
        "with one row for each feature.",
        "Which single dimension of x is cut? All others must stand in the view as they stand in x.",
    ),
    zh=(
        "先把数看成 (B, H, d_head, L)，再交换 token 和特征",
        "view 只能把某一维就地拆开：按 token 排列的 L * d_model 个数，并不是 H 块、每块一行一个特征的样子。",
        "x 的哪一维要拆开？其余各维在 view 里都应当保持原样。",
    ),
)
def split_heads(self, x):
    batch, length, n_heads, d_head = _sizes(self, x)
    return x.reshape(batch, n_heads, d_head, length).transpose(2, 3)


@mistake(
    "split-batch-and-length-mixed",
    en=(
        "batch and tokens are read in the wrong order: the numbers are taken for (L, B, d_model)",
        "Some layers want the tokens first. Here the batch is first; a reshape that says otherwise mixes "
        "the sentences up.",
        "In which order are the first two dimensions of x? Keep that order in the reshape.",
    ),
    zh=(
        "batch 和 token 的顺序看反了：数被当成 (L, B, d_model) 来读",
        "有些层要求 token 在前。这里 batch 在前；reshape 时若写反，不同句子就混在一起了。",
        "x 的前两维是什么顺序？reshape 时保持这个顺序。",
    ),
)
def split_heads(self, x):
    batch, length, n_heads, d_head = _sizes(self, x)
    return x.reshape(length, batch, n_heads, d_head).permute(1, 2, 0, 3)


@mistake(
    "split-batch-and-heads-mixed",
    en=(
        "the heads come before the batch in memory, and a view takes them for (B, H, L, d_head)",
        "The pieces were joined as (H, B, L, d_head) and then only renamed: sample 0 gets heads of other "
        "samples.",
        "Where is head 1 of sample 0 after joining? A view cannot bring it beside head 0: what can?",
    ),
    zh=(
        "内存中头排在 batch 之前，view 却把它当成 (B, H, L, d_head)",
        "各段按 (H, B, L, d_head) 拼好之后只是改了名字：样本 0 拿到了别的样本的头。",
        "拼接之后，样本 0 的头 1 在哪里？view 不能把它移到头 0 旁边，什么操作可以？",
    ),
)
def split_heads(self, x):
    batch, length, n_heads, d_head = _sizes(self, x)
    return _cut(self, x).permute(2, 0, 1, 3).reshape(batch, n_heads, length, d_head)


@mistake(
    "split-sizes-swapped-then-reshaped",
    en=(
        "H and d_head are swapped in the view, and a last reshape repairs the shape alone",
        "A reshape at the end makes any shape right and no number. The wrong shape before it was the "
        "warning.",
        "Print the shape before the last reshape. Is it what you expect there already?",
    ),
    zh=(
        "view 中 H 和 d_head 写反了，最后的 reshape 只修好了形状",
        "末尾的 reshape 能让任何形状变对，却不能让任何一个数变对。之前的形状不对，就是提示。",
        "打印最后那个 reshape 之前的形状，它已经是你预期的样子了吗？",
    ),
)
def split_heads(self, x):
    batch, length, n_heads, d_head = _sizes(self, x)
    x = x.unflatten(-1, (d_head, n_heads)).transpose(1, 2)
    return x.reshape(batch, n_heads, length, d_head)


@mistake(
    "split-tokens-reversed",
    en=(
        "the tokens come out in reversed order",
        "A split must leave every token where it is: with the order reversed, the causal mask hides the "
        "past.",
        "Is there a flip, a negative step or a transpose too much?",
    ),
    zh=(
        "token 的顺序颠倒了",
        "切分时每个 token 都要留在原位：顺序一颠倒，causal mask 遮住的就成了过去。",
        "是不是多了一个 flip、负步长或者转置？",
    ),
)
def split_heads(self, x):
    return _right(self, x).flip(2)


@mistake(
    "split-features-reversed",
    en=(
        "the features come out in reversed order",
        "Head h owns features h * d_head to (h + 1) * d_head in this order; W_O relies on it.",
        "Which feature of a token should be the first feature of head 0?",
    ),
    zh=(
        "特征的顺序颠倒了",
        "头 h 按顺序拥有第 h * d_head 到 (h + 1) * d_head 个特征，W_O 依赖这个顺序。",
        "头 0 的第一个特征应当是 token 的第几个特征？",
    ),
    parameters=((3,), (1, 3)),
)
def split_heads(self, dims, x):
    return _right(self, x).flip(dims)


@mistake(
    "split-first-sample",
    en=(
        "every sample of the batch gets the numbers of one and the same sample",
        "A batch is several sentences side by side. This goes unnoticed while one tests with a batch of 1.",
        "Is there an index [0] or a slice [:1] left in from trying things out?",
    ),
    zh=(
        "batch 里的每个样本拿到的都是同一个样本的数",
        "batch 是并排放着的几个句子。只用 batch 为 1 来试，是发现不了的。",
        "是不是有试验时留下的 [0] 或 [:1]？",
    ),
    parameters=(slice(0, 1), slice(-1, None)),
)
def split_heads(self, sample, x):
    return _right(self, x[sample].expand_as(x))


@mistake(
    "split-batches-reversed",
    en=(
        "the samples of the batch come out in reversed order",
        "A split must leave every sample where it is: its mask and its targets are at the same place.",
        "Which dimension does your flip or your negative step work on?",
    ),
    zh=(
        "batch 中样本的顺序颠倒了",
        "切分时每个样本都要留在原位：它的 mask 和目标都在同一个位置上。",
        "你的 flip 或负步长作用在哪一维上？",
    ),
)
def split_heads(self, x):
    return _right(self, x).flip(0)


@mistake(
    "split-tokens-shifted",
    en=(
        "every token stands one place too far",
        "A split must leave every token where it is. Shifting by one is for targets of a language model, "
        "not for its inputs.",
        "Is there a roll or an index that is off by one along the tokens?",
    ),
    zh=(
        "每个 token 都错开了一位",
        "切分时每个 token 都要留在原位。错开一位是语言模型准备目标时的事，与输入无关。",
        "沿 token 这一维是不是有 roll，或者下标差了一？",
    ),
    parameters=(1, -1),
)
def split_heads(self, shift, x):
    return _right(self, x).roll(shift, 2)


@mistake(
    "split-first-head-detached",
    en=(
        "some of the heads are cut off from the gradient",
        "The numbers are right, but the features of these heads never learn: their gradient is zero.",
        "Is there a detach, a .data or a no_grad around some of the slices?",
    ),
    zh=(
        "有几个头与梯度断开了",
        "数值是对的，但这些头的特征永远学不到东西：它们的梯度是零。",
        "是不是在某些切片上用了 detach、.data 或 no_grad？",
    ),
    parameters=(slice(0, 1), slice(-1, None), slice(1, None), slice(0, -1)),
)
def split_heads(self, heads, x):
    right = _right(self, x).clone()
    right[:, heads] = right[:, heads].detach()
    return right


ORDERS = tuple(itertools.product(itertools.permutations(range(4)), repeat=2))


def moved(x, sizes, orders):
    """x read with its dimensions in one order, then permuted by another."""
    read, order = orders
    return x.reshape([sizes[i] for i in read]).permute(order)


def _orders(formula, call, result):
    """The orders that make the result, if there are any."""
    x = call.args[0].double()
    sizes = _sizes(formula, x)
    return None if min(sizes) == 1 else found_orders(x, sizes, result, 0)  # many give the same for size 1


def found_orders(x, sizes, numbers, near):
    """The first orders by which `moved` makes these numbers; None if it never does."""
    numbers = numbers.flatten()
    if not torch.allclose(x.flatten().sort().values, numbers.sort().values, rtol=0, atol=near):
        return None
    tried = ((orders, moved(x, sizes, orders).flatten()) for orders in ORDERS)
    return next((orders for orders, one in tried if torch.allclose(one, numbers, rtol=0, atol=near)), None)


@mistake(
    "split-axes-mixed-up",
    en=(
        "the dimensions are read or permuted in a wrong order, and a reshape makes the shape right again",
        "All numbers are there, but not where they belong: tokens, heads or samples are mixed up. A shape "
        "alone cannot show this.",
        "Follow one number by hand, say feature d_head of token 1: in which head, token and feature should "
        "it be?",
    ),
    zh=(
        "各维的读取顺序或排列顺序错了，再由 reshape 把形状凑对",
        "数都在，但不在该在的位置：token、头或样本混在了一起。单看形状是看不出来的。",
        "用手追踪一个数，比如 token 1 的第 d_head 个特征：它应当在哪个头、哪个 token、第几个特征？",
    ),
    fit=_orders,
)
def split_heads(self, orders, x):
    batch, length, n_heads, d_head = sizes = _sizes(self, x)
    return moved(x, sizes, orders).reshape(batch, n_heads, length, d_head)


def _factor(formula, call, result):
    """The one factor between the result and the right one, if there is one."""
    right = _right(formula, call.args[0].double())
    factor = float((result * right).sum() / (right * right).sum())
    return factor if math.isfinite(factor) and factor else None


@mistake(
    "split-scales",
    en=(
        "the numbers are multiplied by a constant on the way",
        "A split only moves numbers. The scale 1 / sqrt(d_k) belongs to the scores alone; here it would "
        "change the values too.",
        "Where in the formula of attention does the scale stand, and how often?",
    ),
    zh=(
        "切分时数被乘上了一个常数",
        "切分只是移动数。1 / sqrt(d_k) 这个缩放只属于分数；放在这里，连 value 也被改变了。",
        "在 attention 的公式里，缩放出现在哪里？出现几次？",
    ),
    fit=_factor,
)
def split_heads(self, factor, x):
    return factor * _right(self, x)


@mistake(
    "split-scales-by-size",
    en=(
        "the numbers are multiplied or divided by a power of d_head, of d_model or of the number of heads",
        "A split only moves numbers. The scale belongs to the scores, and is there already.",
        "Is there any arithmetic in a split?",
    ),
    zh=(
        "数乘以或除以了 d_head、d_model 或头数的某次幂",
        "切分只是移动数。缩放属于分数那一步，而那里已经做了。",
        "切分需要任何运算吗？",
    ),
    parameters=itertools.product(("d_head", "d_model", "n_heads"), (-0.25, -0.5, -1, 0.25, 0.5)),
)
def split_heads(self, form, x):
    name, power = form
    d_model = x.shape[-1]
    size = {"d_head": d_model // self.n_heads, "d_model": d_model, "n_heads": self.n_heads}[name]
    return _right(self, x) * size**power


@mistake(
    "split-sorts",
    en=(
        "the numbers of each head are sorted",
        "A split keeps the order: feature h * d_head + i of a token is number i of its head h. Sorted, W_Q, "
        "W_K and W_V can no longer say which number means what.",
        "Does anything in a split depend on how large a number is?",
    ),
    zh=(
        "每个头里的数被排了序",
        "切分不改变顺序：一个 token 的第 h * d_head + i 个特征，是它在头 h 中的第 i 个数。排序之后，W_Q、W_K "
        "和 W_V 就无法规定每个数的含义了。",
        "切分的结果与数的大小有关吗？",
    ),
    parameters=itertools.product((-1, -2, 1), (False, True)),
)
def split_heads(self, form, x):
    dim, descending = form
    return _right(self, x).sort(dim, descending=descending).values


@mistake(
    "split-strides-mixed-up",
    en=(
        "head h starts at feature h * H instead of h * d_head",
        "Each head has d_head features, so that the next one starts d_head further on. With H for it, slices "
        "overlap or leave gaps.",
        "Where does head 1 start, if every head has 5 features and there are 3 heads?",
    ),
    zh=(
        "头 h 从第 h * H 个特征开始，而不是 h * d_head",
        "每个头有 d_head 个特征，下一个头就从 d_head 个之后开始。写成 H，切片就会重叠或留下空隙。",
        "如果每个头有 5 个特征，共 3 个头，头 1 从哪里开始？",
    ),
    parameters=(True, False),
)
def split_heads(self, last_where_short, x):
    d_head = x.shape[-1] // self.n_heads
    starts = [h * self.n_heads for h in range(self.n_heads)]
    if last_where_short:
        starts = [min(start, x.shape[-1] - d_head) for start in starts]
    return torch.stack([x[..., start : start + d_head] for start in starts], 1)


@mistake(
    "split-joined-in-one-dimension",
    en=(
        "the slices are joined along the tokens, the batch or the features instead of getting a dimension of "
        "their own",
        "torch.cat makes an old dimension longer, torch.stack makes a new one: (B, H, L, d_head) has one "
        "more than (B, L, d_model).",
        "How many dimensions has your result, and how many should it have?",
    ),
    zh=(
        "各段拼接到了 token、batch 或特征那一维上，而没有自己的一维",
        "torch.cat 把原有的一维变长，torch.stack 新建一维：(B, H, L, d_head) 比 (B, L, d_model) 多一维。",
        "你的结果有几维？应当有几维？",
    ),
    parameters=(1, 0, -1),
)
def split_heads(self, dim, x):
    return torch.cat(x.chunk(self.n_heads, -1), dim)


@mistake(
    "split-ignores-the-layout",
    en=(
        "the memory of the tokens is read as if it were contiguous",
        "A tensor that was transposed or sliced before lies in memory in another order. as_strided with "
        "numbers worked out from the shape reads the wrong places then; view and unflatten know the strides.",
        "What does x.stride() say of x and of x.transpose(0, 1)?",
    ),
    zh=(
        "读取 token 的内存时，把它当成了连续的",
        "转置或切片过的张量，在内存中的顺序不同。as_strided 如果用形状算出步长，读到的就是错的位置；view 和 "
        "unflatten 则知道真正的步长。",
        "x 和 x.transpose(0, 1) 的 stride() 各是多少？",
    ),
)
def split_heads(self, x):
    batch, length, n_heads, d_head = _sizes(self, x)
    d_model = n_heads * d_head
    return x.as_strided((batch, n_heads, length, d_head), (length * d_model, d_head, d_model, 1))


def _narrow(formula, call, result):
    """The 16-bit type that holds every number of the result, if there is one."""
    types = (torch.float16, torch.bfloat16)
    return next((dtype for dtype in types if result.to(dtype).double().equal(result)), None)


@mistake(
    "half-inside",
    en=(
        "the numbers are rounded to a 16-bit type",
        "A split only moves numbers, and every bit must survive. float16 keeps 3 digits, bfloat16 fewer.",
        "Which line converts to half or bfloat16?",
    ),
    zh=(
        "数被舍入成了 16 位类型",
        "切分只是移动数，每一位都应当保留。float16 只有 3 位有效数字，bfloat16 更少。",
        "哪一行转换成了 half 或 bfloat16？",
    ),
    fit=_narrow,
    same=3e-2,
)
def split_heads(self, dtype, x):
    return _right(self, x)


@mistake(
    "split-wrong-order-of-dimensions",
    en=(
        "the features are cut rightly, and the dimensions stand in another order than (B, H, L, d_head)",
        "Attention works on the last two dimensions, tokens and features; batch and heads only ride along "
        "in front.",
        "A permute lists the old places in the new order. Read yours aloud with B, L, H and d_head.",
    ),
    zh=(
        "特征切对了，但各维的顺序不是 (B, H, L, d_head)",
        "attention 作用在最后两维上，也就是 token 和特征；batch 和头只是排在前面。",
        "permute 按新的顺序列出旧的维度。用 B、L、H、d_head 把你的念一遍。",
    ),
    parameters=tuple(order for order in itertools.permutations(range(4)) if order != (0, 2, 1, 3)),
)
def split_heads(self, order, x):
    return _cut(self, x).permute(order)


@mistake(
    "split-activation",
    en=(
        "a function is applied to the numbers on the way",
        "A split only moves numbers. Queries, keys and values are plain linear maps of the tokens; an "
        "activation belongs to the feed-forward layer.",
        "Is there any arithmetic in a split?",
    ),
    zh=(
        "切分时对数做了某种函数运算",
        "切分只是移动数。query、key 和 value 都是 token 的单纯线性映射；激活函数属于前馈层。",
        "切分需要任何运算吗？",
    ),
    parameters=FUNCTIONS,
)
def split_heads(self, function, x):
    return function(_right(self, x))


@mistake(
    "split-normalises",
    en=(
        "the numbers of each head are normalised on the way, by a norm or a softmax",
        "A split only moves numbers. Normalised, a head no longer knows how large its query or value was.",
        "Is there any arithmetic in a split?",
    ),
    zh=(
        "切分时对每个头的数做了归一化（norm 或 softmax）",
        "切分只是移动数。归一化之后，就不知道 query 或 value 原本有多大了。",
        "切分需要任何运算吗？",
    ),
    parameters=(*NORMS, lambda x: torch.softmax(x, -1)),
)
def split_heads(self, norm, x):
    return norm(_right(self, x))


@mistake(
    "split-projects",
    en=(
        "the tokens are projected once more before they are cut",
        "forward has projected them already, by W_Q, W_K or W_V in turn. A split only moves numbers; a "
        "projection in here treats all three alike.",
        "What has happened to x before split_heads gets it?",
    ),
    zh=(
        "切分之前又把 token 投影了一次",
        "forward 已经分别用 W_Q、W_K、W_V 投影过了。切分只是移动数；在这里再投影，三者就都被同样处理了一遍。",
        "x 在交给 split_heads 之前已经做过什么？",
    ),
    parameters=("W_Q", "W_K", "W_V", "W_O"),
)
def split_heads(self, name, x):
    return _right(self, x @ self.projections[name].T)


@mistake(
    "split-batch-hard-coded",
    en=(
        "the batch size is a fixed number, or that of the first call",
        "With another batch, samples are cut and joined wrongly, or nothing fits at all. It goes unnoticed "
        "while the batch size stays the same.",
        "From where does the reshape take its first number? The argument of this very call knows it.",
    ),
    zh=(
        "batch 大小是写死的，或者是第一次调用时的大小",
        "换一个 batch 大小，样本就会被错误地拆开、拼接，或者根本放不下。batch 大小不变时是发现不了的。",
        "reshape 的第一个数从哪里来？本次调用的参数自己就知道。",
    ),
    fit=lambda formula, call, result: result.shape[0],
)
def split_heads(self, batch, x):
    return x.reshape(batch, -1, self.n_heads, x.shape[-1] // self.n_heads).transpose(1, 2)


@mistake(
    "split-length-remembered",
    en=(
        "the number of tokens is a fixed number, or that of the first call",
        "Sentences differ in length. It goes unnoticed while all of them have the same.",
        "From where does the reshape take the number of tokens? The argument of this very call knows it.",
    ),
    zh=(
        "token 的个数是写死的，或者是第一次调用时的个数",
        "句子有长有短。长度都一样时是发现不了的。",
        "reshape 里的 token 个数从哪里来？本次调用的参数自己就知道。",
    ),
    fit=lambda formula, call, result: result.shape[2],
)
def split_heads(self, length, x):
    return x.reshape(-1, length, self.n_heads, x.shape[-1] // self.n_heads).transpose(1, 2)
