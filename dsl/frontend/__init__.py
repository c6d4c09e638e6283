"""The only reader of kernel text."""

from argus.dsl.frontend.parse import parse, parse_assertion, parse_core, parse_function
from argus.dsl.frontend.source import read_text

__all__ = ["parse", "parse_assertion", "parse_core", "parse_function", "read_text"]
