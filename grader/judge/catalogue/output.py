"""Mistakes of combine_heads: bringing the heads back together, and W_O."""

import itertools
import math

import torch
import torch.nn.functional as F

from grader.judge.catalogue.heads import FUNCTIONS, NORMS, found_orders, moved
from grader.judge.mistakes import mistake, signed_mistake


def _joined(heads):
    """(B, H, L, d_head) -> (B, L, d_model), right."""
    return heads.transpose(1, 2).flatten(2)


def _project(formula, joined):
    return joined @ formula.projections["W_O"].T


@mistake(
    "merge-without-transpose",
    en=(
        "the heads are not brought back next to their token: one reshape fills (B, L, d_model) with the "
        "numbers in their old order",
        "reshape, view and contiguous never move a number. In (B, H, L, d_head) the slices of one token lie "
        "far apart, so that each row of the result holds parts of several tokens.",
        "Which two dimensions must change places before the last two can be joined into one?",
    ),
    zh=(
        "各个头没有回到自己的 token 旁边：一次 reshape 把数按原来的顺序填进了 (B, L, d_model)",
        "reshape、view 和 contiguous 都不移动任何数。在 (B, H, L, d_head) 中，同一个 token 的各段相隔很远，"
        "于是结果的每一行都混进了几个 token 的内容。",
        "要把最后两维合并成一维，先得交换哪两维？",
    ),
)
def combine_heads(self, heads):
    batch, n_heads, length, d_head = heads.shape
    return _project(self, heads.reshape(batch, length, n_heads * d_head))


@mistake(
    "output-projection-missing",
    en=(
        "W_O is left out: the heads are joined, and that is all",
        "Up to here no head knows of another. W_O is the one place where what they found is mixed; without "
        "it its parameters never learn.",
        "What turns the joined notes of the heads into one output? It must be called, and its result used.",
    ),
    zh=(
        "漏掉了 W_O：只把各个头拼接起来就结束了",
        "到这里为止，各个头互不知情。只有 W_O 会把它们找到的内容混合起来；不用它，它的参数也永远学不到东西。",
        "装订好的笔记还要经过什么才成为最终的输出？不但要调用它，还要用上它的结果。",
    ),
)
def combine_heads(self, heads):
    return _joined(heads)


@mistake(
    "merge-without-transpose-or-projection",
    en=(
        "one reshape joins the heads in the wrong order, and W_O is left out as well",
        "Two things are missing: the heads must come back next to their token, and W_O must mix them.",
        "Undo split_heads step by step, in the opposite order. What is then still to be done with the "
        "result?",
    ),
    zh=(
        "一次 reshape 把各个头按错误的顺序拼接，而且漏掉了 W_O",
        "缺了两步：各个头要先回到自己的 token 旁边，然后由 W_O 混合。",
        "按相反的顺序一步步撤销 split_heads。之后的结果还要做什么？",
    ),
)
def combine_heads(self, heads):
    batch, n_heads, length, d_head = heads.shape
    return heads.reshape(batch, length, n_heads * d_head)


@mistake(
    "merge-interleaved",
    en=(
        "the features of the heads are interleaved: feature 0 of every head first, then feature 1 of every "
        "head",
        "Each head must stay one piece, head 0 first: W_O expects feature f of head h at place h * d_head + "
        "f. stack on the last dimension is not the same as cat.",
        "When the last two dimensions are joined, which one must vary faster: the head or the feature?",
    ),
    zh=(
        "各个头的特征交错排列：先是每个头的第 0 个特征，再是每个头的第 1 个特征",
        "每个头都要保持完整的一段，头 0 在最前：W_O 认为头 h 的第 f 个特征在第 h * d_head + f 个位置。在最后"
        "一维上 stack 和 cat 并不相同。",
        "合并最后两维时，变化得更快的应当是头还是特征？",
    ),
)
def combine_heads(self, heads):
    return _project(self, heads.permute(0, 2, 3, 1).flatten(2))


@mistake(
    "merge-heads-reversed",
    en=(
        "the heads are joined in reversed order, the last head first",
        "Each slice of W_O belongs to one head. In another order, every head meets the slice of another.",
        "Which head should come first? If they are joined one by one, where is each new one put?",
    ),
    zh=(
        "各个头按相反的顺序拼接，最后一个头排在最前",
        "W_O 的每一段对应一个头。顺序一变，每个头遇到的就是别的头的那一段。",
        "哪个头应当排在最前？如果是一个一个拼起来的，每个新的头放在了哪一边？",
    ),
)
def combine_heads(self, heads):
    return _project(self, _joined(heads.flip(1)))


@mistake(
    "merge-heads-rolled",
    en=(
        "the heads are joined in a shifted order",
        "Each slice of W_O belongs to one head. In another order, every head meets the slice of its "
        "neighbour.",
        "Does the joining begin with head 0?",
    ),
    zh=(
        "各个头拼接的顺序错开了一位",
        "W_O 的每一段对应一个头。顺序一错开，每个头遇到的就是相邻头的那一段。",
        "拼接是从头 0 开始的吗？",
    ),
    parameters=(1, -1),
)
def combine_heads(self, shift, heads):
    return _project(self, _joined(heads.roll(shift, 1)))


