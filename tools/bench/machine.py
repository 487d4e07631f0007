"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path


def facts() -> dict[str, object]:
    """Processor, memory, versions and load, as far as this system tells."""
    return {
        "processor": _field("/proc/cpuinfo", "model name")
        or platform.processor()
        or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(
            int((_field("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) / 2**20, 1
        ),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "packages": _versions(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _versions() -> Mapping[str, str]:
    return {
        name: metadata.version(name)
        for name in ("capdisc-cli", "tantivy", "lancedb", "simsimd", "numpy")
    }


def _field(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
