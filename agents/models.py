"""Which model answers for which agent, from strings such as `planner=anthropic:NAME` or `offline`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from argus.agents.offline import OfflineModel

NODES = ("planner", "selector", "lowering", "validator")
DEFAULT = "default"
OFFLINE = "offline"

ModelChoice = Mapping[str, str | Model]


class ModelConfigError(Exception):
    """A model that cannot be used as asked: the request is wrong, not the run. `hint` says what would do."""

    code = "model"

    def __init__(self, message: str, hint: str) -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message}; {hint}")


def parse_models(choices: Iterable[str]) -> dict[str, str]:
    """`["planner=anthropic:NAME", "offline"]` as `{"planner": "anthropic:NAME", "default": "offline"}`.

    Raises:
        ModelConfigError: Unknown node, or an empty name.
    """
    found: dict[str, str] = {}
    for choice in choices:
        node, given, model = choice.partition("=")
        if not given:
            node, model = DEFAULT, choice
        if not model.strip():
            raise ModelConfigError(f"no model in {choice!r}", "write NODE=PROVIDER:NAME")
        found[_known(node.strip())] = model.strip()
    return found


def resolve(models: ModelChoice) -> dict[str, Model]:
    """A model for every agent; those without a choice take `default`, else the offline policy.

    Raises:
        ModelConfigError: Unknown node or provider, a missing key or a missing package.
    """
    for node in models:
        _known(node)
    fallback = models.get(DEFAULT, OFFLINE)
    return {node: _model(node, models.get(node, fallback)) for node in NODES}


def name_of(model: Model) -> str:
    """`provider:name` for records; `offline` for the policy."""
    return OFFLINE if isinstance(model, OfflineModel) else f"{model.system}:{model.model_name}"


def _known(node: str) -> str:
    if node not in (*NODES, DEFAULT):
        near = difflib.get_close_matches(node, NODES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"agents are {', '.join(NODES)}"
        raise ModelConfigError(f"no agent is called {node!r}", hint)
    return node


def _model(node: str, choice: str | Model) -> Model:
    if isinstance(choice, Model):
        return choice
    if choice == OFFLINE:
        return OfflineModel()
    if choice.startswith("litellm:"):
        # Its provider takes the public OpenAI address when no base is given: kernels must not go there unasked.
        raise ModelConfigError(f"{node}: litellm is not supported", "use openai-chat:NAME with OPENAI_BASE_URL")
    if ":" not in choice:
        raise ModelConfigError(f"{node}: {choice!r} names no provider", "write PROVIDER:NAME, or offline")
    try:
        return infer_model(choice)
    except UserError as error:
        raise ModelConfigError(f"{node}: cannot use {choice!r}", _hint(str(error))) from error
    except ImportError as error:
        raise ModelConfigError(f"{node}: a package for {choice!r} is missing", str(error)) from error
    except Exception as error:  # providers check their own settings with errors of their own
        raise ModelConfigError(f"{node}: cannot use {choice!r}", f"{type(error).__name__}: {error}") from error


def _hint(message: str) -> str:
    if message.startswith("Unknown model"):
        return "providers are those of pydantic-ai, e.g. anthropic:, openai:, openai-chat:, ollama:; or offline"
    return message.split(". ", maxsplit=1)[0].rstrip(".")