@mistake(
    "merge-last-head-repeated",
    en=(
        "one head stands in the place of all of them",
        "What the other heads have read is lost. In a loop, a variable that each round assigns anew keeps "
        "only the last round.",
        "Where are the outputs of all the heads when they are joined?",
    ),
    zh=(
        "所有头的位置上都是同一个头",
        "其他头读到的内容都丢了。在循环里，每次都重新赋值的变量只会留下最后一次的结果。",
        "拼接的时候，所有头的输出都还在吗？",
    ),
    parameters=(-1, 0),
)
def combine_heads(self, head, heads):
    return _project(self, heads[:, head].repeat(1, 1, self.n_heads))


@mistake(
    "merge-first-head-only",
    en=(
        "one head alone is used, and the others count as zero",
        "What the other heads have read is lost, and they get no gradient: they never learn.",
        "Which index picks a head, and does every head take its turn? Is the empty result made before the "
        "loop?",
    ),
    zh=(
        "只用了一个头，其他的头都当作零",
        "其他头读到的内容都丢了，它们也没有梯度：永远学不到东西。",
        "选取头的下标是哪个？每个头都轮到了吗？空的结果张量是在循环之前创建的吗？",
    ),
    parameters=(0, -1),
)
def combine_heads(self, head, heads):
    only = torch.zeros(self.n_heads, 1, 1, dtype=heads.dtype)
    only[head] = 1
    return _project(self, _joined(heads * only))


@mistake(
    "merge-heads-averaged",
    en=(
        "the heads are averaged",
        "An average makes one note out of H different ones before W_O has seen them. Heads are put side by "
        "side; how to mix them is for W_O to learn.",
        "d_model = H * d_head. Which operation on H slices of d_head gives that width without losing any?",
    ),
    zh=(
        "对各个头求了平均",
        "一平均，H 份不同的笔记还没给 W_O 看就变成了一份。各个头应当并排放置，怎样混合由 W_O 来学。",
        "d_model = H * d_head。H 段 d_head 怎样才能得到这个宽度，而且一个数也不丢？",
    ),
)
def combine_heads(self, heads):
    return _project(self, heads.mean(1).repeat(1, 1, self.n_heads))


@mistake(
    "merge-heads-summed",
    en=(
        "the heads are added up",
        "A sum makes one note out of H different ones before W_O has seen them. Heads are put side by side; "
        "how to mix them is for W_O to learn.",
        "d_model = H * d_head. Which operation on H slices of d_head gives that width without losing any?",
    ),
    zh=(
        "把各个头加在了一起",
        "一相加，H 份不同的笔记还没给 W_O 看就变成了一份。各个头应当并排放置，怎样混合由 W_O 来学。",
        "d_model = H * d_head。H 段 d_head 怎样才能得到这个宽度，而且一个数也不丢？",
    ),
)
def combine_heads(self, heads):
    return _project(self, heads.sum(1).repeat(1, 1, self.n_heads))


@mistake(
    "merge-heads-max",
    en=(
        "the largest number of all heads is taken at each place",
        "This throws away what all other heads have read, and most of the gradient with it. Heads are put "
        "side by side; how to mix them is for W_O to learn.",
        "d_model = H * d_head. Which operation on H slices of d_head gives that width without losing any?",
    ),
    zh=(
        "每个位置取了所有头中最大的数",
        "这样就扔掉了其他头读到的内容，也扔掉了大部分梯度。各个头应当并排放置，怎样混合由 W_O 来学。",
        "d_model = H * d_head。H 段 d_head 怎样才能得到这个宽度，而且一个数也不丢？",
    ),
)
def combine_heads(self, heads):
    return _project(self, heads.amax(1).repeat(1, 1, self.n_heads))


@mistake(
    "merge-features-before-tokens",
    en=(
        "tokens and features are transposed, and reshaped to (B, L, d_model) then",
        "After this transpose the numbers lie feature by feature, so that a row of the result holds several "
        "tokens. The dimension that has to move is the one of the heads.",
        "split_heads moved one dimension. Which one was it, and where does it have to go back to?",
    ),
    zh=(
        "先转置 token 和特征，再 reshape 成 (B, L, d_model)",
        "这样转置之后，数是按特征排列的，结果的一行里就有好几个 token。真正要移动的是头这一维。",
        "split_heads 移动了哪一维？它应当回到哪里？",
    ),
)
def combine_heads(self, heads):
    batch, n_heads, length, d_head = heads.shape
    return _project(self, heads.transpose(2, 3).reshape(batch, length, n_heads * d_head))


@mistake(
    "merge-wrong-permutation",
    en=(
        "the dimensions are brought to (B, d_head, H, L), and reshaped to (B, L, d_model) then",
        "A reshape joins neighbours only: what is not (B, L, H, d_head) before it mixes tokens up.",
        "A permute lists the old places in the new order. Read it aloud with B, H, L and d_head.",
    ),
    zh=(
        "各维先变成 (B, d_head, H, L)，再 reshape 成 (B, L, d_model)",
        "reshape 只能合并相邻的维：之前如果不是 (B, L, H, d_head)，token 就混在一起了。",
        "permute 按新的顺序列出旧的维度。用 B、H、L、d_head 把它念一遍。",
    ),
)
def combine_heads(self, heads):
    batch, n_heads, length, d_head = heads.shape
    return _project(self, heads.permute(0, 3, 1, 2).reshape(batch, length, n_heads * d_head))


