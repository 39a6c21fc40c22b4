"""How nodes are asked for and processes started: an sbatch script, a Kubernetes JobSet.

Slurm: sbatch and srun manuals (24.05). JobSet: kubernetes-sigs/jobset, API jobset.x-k8s.io/v1alpha2.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from argosy.launch.job import LaunchJob
from argosy.launch.nccl import environment, script

_PORT = 29500  # torchrun's default rendezvous port


def _label(job: LaunchJob) -> str:
    """A name that Slurm, DNS and Kubernetes all take: lower case, digits, hyphens, at most 40 characters."""
    return re.sub(r"[^a-z0-9]+", "-", job.name.lower()).strip("-")[:40] or "training"


def sbatch(job: LaunchJob) -> str:
    """A script for `sbatch`: one torchrun a node, requeued after a failure; it reads `megatron.args` beside it."""
    shell = "\n".join(line for line in script(job).splitlines() if line)
    spares = f"{job.spare_nodes} more for spares" if job.spare_nodes else "no spares"
    segment = job.scale_up // job.node_size
    lines = [
        "#!/bin/bash",
        f"# {job.nodes} nodes of {job.node_size} × {job.accelerator}; the plan keeps {spares}, which stay in the",
        "# partition: a requeued job takes them for the nodes that failed.",
        f"#SBATCH --job-name={_label(job)}",
        f"#SBATCH --nodes={job.nodes}",
        "#SBATCH --ntasks-per-node=1",
        f"#SBATCH --gpus-per-node={job.node_size}",
        "#SBATCH --exclusive",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        "#SBATCH --output=%x-%j.log",
    ]
    if segment > 1 and job.nodes % segment == 0:
        lines.append(
            f"# one scale-up domain is {segment} nodes: whole domains, so that tensor and expert groups fit"
        )
        lines.append(f"#SBATCH --segment={segment}")
    lines += [
        "set -euo pipefail",
        'HERE="${SLURM_SUBMIT_DIR:-.}"',
        'export CHECKPOINTS="${CHECKPOINTS:-$HERE/checkpoints}"',
        shell,
        'HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
        "# arguments without comments, variables filled in",
        "ARGUMENTS=$(sed 's/#.*//' \"$HERE/megatron.args\" | envsubst | tr '\\n' ' ')",
        f"# the plan expects at most {job.restarts} stops over the run; requeue until the last step is saved",
        'srun --kill-on-bad-exit=1 bash -c "torchrun --nnodes=$SLURM_NNODES '
        f"--nproc-per-node={job.node_size} --rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID "
        f'--rdzv-endpoint=$HEAD:{_PORT} pretrain_gpt.py $ARGUMENTS ${{DATA_ARGUMENTS:-}}" '
        '|| scontrol requeue "$SLURM_JOB_ID"',
    ]
    return "\n".join(lines) + "\n"


def jobset(job: LaunchJob, arguments: str) -> str:
    """A JobSet manifest: one pod a node, all restarted together; `arguments` as `launch.megatron` gives them."""
    from ruamel.yaml import YAML
    from ruamel.yaml.scalarstring import LiteralScalarString

    label = _label(job)
    head = f"{label}-node-0-0.{label}"
    flags = " ".join(line for line in arguments.splitlines() if not line.startswith("#"))
    command = (
        f"exec torchrun --nnodes={job.nodes} --nproc-per-node={job.node_size} --node-rank=$JOB_COMPLETION_INDEX "
        f"--master-addr={head} --master-port={_PORT} pretrain_gpt.py {flags} $DATA_ARGUMENTS\n"
    )
    settings = [{"name": each.name, "value": _plain(each.value)} for each in environment(job)]
    settings += [{"name": "CHECKPOINTS", "value": "/checkpoints"}, {"name": "DATA_ARGUMENTS", "value": ""}]
    container: dict[str, Any] = {
        "name": "trainer",
        "image": "IMAGE",
        "command": ["bash", "-c", LiteralScalarString(command)],
        "env": settings,
        "resources": {"limits": {"nvidia.com/gpu": job.node_size}},
        "volumeMounts": [
            {"name": "shared-memory", "mountPath": "/dev/shm"},
            {"name": "checkpoints", "mountPath": "/checkpoints"},
        ],
    }
    pod = {
        "restartPolicy": "Never",
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "containers": [container],
        "volumes": [
            {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
            {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "CHECKPOINTS_CLAIM"}},
        ],
    }
    work = {
        "backoffLimit": 0,  # a pod that fails fails the set, which starts all pods again from the checkpoint
        "completionMode": "Indexed",
        "completions": job.nodes,
        "parallelism": job.nodes,
        "template": {"spec": pod},
    }
    manifest = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": label},
        "spec": {
            "failurePolicy": {"maxRestarts": job.restarts},
            "replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": work}}],
        },
    }
    writer: Any = YAML()
    writer.width = 10_000
    text = StringIO()
    writer.dump(manifest, text)
    notes = [
        f"# {job.name}, {job.stage}: {job.nodes} nodes of {job.node_size} × {job.accelerator}. Fill in IMAGE and",
        "# CHECKPOINTS_CLAIM, and the fabric's own device resource (rdma/…, vpc.amazonaws.com/efa) under limits.",
        f"# maxRestarts: failures that the plan expects over the run and three standard deviations, {job.restarts}.",
        *(f"# {each.name}: {each.reason}" for each in environment(job)),
    ]
    return "\n".join(notes) + "\n" + text.getvalue()


def _plain(value: str) -> str:
    """A shell default `${NAME:-value}` as its value: a manifest knows no shell."""
    match = re.fullmatch(r"\$\{\w+:-(.*)\}", value)
    return match[1] if match else value
