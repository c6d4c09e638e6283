"""The language reference: one table, from which the page for people and the compact form for prompts are printed."""

from argus.dsl.frontend.reference.construct import Construct, Section
from argus.dsl.frontend.reference.page import SECTIONS, compact, constructs, example, page

__all__ = ["SECTIONS", "Construct", "Section", "compact", "constructs", "example", "page"]
