"""Mistakes that ordinary values cannot show: a lost check stands for each of them by itself.

The same sign may have several causes, so the words name the property first and the usual causes then. An
entry for one function stands before those for any.
"""

import re

from grader.judge.mistakes import signed_mistake


def _like(**patterns):
    """Whether values of the message match patterns, by name."""
    return lambda values: all(re.search(pattern, str(values.get(name))) for name, pattern in patterns.items())


def _near(low, high):
    """Whether the error is within bounds: a matter of digits, and not of another formula."""
    return lambda values: low < float(values["error"]) < high


def _digits(low, high):
    """Whether the numbers of tier 4 are wrong by so much, which is more than rounding in float64."""
    return lambda values: values["tolerance"] == "1e-16" and _near(low, high)(values)


def _shapes(values):
    """The actual and the expected shape: tuples here, words if they came from a worker."""
    return [tuple(map(int, re.findall(r"\d+", str(values[name])))) for name in ("actual", "expected")]


# --- what is returned

signed_mistake(
    "returns-nothing",
    "",
    certain=True,
    signs=[("*", "none"), ("*", "not_a_pair", _like(got="NoneType"))],
    en=(
        "the function returns None",
        "A value that is computed and not returned is lost. Without a return statement Python returns None.",
        "Does every way through your function end with a return?",
    ),
    zh=(
        "函数返回了 None",
        "算出来却没有返回的值就丢了。没有 return 语句时，Python 返回 None。",
        "你的函数的每一条路径都以 return 结束吗？",
    ),
)

signed_mistake(
    "none-in-the-pair",
    "",
    certain=True,
    signs=[("*", "none_in_pair")],
    en=(
        "one of the two results is None",
        "Both are asked for: the output, and the weights that made it. The usual cause: another variable, "
        "such as the mask, stands in the return.",
        "Which two variables does your return name, and what do they hold when mask is None?",
    ),
    zh=(
        "两个返回值中有一个是 None",
        "两个都要：输出，以及产生它的权重。常见原因：return 里写成了别的变量，例如 mask。",
        "你的 return 写的是哪两个变量？mask 是 None 时它们是什么？",
    ),
)

signed_mistake(
    "output-alone",
    "",
    signs=[("*", "not_a_pair", _like(got="^Tensor$"))],
    en=(
        "one tensor is returned where two are asked for",
        "The caller wants the output and the weights, as a pair. The weights show who looks at whom.",
        "Which two results does the docstring list?",
    ),
    zh=(
        "应当返回两个张量，却只返回了一个",
        "调用者要的是一对：输出和权重。权重说明谁在看谁。",
        "docstring 列出了哪两个返回值？",
    ),
)

signed_mistake(
    "not-the-pair",
    "",
    signs=[("*", "not_a_pair", _like(got="dict|list|tuple|[A-Z]"))],
    en=(
        "something else than the pair (output, weights) is returned",
        "The caller unpacks two tensors, in this order. A dict, a class or a longer tuple cannot be "
        "unpacked like that.",
        "What does the line `return` have to look like, by the docstring?",
    ),
    zh=(
        "返回的不是 (output, weights) 这一对",
        "调用者按顺序取出两个张量。字典、自定义类或更长的元组都不能这样取。",
        "按照 docstring，return 那一行应当是什么样？",
    ),
)

for _function in ("scaled_dot_product_attention", "forward"):
    signed_mistake(
        "result-nested",
        _function,
        signs=[("*", "not_a_tensor", _like(got="^tuple"))],
        en=(
            "one of the two results is itself a tuple",
            "Usual causes: what another function returned, a whole pair, is put into a pair again, and a "
            "comma too many behind a value.",
            "How many tensors does each name in your return hold?",
        ),
        zh=(
            "两个返回值之一本身是一个 tuple",
            "常见原因：把另一个函数返回的一对结果整个又放进了一对里，或者某个值后面多了一个逗号。",
            "你的 return 里，每个名字里有几个张量？",
        ),
    )
    signed_mistake(
        "weights-not-a-tensor",
        _function,
        signs=[("*", "not_a_tensor")],
        en=(
            "one of the two results is no torch.Tensor",
            "A list or an array has left torch: no gradient passes through it, and no device or dtype "
            "belongs to it.",
            "Is there a tolist, a numpy or an item on the way to the return?",
        ),
        zh=(
            "两个返回值之一不是 torch.Tensor",
            "列表或数组已经离开了 torch：梯度无法通过，也没有设备和 dtype。",
            "在 return 之前，是不是用了 tolist、numpy 或 item？",
        ),
    )

signed_mistake(
    "result-not-a-tensor",
    "",
    signs=[("*", "not_a_tensor")],
    en=(
        "the result is no torch.Tensor",
        "A list, a number or a numpy array has left torch: no gradient passes through it, and no device "
        "belongs to it.",
        "Is there a tolist, a numpy or an item on the way to the return? Is there a comma too many?",
    ),
    zh=(
        "返回值不是 torch.Tensor",
        "列表、数字或 numpy 数组已经离开了 torch：梯度无法通过，也没有设备。",
        "在 return 之前，是不是用了 tolist、numpy 或 item？是不是多写了一个逗号？",
    ),
)

signed_mistake(
    "causal-mask-not-bool",
    "causal_mask",
    signs=[("*", "dtype")],
    en=(
        "the causal mask holds numbers instead of bools",
        "A mask says yes or no. With numbers, ~ and masked_fill do something else or refuse, and a mask of "
        "0 and -inf means the opposite when it is read as bool.",
        "Which dtype has a tensor that answers yes or no?",
    ),
    zh=(
        "causal mask 里是数，而不是布尔值",
        "mask 回答的是“能”或“不能”。如果是数，~ 和 masked_fill 的含义就变了，或者直接报错；由 0 和 -inf 组成"
        "的 mask 当作 bool 来读，意思正好相反。",
        "只回答“能”或“不能”的张量应当是什么 dtype？",
    ),
)

