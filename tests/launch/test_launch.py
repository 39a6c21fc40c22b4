"""Launch files: what is written is read back as the same layout, and other parsers accept it."""

from __future__ import annotations

import itertools
import json
import re
import subprocess

import pytest
from ruamel.yaml import YAML

import argosy
from argosy.cli.main import run as command
from argosy.facts import FactError
from argosy.launch import FORMATS, launch_job, megatron, nccl, torchtitan, write
from argosy.spec.importers.megatron import from_arguments

BATCH = "tokens: 1e12, sequence_length: 8192, global_batch: 1024 sequences"


def job(layout: str, model: str = "llama-3.1-70b", fleet: str = "count: 512", more: str = ""):
    text = (
        f"name: one\nfleet: {{accelerator: H100-SXM, {fleet}}}\n"
        f"training: {{name: pretrain, model: {model}, {BATCH}, layout: {{{layout}}}{more}}}\n"
    )
    return launch_job(argosy.loads(text))


DENSE = [
    "tp: 8, pp: 4, vp: 1, micro_batch: 1, zero: 1, recompute: none",
    "tp: 8, pp: 4, vp: 5, micro_batch: 1, zero: 1, recompute: selective",
    "tp: 4, pp: 8, vp: 1, micro_batch: 2, zero: 1, recompute: full",
    "tp: 8, pp: 1, cp: 2, micro_batch: 1, zero: 3, recompute: full",
    "tp: 1, pp: 1, micro_batch: 1, zero: 3, recompute: full",
]
FIELDS = (
    "tp",
    "pp",
    "vp",
    "cp",
    "ep",
    "etp",
    "micro_batch",
    "zero",
    "recompute",
    "sequence_parallel",
    "schedule",
)


@pytest.mark.parametrize("layout", DENSE)
def test_megatron_arguments_give_the_same_job_back(layout):
    planned = job(layout)
    back = from_arguments(megatron.arguments(planned))
    assert {name: getattr(back.layout, name) for name in FIELDS} == {
        name: planned.layout[name] for name in FIELDS
    }
    assert back.global_batch == planned.layout["global_batch_sequences"] == 1024
    assert back.tokens == pytest.approx(1e12, rel=1e-4) and back.sequence_length == 8192
    same = {
        "name",
        "source",
        "published_parameters",
        "max_positions",
    }  # what serving may reach is no training argument
    assert back.model.model_dump(exclude=same) == planned.model.model_dump(exclude=same)
    assert back.precision == planned.precision


def test_a_mixture_with_latent_attention_goes_round():
    planned = job(
        "tp: 1, pp: 16, vp: 1, ep: 64, etp: 1, zero: 1, micro_batch: 1, recompute: full",
        "deepseek-v3",
        "count: 2048",
        ", precision: {compute: fp8}",
    )
    text = megatron.arguments(planned)
    back = from_arguments(text)
    assert {name: getattr(back.layout, name) for name in FIELDS} == {
        name: planned.layout[name] for name in FIELDS
    }
    assert back.model.mla == planned.model.mla and back.model.mtp_modules == planned.model.mtp_modules
    assert back.model.moe.dense_layers == planned.model.moe.dense_layers == (0, 1, 2)
    assert back.precision.compute == "fp8"


def test_layers_that_do_not_divide_are_written_out():
    planned = job("tp: 8, pp: 16, vp: 1, micro_batch: 1", "deepseek-v3", more=", precision: {compute: bf16}")
    text = megatron.pipeline_layout(planned)
    chunks = text.split("|")
    assert len(chunks) == 16 and chunks[0].startswith("E") and chunks[-1].endswith("m,L")
    layers = sum(int(times or 1) for times in re.findall(r"t(?:\*(\d+))?", text))
    assert layers == planned.model.layers == 61


@pytest.mark.parametrize(("layout", "chunks"), [("E|t|L", 3), ("Et*3|(tt|)*29,m|L", 32), ("E,t*4|t*4,L", 2)])
def test_the_importer_counts_chunks(layout, chunks):
    given = (
        f'--num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --max-position-embeddings 64 --vocab-size 1024 \
        --pipeline-model-parallel-size 1 --pipeline-model-parallel-layout "{layout}"'
    )
    assert from_arguments(given).layout.vp == chunks


@pytest.mark.parametrize("layout", [each.replace("zero: 1", "zero: 2") for each in DENSE])
def test_torchtitan_toml_gives_the_same_layout_back(layout):
    planned = job(layout)
    back = torchtitan.layout_of(torchtitan.config(planned), planned.model.layers)
    assert back == planned.layout


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("tp: 8, pp: 4, zero: 1", "no ZeRO-1"),
        ("tp: 8, pp: 4, zero: 2, sequence_parallel: false", "sequence-parallel"),
    ],
)
def test_torchtitan_refuses_what_it_has_not(layout, words):
    with pytest.raises(FactError, match=words):
        torchtitan.config(job(layout))