@mistake(
    "merge-batch-and-length-mixed",
    en=(
        "the tokens come before the batch in memory, and a reshape takes them for (B, L, d_model)",
        "Every token is whole, but stands in the wrong sentence. A reshape cannot exchange batch and tokens.",
        "In which order should the first two dimensions be before the reshape?",
    ),
    zh=(
        "内存中 token 排在 batch 之前，reshape 却把它当成 (B, L, d_model)",
        "每个 token 是完整的，却放进了别的句子。reshape 不能交换 batch 和 token。",
        "reshape 之前，前两维应当是什么顺序？",
    ),
)
def combine_heads(self, heads):
    batch, n_heads, length, d_head = heads.shape
    return _project(self, heads.permute(2, 0, 1, 3).reshape(batch, length, n_heads * d_head))


@mistake(
    "merge-batch-and-heads-mixed",
    en=(
        "the result is read as if the heads came before the batch, (H, B, L, d_head)",
        "The batch comes first. Read the other way round, a token gets heads of other samples.",
        "What is the order of the dimensions of `heads`, as the docstring has it?",
    ),
    zh=(
        "按头在 batch 之前，即 (H, B, L, d_head) 来读取",
        "batch 在最前。反过来读，一个 token 就会拿到其他样本的头。",
        "docstring 中 `heads` 各维的顺序是什么？",
    ),
)
def combine_heads(self, heads):
    batch, n_heads, length, d_head = heads.shape
    return _project(self, heads.reshape(n_heads, batch, length, d_head).permute(1, 2, 0, 3).flatten(2))


@mistake(
    "merge-tokens-reversed",
    en=(
        "the tokens come out in reversed order",
        "Every output must stand at the place of its query: the residual stream adds it to that token.",
        "Is there a flip or a negative step, and on which dimension does it work?",
    ),
    zh=(
        "token 的顺序颠倒了",
        "每个输出都要留在自己 query 的位置上：残差流会把它加到那个 token 上。",
        "是不是有 flip 或负步长？它作用在哪一维上？",
    ),
)
def combine_heads(self, heads):
    return _project(self, _joined(heads.flip(2)))


@mistake(
    "merge-features-reversed",
    en=(
        "the features come out in reversed order before W_O",
        "W_O expects feature f of head h at place h * d_head + f.",
        "Is there a flip or a negative step on the last dimension?",
    ),
    zh=(
        "进入 W_O 之前，特征的顺序颠倒了",
        "W_O 认为头 h 的第 f 个特征在第 h * d_head + f 个位置。",
        "最后一维上是不是有 flip 或负步长？",
    ),
    parameters=((3,), (1, 3)),
)
def combine_heads(self, dims, heads):
    return _project(self, _joined(heads.flip(dims)))


@mistake(
    "merge-of-the-first-sample",
    en=(
        "every sample of the batch gets the output of one and the same sample",
        "A batch is several sentences side by side. This goes unnoticed while one tests with a batch of 1.",
        "Is there an index [0] or a slice [:1] left in from trying things out?",
    ),
    zh=(
        "batch 里的每个样本得到的都是同一个样本的输出",
        "batch 是并排放着的几个句子。只用 batch 为 1 来试，是发现不了的。",
        "是不是有试验时留下的 [0] 或 [:1]？",
    ),
    parameters=(slice(0, 1), slice(-1, None)),
)
def combine_heads(self, sample, heads):
    return _project(self, _joined(heads[sample].expand_as(heads)))


@mistake(
    "merge-tokens-averaged",
    en=(
        "the tokens are averaged, so that all of them get the same output",
        "Pooling belongs to a classifier that wants one answer for a sentence. Attention gives each token "
        "its own.",
        "How many different outputs should a sentence of L tokens have?",
    ),
    zh=(
        "对 token 求了平均，所有 token 得到的是同一个输出",
        "池化是分类器才需要的，它对一句话只给一个答案。attention 则为每个 token 给出自己的输出。",
        "L 个 token 的句子应当有几个不同的输出？",
    ),
)
def combine_heads(self, heads):
    return _project(self, _joined(heads.mean(2, keepdim=True).expand_as(heads)))


@mistake(
    "output-projection-twice",
    en=(
        "W_O is applied twice",
        "More projection is not safer: W_O learns to mix what the heads found, and its own output is "
        "another thing.",
        "Where is W_O called? Look in forward too.",
    ),
    zh=(
        "W_O 用了两次",
        "多投影一次并不更保险：W_O 学的是怎样混合各个头找到的内容，而它自己的输出是另一回事。",
        "W_O 在哪些地方被调用？forward 里也看一看。",
    ),
)
def combine_heads(self, heads):
    return _project(self, _project(self, _joined(heads)))


