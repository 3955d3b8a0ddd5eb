"""The machine in figures: processor, memory, disk (bytes and percent); and what it cannot do."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings
from django.utils import timezone

from runtime.present import text, units
from runtime.runs import confining


def meters() -> list[dict[str, Any]]:
    """Processor load, memory and the disk of the data folder, each of its whole."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    memory = psutil.virtual_memory()
    found = [
        _meter("processor", int(load * 100), cores * 100, f"load {load:.2f} on {cores} cores"),
        _meter(
            "memory",
            memory.total - memory.available,
            memory.total,
            f"{units.size(memory.total - memory.available)} of {units.size(memory.total)}",
        ),
    ]
    folder: Path = settings.M31A.DATA_DIR
    if folder.exists():
        disk = psutil.disk_usage(str(folder))
        words = f"{units.size(disk.free)} free of {units.size(disk.total)}"
        found.append(_meter("disk", disk.used, disk.total, words))
    return found


def _meter(name: str, value: int, most: int, words: str) -> dict[str, Any]:
    return {"name": name, "value": min(value, most), "max": most, "words": words}


def troubles() -> list[dict[str, Any]]:
    """The machines that can confine no command, as the journal has it."""
    now = timezone.now()
    return [
        {
            "host": text.visible(one.host),
            "since": units.ago(datetime.fromisoformat(one.since), now),
            "detail": text.marked(one.detail),
            "remedy": text.marked(one.remedy),
        }
        for one in confining.troubles()
    ]
