"""Two mistakes in different TODOs at once: the judge has to name both."""

from . import (
    Case,
    wrong_gradients,
    wrong_heads,
    wrong_interface,
    wrong_mask,
    wrong_output,
    wrong_scaling,
    wrong_softmax,
)

TOPICS = [
    wrong_mask,
    wrong_softmax,
    wrong_scaling,
    wrong_heads,
    wrong_output,
    wrong_gradients,
    wrong_interface,
]
SINGLE = {case.name: case for topic in TOPICS for case in topic.CASES}


def _pair(*names: str) -> Case:
    cases = [SINGLE[name] for name in names]
    return Case(
        "+".join(names),
        code="\n".join(case.code for case in cases),
        todo=tuple(case.todo for case in cases),
        mistake=tuple(case.mistake for case in cases),
    )


CASES = [
    _pair("mask-inverted", "scale-missing"),
    _pair("causal-mask-inverted", "scale-missing"),
    _pair("causal-mask-self-excluded", "split-without-transpose"),
    _pair("mask-ignored", "output-projection-missing"),
    _pair("fill-zero", "merge-without-transpose"),
    _pair("mask-after-softmax", "scale-by-d"),
    _pair("softmax-over-queries", "output-projection-missing"),
    _pair("softmax-over-heads", "split-heads-behind-tokens"),
    _pair("softmax-twice", "scale-multiplied"),
    _pair("scale-missing", "split-without-transpose"),
    _pair("scale-missing", "merge-without-transpose"),
    _pair("scale-by-d-model", "output-projection-missing"),
    _pair("scale-by-length", "split-interleaved"),
    _pair("key-reshaped", "merge-interleaved"),
    _pair("split-without-transpose", "merge-without-transpose"),  # G3
    _pair("split-interleaved", "merge-interleaved"),  # G5, G6: they undo each other
    _pair("split-heads-reversed", "merge-heads-reversed"),  # G13: they undo each other
    _pair("split-overlapping-slices", "output-relu"),
    _pair("split-first-head-repeated", "output-projection-missing"),
    _pair("split-without-transpose", "output-projection-missing"),
    _pair("causal-mask-one-future-token", "output-projection-twice"),
    _pair("denominator-detached", "scale-missing"),
    _pair("scores-filled-in-place", "output-projection-missing"),
    # three and four at once: nothing right is left
    _pair("mask-ignored", "scale-missing", "output-projection-missing"),
    _pair("causal-mask-future-kept", "scale-missing", "split-without-transpose", "output-projection-missing"),
]