@mistake(
    "output-projection-before-merge",
    en=(
        "W_O is applied before the heads are back next to their token",
        "A row that W_O gets must be one token with all its heads. Before the merge, it is a mixture of "
        "tokens.",
        "Which comes first: bringing the heads together, or mixing them?",
    ),
    zh=(
        "各个头还没回到自己的 token 旁边，就先用了 W_O",
        "交给 W_O 的每一行应当是一个 token 的全部头。合并之前，那一行是几个 token 的混合。",
        "哪一步在前：把各个头并到一起，还是混合它们？",
    ),
)
def combine_heads(self, heads):
    batch, n_heads, length, d_head = heads.shape
    mixed = _project(self, heads.reshape(batch, length, n_heads * d_head))
    return _joined(mixed.view(batch, n_heads, length, d_head))


@mistake(
    "output-projection-per-head",
    en=(
        "each head is projected by a block of W_O of its own, and the heads do not mix",
        "W_O is the only place where the heads learn of each other: every output feature depends on all "
        "heads.",
        "How many of the d_model joined features does one output feature depend on?",
    ),
    zh=(
        "每个头只用 W_O 中自己的那一块来投影，各个头没有混合",
        "各个头之间的交流只发生在 W_O 这一步：每个输出特征都依赖所有的头。",
        "一个输出特征依赖拼接后 d_model 个特征中的多少个？",
    ),
    parameters=("own", "first", "transposed"),
)
def combine_heads(self, block, heads):
    n_heads, d_head = self.n_heads, heads.shape[-1]
    blocks = self.projections["W_O"].view(n_heads, d_head, n_heads, d_head)
    blocks = torch.stack([blocks[0, :, 0] if block == "first" else blocks[h, :, h] for h in range(n_heads)])
    return _joined(heads @ (blocks if block == "transposed" else blocks.mT))


@mistake(
    "output-projection-not-transposed",
    en=(
        "the joined heads are multiplied by W_O.weight itself, without a transpose",
        "nn.Linear keeps its weight as (out, in) and computes x @ weight.T. Since W_O is square, the wrong "
        "product has the right shape.",
        "Call the layer instead of its weight, or look at what nn.Linear does with it.",
    ),
    zh=(
        "拼接后的头直接乘以 W_O.weight，没有转置",
        "nn.Linear 按 (out, in) 保存权重，计算的是 x @ weight.T。W_O 是方阵，所以乘错了形状也对。",
        "不要直接用权重，调用这个层；或者看看 nn.Linear 是怎样使用权重的。",
    ),
)
def combine_heads(self, heads):
    return _joined(heads) @ self.projections["W_O"]


def _other_projection(name):
    def combine_heads(self, heads):
        return _joined(heads) @ self.projections[name].T

    return combine_heads


for _name in ("W_Q", "W_K", "W_V"):
    mistake(
        f"output-projection-is-{_name}",
        en=(
            f"the joined heads go through {_name} instead of W_O",
            f"{_name} prepares a token for attention; W_O mixes what the heads found. They have the same "
            "shape, so that no error is raised, but each learns a task of its own.",
            "Which of the four layers has not been used when combine_heads starts?",
        ),
        zh=(
            f"拼接后的头经过的是 {_name}，而不是 W_O",
            f"{_name} 为 attention 准备 token；W_O 混合各个头找到的内容。两者形状相同，所以不会报错，"
            "但各有各的任务。",
            "进入 combine_heads 时，四个层中还有哪一个没用过？",
        ),
    )(_other_projection(_name))


@mistake(
    "output-relu",
    en=(
        "a ReLU comes after W_O",
        "Attention ends with a plain linear map: the output is added to the residual stream, and must be "
        "able to subtract as well. The activation belongs to the feed-forward layer.",
        "Can an output of attention be negative? Can yours?",
    ),
    zh=(
        "W_O 之后加了 ReLU",
        "attention 以单纯的线性映射结束：输出要加到残差流上，也必须能够减。激活函数属于前馈层。",
        "attention 的输出可以是负数吗？你的可以吗？",
    ),
)
def combine_heads(self, heads):
    return torch.relu(_project(self, _joined(heads)))


@mistake(
    "output-gelu",
    en=(
        "a GELU comes after W_O",
        "Attention ends with a plain linear map: the output is added to the residual stream, and must be "
        "able to subtract as well. The activation belongs to the feed-forward layer.",
        "Twice the heads should give twice the output. Do they in yours?",
    ),
    zh=(
        "W_O 之后加了 GELU",
        "attention 以单纯的线性映射结束：输出要加到残差流上，也必须能够减。激活函数属于前馈层。",
        "各个头的内容加倍，输出也应当加倍。你的是这样吗？",
    ),
    parameters=("none", "tanh"),
)
def combine_heads(self, approximate, heads):
    return F.gelu(_project(self, _joined(heads)), approximate=approximate)


@mistake(
    "output-activation",
    en=(
        "an activation function comes after W_O",
        "Attention ends with a plain linear map: the output is added to the residual stream. The activation "
        "belongs to the feed-forward layer.",
        "Twice the heads should give twice the output. Do they in yours?",
    ),
    zh=(
        "W_O 之后加了激活函数",
        "attention 以单纯的线性映射结束：输出要加到残差流上。激活函数属于前馈层。",
        "各个头的内容加倍，输出也应当加倍。你的是这样吗？",
    ),
    parameters=FUNCTIONS[:-2],
)
def combine_heads(self, function, heads):
    return function(_project(self, _joined(heads)))


