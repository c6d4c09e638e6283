"""What a kernel must respect beyond its grammar: one module a subject."""
