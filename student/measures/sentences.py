"""The lesson's sentences, and a toy meaning for their words.

The n-th sentence has the same kinds of word in both languages, and so the same numbers.
"""

import numpy as np

SENTENCES = {
    "en": (
        ("Kittens", "chase", "balls", "because", "they", "love", "playing"),
        ("Because", "puppies", "love", "playing", "they", "chase", "balls"),
        ("Birds", "sing", "because", "they", "can"),
    ),
    "zh": (
        ("小猫", "追", "球", "因为", "它", "想", "玩"),
        ("因为", "小狗", "想", "玩", "它", "就追", "球"),
        ("小鸟", "唱歌", "因为", "它", "高兴"),
    ),
}
KINDS = ("animal", "action", "thing", "link", "pronoun")
KINDS_OF_WORDS = (
    ("animal", "action", "thing", "link", "pronoun", "action", "action"),
    ("link", "animal", "action", "action", "pronoun", "action", "thing"),
    ("animal", "action", "link", "pronoun", "action"),
)
# How strongly a kind of word looks for another.
LOOKS_FOR = {
    ("pronoun", "animal"): 7,
    ("action", "animal"): 5,
    ("action", "pronoun"): 6,
    ("action", "thing"): 3,
    ("thing", "action"): 5,
    ("link", "action"): 5,
}


def position(kind: str, sentence: int = 0) -> int:
    """Return where the first word of a kind stands in a sentence."""
    return KINDS_OF_WORDS[sentence].index(kind)


def toy_sentence(sentence: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings (L, 5), one feature for each kind of word, and a W_Q (5, 5): queries are x @ W_Q."""
    words = KINDS_OF_WORDS[sentence]
    embeddings = np.array([[kind == feature for feature in KINDS] for kind in words], dtype=float)
    w_q = np.array([[LOOKS_FOR.get((asking, asked), 0) for asked in KINDS] for asking in KINDS], dtype=float)
    return embeddings, w_q