@mistake(
    "output-tanh-before",
    en=(
        "an activation function stands between the joined heads and W_O",
        "W_O mixes the averages that the heads made, as they are. An activation bends them first, and "
        "belongs to the feed-forward layer.",
        "Between joining the heads and W_O: is there anything to compute?",
    ),
    zh=(
        "拼接后的头与 W_O 之间加了激活函数",
        "W_O 直接混合各个头得到的加权平均。激活函数会先改变它们，那是前馈层的事。",
        "拼接各个头之后、W_O 之前，还需要计算什么吗？",
    ),
    parameters=FUNCTIONS,
)
def combine_heads(self, function, heads):
    return _project(self, function(_joined(heads)))


@mistake(
    "output-residual",
    en=(
        "the joined heads are added to the output of W_O",
        "The residual connection belongs to the block around attention, and it adds the tokens x, not the "
        "heads.",
        "Does the docstring say anything about adding?",
    ),
    zh=(
        "W_O 的输出又加上了拼接后的头",
        "残差连接属于 attention 外面的那一层，而且加的是 token x，不是各个头。",
        "docstring 里提到过相加吗？",
    ),
    parameters=(1, -1, 0.5),
)
def combine_heads(self, share, heads):
    joined = _joined(heads)
    return share * joined + _project(self, joined) * (0.5 if share == 0.5 else 1)


@mistake(
    "output-layer-norm",
    en=(
        "the output is normalised",
        "A norm belongs to the block around attention. In here it takes away how large an output is.",
        "Twice the heads should give twice the output. Do they in yours?",
    ),
    zh=(
        "对输出做了归一化",
        "归一化属于 attention 外面的那一层。放在这里，输出的大小就丢了。",
        "各个头的内容加倍，输出也应当加倍。你的是这样吗？",
    ),
    parameters=NORMS,
)
def combine_heads(self, norm, heads):
    return norm(_project(self, _joined(heads)))


@mistake(
    "output-softmax",
    en=(
        "a softmax comes after W_O",
        "The softmax belongs to the scores, to make weights of them. On the output it leaves numbers between "
        "0 and 1 that sum to 1.",
        "Can an output of yours be negative? It should be able to.",
    ),
    zh=(
        "W_O 之后又做了一次 softmax",
        "softmax 是用来把分数变成权重的。用在输出上，只剩下 0 到 1 之间、总和为 1 的数。",
        "你的输出可能是负数吗？它本应可以。",
    ),
)
def combine_heads(self, heads):
    return torch.softmax(_project(self, _joined(heads)), -1)


@mistake(
    "output-layer-norm-before",
    en=(
        "the joined heads are normalised before W_O",
        "A norm belongs to the block around attention. In here it takes away how much each head found.",
        "Between joining the heads and W_O: is there anything to compute?",
    ),
    zh=(
        "拼接后的头在进入 W_O 之前做了归一化",
        "归一化属于 attention 外面的那一层。放在这里，各个头找到多少内容就丢了。",
        "拼接各个头之后、W_O 之前，还需要计算什么吗？",
    ),
    parameters=(*((norm, True) for norm in NORMS), *((norm, False) for norm in NORMS)),
)
def combine_heads(self, how, heads):
    norm, joined_first = how
    return _project(self, norm(_joined(heads)) if joined_first else _joined(norm(heads)))


@mistake(
    "output-divided-by-heads",
    en=(
        "the output is divided by the number of heads, or by its square root",
        "The heads are put side by side, not averaged: there is no sum of H numbers to divide. What weight "
        "each head gets is for W_O to learn.",
        "Is there an average over heads anywhere in the formula?",
    ),
    zh=(
        "输出除以了头的个数或它的平方根",
        "各个头是并排放置的，没有求平均，也就没有需要除以 H 的和。每个头的分量由 W_O 来学。",
        "公式里有对头求平均的地方吗？",
    ),
    parameters=(1, 0.5),
)
def combine_heads(self, power, heads):
    return _project(self, _joined(heads)) / self.n_heads**power


@mistake(
    "output-gradient-doubled",
    en=(
        "the output is right, but the gradient that goes back is a multiple of the right one",
        "Training would take other steps than the formula says. A detached term that is added and taken "
        "away again leaves no trace in the values.",
        "Why is there a detach? Without one the gradient is right by itself.",
    ),
    zh=(
        "输出是对的，但传回去的梯度是正确值的若干倍",
        "训练走的步子就与公式不符了。加上又减去一个 detach 过的项，数值上不留痕迹，梯度却变了。",
        "为什么要用 detach？不用它，梯度自然就是对的。",
    ),
    parameters=(2, 0.5, 3),
)
def combine_heads(self, factor, heads):
    output = _project(self, _joined(heads))
    return factor * output + ((1 - factor) * output).detach()


@mistake(
    "merge-detached",
    en=(
        "the heads are cut off from the gradient on their way to W_O",
        "The values are right, and W_O learns. But nothing before it does: no gradient reaches the heads.",
        "Is there a detach, a .data or a no_grad between the heads and W_O?",
    ),
    zh=(
        "各个头在进入 W_O 之前与梯度断开了",
        "数值是对的，W_O 也能学习。但它之前的一切都学不到东西：没有梯度到达各个头。",
        "从各个头到 W_O 之间，有没有用 detach、.data 或 no_grad？",
    ),
)
def combine_heads(self, heads):
    return _project(self, _joined(heads.detach()))


