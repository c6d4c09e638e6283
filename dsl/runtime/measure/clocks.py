"""What the GPU does while it is measured: clock, power, temperature, through NVML where there is one."""

from __future__ import annotations

import ctypes as C
from typing import Any

SM_CLOCK, MEMORY_CLOCK = 1, 2  # NVML_CLOCK_SM, NVML_CLOCK_MEM
CELSIUS = 0


class Clocks:
    """Samples of device 0; every value is None where NVML does not answer."""

    def __init__(self, bus_id: str | None = None) -> None:
        self._nvml: Any = None
        self._device = C.c_void_p()
        try:
            nvml = C.CDLL("libnvidia-ml.so.1")
            if nvml.nvmlInit_v2() != 0:
                return
            if (
                bus_id is not None
                and nvml.nvmlDeviceGetHandleByPciBusId_v2(bus_id.encode(), C.byref(self._device)) == 0
            ) or nvml.nvmlDeviceGetHandleByIndex_v2(0, C.byref(self._device)) == 0:
                self._nvml = nvml
        except (OSError, AttributeError):
            return

    def sample(self) -> dict[str, float | None]:
        """MHz, watts and degrees Celsius now."""
        return {
            "sm_mhz": self._read("nvmlDeviceGetClockInfo", SM_CLOCK),
            "memory_mhz": self._read("nvmlDeviceGetClockInfo", MEMORY_CLOCK),
            "watts": self._read("nvmlDeviceGetPowerUsage", scale=1e-3),
            "celsius": self._read("nvmlDeviceGetTemperature", CELSIUS),
        }

    def _read(self, function: str, *arguments: int, scale: float = 1.0) -> float | None:
        if self._nvml is None:
            return None
        value = C.c_uint()
        try:
            failed = getattr(self._nvml, function)(self._device, *arguments, C.byref(value))
        except AttributeError:
            return None
        return None if failed else value.value * scale
