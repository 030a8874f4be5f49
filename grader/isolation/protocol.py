"""Calls, answers and errors as frames, and back. Whatever comes from a worker is a claim to be checked."""

from dataclasses import fields

import torch
from torch import Tensor

from grader.isolation.tensors import MOST_TENSORS, Packer, unpack
from grader.isolation.wire import WireError
from grader.judge.call import Answer, Argument, Call, Module, StudentError
from grader.judge.exercise import FUNCTIONS
from grader.judge.text import Text, printable, text

Frame = tuple[dict, bytes]

# What LocalSubmission may say: outcome, message, and the values that the message names.
ERRORS = {
    ("error", "seen.no_module"): {"got"},
    ("error", "seen.no_parameter"): {"name"},
    ("error", "seen.parameter_shape"): {"name", "actual", "expected"},
    ("error", "seen.missing"): {"name"},
    ("error", "seen.signature"): {"names", "actual"},
    ("error", "seen.raised"): {"type", "says"},
    ("error", "seen.import_raised"): {"type", "says"},
    ("not_attempted", "seen.not_attempted"): {"says"},
    ("failed", "seen.shape"): {"actual", "expected"},
    ("failed", "seen.no_graph"): set(),
    ("failed", "seen.not_a_pair"): {"got"},
    ("failed", "seen.none"): set(),
    ("failed", "seen.none_in_pair"): set(),
    ("failed", "seen.not_a_tensor"): {"got"},
    ("failed", "seen.huge"): {"shape", "limit"},
}
_LONGEST_NAME = 200


def pack_call(call: Call) -> Frame:
    """A call for a worker."""
    packer = Packer()
    header = {
        "do": "answer",
        "function": call.function,
        "args": [_pack_argument(arg, packer) for arg in call.args],
        "module": _pack_module(call.module, packer) if call.module else None,
        "upstream": _reference(call.upstream, packer),
    }
    return header | {"tensors": packer.descriptions}, packer.body()


def unpack_call(header: dict, body: bytearray) -> Call:
    """A call as the worker sees it. It comes from the judge, and is believed."""
    tensors = unpack(header["tensors"], body)
    return Call(
        header["function"],
        tuple(_unpack_argument(arg, tensors) for arg in header["args"]),
        _unpack_module(header["module"], tensors) if header["module"] else None,
        None if header["upstream"] is None else tensors[header["upstream"]],
    )


def pack_module(module: Module) -> Frame:
    """The question for a module's parameters."""
    packer = Packer()
    header = {"do": "parameters", "module": _pack_module(module, packer)}
    return header | {"tensors": packer.descriptions}, packer.body()


def unpack_module(header: dict, body: bytearray) -> Module:
    """The module that is asked for."""
    return _unpack_module(header["module"], unpack(header["tensors"], body))


def pack_answer(answer: Answer) -> Frame:
    """An answer for the judge. ValueError if a tensor of it cannot travel."""
    packer = Packer()
    header = {
        "kind": "answer",
        "results": [packer.add(result) for result in answer.results],
        "args_after": [_reference(arg, packer) for arg in answer.args_after],
        "gradients": [_reference(gradient, packer) for gradient in answer.gradients],
        "parameter_gradients": {
            name: _reference(gradient, packer) for name, gradient in answer.parameter_gradients.items()
        },
        "ready_made": answer.ready_made and printable(answer.ready_made),
    }
    return header | {"tensors": packer.descriptions}, packer.body()


def unpack_answer(header: dict, body: bytearray, call: Call) -> Answer:
    """What a worker claims to be the answer to a call. WireError unless it has the form of one."""
    tensors = unpack(header.get("tensors"), body)
    results = _pick_all(header.get("results"), tensors, FUNCTIONS[call.function][1])
    if any(result is None for result in results):
        raise WireError("a result that is missing")
    gradients = header.get("parameter_gradients")
    asked = call.module.projections if call.module and call.upstream is not None else {}
    if type(gradients) is not dict or set(gradients) != set(asked):
        raise WireError("not the gradients that were asked for")
    ready_made = header.get("ready_made")
    if ready_made is not None:
        ready_made = _words(ready_made)
    return Answer(
        results=results,
        args_after=_pick_all(header.get("args_after"), tensors, len(call.args)),
        gradients=_pick_all(header.get("gradients"), tensors, 0 if call.upstream is None else len(call.args)),
        parameter_gradients={name: _pick(index, tensors) for name, index in gradients.items()},
        ready_made=ready_made,
    )


