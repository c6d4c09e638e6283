"""What every test runs under: no model is ever asked, checkpoints hold only types that the state names."""

from __future__ import annotations

import os

# Read when the libraries are imported, so before any test module.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.pop("MLFLOW_TRACKING_URI", None)

import pydantic_ai.models

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False
