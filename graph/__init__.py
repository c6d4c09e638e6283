"""The state machine that runs an optimisation."""
