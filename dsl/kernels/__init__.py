"""The kernel library: families (schedule to kernel text) and the tasks that own their contracts."""
