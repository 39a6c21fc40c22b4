"""Fabrics that others describe: as built (ibnetdiscover), as planned, and what differs between the two."""

from argosy.fabric.imports.diff import diff
from argosy.fabric.imports.ibnetdiscover import read_ibnetdiscover
from argosy.fabric.imports.plan import read_cables, read_record
from argosy.fabric.imports.text import ReadError
from argosy.fabric.imports.wires import Device, Wires, planned_wires

__all__ = [
    "Device",
    "ReadError",
    "Wires",
    "diff",
    "planned_wires",
    "read_cables",
    "read_ibnetdiscover",
    "read_record",
]