def pack_parameters(parameters: dict[str, Tensor]) -> Frame:
    """A module's parameters for the judge. ValueError if they cannot travel."""
    if len(parameters) > MOST_TENSORS:
        raise ValueError(f"{len(parameters)} parameters")
    packer = Packer()
    names = {printable(name, _LONGEST_NAME): packer.add(tensor) for name, tensor in parameters.items()}
    return {"kind": "parameters", "parameters": names, "tensors": packer.descriptions}, packer.body()


def unpack_parameters(header: dict, body: bytearray) -> dict[str, Tensor]:
    """What a worker claims to be the parameters of a module."""
    tensors = unpack(header.get("tensors"), body)
    names = header.get("parameters")
    if type(names) is not dict or len(names) != len(tensors):
        raise WireError("not a table of parameters")
    parameters = {printable(name, _LONGEST_NAME): _pick(index, tensors) for name, index in names.items()}
    if any(parameter is None for parameter in parameters.values()):
        raise WireError("a parameter that is missing")
    return parameters


def pack_error(error: StudentError) -> Frame:
    """Why there is no answer."""
    values = {name: printable(value) for name, value in error.seen.values.items()}
    return {
        "kind": "error",
        "outcome": error.outcome,
        "key": error.seen.key,
        "values": values,
        "line": error.line,
        "raised": error.raised and printable(error.raised),
    }, b""


def unpack_error(header: dict, lines: int) -> StudentError:
    """Why there is no answer, as a worker claims. `lines`: how many the student's file has."""
    outcome, key, values = header.get("outcome"), header.get("key"), header.get("values")
    if type(outcome) is not str or type(key) is not str or type(values) is not dict:
        raise WireError("not an error")
    if ERRORS.get((outcome, key)) != set(values):
        raise WireError("an error that no submission can have")
    line = header.get("line")
    if type(line) is not int or not 1 <= line <= lines:
        line = None
    raised = header.get("raised")
    seen = Text(key, {name: _words(value) for name, value in values.items()})
    return StudentError(outcome, seen, line, None if raised is None else _words(raised))


def cannot_travel(error: ValueError) -> StudentError:
    """The student's error behind a tensor of a kind that has no place on the wire (sparse, quantised)."""
    return StudentError("failed", text("seen.not_a_tensor", got=f"tensor: {error}"))


def _pack_argument(arg: Argument, packer: Packer) -> dict | int | None:
    if isinstance(arg, Tensor):
        return {"tensor": packer.add(arg)}
    return {"device": str(arg)} if isinstance(arg, torch.device) else arg


def _unpack_argument(arg: dict | int | None, tensors: list[Tensor]) -> Argument:
    if type(arg) is not dict:
        return arg
    return tensors[arg["tensor"]] if "tensor" in arg else torch.device(arg["device"])


def _pack_module(module: Module, packer: Packer) -> dict:
    plain = {one.name: getattr(module, one.name) for one in fields(module)}
    return plain | {"projections": {name: packer.add(weight) for name, weight in module.projections.items()}}


def _unpack_module(module: dict, tensors: list[Tensor]) -> Module:
    projections = {name: tensors[index] for name, index in module["projections"].items()}
    return Module(**module | {"projections": projections})


def _reference(tensor: Tensor | None, packer: Packer) -> int | None:
    return None if tensor is None else packer.add(tensor)


def _pick(index: object, tensors: list[Tensor]) -> Tensor | None:
    if index is None:
        return None
    if type(index) is not int or not 0 <= index < len(tensors):
        raise WireError("a tensor that was not sent")
    return tensors[index]


def _pick_all(indices: object, tensors: list[Tensor], count: int) -> tuple[Tensor | None, ...]:
    if type(indices) is not list or len(indices) != count:
        raise WireError("too few or too many tensors")
    return tuple(_pick(index, tensors) for index in indices)


def _words(value: object) -> str:
    if type(value) is not str:
        raise WireError("not words")
    return printable(value)
