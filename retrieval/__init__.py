"""The knowledge base: loading, indexing and searching cards."""