@mistake(
    "output-projection-detached",
    en=(
        "the weight of W_O is cut off from the gradient",
        "The values are right, but W_O never learns: it stays what it was drawn as.",
        "Call the layer itself: .data, detach and requires_grad_(False) keep the gradient away from its "
        "weight.",
    ),
    zh=(
        "W_O 的权重与梯度断开了",
        "数值是对的，但 W_O 永远学不到东西，始终是初始化时的样子。",
        "直接调用这个层：.data、detach 和 requires_grad_(False) 都会让权重得不到梯度。",
    ),
)
def combine_heads(self, heads):
    return _joined(heads) @ self.projections["W_O"].detach().T


@mistake(
    "merge-first-head-detached",
    en=(
        "some of the heads are cut off from the gradient",
        "The values are right, but what made these heads never learns: no gradient reaches it.",
        "Is there a detach, a .data or a no_grad around some of the heads?",
    ),
    zh=(
        "有几个头与梯度断开了",
        "数值是对的，但产生这些头的参数永远学不到东西：梯度到不了那里。",
        "是不是在某些头上用了 detach、.data 或 no_grad？",
    ),
    parameters=(slice(0, 1), slice(-1, None), slice(1, None), slice(0, -1)),
)
def combine_heads(self, own, heads):
    kept = heads.clone()
    kept[:, own] = heads[:, own].detach()
    return _project(self, _joined(kept))


@mistake(
    "output-projection-on-d-head",
    en=(
        "W_O gets each head by itself, before they are joined",
        "W_O takes all d_model features of a token at once; a head alone has only d_head of them.",
        "What is the last dimension of what you hand to W_O, and what should it be?",
    ),
    zh=(
        "各个头还没拼接，就单独交给了 W_O",
        "W_O 一次接收一个 token 的全部 d_model 个特征；单独一个头只有 d_head 个。",
        "你交给 W_O 的张量最后一维是多大？应当是多大？",
    ),
)
def combine_heads(self, heads):
    return _joined(_project(self, heads))


@mistake(
    "merge-batch-flattened",
    en=(
        "batch and tokens are joined into one dimension: the result is (B * L, d_model)",
        "The caller wants its batch back: a token belongs to a sentence.",
        "How many dimensions does the docstring give the result?",
    ),
    zh=(
        "batch 和 token 被合并成一维：结果是 (B * L, d_model)",
        "调用者需要原来的 batch：每个 token 都属于某个句子。",
        "docstring 要求结果有几维？",
    ),
)
def combine_heads(self, heads):
    return _project(self, _joined(heads)).flatten(0, 1)


@mistake(
    "merge-still-split",
    en=(
        "the output is still cut into heads: the result is (B, L, H, d_head)",
        "After W_O there are no heads any more: its output is one vector of d_model features for each token.",
        "What does W_O give for one token? Is there anything to reshape after it?",
    ),
    zh=(
        "输出仍然分成各个头：结果是 (B, L, H, d_head)",
        "经过 W_O 之后就没有头了：每个 token 得到的是一个 d_model 维的向量。",
        "W_O 对一个 token 给出什么？之后还需要 reshape 吗？",
    ),
    parameters=(False, True),
)
def combine_heads(self, heads_first, heads):
    output = _project(self, _joined(heads)).unflatten(-1, (self.n_heads, -1))
    return output.transpose(1, 2) if heads_first else output


@mistake(
    "merge-length-first",
    en=(
        "the tokens stand before the batch: the result is (L, B, d_model)",
        "The batch comes first everywhere in this exercise. Some layers of torch have it second by default.",
        "A permute lists the old places in the new order. Which one should come first?",
    ),
    zh=(
        "token 排在了 batch 前面：结果是 (L, B, d_model)",
        "本练习中 batch 永远是第一维。torch 的有些层默认把它放在第二维。",
        "permute 按新的顺序列出旧的维度。排在最前的应当是哪一维？",
    ),
)
def combine_heads(self, heads):
    return _project(self, _joined(heads)).transpose(0, 1)


@mistake(
    "merge-features-first",
    en=(
        "tokens and features have changed places in the output: the result is (B, d_model, L)",
        "Each token should get one row of d_model features, the width that it had.",
        "Is there one transpose too many?",
    ),
    zh=(
        "输出中 token 和特征换了位置：结果是 (B, d_model, L)",
        "每个 token 应当得到一行 d_model 个特征，与原来的宽度相同。",
        "是不是多转置了一次？",
    ),
)
def combine_heads(self, heads):
    return _project(self, _joined(heads)).transpose(1, 2)


@mistake(
    "merge-sum-of-heads",
    en=(
        "the heads are reduced to one head of d_head features",
        "The residual stream needs the width that it had: d_model = H * d_head. A sum or an average of the "
        "heads is narrower, and loses who found what.",
        "Which operation on H slices of d_head gives d_model features?",
    ),
    zh=(
        "各个头被压缩成了一个只有 d_head 个特征的头",
        "残差流需要原来的宽度：d_model = H * d_head。各个头的和或平均更窄，也丢掉了谁找到了什么。",
        "H 段 d_head 怎样才能得到 d_model 个特征？",
    ),
    parameters=tuple(itertools.product(("sum", "mean"), (True, False))),
)
def combine_heads(self, how, heads):
    reduction, projected = how
    one, d_head = getattr(heads, reduction)(1), heads.shape[-1]
    return one @ self.projections["W_O"][:d_head, :d_head].T if projected else one


