"""The chosen layout, ready to start: Megatron-LM and torchtitan settings, sbatch, JobSet, NCCL environment.

What is written is read back by `argosy.spec.importers.megatron` and `launch.torchtitan.layout_of`, and gives the
same layout (tested).
"""

from collections.abc import Callable

from argosy.launch import cluster, megatron, nccl, torchtitan
from argosy.launch.job import LaunchJob, launch_job

# format: (file name, what writes it)
FORMATS: dict[str, tuple[str, Callable[[LaunchJob], str]]] = {
    "megatron": ("megatron.args", megatron.arguments),
    "torchtitan": ("torchtitan.toml", torchtitan.config),
    "sbatch": ("job.sbatch", cluster.sbatch),
    "jobset": ("jobset.yaml", lambda job: cluster.jobset(job, megatron.arguments(job))),
    "nccl": ("nccl.env", nccl.script),
}

__all__ = ["FORMATS", "LaunchJob", "launch_job", "write"]


def write(job: LaunchJob, formats: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """File name → text for each format that can express the layout; format → reason for those that cannot."""
    from argosy.facts import FactError

    files, refused = {}, {}
    for name in formats:
        file, writer = FORMATS[name]
        try:
            files[file] = writer(job)
        except FactError as error:
            refused[name] = str(error)
    return files, refused
