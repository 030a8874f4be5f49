"""What holds for every answer, whatever the numbers: the shapes that follow from the arguments.

Checked for every call, so that a check may index and subtract what it gets without looking first.
"""

import torch
from torch import Tensor

from grader.judge.call import Answer, Call, StudentError
from grader.judge.exercise import FUNCTIONS
from grader.judge.text import text

__tracebackhide__ = True  # pytest shows a student the check and their own lines

# float8 has no arithmetic in torch, so that nothing could be compared with it
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def hold(call: Call, answer: Answer) -> None:
    """Raise StudentError (outcome "failed") unless the answer has the form that the call asks for."""
    shapes = result_shapes(call)
    if len(answer.results) != len(shapes):
        _fail("not_a_pair", got=f"tuple of {len(answer.results)}")
    for result, shape in zip(answer.results, shapes, strict=True):
        if tuple(result.shape) != shape:
            _fail("shape", actual=tuple(result.shape), expected=shape)
        if result.device.type != _device(call):
            _fail("device", actual=result.device.type, expected=_device(call))
        if call.function != "causal_mask" and result.dtype not in FLOATING:
            _fail("not_floating", actual=result.dtype)
        if _without_arithmetic(result):
            _fail("dtype", actual=result.dtype, expected=torch.bool)
    names = FUNCTIONS[call.function][0]
    for name, after, before in zip(names, answer.args_after, call.args, strict=False):
        _alike(after, before, "argument_shape", name)
    for name, gradient, arg in zip(names, answer.gradients, call.args, strict=False):
        _alike(gradient, arg, "gradient_shape", name)
    if call.module:
        for name, gradient in answer.parameter_gradients.items():
            _alike(gradient, call.module.projections.get(name), "gradient_shape", name)


def result_shapes(call: Call) -> tuple[tuple[int, ...], ...]:
    """The shapes of the results of a call; see DESIGN of the exercise: each function's docstring."""
    first = call.args[0]
    match call.function:
        case "causal_mask":
            return ((first, first),)
        case "attention_scores":
            return ((*first.shape[:-1], call.args[1].shape[-2]),)
        case "attention_weights":
            return (tuple(first.shape),)
        case "scaled_dot_product_attention":
            _, key, value = call.args[:3]
            return (*first.shape[:-1], value.shape[-1]), (*first.shape[:-1], key.shape[-2])
        case "split_heads":
            batch, length, d_model = first.shape
            return ((batch, call.module.n_heads, length, d_model // call.module.n_heads),)
        case "combine_heads":
            batch, n_heads, length, d_head = first.shape
            return ((batch, length, n_heads * d_head),)
        case "forward":
            batch, length, _ = first.shape
            return tuple(first.shape), (batch, call.module.n_heads, length, length)
    raise ValueError(f"no function of the exercise: {call.function}")


def _device(call: Call) -> str:
    return next((arg.type for arg in call.args if isinstance(arg, torch.device)), "cpu")


def _alike(one: object, other: object, shape_key: str, name: str) -> None:
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return
    if one.shape != other.shape:
        _fail(shape_key, name=name, actual=tuple(one.shape), expected=tuple(other.shape))
    if one.device != other.device:
        _fail("device", actual=one.device.type, expected=other.device.type)
    if _without_arithmetic(one):
        _fail("dtype", actual=one.dtype, expected=other.dtype)


def _without_arithmetic(tensor: Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dtype not in FLOATING


def _fail(key: str, **values: object) -> None:
    raise StudentError("failed", text(f"seen.{key}", **values))
