"""Text of the student's that reaches a terminal, a table or a page."""

from . import Attack

NASTY = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\b\x00 \u202eevil\u2066 \ud800 [red]x[/red] [link=evil]{0} %s </td>"
_NAME = ascii(NASTY.replace("\0", "").replace("\ud800", ""))  # what a type may be called


def _says(name: str, message: str, **more: object) -> Attack:
    code = f"\ndef attention_scores(query, key):\n    raise ValueError({message})\n"
    return Attack(name, "markup", code, "nothing", **{"weakness": 10} | more)


ATTACKS = [
    _says("control-characters", ascii(NASTY)),
    _says("formula", "'=HYPERLINK(\"http://example.org\")'"),
    _says("megabytes", "'x' * 30_000_000", status=("graded", "crashed", "timeout")),
    Attack(
        "names-of-exceptions",
        "markup",
        f"""
def attention_scores(query, key):
    raise type({_NAME}, (Exception,), {{}})


def attention_weights(scores, mask=None):
    raise type("=cmd|' /C calc'!A0", (Exception,), {{}})("@SUM(1+1)*cmd")
""",
        "nothing",
        weakness=10,
    ),
    Attack(
        "messages-that-raise",
        "grader fault",
        """
class Meta(type):
    @property
    def __name__(cls):
        raise SystemExit(0)


class Bad(Exception, metaclass=Meta):
    def __str__(self):
        raise self

    __repr__ = __str__


def attention_scores(query, key):
    raise Bad


def attention_weights(scores, mask=None):
    class Text(str):
        __getitem__ = split = __str__ = lambda self, *args: 1 / 0

    raise ValueError(Text("x"))
""",
        "nothing",
        status=("graded", "crashed"),
        weakness=10,
    ),
    Attack(
        "names-of-types",
        "markup",
        f"""
def attention_scores(query, key):
    return type({_NAME}, (), {{}})()


class MultiHeadAttention(MultiHeadAttention):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.register_parameter("\\x1b[2J\\u202e=1", torch.nn.Parameter(torch.zeros(1)))
""",
        "nothing",
        weakness=10,
    ),
    Attack(
        "groups-of-exceptions",
        "grader fault",
        """
def attention_scores(query, key):
    error = ValueError("first")
    for _ in range(3000):
        try:
            raise ValueError("next") from error
        except ValueError as raised:
            error = raised
    raise ExceptionGroup("group", [error, KeyboardInterrupt if False else error])


def attention_weights(scores, mask=None):
    raise KeyboardInterrupt


def causal_mask(length, device=None):
    raise GeneratorExit
""",
        "nothing",
    ),
    Attack(
        "words-for-tables-and-pages",
        "markup",
        """
def causal_mask(length, device=None):
    raise ValueError("a,b;c\\td\\"e\\nnew,line\\r\\n\\"'0,100\\n")


def attention_scores(query, key):
    raise ValueError("[bold red]100 / 100[/] [/nothing] :smile: [@click=app.quit]x")


def attention_weights(scores, mask=None):
    raise ValueError("<script>alert(1)</script><img src=x onerror=alert(1)> ![x](javascript:alert(1))")


class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        raise ValueError("{file} {0} {line!r:>{width}} {{" * 50)

    def combine_heads(self, heads):
        raise ValueError("\\n  File \\"@REPO@/solutions/attention.py\\", line 1, in f\\n100 passed")
""",
        "nothing",
        weakness=5,
    ),
]