signed_mistake(
    "always-float32",
    "",
    signs=[("*", "dtype", _like(actual="float32"))],
    en=(
        "the result is float32, whatever came in",
        "The caller chose the precision. Usual causes: .float(), dtype=torch.float32, or a new tensor of "
        "zeros or ones that was given no dtype.",
        "Which line makes a new tensor, or converts one? Let it take the dtype from the argument.",
    ),
    zh=(
        "无论传入什么，结果都是 float32",
        "精度由调用者决定。常见原因：.float()、dtype=torch.float32，或者新建 zeros、ones 时没有指定 dtype。",
        "哪一行新建或转换了张量？让它沿用参数的 dtype。",
    ),
)

signed_mistake(
    "always-float64",
    "",
    signs=[("*", "dtype", _like(actual="float64"))],
    en=(
        "the result is float64, though float32 came in",
        "The caller chose the precision, and float64 costs twice the memory. Usual causes: .double(), a "
        "float64 tensor or a numpy number in the calculation, and no way back.",
        "Which line brings float64 in? If it is meant, convert back at the end.",
    ),
    zh=(
        "传入的是 float32，结果却成了 float64",
        "精度由调用者决定，而 float64 要占两倍内存。常见原因：.double()，或者运算中混入了 float64 张量或 "
        "numpy 数，之后又没有转回来。",
        "哪一行引入了 float64？如果是有意的，最后要转回去。",
    ),
)

signed_mistake(
    "half-result",
    "",
    signs=[("*", "dtype", _like(actual="float16|bfloat16"))],
    en=(
        "the result is in half precision, whatever came in",
        "Half precision has 3 digits (bfloat16 not even that), and float16 ends at 65504. The caller chose "
        "the dtype.",
        "Which line converts to half or bfloat16?",
    ),
    zh=(
        "无论传入什么，结果都是半精度",
        "半精度只有 3 位有效数字（bfloat16 还不到），float16 最大只到 65504。dtype 由调用者决定。",
        "哪一行转换成了 half 或 bfloat16？",
    ),
)

signed_mistake(
    "causal-mask-device-ignored",
    "causal_mask",
    signs=[("*", "device")],
    en=(
        "the mask is not made on the device that is asked for",
        "The mask must be where the scores are: a mask on the CPU and scores on a GPU cannot be combined.",
        "What happens to the argument device in your function?",
    ),
    zh=(
        "mask 没有建在指定的设备上",
        "mask 必须和分数在同一个设备上：CPU 上的 mask 与 GPU 上的分数无法一起运算。",
        "在你的函数里，device 这个参数用到了吗？",
    ),
)

signed_mistake(
    "device-ignored",
    "",
    signs=[("*", "device")],
    en=(
        "the result is on another device than the arguments",
        "A tensor that is made without a device is made on the CPU, and cannot be combined with one on a "
        "GPU.",
        "Which line makes a new tensor? Let it take the device from the argument.",
    ),
    zh=(
        "结果与参数不在同一个设备上",
        "新建张量时不指定设备，就会建在 CPU 上，无法与 GPU 上的张量一起运算。",
        "哪一行新建了张量？让它沿用参数的设备。",
    ),
)


def _squeezed(values):
    """Dimensions of size 1 are gone, and nothing else."""
    actual, expected = _shapes(values)
    kept = iter(expected)
    dropped = len(expected) - len(actual)
    return dropped > 0 and expected.count(1) - actual.count(1) == dropped and all(n in kept for n in actual)


signed_mistake(
    "squeezes-size-one",
    "",
    signs=[("*", "shape", _squeezed)],
    en=(
        "a dimension of size 1 is missing",
        "A batch of one sentence and a sentence of one token are ordinary inputs. squeeze takes every such "
        "dimension away, and an index does too.",
        "What does your code do if there is only one sample, or one token?",
    ),
    zh=(
        "大小为 1 的维度不见了",
        "只有一句话的 batch、只有一个 token 的句子都是正常的输入。squeeze 会去掉所有这样的维度，用下标取也"
        "会。",
        "如果只有一个样本或一个 token，你的代码会怎样？",
    ),
)

# --- what is raised

signed_mistake(
    "undefined-name",
    "",
    certain=True,
    signs=[("*", "raised", _like(type="NameError|UnboundLocalError"))],
    en=(
        "a name is used that does not exist there",
        "A function knows its arguments, its own variables and the names of the module. A method finds "
        "n_heads and d_head at self.",
        "From which argument can this number be read?",
    ),
    zh=(
        "用了一个那里并不存在的名字",
        "函数只认识它的参数、自己的变量和模块里的名字。在方法里，n_heads 和 d_head 要通过 self 取。",
        "这个数可以从哪个参数读出来？",
    ),
)

signed_mistake(
    "exits",
    "",
    certain=True,
    signs=[("*", "raised", _like(type="SystemExit|KeyboardInterrupt"))],
    en=(
        "the program is ended from inside the function",
        "exit, quit and sys.exit end the whole program of the caller, training and all.",
        "Is there an exit left in from debugging?",
    ),
    zh=(
        "函数内部结束了整个程序",
        "exit、quit 和 sys.exit 会结束调用者的整个程序，包括训练。",
        "是不是有调试时留下的 exit？",
    ),
)

signed_mistake(
    "view-of-non-contiguous",
    "",
    certain=True,
    signs=[("*", "raised", _like(says="view size is not compatible"))],
    en=(
        "view is applied to a tensor that is not contiguous in memory",
        "transpose and permute only change how the memory is read, and so may the caller have done before. "
        "view cannot join such dimensions; reshape copies where it has to.",
        "What can stand in the place of view, or in front of it?",
    ),
    zh=(
        "对内存中不连续的张量用了 view",
        "transpose 和 permute 只是改变读取内存的方式，调用者之前也可能这样做过。view 无法合并这样的维度，"
        "reshape 则会在必要时复制。",
        "view 可以换成什么？或者在它前面加上什么？",
    ),
)

signed_mistake(
    "mask-none-crashes",
    "",
    certain=True,
    signs=[("*", "raised", _like(says="NoneType"))],
    en=(
        "the code fails where a value is None",
        "mask=None is an ordinary call: every key is allowed then. Other usual causes: a function whose "
        "return is missing, and an attribute that was never set.",
        "Which variable of this line can be None, and what should happen then?",
    ),
    zh=(
        "某个值为 None 时代码出错",
        "mask=None 是正常的调用，表示所有 key 都可见。其他常见原因：某个函数漏写了 return，或者某个属性没有"
        "赋值。",
        "这一行里哪个变量可能是 None？这时应当怎么办？",
    ),
)

