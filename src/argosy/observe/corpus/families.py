"""Families of generated jobs: who may be looked at while attribution is tuned, and who is set aside for the score.

They differ in model, layout, accelerator, noise law, clocks, framework and format. The list was fixed before anything
was scored; whoever tunes attribution looks at families that are not set aside, and at no other.
"""

from __future__ import annotations

from dataclasses import dataclass

from argosy.observe.corpus.job import Work
from argosy.observe.corpus.kineto import Style
from argosy.observe.corpus.noise import Clocks, Noise


@dataclass(frozen=True)
class Family:
    """A way to generate: `steps` profiled; `node`: how nodes are called; `log`: the framework whose log is written."""

    name: str
    set_aside: bool
    work: Work
    noise: Noise
    clocks: Clocks
    style: Style
    log: str
    steps: int = 3
    node: str = "gpu-{:03d}"

    def node_of(self, rank: int) -> str:
        """The node that a rank runs on."""
        return self.node.format(rank // self.work.ranks_per_node)

    @property
    def nodes(self) -> int:
        """Nodes of the job."""
        return -(-self.work.gpus // self.work.ranks_per_node)


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "megatron-3d",
            False,
            Work("llama-2-13b", "H100-SXM", "DGX-H100", tp=2, pp=2, dp=4, micro_batches=8, ranks_per_node=4),
            Noise("lognormal", 0.010, 0.003),
            Clocks(2e-3),
            Style("hopper", "relative-us", metadata=True, gz=True),
            "megatron",
        ),
        Family(
            "fsdp",
            False,
            Work("llama-3.1-8b", "H100-SXM", "DGX-H100", tp=1, pp=1, dp=32, micro_batches=1, micro_batch=2, zero=3,
                 sequence=8192, stack="fsdp2", segments=8),
            Noise("spiked", 0.015, 0.004),
            Clocks(5e-4, drift=1e-5),
            Style("hopper", "relative-us", metadata=True, host_in_name=False),
            "torchtitan",
            steps=5,
        ),
        Family(
            "pipeline-2022",
            False,
            Work("gpt3-13b", "A100-80GB-SXM", "DGX-A100", tp=1, pp=4, dp=8, micro_batches=8, sequence=2048, ranks_per_node=4),
            Noise("lognormal", 0.02, 0.005),
            Clocks(5e-3, 2e-4),
            Style("ampere", "absolute-us", metadata=False, nccl="old", collection="<built-in function collect>"),
            "megatron-2022",
            node="jean-zay-ia{:03d}",
        ),
        Family(
            "interleaved-amd",
            True,
            Work("llama-2-70b", "MI300X", "DGX-H100", tp=2, pp=2, dp=8, micro_batches=4, vp=4, segments=1),
            Noise("gamma", 0.012, 0.004),
            Clocks(2e-2, drift=2e-5),
            Style("amd", "absolute-float-us", metadata=True, gz=True, collection="gc.collect"),
            "nemo",
            steps=2,
            node="mi300x-r1-n{}",
        ),
        Family(
            "zero-a100",
            True,
            Work("llama-2-7b", "A100-80GB-SXM", "DGX-A100", tp=1, pp=1, dp=24, micro_batches=2, zero=3,
                 stack="fsdp1", ranks_per_node=4, segments=4),
            Noise("student", 0.012, 0.004),
            Clocks(1e-1, 1e-5),
            Style("ampere", "absolute-float-us", metadata=False, nccl="new", host_in_name=False),
            "deepspeed",
            steps=4,
            node="worker-{}",
        ),
        Family(
            "wide",
            True,
            Work("llama-3.1-70b", "H200-SXM", "DGX-H200", tp=4, pp=2, dp=4, micro_batches=6),
            Noise("spiked", 0.008, 0.005),
            Clocks(3e-3, drift=5e-6),
            Style("hopper", "relative-us", metadata=True),
            "megatron",
            steps=2,
            node="hgx-h200-{:02d}.cluster.local",
        ),
    )
}  # fmt: skip
