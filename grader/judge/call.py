"""A call into a submission and its answer, as plain data: the same in this process and across a wire."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from grader.judge.text import Text

Argument = Tensor | int | torch.device | None


@dataclass(frozen=True)
class Module:
    """A MultiHeadAttention(d_model, n_heads) to be built, with the weights that it is to have.

    Calls with the same `handle` go to the same object, with the weights of the latest call, as after a step
    of training. projections: "W_Q", ... -> (d_model, d_model);
    without them the module keeps the weights that it was built with. reloaded: the weights go through a
    state_dict into a second object in eval mode, as when a trained model is loaded from a file.
    """

    handle: int
    d_model: int
    n_heads: int
    projections: dict[str, Tensor] = field(default_factory=dict)
    reloaded: bool = False


@dataclass(frozen=True)
class Call:
    """A function of the exercise (see exercise.FUNCTIONS) with its arguments, by position.

    With `upstream`, the gradient of the loss with respect to the first result, gradients come back too.
    """

    function: str
    args: tuple[Argument, ...]
    module: Module | None = None
    upstream: Tensor | None = None


@dataclass(frozen=True)
class Answer:
    """What came back: results, the tensor arguments as the call left them, and gradients.

    args_after, gradients: one entry for each argument, None where there is no tensor or no gradient.
    parameter_gradients: "W_Q", ... -> gradient or None, for a call of a module.
    ready_made: the name of torch's own attention, if the call ran into it.
    """

    results: tuple[Tensor, ...]
    args_after: tuple[Tensor | None, ...] = ()
    gradients: tuple[Tensor | None, ...] = ()
    parameter_gradients: dict[str, Tensor | None] = field(default_factory=dict)
    ready_made: str | None = None


class StudentError(Exception):
    """The submission gave no usable answer.

    outcome: "not_attempted", "error", "failed" or "forbidden", and behind a worker also "timeout" or
    "crashed". `line` is a line of the student's file, where one is known; `raised` the name of the type of
    an exception of the student's code.
    """

    def __init__(self, outcome: str, seen: Text, line: int | None = None, raised: str | None = None):
        super().__init__(seen.say("en"))
        self.outcome = outcome
        self.seen = seen
        self.line = line
        self.raised = raised