signed_mistake(
    "mask-truth-value",
    "",
    certain=True,
    signs=[("*", "raised", _like(says="Boolean value of Tensor|truth value"))],
    en=(
        "a tensor of several bools is asked whether it is true",
        "`if mask:` and `not mask` ask a whole tensor for one answer. What was meant is one of two: whether "
        "there is a mask at all, or the opposite of each bool in it.",
        "How does one ask in Python whether something is None? How does one turn a tensor of bools round?",
    ),
    zh=(
        "把含有多个布尔值的张量当成一个真假来判断",
        "`if mask:` 和 `not mask` 是要整个张量给出一个答案。本意应当是二者之一：有没有 mask，或者把其中每个布"
        "尔值取反。",
        "在 Python 里，怎样判断一个东西是不是 None？怎样把布尔张量逐个取反？",
    ),
)

signed_mistake(
    "float32-buffer",
    "",
    signs=[
        ("*", "raised", _like(says="expected scalar type|have the same dtype|should be the same|found dtype"))
    ],
    en=(
        "tensors of two dtypes meet: one of them is float32 whatever came in",
        "The caller chose the precision. Usual causes: .float(), or a new tensor of zeros or ones that was "
        "given no dtype.",
        "Which line makes a new tensor, or converts one? Let it take the dtype from the argument.",
    ),
    zh=(
        "两种 dtype 的张量相遇：其中一个无论传入什么都是 float32",
        "精度由调用者决定。常见原因：.float()，或者新建 zeros、ones 时没有指定 dtype。",
        "哪一行新建或转换了张量？让它沿用参数的 dtype。",
    ),
)

for _function in ("scaled_dot_product_attention", "forward"):
    signed_mistake(
        "two-values-unpacked",
        _function,
        signs=[("*", "raised", _like(says="values to unpack \\(expected 2"))],
        en=(
            "two values are unpacked from something that holds another number of them",
            "On the right of the = stands a shape with another number of dimensions, or the result of a "
            "function that returns more or fewer than two tensors.",
            "How many values stand on the right of the = in this line, and which function made them?",
        ),
        zh=(
            "把个数不是二的东西拆成了两个变量",
            "等号右边要么是维数不同的 shape，要么是某个函数的结果，而它返回的张量不是两个。",
            "这一行等号右边有几个值？是哪个函数给出的？",
        ),
    )

signed_mistake(
    "module-not-initialised",
    "",
    certain=True,
    signs=[("*", "raised", _like(says=r"Module\.__init__\(\)"))],
    en=(
        "the constructor does not call super().__init__() first",
        "nn.Module sets up there where layers and parameters are registered. Before that, no layer can be "
        "assigned to self, and every method fails.",
        "Compare the first line of your constructor with the released file.",
    ),
    zh=(
        "构造函数没有先调用 super().__init__()",
        "nn.Module 在那里准备好登记层和参数的地方。在此之前，不能把层赋给 self，所有方法都会失败。",
        "把构造函数的第一行与原文件比较一下。",
    ),
)

signed_mistake(
    "size-is-a-float",
    "",
    certain=True,
    signs=[("*", "raised", _like(type="TypeError", says="got float|'float' object cannot be interpreted"))],
    en=(
        "a size is a float where a whole number is needed",
        "In Python / gives a float even if nothing remains: 15 / 3 is 5.0, and 5.0 is no size. It may stand "
        "in this line, or where the size was made, in the constructor.",
        "Which division gives a whole number in Python?",
    ),
    zh=(
        "某个大小是浮点数，而这里需要整数",
        "在 Python 里，/ 即使整除也得到浮点数：15 / 3 是 5.0，而 5.0 不能作为大小。它可能就在这一行，也可能在"
        "构造函数里算出这个大小的地方。",
        "Python 里哪种除法得到整数？",
    ),
)

signed_mistake(
    "mask-arithmetic",
    "",
    certain=True,
    signs=[("*", "raised", _like(says="with (a|two) bool tensor"))],
    en=(
        "bools are subtracted, which torch refuses",
        "A mask answers yes or no. Its opposite is another mask, and not a difference: 1 - mask and -mask "
        "raise an error.",
        "Which operator turns True into False in every place of a tensor?",
    ),
    zh=(
        "对布尔值做减法，torch 不允许",
        "mask 回答的是“能”或“不能”。它的反面是另一个 mask，而不是差：1 - mask 和 -mask 都会报错。",
        "哪个运算符能把张量里的每个 True 变成 False？",
    ),
)

signed_mistake(
    "bool-for-tensor",
    "",
    certain=True,
    signs=[("*", "raised", _like(type="TypeError", says="must be Tensor, not bool|got \\(bool,"))],
    en=(
        "a single True or False stands where a tensor is needed",
        "`is`, `not` and `in` answer with one bool for the whole tensor: `mask is False` asks whether mask "
        "is the very object False, which no tensor is.",
        "Which operator compares each entry of a tensor, and gives a tensor?",
    ),
    zh=(
        "该用张量的地方，得到的是单独一个 True 或 False",
        "is、not 和 in 对整个张量只给出一个布尔值：`mask is False` 问的是 mask 是不是 False 这个对象，而张量"
        "都不是。",
        "哪个运算符会逐个比较张量的元素，并给出一个张量？",
    ),
)

signed_mistake(
    "number-too-large",
    "",
    certain=True,
    signs=[("*", "raised", _like(says="without overflow"))],
    en=(
        "a number is filled in that the dtype cannot hold",
        "float16 ends at 65504 and float32 at 3.4e38; the smallest number of float64 does not fit there. "
        "Infinity fits into every floating point type.",
        "Which number do you fill in, and which dtype has the tensor?",
    ),
    zh=(
        "填入的数超出了这个 dtype 的范围",
        "float16 最大到 65504，float32 最大到 3.4e38；float64 的最小值放不进去。无穷则在所有浮点类型里都能表"
        "示。",
        "你填入的是什么数？张量的 dtype 是什么？",
    ),
)

