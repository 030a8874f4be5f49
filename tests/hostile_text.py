"""Words that a student may write to break out of a report, whatever its format."""

SCRIPT = "<script>alert('student')</script>"
WORDS = {
    "tags": f"{SCRIPT}<img src=x onerror=alert('student')><svg onload=alert('student')>",
    "attributes": "\" onmouseover=\"alert('student')\" x=' autofocus onfocus='alert(1)' style='top:0",
    "closing": "</pre></samp></details></main></style></title></textarea>--><!-- ]]> <![CDATA[" + SCRIPT,
    "templates": "{{ 7 * 7 }} {% raw %} ${7*7} <%= 7*7 %> {count} {0} %s",
    "markdown": "| a | b |\n# head ![x](javascript:alert('x')) [x](http://a.example) **b** `c` @all $x$",
    "formula": '=HYPERLINK("http://example.org")\t+1\r-1 @SUM(1)',
    "terminal": "\x1b[2J\x1b]0;owned\x07\x9b31m\r\b\x00\x7f",
    "bidi": "\u202eevil\u2066\u200f\u061c\u2029x",
    "surrogates": "\ud800\udfff\udc80",
    "zalgo": "a" + "\u0301" * 200,
    "long": "x" * 300_000 + "\n" * 3000,
}
FORBIDDEN = [
    *map(chr, [*range(9), 11, *range(14, 32), *range(127, 160)]),
    "\u202e",
    "\u2066",
    "\u200f",
    "\u061c",
]


def submission(words: str) -> str:
    """Code to append to a submission: it says these words in every way that a report shows."""
    name = ascii(words.replace("\0", "").encode("utf-8", "ignore").decode()[:300])
    return f"""
def attention_scores(query, key):
    print({words!a}.encode("utf-8", "replace").decode())
    raise ValueError({words!a})


def attention_weights(scores, mask=None):
    raise type({name}, (Exception,), {{}})("x")


class MultiHeadAttention(MultiHeadAttention):
    def split_heads(self, x):
        return type({name}, (), {{}})()
"""
