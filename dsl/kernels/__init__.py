"""The kernel library: families (schedule to kernel text) and the tasks that own their contracts."""

from argus.dsl.kernels.family import Family, Schedule
from argus.dsl.kernels.hopper_schedule import HopperGemmSchedule
from argus.dsl.kernels.library import families, task_named, tasks
from argus.dsl.kernels.schedule import GemmSchedule
from argus.dsl.kernels.task import Problem, Task, make_problem

__all__ = [
    "Family",
    "GemmSchedule",
    "HopperGemmSchedule",
    "Problem",
    "Schedule",
    "Task",
    "families",
    "make_problem",
    "task_named",
    "tasks",
]