signed_mistake(
    "method-not-called",
    "",
    certain=True,
    signs=[("*", "raised", _like(type="TypeError", says="builtin_function_or_method|'method' object"))],
    en=(
        "a method stands where its result is needed: it is not called",
        "Without parentheses the name of a method is the method itself, and no tensor.",
        "Which name in this line lacks its ()?",
    ),
    zh=(
        "该用方法的结果的地方，写的是方法本身：没有调用它",
        "不写括号时，方法名就是方法本身，而不是张量。",
        "这一行里，哪个名字后面少了 ()？",
    ),
)

signed_mistake(
    "fixed-rank",
    "",
    signs=[
        ("*", "raised", _like(says="values to unpack|Dimension out of range|must be a [234]D tensor")),
        ("*", "raised", _like(says="number of (subscripts|dimensions)|einsum|dims.* doesn't match|permute")),
    ],
    en=(
        "the code works for one number of dimensions only",
        "No to three leading dimensions may come before the last two. Usual causes: unpacking shape into a "
        "fixed number of names, bmm, and dimensions counted from the front.",
        "How can the last two dimensions be named without knowing how many come before them?",
    ),
    zh=(
        "代码只适用于固定的维数",
        "最后两维之前可以有零到三个维度。常见原因：把 shape 拆成固定个数的变量、bmm，以及从前面数维度。",
        "不知道前面有几维时，怎样表示最后两维？",
    ),
)

signed_mistake(
    "backward-raises",
    "",
    signs=[
        (
            "*",
            "raised",
            _like(says="needed for gradient|modified by an inplace|numpy\\(\\) on Tensor|does not req"),
        )
    ],
    en=(
        "the way back of the gradient is broken",
        "Autograd keeps the numbers that it needs on the way back. Usual causes: an in-place operation (a "
        "trailing _ , or +=, /=) on one of them, and a detour through numpy.",
        "Which operation of your function works in place, or leaves torch?",
    ),
    zh=(
        "梯度回不去",
        "autograd 会保存反向传播需要的数。常见原因：对其中某个张量做了就地操作（结尾的 _，或 +=、/=），或者"
        "绕道 numpy。",
        "你的函数里，哪个操作是就地进行的，或者离开了 torch？",
    ),
)

signed_mistake(
    "argument-changed",
    "",
    signs=[
        ("*", "argument_shape"),
        ("*", "raised", _like(says="in-place operation|written-to tensor|inplace")),
    ],
    en=(
        "an argument is changed in place",
        "The tensor belongs to the caller, who may still need it; autograd refuses it where a gradient is "
        "wanted. A trailing _ , *=, -= and an index on the left of = all write into it.",
        "Which line writes into a tensor that came in as an argument? Make a new one instead.",
    ),
    zh=(
        "参数被就地修改了",
        "这个张量属于调用者，之后可能还要用；需要梯度时 autograd 会拒绝。结尾的 _、*=、-= 以及等号左边的下标"
        "都会写进去。",
        "哪一行写进了作为参数传入的张量？改为生成一个新的。",
    ),
)

signed_mistake(
    "forward-wants-three-inputs",
    "forward",
    certain=True,
    signs=[("*", "signature", _like(actual="\\b(key|k|value|v)\\b"))],
    en=(
        "forward asks for queries, keys and values",
        "In self-attention all three come from the same tokens: forward gets x and makes them itself.",
        "Which arguments does the signature of forward in the stub have?",
    ),
    zh=(
        "forward 要求传入 query、key 和 value",
        "在 self-attention 中，三者都来自同样的 token：forward 只接收 x，自己算出它们。",
        "发给你的文件中，forward 的签名有哪些参数？",
    ),
)

signed_mistake(
    "argument-required",
    "",
    certain=True,
    signs=[
        ("*", "signature"),
        (
            "*",
            "raised",
            _like(type="TypeError", says="required positional|unexpected keyword|positional argument"),
        ),
    ],
    en=(
        "a function cannot be called with the arguments that it should take",
        "Others call it as the stub says. Usual causes: a default that is gone, so that mask or device must "
        "be given; one argument more; another order; a method whose first argument, self, is missing.",
        "Compare the line `def` with the one in the released file.",
    ),
    zh=(
        "函数不能按规定的参数来调用",
        "别人是按发给你的文件来调用它的。常见原因：默认值没了，于是必须给出 mask 或 device；多了一个参数；顺"
        "序变了；方法漏写了第一个参数 self。",
        "把 def 那一行与原文件比较一下。",
    ),
)

signed_mistake(
    "constructor-arguments-swapped",
    "",
    signs=[("*", "raised", _like(type="ValueError|AssertionError|ZeroDivision", says="divi|modulo"))],
    en=(
        "the constructor refuses sizes that fit",
        "d_model comes first and n_heads second, and n_heads must divide d_model. Swapped arguments or a "
        "test the wrong way round refuse every ordinary model.",
        "What does your constructor take 15 for in MultiHeadAttention(15, 3), and what is the remainder of?",
    ),
    zh=(
        "构造函数拒绝了合适的大小",
        "第一个参数是 d_model，第二个是 n_heads，要求 n_heads 整除 d_model。参数对调，或者判断写反了，都会拒"
        "绝正常的模型。",
        "在 MultiHeadAttention(15, 3) 中，你的构造函数把 15 当成了什么？求的是谁除以谁的余数？",
    ),
)

signed_mistake(
    "output-projection-on-d-head",
    "combine_heads",
    signs=[("*", "raised", _like(says="cannot be multiplied|size mismatch"))],
    en=(
        "W_O gets a tensor whose last dimension is not d_model",
        "W_O takes all d_model features of a token at once. The usual cause: it is applied to single heads, "
        "which have d_head features, before they are joined.",
        "What is the shape of what you hand to W_O, and what should its last dimension be?",
    ),
    zh=(
        "交给 W_O 的张量，最后一维不是 d_model",
        "W_O 一次接收一个 token 的全部 d_model 个特征。常见原因：各个头还没拼接，就把只有 d_head 个特征的单"
        "个头交给了它。",
        "你交给 W_O 的张量是什么形状？最后一维应当是多大？",
    ),
)

