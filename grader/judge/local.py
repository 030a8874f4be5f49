"""Runs a student's code: the only place that does, in this process or in a worker's.

It holds no expected value and no right implementation, and decides nothing but whether there was an answer.
"""

import contextlib
import copy
import inspect
import random
import sys
import types
import warnings

import numpy as np
import torch
from torch import Tensor, nn

from grader.judge.call import Answer, Argument, Call, Module, StudentError
from grader.judge.exercise import FUNCTIONS, METHODS, PROJECTIONS
from grader.judge.scratch import Trap
from grader.judge.source import Source
from grader.judge.text import text

__tracebackhide__ = True  # pytest shows a student the check and their own lines

MODULE_NAME = "student_attention"
_WEIGHTS = {f"{name}.weight" for name in PROJECTIONS}
OBJECTS = 4  # kept alive; no check uses more of them at a time
LARGEST_RESULT = 1_000_000  # numbers in a tensor; the checks expect a few thousand


def load_module(source: Source) -> types.ModuleType:
    """Execute a student's text as a module. Raises whatever it raises.

    What it draws at random is the same each time: the same file has the same score wherever it is graded.
    """
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    module = types.ModuleType(MODULE_NAME)
    module.__file__ = source.path
    sys.modules[MODULE_NAME] = module  # dataclasses and torch.jit look a module up by its name
    exec(compile(source.text, source.path, "exec", dont_inherit=True), module.__dict__)
    return module


class LocalSubmission:
    """A submission in this process."""

    def __init__(self, source: Source):
        self.source = source
        self._module: types.ModuleType | None = None
        self._import_error: StudentError | None = None
        self._objects: dict[int, nn.Module] = {}

    def answer(self, call: Call) -> Answer:
        """Run one call. StudentError if the submission gives no usable answer."""
        trap = Trap()
        with _guarded(self.source, call.function):
            function = self._bound(call)
            results, args, gradients = _run(function, call, trap)
            target = self._objects.get(call.module.handle) if call.module else None
            # inside the guard too: the call may have left anything in its arguments and its object
            return Answer(
                results=results,
                args_after=tuple(_copy(arg) for arg in args),
                gradients=gradients,
                parameter_gradients=_parameter_gradients(target, call) if target else {},
                ready_made=trap.sprung,
            )

    def parameters(self, module: Module) -> dict[str, Tensor]:
        """The distinct parameters of a MultiHeadAttention by their names. StudentError as for `answer`."""
        with _guarded(self.source, "MultiHeadAttention"):
            found = dict(self._object(module).named_parameters(remove_duplicate=False))
            names: dict[int, str] = {}  # a parameter of several names goes by the one that the exercise gives
            for name, one in found.items():
                if id(one) not in names or name in _WEIGHTS:
                    names[id(one)] = name
            return {str(n): _copy(found[n]) for n in names.values() if isinstance(found[n], Tensor)}

    def load(self) -> None:
        """Import the file now and not at the first call. StudentError if that fails."""
        self._names()

    def printed(self) -> str:
        """Nothing: prints go where those of this process go."""
        return ""

    def close(self) -> None:
        """Nothing to let go of here."""

    def _names(self) -> types.ModuleType:
        """The student's module; an import is paid for once, its error is raised at every call."""
        if self._import_error:
            raise self._import_error
        if self._module is None:
            try:
                with _guarded(self.source, None):
                    self._module = load_module(self.source)
            except StudentError as error:
                self._import_error = error
                raise
        return self._module

    def _bound(self, call: Call) -> object:
        if call.function in METHODS:
            return _attribute(self._object(call.module), call.function, f"MultiHeadAttention.{call.function}")
        return _attribute(self._names(), call.function, call.function)

    def _object(self, module: Module) -> nn.Module:
        if module.handle not in self._objects:
            new = _attribute(self._names(), "MultiHeadAttention", "MultiHeadAttention")(
                module.d_model, module.n_heads
            )
            if not isinstance(new, nn.Module):
                raise StudentError("error", text("seen.no_module", got=type(new).__name__))
            _set_weights(new, module.projections)
            if module.reloaded:
                old, new = new, type(new)(module.d_model, module.n_heads)
                new.to(next(old.parameters()).dtype).load_state_dict(old.state_dict())
                new.eval()  # there is no dropout: it makes no difference
            self._objects[module.handle] = new
            if len(self._objects) > OBJECTS:  # memory must not grow with the number of checks
                del self._objects[min(self._objects)]
        _set_weights(self._objects[module.handle], module.projections)
        return self._objects[module.handle]


def _set_weights(new: nn.Module, projections: dict[str, Tensor]) -> None:
    for name, weight in projections.items():
        linear = getattr(new, name, None)
        own = getattr(linear, "weight", None)
        if not isinstance(own, Tensor):
            raise StudentError("error", text("seen.no_parameter", name=f"{name}.weight"))
        if own.shape != weight.shape:
            raise StudentError(
                "error",
                text(
                    "seen.parameter_shape",
                    name=f"{name}.weight",
                    actual=tuple(own.shape),
                    expected=tuple(weight.shape),
                ),
            )
    if projections:
        new.to(next(iter(projections.values())).dtype)
    with torch.no_grad():
        for name, weight in projections.items():
            getattr(new, name).weight.copy_(weight)