@mistake(
    "merge-projection-missing-and-order-wrong",
    en=(
        "the heads are joined in a wrong order, and W_O is left out as well",
        "Two things are wrong: each token must have its heads next to each other, head 0 first, and W_O "
        "must mix them then.",
        "Undo split_heads step by step, in the opposite order. What is then still to be done with the "
        "result?",
    ),
    zh=(
        "各个头拼接的顺序不对，而且漏掉了 W_O",
        "有两处不对：每个 token 的各个头要排在一起，头 0 在最前；然后还要由 W_O 混合。",
        "按相反的顺序一步步撤销 split_heads。之后的结果还要做什么？",
    ),
    parameters=tuple(itertools.permutations(range(4))),
)
def combine_heads(self, order, heads):
    batch, n_heads, length, d_head = heads.shape
    return heads.permute(order).reshape(batch, length, n_heads * d_head)


@mistake(
    "output-projection-after-another",
    en=(
        "the joined heads go through another projection before W_O",
        "W_Q, W_K and W_V have done their work when the heads come back: only W_O is left.",
        "Which of the four layers does combine_heads need?",
    ),
    zh=(
        "拼接后的头在 W_O 之前又经过了另一个投影",
        "各个头算完之后，W_Q、W_K 和 W_V 的任务已经完成，只剩 W_O。",
        "combine_heads 需要四个层中的哪一个？",
    ),
    parameters=itertools.product(("W_Q", "W_K", "W_V"), (True, False)),
)
def combine_heads(self, form, heads):
    name, first = form
    other, joined = self.projections[name].T, _joined(heads)
    return _project(self, joined @ other) if first else _project(self, joined) @ other


@mistake(
    "output-plus-mean",
    en=(
        "a mean (or a sum) of the features or heads is added to the output",
        "The output is W_O times the joined heads and nothing else. What should be mixed, W_O mixes.",
        "What does your last line add?",
    ),
    zh=(
        "输出又加上了特征或头的平均（或和）",
        "输出就是 W_O 乘以拼接后的头，仅此而已。需要混合的，由 W_O 来混合。",
        "你的最后一行加了什么？",
    ),
    parameters=itertools.product(("mean", "sum"), ("features", "heads", "output")),
)
def combine_heads(self, form, heads):
    how, what = form
    joined = _joined(heads)
    output = _project(self, joined)
    if what == "heads":
        return output + getattr(heads, how)(1).repeat(1, 1, self.n_heads)
    return output + getattr(joined if what == "features" else output, how)(-1, keepdim=True)


@mistake(
    "output-weight-elementwise",
    en=(
        "the joined heads are multiplied by numbers of W_O one by one: there is no matrix product",
        "Each output feature is a sum over all d_model features of the joined heads. One by one, no head "
        "learns of another.",
        "Which operator multiplies matrices, and which one multiplies numbers one by one?",
    ),
    zh=(
        "拼接后的头与 W_O 的数逐个相乘，没有做矩阵乘法",
        "输出的每个特征都是对拼接后全部 d_model 个特征的求和。逐个相乘，各个头之间就互不相通。",
        "哪个运算符是矩阵乘法，哪个是逐元素相乘？",
    ),
    parameters=(
        torch.diagonal,
        lambda w: w[0],
        lambda w: w[:, 0],
        lambda w: w.mean(0),
        lambda w: w.mean(1),
        lambda w: w.sum(0),
        lambda w: w.sum(1),
    ),
)
def combine_heads(self, numbers, heads):
    return _joined(heads) * numbers(self.projections["W_O"])


@mistake(
    "output-weight-altered",
    en=(
        "the weight of W_O is normalised or put through a function before it is used",
        "The weight is what training has found. A norm, a softmax or a mask on it makes it another one.",
        "Is W_O itself called, as a layer?",
    ),
    zh=(
        "W_O 的权重在使用之前做了归一化或某种函数运算",
        "权重是训练得到的。对它做归一化、softmax 或加 mask，它就成了另一个矩阵。",
        "调用的是 W_O 这个层本身吗？",
    ),
    parameters=(
        lambda w: F.normalize(w, dim=-1),
        lambda w: F.normalize(w, dim=0),
        lambda w: w / w.norm(),
        lambda w: torch.softmax(w, -1),
        lambda w: torch.softmax(w, 0),
        torch.tril,
        torch.triu,
        torch.relu,
        torch.abs,
        torch.tanh,
        torch.neg,
    ),
)
def combine_heads(self, altered, heads):
    return _joined(heads) @ altered(self.projections["W_O"]).T


def _orders(formula, call, result):
    """The orders that make the result before W_O, if there are any."""
    heads, w_o = call.args[0].double(), formula.projections["W_O"]
    if min(heads.shape) == 1:
        return None  # many orders give the same there
    joined = torch.linalg.solve(w_o, result.flatten(0, -2).T).T
    return found_orders(heads, heads.shape, joined, 1e-3)  # float32 leaves less of the inverse