signed_mistake(
    "same-length-assumed",
    "scaled_dot_product_attention",
    signs=[
        ("*", "raised", _like(says="size of tensor a|cannot be multiplied|Expected size for first two dim"))
    ],
    en=(
        "two sizes are taken to be the same that need not be",
        "There may be more keys than queries, and values may be wider than keys. Usual causes: a square "
        "mask, queries and keys swapped, and queries compared with themselves.",
        "Write down the shape of each tensor for 5 queries, 7 keys, d_k = 10 and d_v = 6.",
    ),
    zh=(
        "把两个不一定相等的大小当成了相等",
        "key 可以比 query 多，value 也可以比 key 宽。常见原因：mask 总是方阵，query 和 key 对调，或者 query "
        "与自己比较。",
        "设有 5 个 query、7 个 key，d_k = 10，d_v = 6，写出每个张量的形状。",
    ),
)

signed_mistake(
    "same-width-assumed",
    "scaled_dot_product_attention",
    signs=[("*", "raised", _like(says="invalid for input of size"))],
    en=(
        "a reshape counts on sizes that need not be the same",
        "The output has a row for each query and is as wide as the values: d_v need not be d_k, nor L_q be "
        "L_k.",
        "Is a reshape needed there at all? If so, from which argument does each of its numbers come?",
    ),
    zh=(
        "某个 reshape 假定了不一定相等的大小",
        "输出的每一行对应一个 query，宽度与 value 相同：d_v 不一定等于 d_k，L_q 也不一定等于 L_k。",
        "那里真的需要 reshape 吗？如果需要，它的每个数各来自哪个参数？",
    ),
)

signed_mistake(
    "sizes-hard-coded",
    "",
    signs=[("*", "raised", _like(says="invalid for input of size|don't multiply up"))],
    en=(
        "a reshape counts on sizes that do not hold for this call",
        "Batch, length and the number of heads differ from call to call. Usual causes: a number written "
        "into the code, one kept from an earlier call, and two sizes taken for each other.",
        "From where does each number of the reshape come? The arguments of this very call know them all.",
    ),
    zh=(
        "某个 reshape 假定的大小不适用于这次调用",
        "batch、长度和头数每次调用都可能不同。常见原因：把数字写死在代码里，沿用了之前某次调用的大小，或者把"
        "两个大小弄反了。",
        "reshape 的每个数从哪里来？本次调用的参数全都知道。",
    ),
)

signed_mistake(
    "sizes-do-not-fit",
    "",
    signs=[
        (
            "*",
            "raised",
            _like(says="must match the size|cannot be multiplied|Expected size|not broadcastable"),
        )
    ],
    en=(
        "two tensors meet whose sizes do not fit",
        "It works for some sizes only, if at all. Usual causes: a transpose on the wrong dimensions or "
        "none, a mask with a dimension too many, and sizes taken from an earlier call.",
        "Print the shapes of both tensors in this line, and name each dimension.",
    ),
    zh=(
        "两个大小不相符的张量相遇了",
        "只在某些大小下才能运行，甚至完全不能。常见原因：转置的维度不对或没有转置，mask 多了一维，或者沿用了"
        "之前调用的大小。",
        "打印这一行中两个张量的形状，说出每一维是什么。",
    ),
)

signed_mistake(
    "attribute-missing",
    "",
    signs=[("*", "raised", _like(type="AttributeError"))],
    en=(
        "an attribute is used that does not exist",
        "Usual causes: a name that the constructor does not set, a typing mistake, and a method that "
        "tensors do not have.",
        "Which names does the constructor set? Compare letter by letter.",
    ),
    zh=(
        "用了一个不存在的属性",
        "常见原因：构造函数没有设置这个名字，拼写错误，或者张量没有这个方法。",
        "构造函数设置了哪些名字？逐个字母比较一下。",
    ),
)

signed_mistake(
    "function-missing",
    "",
    signs=[("*", "missing")],
    en=(
        "a function of the exercise is gone",
        "The checks, and every user of your file, call the functions by the names of the released file.",
        "Has a function been renamed, or indented into another one?",
    ),
    zh=(
        "练习规定的某个函数不见了",
        "检查程序和使用你文件的人，都按原文件中的名字来调用函数。",
        "是不是改了函数名，或者缩进到别的函数里面去了？",
    ),
)

# --- the gradient

for _function, _id, _learns, _lernt in (
    ("attention_scores", "scores-detached", "queries and keys", "query 和 key "),
    ("attention_weights", "weights-detached", "the scores", "分数"),
    ("split_heads", "split-detached", "the tokens and W_Q, W_K and W_V", "token 和 W_Q、W_K、W_V "),
    ("combine_heads", "merge-detached", "the heads and W_O", "各个头和 W_O "),
    ("scaled_dot_product_attention", "output-detached", "queries, keys and values", "query、key 和 value "),
    ("forward", "output-detached", "the tokens and all four layers", "token 和全部四个层"),
):
    signed_mistake(
        _id,
        _function,
        signs=[("*", "no_graph")],
        en=(
            "the result is cut off from its inputs",
            f"No gradient comes back: {_learns} never learn. "
            "Usual causes: detach, .data, torch.no_grad, and a detour through numpy, item or tolist.",
            "Which line takes the numbers out of the graph? Nothing here needs to.",
        ),
        zh=(
            "结果与输入断开了",
            f"梯度回不来：{_lernt}永远学不到东西。"
            "常见原因：detach、.data、torch.no_grad，或者绕道 numpy、item、tolist。",
            "哪一行把数从计算图里取了出来？这里没有任何一处需要这样做。",
        ),
    )

signed_mistake(
    "output-projection-detached",
    "",
    signs=[("*", "no_gradient", _like(name="W_O"))],
    en=(
        "W_O gets no gradient",
        "Its weight never learns: it stays what it was drawn as. Usual causes: .data or detach on the "
        "weight, requires_grad_(False), and another layer in its place.",
        "Is W_O itself called, as a layer?",
    ),
    zh=(
        "W_O 没有梯度",
        "它的权重永远学不到东西，始终是初始化时的样子。常见原因：对权重用了 .data 或 detach、"
        "requires_grad_(False)，或者用别的层代替了它。",
        "调用的是 W_O 这个层本身吗？",
    ),
)