def _attribute(owner: object, name: str, label: str) -> object:
    found = getattr(owner, name, None)
    if not callable(found):
        raise StudentError("error", text("seen.missing", name=label))
    return found


def _run(
    function: object, call: Call, trap: Trap
) -> tuple[tuple[Tensor, ...], list, tuple[Tensor | None, ...]]:
    """-> results, the arguments as they are afterwards, gradients; all on copies of the call's tensors."""
    args = [_own(arg) for arg in call.args]
    wants_gradient = call.upstream is not None
    if wants_gradient:
        for arg in args:
            if isinstance(arg, Tensor) and arg.is_floating_point():
                arg.requires_grad_()
    owner = getattr(function, "__self__", None)
    if wants_gradient and isinstance(owner, nn.Module):
        owner.zero_grad(set_to_none=True)
    try:
        with trap:  # around the student's code alone: it slows every call of torch
            value = function(*args)
    except TypeError:
        _check_signature(function, call, args)
        raise
    raw = _tensors(value, FUNCTIONS[call.function][1])
    results = tuple(_copy(result) for result in raw)
    if not wants_gradient:
        return results, args, ()
    _backward(raw[0], call.upstream)
    gradients = tuple(_copy(arg.grad) if isinstance(arg, Tensor) else None for arg in args)
    return results, args, gradients


def _own(arg: Argument) -> Argument:
    """A copy that the student's code may do with as it likes, with the strides of the original."""
    if isinstance(arg, Tensor) and arg.is_contiguous():
        return arg.detach().clone()
    return copy.deepcopy(arg)  # clone would make it contiguous


def _backward(result: Tensor, upstream: Tensor) -> None:
    if result.shape != upstream.shape:
        actual, expected = tuple(result.shape), tuple(upstream.shape)
        raise StudentError("failed", text("seen.shape", actual=actual, expected=expected))
    if not result.requires_grad:
        raise StudentError("failed", text("seen.no_graph"))
    # the same as result.backward(upstream), which would import sympy: half a second and 70 MB
    (result * upstream.to(result.dtype)).sum().backward()


def _parameter_gradients(owner: nn.Module, call: Call) -> dict[str, Tensor | None]:
    if call.upstream is None:
        return {}
    return {name: _copy(getattr(owner, name).weight.grad) for name in call.module.projections}


def _check_signature(function: object, call: Call, args: list) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # no Python function: the call itself will tell
    try:
        signature.bind(*args)
    except TypeError:
        names = ", ".join(FUNCTIONS[call.function][0][: len(args)])
        raise StudentError("error", text("seen.signature", names=names, actual=signature)) from None


def _tensors(value: object, count: int) -> tuple[Tensor, ...]:
    """The result of a call as plain tensors. StudentError if it is anything else."""
    values = (value,) if count == 1 else value
    if count > 1 and not (isinstance(value, tuple | list) and len(value) == count):
        raise StudentError("failed", text("seen.not_a_pair", got=_kind(value)))
    for one in values:
        # exactly a Tensor: a subclass may answer comparisons as it likes
        if type(one) not in (Tensor, nn.Parameter):
            if one is not None:
                raise StudentError("failed", text("seen.not_a_tensor", got=_kind(one)))
            raise StudentError("failed", text("seen.none") if count == 1 else text("seen.none_in_pair"))
        if one.is_nested or one.is_quantized:  # neither has the operators of a plain tensor
            kind = "nested" if one.is_nested else "quantized"
            raise StudentError("failed", text("seen.not_a_tensor", got=f"{kind} tensor"))
        if one.layout != torch.strided:
            raise StudentError("failed", text("seen.not_a_tensor", got=f"{one.layout} tensor"))
        if one.numel() > LARGEST_RESULT:
            raise StudentError("failed", text("seen.huge", shape=tuple(one.shape), limit=LARGEST_RESULT))
    return tuple(values)


def _kind(value: object) -> str:
    if type(value) in (tuple, list):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def _copy(value: object) -> Tensor | None:
    """A tensor of our own with the same numbers; None for anything else."""
    if not isinstance(value, Tensor):
        return None
    return value.detach().clone(memory_format=torch.contiguous_format).resolve_conj().resolve_neg()


@contextlib.contextmanager
def _guarded(source: Source, function: str | None):
    """Turn whatever student code raises into a StudentError; keep its warnings and settings to itself."""
    dtype, device, grad_enabled = (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (StudentError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too: no exception of student code ends the run
        # torch raises NotImplementedError too, with other words
        if isinstance(error, NotImplementedError) and (_words(error).startswith("TODO") or not _words(error)):
            seen = text("seen.not_attempted", says=_words(error) or type(error).__name__)
            raise StudentError("not_attempted", seen, _line(error, source)) from error
        key = "seen.raised" if function else "seen.import_raised"
        kind = type(error).__name__
        raise StudentError(
            "error", text(key, type=kind, says=_words(error)), _line(error, source), kind
        ) from error
    finally:  # what a submission sets for the whole process does not outlive the call
        torch.set_default_dtype(dtype)
        if torch.get_default_device() != device:
            torch.set_default_device(None)
        torch.set_grad_enabled(grad_enabled)


def _words(error: BaseException) -> str:
    try:
        return str.__str__(str(error))  # a plain str, also of a subclass of it
    except BaseException:  # a __str__ of the student's own
        return ""


def _line(error: BaseException, source: Source) -> int | None:
    """The last line of the student's file that the exception went through."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == source.path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