@mistake(
    "merge-axes-mixed-up",
    en=(
        "the dimensions are read or permuted in a wrong order, and a reshape makes the shape right again",
        "All numbers are there, but not where they belong: tokens, heads or samples are mixed up before "
        "W_O. A shape alone cannot show this.",
        "Follow one number by hand, say feature 0 of head 1 of token 0: at which place of its row should it "
        "be?",
    ),
    zh=(
        "各维的读取顺序或排列顺序错了，再由 reshape 把形状凑对",
        "数都在，但不在该在的位置：token、头或样本在进入 W_O 之前就混在了一起。单看形状是看不出来的。",
        "用手追踪一个数，比如 token 0 的头 1 的第 0 个特征：它应当在这一行的第几个位置？",
    ),
    fit=_orders,
)
def combine_heads(self, orders, heads):
    batch, n_heads, length, d_head = heads.shape
    return _project(self, moved(heads, heads.shape, orders).reshape(batch, length, n_heads * d_head))


def _factor(formula, call, result):
    """The one factor between the result and the right one, if there is one."""
    right = formula.combine_heads(call.args[0].double())
    factor = float((result * right).sum() / (right * right).sum())
    return factor if math.isfinite(factor) and factor else None


@mistake(
    "output-scaled",
    en=(
        "the output is multiplied by a constant",
        "The scale 1 / sqrt(d_k) belongs to the scores alone. After W_O there is nothing to scale: its "
        "weights learn the right size.",
        "Where in the formula of attention does a scale stand, and how often?",
    ),
    zh=(
        "输出被乘上了一个常数",
        "1 / sqrt(d_k) 这个缩放只属于分数。W_O 之后没有什么需要缩放的：合适的大小由它的权重来学。",
        "在 attention 的公式里，缩放出现在哪里？出现几次？",
    ),
    fit=_factor,
)
def combine_heads(self, factor, heads):
    return factor * _project(self, _joined(heads))


def _gives_w_o_no_gradient(formula, call, answer):
    """Linear in the joined heads, but without W_O."""
    if call.upstream is None:
        return True
    gradient = answer.gradients[0].double()
    above = (answer.results[0].double() * call.upstream).sum(-1)  # (B, L), as below for a linear map
    below = (call.args[0].double() * gradient).sum((1, 3))
    return answer.parameter_gradients["W_O"] is None and torch.allclose(above, below)


signed_mistake(
    "output-projection-made-anew",
    "combine_heads",
    signs=(),
    en=(
        "another layer stands in the place of W_O",
        "The heads are mixed by weights that are not W_O's: a layer made in the method is new at every "
        "call, and never learns. W_O itself gets no gradient.",
        "Which layer of the module does combine_heads call? The constructor has made it already.",
    ),
    zh=(
        "W_O 的位置上是另一个层",
        "混合各个头的并不是 W_O 的权重：在方法里新建的层每次调用都不同，永远学不到东西，而 W_O 自己没有梯"
        "度。",
        "combine_heads 调用的是模块里的哪个层？构造函数已经把它建好了。",
    ),
    holds=_gives_w_o_no_gradient,
)


def _drops_out(formula, call, answer):
    """Each number is 0 or the right one times a constant above 1."""
    ratio = answer.results[0].double() / formula.combine_heads(call.args[0].double())
    kept = ratio[ratio != 0]
    return bool((kept > 1.001).all()) and torch.allclose(kept, kept[:1], rtol=1e-3)


signed_mistake(
    "dropout-active",
    "combine_heads",
    signs=(),
    en=(
        "numbers of the output are dropped at random, and the others enlarged",
        "This is what dropout does: nn.Dropout in train mode, F.dropout unless it is told otherwise. The "
        "formula has none, and the same tokens must give the same output.",
        "Do two calls with the same input give the same output in your module?",
    ),
    zh=(
        "输出中有些数被随机丢弃，其余的被放大",
        "这正是 dropout 的作用：nn.Dropout 在训练模式下如此，F.dropout 默认也如此。公式里没有它，同样的 "
        "token 必须得到同样的输出。",
        "用同样的输入调用两次，你的模块输出相同吗？",
    ),
    holds=_drops_out,
)


def _adds_the_same_everywhere(formula, call, answer):
    """One vector is added to the right output of every token."""
    added = (answer.results[0].double() - formula.combine_heads(call.args[0].double())).flatten(0, 1)
    return bool(added.abs().max() > 1e-3) and torch.allclose(added, added[:1].expand_as(added), atol=1e-5)


signed_mistake(
    "bias",
    "combine_heads",
    signs=(),
    en=(
        "the same vector is added to the output of every token: W_O has a bias",
        "The formula of the lesson has four matrices and nothing else. nn.Linear makes a bias unless it is "
        "told not to.",
        "Which argument of nn.Linear says whether there is a bias?",
    ),
    zh=(
        "每个 token 的输出都加上了同一个向量：W_O 带有 bias",
        "本课的公式只有四个矩阵。nn.Linear 默认会带 bias，除非特别指明。",
        "nn.Linear 的哪个参数决定有没有 bias？",
    ),
    holds=_adds_the_same_everywhere,
)
