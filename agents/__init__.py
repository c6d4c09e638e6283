"""The planner, selector, lowering and validator agents."""