signed_mistake(
    "no-gradient-reaches-it",
    "",
    signs=[("*", "no_gradient")],
    en=(
        "an input or a parameter gets no gradient",
        "What has no gradient never learns. Usual causes: detach, .data or no_grad on its way, and a result "
        "that does not depend on it at all.",
        "Follow this tensor through your code: where does its way end?",
    ),
    zh=(
        "某个输入或参数没有梯度",
        "没有梯度就学不到东西。常见原因：途中用了 detach、.data 或 no_grad，或者结果根本不依赖它。",
        "在你的代码里跟着这个张量走：它的路在哪里断了？",
    ),
)

signed_mistake(
    "gradient-nan-behind-where",
    "attention_weights",
    alone=True,
    signs=[
        ("*", "gradient_not_finite"),
        ("blocked_scores_get_no_gradient", "not_finite"),
        ("blocked_scores_get_no_gradient", "not_zero"),
    ],
    en=(
        "the weights are right, and the gradient of large scores is not",
        "What where or nan_to_num hides in the forward comes back in the gradient: 0 times infinity is NaN. "
        "Each number must be finite before it is chosen.",
        "Is there an exp of scores that are blocked, or not shifted yet?",
    ),
    zh=(
        "权重是对的，但分数很大时梯度不对",
        "where 或 nan_to_num 在前向中遮住的东西，会在梯度里重新出现：0 乘无穷是 NaN。每个数在被选取之前就应"
        "当是有限的。",
        "是不是对被屏蔽的、或还没减去最大值的分数取了 exp？",
    ),
)

signed_mistake(
    "gradient-not-finite",
    "",
    signs=[
        ("*", "gradient_not_finite"),
        ("large_scores_leave_no_nan_in_the_gradients", "not_finite"),
    ],
    en=(
        "the gradient has NaN or infinity in it",
        "One NaN in a gradient spoils every parameter at the next step. Usual causes: exp of large numbers, "
        "a division by zero or a root of it, and infinity that is hidden only in the forward.",
        "Which number in your function can become infinite, or a zero below a fraction?",
    ),
    zh=(
        "梯度里有 NaN 或无穷",
        "梯度里只要有一个 NaN，下一步所有参数就都毁了。常见原因：对很大的数取 exp、除以零或对零开方，以及只"
        "在前向中被遮住的无穷。",
        "你的函数里，哪个数可能变成无穷，或者成为分母里的零？",
    ),
)

# --- what is changed

for _function, _id in (
    ("split_heads", "split-changes-its-argument"),
    ("combine_heads", "merge-changes-its-argument"),
):
    signed_mistake(
        _id,
        _function,
        signs=[("*", "changed")],
        en=(
            "the argument has other numbers after the call than before",
            "The tensor belongs to the caller, who may still need it. A trailing _ , *=, an index on the "
            "left of = and .data all write into it, and into every view of it.",
            "Which line writes into the tensor that came in? Make a new one instead.",
        ),
        zh=(
            "调用之后，参数里的数变了",
            "这个张量属于调用者，之后可能还要用。结尾的 _、*=、等号左边的下标和 .data 都会写进去，也会写进它"
            "的每个 view。",
            "哪一行写进了传入的张量？改为生成一个新的。",
        ),
    )

for _name, _id in (
    ("query", "query-changed"),
    ("key", "key-changed"),
    ("value", "value-changed"),
    ("scores", "scores-changed"),
    ("mask", "mask-changed"),
    ("x", "input-changed"),
):
    signed_mistake(
        _id,
        "",
        signs=[("*", "changed", _like(name=f"^{_name}$"))],
        en=(
            f"the argument {_name} has other numbers after the call than before",
            "The tensor belongs to the caller, who may still need it: the next layer, or the next call, "
            "would work on spoilt numbers. A trailing _ , *=, -=, an index on the left of = and .data all "
            "write into it.",
            f"Which line writes into {_name}, or into a view of it? Make a new tensor instead.",
        ),
        zh=(
            f"调用之后，参数 {_name} 里的数变了",
            "这个张量属于调用者，之后可能还要用：下一层或下一次调用拿到的就是被改坏的数。结尾的 _、*=、-=、"
            "等号左边的下标和 .data 都会写进去。",
            f"哪一行写进了 {_name} 或它的某个 view？改为生成一个新的张量。",
        ),
    )

# --- digits

signed_mistake(
    "always-float32",
    "split_heads",
    alone=True,
    signs=[("*", "error_beside_torch", _near(0, 1e-3)), ("*", "error", _near(0, 1e-3))],
    en=(
        "numbers lose digits in the split",
        "A split only moves numbers, so that every bit must survive. Usual causes: .float(), or a new "
        "tensor of zeros that was given no dtype and is filled.",
        "Which line makes a new tensor, or converts one? Is one needed at all?",
    ),
    zh=(
        "数在切分中丢失了精度",
        "切分只是移动数，每一位都应当保留。常见原因：.float()，或者新建 zeros 时没有指定 dtype 就往里填。",
        "哪一行新建或转换了张量？真的需要新建吗？",
    ),
)

signed_mistake(
    "float32-inside",
    "",
    signs=[("*", "error_beside_torch", _digits(2e-10, 1e-6))],
    en=(
        "the formula is right, and float64 does not last to the end",
        "Somewhere numbers are rounded as float32 rounds them. Usual causes: .float(), a new tensor without "
        "a dtype, a square root or a constant of float32, and a small number added against division by zero.",
        "Which line makes a tensor, or a number, that is not float64?",
    ),
    zh=(
        "公式是对的，但 float64 的精度没有保持到底",
        "某处的数按 float32 舍入了。常见原因：.float()，新建张量时没有指定 dtype，用 float32 算的平方根或常"
        "数，以及为防止除零而加的小数。",
        "哪一行产生了不是 float64 的张量或数？",
    ),
)