def test_offloading_goes_round_and_is_refused_where_a_framework_cannot():
    share = ", offload: {optimizer: 0.5, activations: 0.25}"
    back = from_arguments(megatron.arguments(job("tp: 8, pp: 1, zero: 1, recompute: none", more=share)))
    assert back.offload.optimizer == 0.5 and back.offload.activations == 20 / 80
    with pytest.raises(FactError, match="offloads activations without a pipeline"):
        megatron.arguments(job("tp: 8, pp: 4, zero: 1, recompute: none", more=share))
    with pytest.raises(FactError, match="all together or nothing"):
        torchtitan.config(job("tp: 8, pp: 1, zero: 3", more=share))


def test_megatron_refuses_schedules_that_it_has_not():
    with pytest.raises(FactError, match="gpipe"):
        megatron.arguments(job("tp: 8, pp: 4, vp: 1, schedule: gpipe"))


def test_text_that_is_no_configuration_is_refused():
    for text in ("", "[parallelism]\n", "= 3"):
        with pytest.raises(FactError, match="not a torchtitan configuration"):
            torchtitan.layout_of(text, 80)


def test_every_variable_has_a_reason_and_follows_the_fabric():
    def names(fleet):
        found = nccl.environment(job("tp: 8, pp: 4", fleet=f"count: 1024, {fleet}"))
        assert all(each.reason for each in found)
        return {each.name: each.value for each in found}

    hashed = names("fabrics: [{role: compute, topology: fat-tree, protocol: roce, routing: ecmp}]")
    assert hashed["NCCL_IB_SPLIT_DATA_ON_QPS"] == "1" and "NCCL_IB_ADAPTIVE_ROUTING" not in hashed
    sprayed = names("fabrics: [{role: compute, topology: fat-tree, protocol: roce, routing: spray}]")
    assert sprayed["NCCL_IB_ADAPTIVE_ROUTING"] == "1" and "NCCL_IB_QPS_PER_CONNECTION" not in sprayed
    rails = names("fabrics: [{role: compute, topology: rail-optimized}]")
    assert rails["NCCL_CROSS_NIC"] == "0" and rails["NCCL_IB_TIMEOUT"] == "22"


def test_shell_and_yaml_parse_and_ask_for_the_planned_nodes(tmp_path):
    planned = job("tp: 8, pp: 4, zero: 1")
    files, refused = write(planned, list(FORMATS))
    assert set(refused) == {"torchtitan"} and set(files) == {
        "megatron.args",
        "job.sbatch",
        "jobset.yaml",
        "nccl.env",
    }
    for name in ("job.sbatch", "nccl.env"):
        (tmp_path / name).write_text(files[name], encoding="utf-8")
        assert subprocess.run(["bash", "-n", str(tmp_path / name)], check=False).returncode == 0
    assert "#SBATCH --nodes=64" in files["job.sbatch"] and "--nproc-per-node=8" in files["job.sbatch"]
    manifest = YAML(typ="safe").load(files["jobset.yaml"])
    (replicated,) = manifest["spec"]["replicatedJobs"]
    work = replicated["template"]["spec"]
    assert work["completions"] == work["parallelism"] == 64 and work["backoffLimit"] == 0
    (container,) = work["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 8
    assert not any("$" in each["value"] for each in container["env"])
    started = from_arguments(container["command"][2])
    assert started.layout == from_arguments(files["megatron.args"]).layout


def test_the_command_writes_files_and_json(tmp_path, capsys):
    (tmp_path / "s.yaml").write_text(
        f"name: one\nfleet: {{accelerator: H100-SXM, count: 256}}\ntraining: {{model: llama-3.1-8b, {BATCH}}}\n",
        encoding="utf-8",
    )
    arguments = ["export", "launch", str(tmp_path / "s.yaml"), "--output", str(tmp_path / "out"), "--json"]
    assert command(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "argosy.export-launch/1"
    for name, text in answer["files"].items():
        assert (tmp_path / "out" / name).read_text(encoding="utf-8") == text
    assert command(["export", "launch", str(tmp_path / "s.yaml"), "--format", "yaml"]) == 1
    assert "megatron, torchtitan" in capsys.readouterr().err


def test_no_accelerator_but_nvidias_gets_an_nccl_environment():
    with pytest.raises(FactError, match="NCCL does not run"):
        from dataclasses import replace

        nccl.environment(replace(job("tp: 8, pp: 4"), vendor="AMD", accelerator="MI300X"))


def test_padding_never_changes_a_vocabulary_that_divides():
    for vocab, tp in itertools.product((128256, 32000, 50257, 129280), (1, 2, 8)):
        multiple = megatron._padding(vocab, tp) * tp
        assert vocab % multiple == 0 or vocab % tp != 0
