"""Hostile and broken submissions, each with wrong attention of its own.

Every one is the reference, spoilt by one of WRONG, with the code of the attack after it. Where that code
reaches what should be out of its reach, it calls win(), which makes the attention right again: an attack
that succeeds in any way earns more than its wrong attention does.

In code and in files beside it, names between at signs stand for values of the run:
    @REPO@ @CLASS@ @OUT@  the judge's repository, the folder of submissions, the folder of results
    @MARKS@     a folder that all may write to, and that must stay as it is
    @TOKEN@     a word of this run, for names of things that must not be left
    @SECRET@    how a secret of the judge's environment begins; it ends with another word
    @TCP@ @UDP@ ports that somebody listens on, @UNIX@ the path of a socket that is listened to
    @TEST@      the process id of the test, which has a handler for SIGUSR1
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
REFERENCE = FOLDER.parents[1] / "solutions" / "attention.py"

FORGED = """
_right = dict(globals())


def win():
    globals().update(_right)
"""
WRONG = {
    "unscaled": """
def attention_scores(query, key):
    return query @ key.mT
""",
    "unmasked": """
def attention_weights(scores, mask=None):
    return torch.softmax(scores, -1)
""",
    "constant": """
def attention_scores(query, key):
    return 0 * (query @ key.mT)
""",
    "heads": """
class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return x.reshape(x.shape[0], self.n_heads, x.shape[1], self.d_head)
""",
    "nothing": """
def causal_mask(length, device=None):
    raise NotImplementedError("TODO")


def attention_scores(query, key):
    raise NotImplementedError("TODO")


def attention_weights(scores, mask=None):
    raise NotImplementedError("TODO")


class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        raise NotImplementedError("TODO")

    def combine_heads(self, heads):
        raise NotImplementedError("TODO")
""",
}

# What facts/attacks.md of the project lists, but for what is nbgrader's, a GPU's or a release's alone.
KINDS = {
    "forging": (
        "ends the process", "skips", "runner", "comparators", "builtins", "rewrites a report", "heap",
        "fake verdict", "pickle", "decoder", "always equal", "number-like", "tensor subclass", "NaN",
        "random numbers", "global state", "freed memory", "lazy", "ready made", "detects the grader",
        "more tests", "forged answer", "forged claim",
    ),
    "injecting": (
        "conftest", "configuration", "plug-in", "environment", "shadow module", "bytecode", "import hook",
        "overwrites the grader", "installs",
    ),
    "stealing": (
        "frames", "source", "paths", "other processes", "network", "tells the inputs", "left-overs",
        "between submissions",
    ),
    "breaking": (
        "endless", "memory", "fork", "survivor", "disk", "output", "protocol", "crash", "kills", "threads",
        "odd file", "odd text", "odd name", "interface", "import side effect", "warnings", "grader fault",
        "markup", "weights file", "timestamp",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Attack:
    """A submission, and what may become of it.

    code: after the reference and one of WRONG. text: the whole file in their place; it earns nothing.
    place: puts the file where it goes, given the class's folder, the student and the text; by default
    it is <student>.py, or <student>/attention.py with other files `beside` it.
    status: of the row in class.json, any of these; none of them if it is passed over.
    at_most: what it may earn; by default what its wrong attention earns.
    wins: where it succeeds, to show that it is one: "local" in the judge's own process, "plain" in a
    worker that is not locked in.
    """

    name: str
    kind: str
    code: str = ""
    wrong: str = "unscaled"
    text: str | bytes | None = None
    place: Callable[[Path, str, bytes], object] | None = None
    beside: Mapping[str, str | bytes] = field(default_factory=dict)
    status: tuple[str, ...] = ("graded",)
    at_most: float | None = None
    wins: tuple[str, ...] = ()
    weakness: int | None = None  # number in the list of the plan for isolation
    slow: bool = False

    def source(self, names: Mapping[str, object]) -> bytes:
        """The file, with the names of a run filled in."""
        if isinstance(self.text, bytes):
            return self.text
        return filled(own_code(self.wrong) + self.code if self.text is None else self.text, names)

    def write(self, folder: Path, student: str, names: Mapping[str, object]) -> None:
        """Hand it in."""
        source = self.source(names)
        if self.place:
            self.place(folder, student, source)
        elif not self.beside:
            (folder / f"{student}.py").write_bytes(source)
        else:
            (folder / student).mkdir()
            (folder / student / "attention.py").write_bytes(source)
            for name, content in self.beside.items():
                file = folder / student / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content if isinstance(content, bytes) else filled(content, names))


def own_code(wrong: str) -> str:
    """What an attack hands in apart from the attack."""
    return REFERENCE.read_text(encoding="utf-8") + FORGED + WRONG[wrong] + "\n\n"


def filled(text: str, names: Mapping[str, object]) -> bytes:
    """A text with the values of a run in the place of their names."""
    for name, value in names.items():
        text = text.replace(f"@{name}@", str(value))
    return text.encode()


def attacks() -> list[Attack]:
    """All of them, in a fixed order."""
    modules = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
    return [attack for module in modules for attack in import_module(f".{module}", __name__).ATTACKS]