signed_mistake(
    "few-digits-right",
    "",
    signs=[("*", "error_beside_torch", _digits(1e-6, 2e-4))],
    en=(
        "the numbers are right to a few digits only",
        "Usual causes: a step in half precision, a constant that is cut short, and a small number added "
        "against division by zero.",
        "Which number or which step in your code has only a few digits?",
    ),
    zh=(
        "结果只有几位数字是对的",
        "常见原因：某一步用了半精度，常数写得不够精确，或者为防止除零而加了小数。",
        "你的代码里，哪个数或哪一步只有几位有效数字？",
    ),
)

signed_mistake(
    "last-digits-differ",
    "",
    signs=[("*", "error_beside_torch", _digits(0, 2e-10))],
    en=(
        "the numbers are right to ten digits or so, and float64 has sixteen",
        "This is more exact than float32 and less than float64: the formula is not quite the one of the "
        "lesson. Usual causes: a constant with too few digits, a small number that is added, and a function "
        "that hardly changes ordinary numbers.",
        "Which number or which step in your code does the formula not have?",
    ),
    zh=(
        "大约有十位数字是对的，而 float64 有十六位",
        "这比 float32 精确，又不如 float64：公式与课程里的略有不同。常见原因：常数的位数不够，加了一个很小的"
        "数，或者用了几乎不改变普通数值的函数。",
        "你的代码里，哪个数或哪一步是公式里没有的？",
    ),
)

# --- parameters and constructor


def _bias(values):
    """Whole multiples of d_model too many, as biases of one, three or four layers are."""
    d_model = round((values["expected"] / 4) ** 0.5)
    return values["actual"] - values["expected"] in (d_model, 3 * d_model, 4 * d_model)


signed_mistake(
    "bias",
    "",
    signs=[("*", "parameter_count", _bias)],
    en=(
        "a layer has a bias",
        "The formula of the lesson has four matrices and nothing else. nn.Linear makes a bias unless it is "
        "told not to.",
        "Which argument of nn.Linear says whether there is a bias?",
    ),
    zh=(
        "某个层带有 bias",
        "本课的公式只有四个矩阵。nn.Linear 默认会带 bias，除非特别指明。",
        "nn.Linear 的哪个参数决定有没有 bias？",
    ),
)

signed_mistake(
    "extra-parameter",
    "",
    signs=[("*", "parameter_count", lambda values: values["actual"] > values["expected"])],
    en=(
        "the module has more parameters than W_Q, W_K, W_V and W_O",
        "All that attention learns are these four matrices. Usual causes: another layer, a mask or a scale "
        "that is an nn.Parameter, and biases.",
        "What does the constructor make besides the four layers?",
    ),
    zh=(
        "模块的参数比 W_Q、W_K、W_V 和 W_O 多",
        "attention 要学的就是这四个矩阵。常见原因：多了别的层，把 mask 或缩放做成了 nn.Parameter，或者带了 "
        "bias。",
        "除了四个层，构造函数还建了什么？",
    ),
)


def _whole_matrices_short(values):
    """One, two or three of the four matrices."""
    return 4 * values["actual"] in (values["expected"] * n for n in (1, 2, 3))


signed_mistake(
    "projections-tied",
    "",
    certain=True,
    signs=[("*", "parameter_count", _whole_matrices_short)],
    en=(
        "one of the four layers has no weight of its own",
        "Each of W_Q, W_K, W_V and W_O learns a task of its own. The usual cause: the same layer under two "
        "names.",
        "Does the constructor call nn.Linear four times?",
    ),
    zh=(
        "四个层中有一个没有自己的权重",
        "W_Q、W_K、W_V 和 W_O 各有各的任务。常见原因：同一个层用了两个名字。",
        "构造函数调用了四次 nn.Linear 吗？",
    ),
)

signed_mistake(
    "parameters-too-few",
    "",
    signs=[("*", "parameter_count")],
    en=(
        "the module has fewer parameters than W_Q, W_K, W_V and W_O",
        "Each of the four learns a task of its own. Usual causes: one layer with two names, and smaller "
        "matrices.",
        "How many numbers do four matrices of d_model x d_model hold?",
    ),
    zh=(
        "模块的参数比 W_Q、W_K、W_V 和 W_O 少",
        "四个层各有各的任务。常见原因：同一个层用了两个名字，或者矩阵更小。",
        "四个 d_model x d_model 的矩阵一共有多少个数？",
    ),
)

signed_mistake(
    "other-parameter-names",
    "",
    signs=[("*", "no_parameter")],
    en=(
        "the module has no layer nn.Linear under this name",
        "Saved weights are found by their names: W_Q.weight, W_K.weight, W_V.weight and W_O.weight. Usual "
        "causes: other names, one fused layer, layers in a list, a bare nn.Parameter, and a layer that was "
        "left out.",
        "Compare the constructor with the one in the released file.",
    ),
    zh=(
        "模块里没有叫这个名字的 nn.Linear 层",
        "保存的权重是按名字查找的：W_Q.weight、W_K.weight、W_V.weight 和 W_O.weight。常见原因：换了名字，合"
        "成了一个层，把层放进了列表，直接用了 nn.Parameter，或者漏建了某个层。",
        "把构造函数与原文件比较一下。",
    ),
)

signed_mistake(
    "every-head-full-width",
    "combine_heads",
    signs=[("*", "parameter_shape")],
    en=(
        "W_O is not (d_model, d_model)",
        "The heads share d_model out among them, so that the joined heads are as wide as a token. The usual "
        "cause: every head has the full width, and W_O takes H * d_model features.",
        "How wide is one head, if H of them together are as wide as a token?",
    ),
    zh=(
        "W_O 的形状不是 (d_model, d_model)",
        "各个头平分 d_model，拼接起来与一个 token 同宽。常见原因：每个头都用了全部宽度，W_O 接收 H * "
        "d_model 个特征。",
        "H 个头加起来与一个 token 同宽，那么一个头有多宽？",
    ),
)


def _of_a_matrix(values):
    """Whether it is the shape of a parameter: the results of a forward have more dimensions."""
    return len(_shapes(values)[1]) == 2


