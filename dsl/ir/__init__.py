"""The typed IR: nodes, their types, verifier and printer."""

from argus.dsl.ir.nodes import *  # noqa: F403 - the nodes are the vocabulary; `nodes` itself defines nothing else
