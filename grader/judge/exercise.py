"""What the exercise fixes: its functions and its four TODOs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Todo:
    """One TODO: its number and name, the pytest marker of its checks, its functions, its lesson section."""

    number: int
    name: str
    marker: str
    functions: tuple[str, ...]
    section: int


TODOS = (
    Todo(1, "mask", "mask", ("causal_mask", "attention_weights"), section=3),
    Todo(2, "scaling", "scaling", ("attention_scores",), section=2),
    Todo(3, "head split", "head_split", ("split_heads",), section=4),
    Todo(4, "W_O", "W_O", ("combine_heads",), section=4),
)
TODO_BY_NAME = {todo.name: todo for todo in TODOS}

PROJECTIONS = ("W_Q", "W_K", "W_V", "W_O")

# function -> the names of its arguments and how many tensors it returns; methods are of MultiHeadAttention
FUNCTIONS = {
    "causal_mask": (("length", "device"), 1),
    "attention_scores": (("query", "key"), 1),
    "attention_weights": (("scores", "mask"), 1),
    "scaled_dot_product_attention": (("query", "key", "value", "mask"), 2),
    "split_heads": (("x",), 1),
    "combine_heads": (("heads",), 1),
    "forward": (("x", "mask"), 2),
}
METHODS = ("split_heads", "combine_heads", "forward")
LESSON_SECTION = {"scaled_dot_product_attention": 2, "forward": 4, "__init__": 4}  # of the given bodies


def todo_of(function: str) -> Todo | None:
    """The TODO that a function belongs to; None for a given body."""
    return next((todo for todo in TODOS if function in todo.functions), None)


def section_of(function: str) -> int:
    """The section of the lesson that explains a function."""
    todo = todo_of(function)
    return todo.section if todo else LESSON_SECTION[function]
