"""Written from scratch: the submission must not call torch's own attention.

Two looks, both of which a determined person can get round: a scan of the text, and a trap while the code
runs. They keep an honest student on the way; the checks of the single functions do the rest.
"""

import ast
import functools

from torch.overrides import TorchFunctionMode

__tracebackhide__ = True  # pytest shows a student the check and their own lines

READY_MADE = {
    "scaled_dot_product_attention",
    "multi_head_attention_forward",
    "flex_attention",
    "MultiheadAttention",
    "Transformer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
}
_TRAPPED = (
    "scaled_dot_product",
    "multi_head_attention",
    "flash_attention",
    "flex_attention",
    "transformer_encoder",
)


class Trap(TorchFunctionMode):
    """While active, notes in `sprung` every torch function called that is attention ready made."""

    def __init__(self):
        super().__init__()
        self.sprung: str | None = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.sprung = self.sprung or _ready_made_name(func)
        return func(*args, **(kwargs or {}))


@functools.cache
def _ready_made_name(func: object) -> str | None:
    name = str(getattr(func, "__name__", func))
    return name if any(part in name for part in _TRAPPED) else None


def ready_made_attention(tree: ast.Module) -> tuple[str, int] | None:
    """The first use of torch's own attention outside `if __name__ == "__main__":`, as (name, line)."""
    aliases = {}  # local name -> dotted name in torch
    found = []
    for node in _walk_outside_main(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                aliases[name.asname or name.name.split(".")[0]] = (
                    name.name if name.asname else name.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            aliases |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            aliases.pop(node.name, None)  # the student's own function of that name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.append(node)
    uses = [
        (name.rsplit(".", 1)[1], node.lineno)
        for node in found
        if _is_ready_made(name := _dotted(node, aliases))
    ]
    return min(uses, key=lambda use: use[1], default=None)


def _is_ready_made(name: str) -> bool:
    package, last = name.partition(".")[0], name.rpartition(".")[2]
    return package == "torch" and (last in READY_MADE or "_scaled_dot_product_" in last)


def _dotted(node: ast.expr, aliases: dict[str, str]) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([aliases.get(node.id, node.id), *reversed(parts)])


def _walk_outside_main(tree: ast.Module):
    """Every node in the order of the text, but for blocks under `if __name__ == "__main__":`."""
    todo = list(reversed(tree.body))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and _is_main_guard(node.test):
            todo.extend(reversed(node.orelse))
            continue
        yield node
        todo.extend(reversed(list(ast.iter_child_nodes(node))))


def _is_main_guard(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, *test.comparators]
    names = [side.id for side in sides if isinstance(side, ast.Name)]
    texts = [side.value for side in sides if isinstance(side, ast.Constant)]
    return names == ["__name__"] and texts == ["__main__"]
