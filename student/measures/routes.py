"""Three ways to bring information from one token to another, each measured where it is weak."""

from dataclasses import dataclass

import numpy as np
import torch

from student.measures.formula import attend
from student.measures.sentences import toy_sentence

STATE = 32  # numbers in the RNN's state
EXPLODING = 5.0  # this factor on the recurrent weights, and gradients grow instead of vanishing


@dataclass(frozen=True)
class RnnRun:
    """What the states h_1 ... h_L of an RNN still have of what came before."""

    shares: np.ndarray  # (L, L): row t is how the reaction of h_t is shared among the tokens so far
    gradients: np.ndarray  # (L, L): entry (t, s) is the norm of d h_t / d h_s, 1 on the diagonal


def run_rnn(length: int, gain: float = 1.0) -> RnnRun:
    """Run h_t = tanh(W h_(t-1) + U x_t + b) over random tokens, with W, U, b as nn.RNN starts them.

    `gain` multiplies W. The derivatives are exact: products of the Jacobians of the single steps.
    """
    torch.manual_seed(0)
    layer = torch.nn.RNN(STATE, STATE, dtype=torch.float64)
    inputs, recurrent, *biases = (weight.detach().numpy() for weight in layer.parameters())
    recurrent, bias = gain * recurrent, sum(biases)
    tokens = np.random.default_rng(0).standard_normal((length, STATE))
    shares, gradients = np.zeros((length, length)), np.zeros((length, length))
    state, by_state, by_token = np.zeros(STATE), [], []  # by_...[s]: d h_t / d h_s and d h_t / d x_s
    for t, token in enumerate(tokens):
        state = np.tanh(recurrent @ state + inputs @ token + bias)
        slope = (1 - state**2)[:, None]  # of tanh
        by_state = [slope * recurrent @ jacobian for jacobian in by_state] + [np.eye(STATE)]
        by_token = [slope * recurrent @ jacobian for jacobian in by_token] + [slope * inputs]
        reactions = np.array([np.linalg.norm(jacobian) for jacobian in by_token])
        shares[t, : t + 1] = reactions / reactions.sum()
        gradients[t, : t + 1] = [np.linalg.norm(jacobian, 2) for jacobian in by_state]
    return RnnRun(shares, gradients)


def rnn_shares(length: int = 50) -> np.ndarray:
    """Return the first token's share (0 to 1) of the state after 1, 2, ... `length` tokens."""
    return run_rnn(length).shares[:, 0]


def rnn_gradients(length: int = 50, gain: float = 1.0) -> np.ndarray:
    """Return the norm of d h_t / d h_1, t = 1 ... `length`: what t - 1 steps leave of a gradient."""
    return run_rnn(length, gain).gradients[:, 0]


def attention_lines(sentence: int = 0) -> np.ndarray:
    """Return the weights (L, L) that attention computes from the words of a sentence."""
    x, w_q = toy_sentence(sentence)
    return attend(x @ w_q, x, x).weights


def welded_lines(sentence: int = 0) -> np.ndarray:
    """Return the weights (7, 7) of a fully connected layer over positions, as applied to a sentence.

    They were fitted once, to the first sentence, and stand where attention would look there: so they are
    the same for every sentence. RuntimeError, torch's own, for a sentence of another length.
    """
    layer = torch.nn.Linear(7, 7, bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(attention_lines(0)))
        layer(torch.from_numpy(toy_sentence(sentence)[0].T))  # the layer at work: the length must fit
    return layer.weight.detach().numpy()


def lines_changed(lines: np.ndarray, others: np.ndarray) -> float:
    """Return the largest difference between two tables of weights of the same shape."""
    return float(np.abs(lines - others).max())


def sequential_steps(length: int) -> dict[str, int]:
    """Return how many steps must wait for the step before, for a sentence of this length."""
    return {"rnn": length, "fully connected": 1, "attention": 1}