signed_mistake(
    "projections-of-d-head",
    "",
    signs=[("*", "parameter_shape"), ("parameters_are_four_square_matrices", "shape", _of_a_matrix)],
    en=(
        "a projection is not (d_model, d_model)",
        "One matrix serves all heads: H * d_head = d_model rows, d_head for each head, and every row reads "
        "the whole token. The usual cause: a small layer for one head that all of them share.",
        "How many features go in, and how many come out for all heads together?",
    ),
    zh=(
        "某个投影的形状不是 (d_model, d_model)",
        "一个矩阵供所有的头使用：共 H * d_head = d_model 行，每个头 d_head 行，每一行都读整个 token。常见原"
        "因：给一个头建了小的层，所有的头共用。",
        "输入多少个特征？所有的头加起来输出多少个？",
    ),
)

signed_mistake(
    "divisibility-asserted",
    "",
    signs=[("*", "no_value_error", _like(raised="[A-Z]"))],
    en=(
        "sizes that do not fit are refused, but not with a ValueError",
        "A caller catches the error that the docstring names. assert vanishes altogether under python -O.",
        "Which exception stands for an argument of the right type and a wrong value?",
    ),
    zh=(
        "不合适的大小被拒绝了，但抛出的不是 ValueError",
        "调用者捕获的是约定好的异常。而 assert 在 python -O 下会完全消失。",
        "参数类型正确但值不合适时，应当抛出哪种异常？",
    ),
)

signed_mistake(
    "divisibility-unchecked",
    "",
    signs=[("*", "no_value_error")],
    en=(
        "a d_model that n_heads does not divide is accepted",
        "There is no whole d_head then, and the model fails later, far from the cause. Usual causes: the "
        "test is gone, or it is the wrong way round.",
        "What is the remainder of d_model / n_heads, and where do you look at it?",
    ),
    zh=(
        "n_heads 不能整除 d_model 时也接受了",
        "这时没有整数的 d_head，模型会在离原因很远的地方才出错。常见原因：删掉了检查，或者写反了。",
        "d_model 除以 n_heads 的余数是多少？你在哪里检查它？",
    ),
)

signed_mistake(
    "not-a-module",
    "",
    signs=[("*", "no_module")],
    en=(
        "MultiHeadAttention(...) makes no nn.Module",
        "A module registers its layers, so that training, saving and .to() find them.",
        "From which class does MultiHeadAttention inherit, and what does it call first?",
    ),
    zh=(
        "MultiHeadAttention(...) 得到的不是 nn.Module",
        "模块会登记自己的层，这样训练、保存和 .to() 才能找到它们。",
        "MultiHeadAttention 继承自哪个类？构造函数首先调用什么？",
    ),
)

signed_mistake(
    "library-attention",
    "",
    certain=True,
    signs=[("*", "ready_made")],
    en=(
        "torch's own attention is called",
        "This exercise is attention from scratch: torch's own may check it, below `if __name__ == "
        '"__main__":`, but not replace it.',
        "Which of your own functions does the same?",
    ),
    zh=(
        "调用了 torch 自带的 attention",
        '本练习要从零手写 attention：可以在 `if __name__ == "__main__":` 里用 torch 自带的来对拍，但不能用它'
        "来代替。",
        "你自己的哪个函数做的是同样的事？",
    ),
)

# --- memory


def _other_heads(values):
    actual, expected = _shapes(values)
    return len(actual) == len(expected) == 4 and actual[1] != expected[1] and actual[2:] == expected[2:]


signed_mistake(
    "state-shared-by-modules",
    "forward",
    alone=True,
    signs=[("a_module_remembers_only_its_parameters", "shape", _other_heads)],
    en=(
        "a module uses the number of heads of another module",
        "What stands in the class or in a global variable is shared by all modules, and the last one wins.",
        "Is the number of heads kept at self, and read from there?",
    ),
    zh=(
        "一个模块用了另一个模块的头数",
        "写在类上或全局变量里的东西由所有模块共享，最后一个说了算。",
        "头数是保存在 self 上、也从 self 读取的吗？",
    ),
)

signed_mistake(
    "other-number-of-heads",
    "forward",
    signs=[("*", "shape", _other_heads)],
    en=(
        "there are more or fewer tables of weights than heads",
        "The caller says at the start how many heads there are, and each has one table. Usual causes: H and "
        "d_head taken for each other, a number of heads that changes from call to call, and heads that are "
        "dropped or merged.",
        "Where does the number of heads come from, and what can change it afterwards?",
    ),
    zh=(
        "权重表的张数与头数不符",
        "有几个头由调用者一开始决定，每个头一张表。常见原因：H 和 d_head 弄反了，头数在调用之间发生了变化，或"
        "者某些头被丢掉、合并了。",
        "头数从哪里来？之后什么会改变它？",
    ),
)


def _more_keys(values):
    actual, expected = _shapes(values)
    return len(actual) == len(expected) == 4 and actual[:3] == expected[:3] and actual[3] > expected[3]


signed_mistake(
    "keys-pile-up",
    "forward",
    signs=[("*", "shape", _more_keys)],
    en=(
        "there are more keys than tokens",
        "Each call stands for itself. The usual cause: keys and values of earlier calls are kept and joined "
        "to those of this one.",
        "What does your module keep from one call to the next?",
    ),
    zh=(
        "key 的个数比 token 还多",
        "每次调用都是独立的。常见原因：保留了之前调用的 key 和 value，又拼到了这一次的上面。",
        "你的模块从一次调用到下一次保留了什么？",
    ),
)

signed_mistake(
    "parameters-remembered",
    "forward",
    alone=True,
    signs=[("a_module_remembers_only_its_parameters", "error")],
    en=(
        "what the module gives depends on an earlier call",
        "Tokens, mask and the weights of now decide, and nothing else. Usual causes: a copy of the weights "
        "that is made once, a mask that is kept, and a result that is looked up by its shape.",
        "What does your module keep from one call to the next, besides its parameters?",
    ),
    zh=(
        "模块的输出取决于之前的调用",
        "起决定作用的只有 token、mask 和当前的权重。常见原因：只复制一次的权重、保留下来的 mask，以及按形状"
        "查找的旧结果。",
        "除了参数，你的模块从一次调用到下一次还保留了什么？",
    ),
)
