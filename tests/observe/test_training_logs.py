"""Training logs: every framework's lines, several forms of each, restarts, troubles, and the real samples."""
# ruff: noqa: E501

from __future__ import annotations

import gzip
import math

import numpy as np
import pytest

from argosy.observe.readers import training_log

MEGATRON = """using world size: 16, data-parallel size: 2, context-parallel size: 1, hierarchical context-parallel sizes: None, tensor-model-parallel size: 4, pipeline-model-parallel size: 2
------------------------ arguments ------------------------
  bf16 ............................................ True
  global_batch_size ............................... 32
  hidden_size ..................................... 4096
  num_layers ...................................... 32
  num_attention_heads ............................. 32
  recompute_granularity ........................... None
  seq_length ...................................... 8192
  swiglu .......................................... True
  world_size ...................................... 16
-------------------- end of arguments ---------------------
 loading checkpoint from /ckpt at iteration 100
  successfully loaded checkpoint from /ckpt [ t 1/4, p 1/2 ] at iteration 100
(min, max) time across ranks (ms):
    load-checkpoint ................................: (11500.00, 12000.00)
[after model, optimizer, and learning rate scheduler are built] datetime: 2026-03-01 12:00:30
[before the start of training step] datetime: 2026-03-01 12:00:40
 [2026-03-01 12:01:00] iteration      110/    1000 | consumed samples:         3520 | elapsed time per iteration (ms): 2000.0 | throughput per GPU (TFLOP/s/GPU): 400.5 | learning rate: 1.000000E-05 | global batch size:    32 | lm loss: 2.500000E+00 | loss scale: 1.0 | grad norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |
(min, max) time across ranks (ms):
    forward-backward ...............................: (1700.10, 1800.20)
    optimizer ......................................: (10.00, 12.00)
times across ranks (ms):
  forward-compute:
     rank  0: 500.00
     rank  3: 750.00
 [2026-03-01 12:01:20] iteration      120/    1000 | consumed samples:         3840 | elapsed time per iteration (ms): 2010.0 | learning rate: 1.0E-05 | global batch size:    32 | lm loss: 2.4E+00 | loss scale: 1.0 |
max time across ranks (ms):
    forward-backward ...............................: 1810.00
saving checkpoint at iteration     120 to /ckpt in torch_dist format
  successfully saved checkpoint from iteration     120 to /ckpt [ t 1/4, p 1/2 ]
(min, max) time across ranks (ms):
    save-checkpoint ................................: (2900.00, 3000.00)
 validation loss at iteration 120 | lm loss value: 2.3E+00 | lm loss PPL: 1.0E+01 |
[exiting program at iteration 120] datetime: 2026-03-01 12:01:30
[after training is done] datetime: 2026-03-01 12:01:31
"""
OLDER = """ iteration        1/     500 | consumed samples:         2048 | consumed tokens:      4194304 | elapsed time per iteration (s): 105.02 | learning rate: 6E-05 | global batch size:  2048 | lm-loss: 2.0E+00 | grad norm: 0.2 | num zeros: 0.0 | number of skipped iterations:   0 | number of nan iterations:   0 | samples per second: 19.501 | TFLOPs: 149.77 |
time (ms) | forward-compute: 4000.5 | backward-embedding-all-reduce: 9000.00
"""
TITAN = (
    "[rank0]:[titan] 2026-03-01 12:00:00,123 - root - INFO - Starting job: Llama 3 8B training\n"
    '[rank0]:[titan] 2026-03-01 12:00:01,000 - root - INFO - Running with args: {\n[rank0]:  "training": {"seq_len": 8192, '
    '"local_batch_size": 2},\n[rank0]:  "metrics": {"log_freq": 10}\n[rank0]:}\n'
    "[rank0]:[titan] 2026-03-01 12:00:02,000 - root - INFO - Building 1-D device mesh with ['dp_shard'], [8]\n"
    "[rank0]:[titan] 2026-03-01 12:00:03,000 - root - INFO - \x1b[34mModel llama3 8B \x1b[31msize: 8,030,261,248 total parameters\x1b[39m\n"
    "[rank0]:[titan] 2026-03-01 12:00:04,000 - root - INFO - Peak FLOPS used for computing MFU: 9.890e+14\n"
    "[rank0]:[titan] 2026-03-01 12:00:05,000 - root - INFO - Trainer is initialized with local batch size 2, global batch size 16, "
    "gradient accumulation steps 1, sequence length 8192, total steps 1000 (warmup 200)\n"
    "[rank0]:[titan] 2026-03-01 12:00:06,000 - root - INFO - Training starts at step 1\n"
    "[rank1]:[titan] 2026-03-01 12:00:30,000 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  8.1  \x1b[39mtps: 7,030  mfu: 41.10%\n"
    "[rank0]:[titan] 2026-03-01 12:00:30,000 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  7.9876  \x1b[33mmemory: 47.68GiB(60.22%)  "
    "\x1b[34mtps: 7,034  \x1b[36mtflops: 407.35  \x1b[35mmfu: 41.19%\x1b[39m\n"
    "[rank0]:[titan] 2026-03-01 12:00:31,000 - root - INFO - [GC] Performing periodical GC collection 0.05 seconds\n"
    "[rank0]:[titan] 2026-03-01 12:00:53,000 - root - INFO - step: 20  loss:  7.5  grad_norm:  1.2  memory: 47.68GiB(60.22%)  tps: 7,100  tflops: 411.00  mfu: N/A\n"
    "[rank0]:[titan] 2026-03-01 12:00:54,000 - root - INFO - Saving the checkpoint (or staging if async is enabled).\n"
    "[rank0]:[titan] 2026-03-01 12:01:04,000 - root - INFO - Finished saving the checkpoint (or staging if async is enabled) in 10.00 seconds.\n"
    "[rank0]:[titan] 2026-03-01 12:01:05,000 - root - INFO - Training completed\n"
)
NEMO = (
    "Training epoch 0, iteration 9/99 | lr: 3e-06 | global_batch_size: 512 | global_step: 9 | reduced_train_loss: 11.03 | "
    "train_step_timing in s: 7.025 | TFLOPS_per_GPU: 1.249e+03 | consumed_samples: 5120\n"
    "Training epoch 0, iteration 19/99 | lr: 3e-06 | global_batch_size: 512 | global_step: 19 | reduced_train_loss: 10.0 | train_step_timing in s: 7.1\n"
    "Global Checkpoint Save : Rank: 0 : Iteration: 19 : Start time: 1772366460.000s : Save duration: 4.500s\n"
    "Epoch 0: :   5%|5         | 30/100 [05:33<1:45:33, v_num=0, reduced_train_loss=9.90, global_step=29.00, train_step_timing in s=6.650]\n"
)
DEEPSPEED = (
    "[2026-03-01 12:00:00,000] [INFO] [config.py:1000:print]   train_batch_size ............. 64\n"
    "[2026-03-01 12:00:00,000] [INFO] [config.py:1000:print]   world_size ................... 1\n"
    "[2026-03-01 12:00:10,000] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[0.001], mom=[(0.9, 0.999)]\n"
    "[2026-03-01 12:00:10,001] [INFO] [timer.py:215:stop] epoch=0/micro_step=10/global_step=10, RunningAvgSamplesPerSec=31.0, CurrSamplesPerSec=32.0, MemAllocated=1.0GB, MaxMemAllocated=2.0GB\n"
    "[2026-03-01 12:00:10,002] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd_microstep: 100.50 | bwd_microstep: 210.00 | step_microstep: 5.00\n"
)
PIPELINE = "steps: 20 loss: 7.6000 iter time (s): 1.250 samples/sec: 51.200\n"
ATORCH = (
    '[2026-03-01T12:00:00.000000] [42] [aaaa] [AtorchTrainerV2] [#step] [BEGIN] {"global_step": 5}\n'
    '[2026-03-01T12:00:20.000000] [42] [aaaa] [AtorchTrainerV2] [#step] [END] {"global_step": 6, "consumed_train_tokens": 1000}\n'
    '[2026-03-01T12:00:21.000000] [42] [bbbb] [AtorchTrainerV2] [#log] [INSTANT] {"global_step": 6, "logs": {"elapsed time per iteration (ms)": 21000.0, "TFLOPS": 100.0}}\n'
    '[2026-03-01T12:00:21.000000] [42] [cccc] [AtorchTrainerV2] [#step] [BEGIN] {"global_step": 6}\n'
    '[2026-03-01T12:00:31.000000] [42] [cccc] [AtorchTrainerV2] [#step] [END] {"global_step": 7, "consumed_train_tokens": 2000}\n'
    '[2026-03-01T12:00:31.000000] [42] [dddd] [AtorchTrainerV2] [#save] [BEGIN] {"global_step": 7}\n'
    '[2026-03-01T12:01:01.500000] [42] [dddd] [AtorchTrainerV2] [#save] [END] {"global_step": 7}\n'
)
HUGGING_FACE = (
    "[INFO|trainer.py:1143] 2026-03-01 12:00:00,000 >> ***** Running training *****\n"
    "Map: 100%|##########| 1000/1000 [00:01<00:00, 785.0 examples/s]\n"
    "  0%|          | 0/4 [00:00<?, ?it/s]\r 25%|##5       | 1/4 [03:45<11:15, 225.28s/it]\r 50%|#####     | 2/4 [07:15<07:21, 220.73s/it]\n"
    "{'loss': 2.5, 'grad_norm': 1.0, 'learning_rate': 5e-05, 'epoch': 0.5}\n"
    " 25%|##5       | 1/4 [03:45<11:15, 225.30s/it]\r 50%|#####     | 2/4 [07:15<07:21, 220.70s/it]\n"
    "{'train_runtime': 871.66, 'train_samples_per_second': 1.147, 'train_steps_per_second': 0.005, 'train_loss': 2.0, 'epoch': 1.0}\n"
)


@pytest.fixture
def log(tmp_path):
    def read(text: str | bytes, name: str = "train.log"):
        path = tmp_path / name
        data = text.encode() if isinstance(text, str) else text
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        assert training_log.looks_like(data[: 64 << 10], path)
        return training_log.read(path)

    return read


def kinds(one) -> list[str]:
    return [event.kind for event in one.events]


def only(batch):
    assert batch.input.status == "read", batch.input.problems
    assert len(batch.logs) == 1
    return batch.logs[0]


def test_megatron_as_it_prints_today(log):
    one = only(log(MEGATRON))
    assert one.framework == "megatron"
    assert one.iteration.tolist() == [110, 120]
    assert one.step_time_s.tolist() == pytest.approx([2.0, 2.01])
    assert one.time_s[1] - one.time_s[0] == 20.0
    assert one.flops_per_gpu[0] == 400.5e12 and math.isnan(one.flops_per_gpu[1])
    assert one.loss.tolist() == [2.5, 2.4]
    assert one.tokens_per_s[0] == 32 * 8192 / 2.0
    assert one.tokens_per_gpu_s[0] == 32 * 8192 / 2.0 / 16
    assert one.timers_s["forward-backward"].tolist() == [1.8002, 1.81]
    assert one.timers_s["forward-backward (least)"][0] == 1.7001
    assert one.rank_timers_s["forward-compute"][3][0] == 0.75 and math.isnan(
        one.rank_timers_s["forward-compute"][0][1]
    )
    settings = one.settings
    assert (settings["world_size"], settings["tensor_parallel"], settings["pipeline_parallel"]) == (16, 4, 2)
    assert settings["arguments"]["swiglu"] is True and settings["arguments"]["recompute_granularity"] is None
    assert kinds(one).count("start") == 1
    load = next(event for event in one.events if event.kind == "load")
    assert (load.iteration, load.seconds) == (100, 12.0)
    saved = next(event for event in one.events if event.kind == "checkpoint-end")
    assert (saved.iteration, saved.seconds) == (120, 3.0)
    assert {"phase", "checkpoint-begin", "evaluation", "exit"} <= set(kinds(one)) and kinds(one).count(
        "exit"
    ) == 1


@pytest.mark.parametrize("tag", ["[default15]:", "15: ", "[rank15]:", "[1,15]<stdout>:"])
def test_tags_of_launchers_change_nothing(log, tag):
    tagged = "".join(f"{tag}{line}\n" for line in MEGATRON.splitlines())
    plain, one = only(log(MEGATRON)), only(log(tagged))
    assert one.iteration.tolist() == plain.iteration.tolist()
    assert one.timers_s.keys() == plain.timers_s.keys()
    assert kinds(one) == kinds(plain) and one.settings["arguments"] == plain.settings["arguments"]


def test_bigscience(log):
    one = only(log(OLDER))
    assert one.framework == "bigscience"
    assert one.step_time_s[0] == 105.02 and one.flops_per_gpu[0] == 149.77e12 and one.loss[0] == 2.0
    assert one.timers_s["backward-embedding-all-reduce"][0] == 9.0


def test_torchtitan(log):
    one = only(log(TITAN))
    assert one.framework == "torchtitan"
    assert one.tokens_per_gpu_s.tolist() == [
        7030.0
    ]  # every rank prints: the one that came first is the one that counts


def test_torchtitan_of_one_rank(log):
    one = only(log("\n".join(line for line in TITAN.splitlines() if "[rank1]" not in line)))
    assert one.tokens_per_gpu_s.tolist() == [7034.0, 7100.0]
    assert one.flops_per_gpu[0] == 407.35e12
    assert one.mfu[0] == pytest.approx(0.4119) and math.isnan(one.mfu[1])
    assert one.settings["parameters_in_all"] == 8_030_261_248 and one.settings["peak_flops"] == 9.89e14
    assert one.settings["sequence_length"] == 8192 and one.settings["world_size"] == 8
    assert one.tokens_per_s[0] == 7034 * 8
    assert one.step_time_s[0] == pytest.approx(16 * 8192 / (7034 * 8))
    by_kind = {event.kind: event for event in one.events}
    assert by_kind["gc"].seconds == 0.05 and by_kind["checkpoint-end"].seconds == 10.0
    assert {"start", "phase", "checkpoint-begin", "exit"} <= by_kind.keys()
    assert one.time_s[1] - one.time_s[0] == 23.0


def test_nemo(log):
    one = only(log(NEMO))
    assert one.framework == "nemo" and one.iteration.tolist() == [9, 19, 30]
    assert one.step_time_s.tolist() == [7.025, 7.1, 6.65]
    assert one.flops_per_gpu[0] == 1.249e15 and math.isnan(one.flops_per_gpu[1])
    saved = next(event for event in one.events if event.kind == "checkpoint-end")
    assert (saved.iteration, saved.seconds, saved.time_s) == (19, 4.5, 1772366464.5)


def test_deepspeed(log):
    one = only(log(DEEPSPEED + PIPELINE))
    assert one.framework == "deepspeed" and one.iteration.tolist() == [10, 20]
    assert one.step_time_s.tolist() == [2.0, 1.25]
    assert one.timers_s["bwd_microstep"][0] == 0.21
    assert "world_size" not in one.settings  # DeepSpeed prints that of one stage's replicas


def test_deepspeed_checkpoints_last_from_their_beginning_to_their_commit(log):
    saves = (
        "[2025-09-04 15:35:13,909] [INFO] [logging.py:96:log_dist] [Rank 0] [Torch] Checkpoint global_step50 is about to be saved!\n"
        "[2025-09-04 15:35:40,409] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step50 is ready now!\n"
        "[2025-09-04 15:36:00,000] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint best is ready now!\n"
    )
    begun, ended, named = only(log(DEEPSPEED + saves)).events[-3:]
    assert (begun.kind, begun.iteration) == ("checkpoint-begin", 50)
    assert (ended.kind, ended.iteration, ended.seconds) == ("checkpoint-end", 50, pytest.approx(26.5))
    assert (named.kind, named.iteration) == ("checkpoint-end", -1) and math.isnan(named.seconds)


def test_atorch(log):
    one = only(log(ATORCH))
    assert one.framework == "atorch" and one.iteration.tolist() == [6, 7]
    assert one.step_time_s.tolist() == [
        21.0,
        10.0,
    ]  # with the pause before the next step where the log tells it
    assert one.tokens_per_s[1] == 100.0 and one.flops_per_gpu[0] == 1e14
    assert [event.seconds for event in one.events if event.kind == "checkpoint-end"] == [30.5]


def test_hugging_face(log):
    one = only(log(HUGGING_FACE))
    assert one.framework == "huggingface" and one.iteration.tolist() == [
        1,
        2,
    ]  # the second rank's bar is no restart
    assert one.step_time_s.tolist() == [225.28, 210.0] and one.loss[1] == 2.5
    assert kinds(one) == ["start", "exit"]


def test_restarts_in_one_file(log):
    again = MEGATRON.replace("12:0", "13:0")
    one = only(log(MEGATRON + again))
    assert one.iteration.tolist() == [110, 120, 110, 120]
    assert kinds(one).count("start") == 2 and kinds(one).count("exit") == 2


def test_an_iteration_going_back_is_a_start(log):
    lines = [line for line in MEGATRON.splitlines() if "elapsed time" in line]
    one = only(log("\n".join([*lines, *lines])))
    assert kinds(one) == ["start"]


def test_the_same_line_twice_counts_once(log):
    line = next(line for line in MEGATRON.splitlines() if "iteration      110" in line)
    assert len(only(log(f"{line}\n{line}\n")).iteration) == 1


def test_another_job_in_the_same_file(log):
    other = MEGATRON.replace(
        "world_size ...................................... 16",
        "world_size ...................................... 8",
    )
    batch = log(MEGATRON + other.replace("using world size: 16", "using world size: 8"))
    assert [each.settings["world_size"] for each in batch.logs] == [16, 8]
    assert [len(each.iteration) for each in batch.logs] == [2, 2]


TROUBLES = {
    "[rank3]:[E301 03:04:10.9 ProcessGroupNCCL.cpp:683] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7": "timeout",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB": "oom",
    "RuntimeError: NCCL error: unhandled system error": "error",
    "[rank0]: ValueError: no such file": "error",
    "Traceback (most recent call last):": "traceback",
    "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-03-01T12:00:00 DUE TO TIME LIMIT ***": "time-limit",
    "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-03-01T12:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***": "node-fail",
    "slurmstepd: error: *** STEP 77.0 ON n1 CANCELLED AT 2026-03-01T12:00:00 DUE TO PREEMPTION ***": "preempted",
    "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-03-01T12:00:00 ***": "cancelled",
    "srun: error: n1: tasks 0-7: Out Of Memory": "oom",
    "srun: error: n1: task 3: Exited with exit code 1": "error",
    "Main process received SIGTERM, exiting": "signal",
    "torch._dynamo hit config.recompile_limit (8)": "recompile",
    "The 'train_dataloader' does not have many workers which may be a bottleneck.": "data-wait",
}


@pytest.mark.parametrize(("line", "kind"), TROUBLES.items(), ids=list(TROUBLES.values()))
def test_troubles(log, line, kind):
    assert kind in kinds(only(log(f"{MEGATRON}{line}\n")))


@pytest.mark.parametrize(
    "line",
    [
        '    raise ValueError("x")',
        "loss scale error: 0",
        "no errors",
        "except RuntimeError:",
        "dataset size 12",
    ],
)
def test_no_troubles(log, line):
    assert kinds(only(log(f"{MEGATRON}{line}\n"))) == kinds(only(log(MEGATRON)))


def test_gzip_and_its_damage(tmp_path, log):
    assert only(log(MEGATRON, "train.log.gz")).iteration.tolist() == [110, 120]
    cut = tmp_path / "cut.gz"
    noise = np.random.default_rng(0).bytes(40000).hex()
    cut.write_bytes(gzip.compress((MEGATRON + noise).encode())[:-9000])
    batch = training_log.read(cut)
    assert batch.input.status == "partial" and "gzip" in batch.input.problems[0].message
    assert batch.logs[0].iteration.tolist() == [110, 120]


HOSTILE = {
    "no utf-8": MEGATRON.encode().replace(b"/ckpt", b"/\xff\xfe"),
    "nul": MEGATRON.encode().replace(b"consumed", b"con\0sumed"),
    "long": b"x" * (3 << 20) + b"\n" + MEGATRON.encode() + b"y" * (3 << 20),
    "overflow": MEGATRON.encode()
    + b" iteration 999999999999999999999999/ 10 | elapsed time per iteration (ms): 1e999 | lm loss: nan |\n"
    b" iteration 130/ 10 | elapsed time per iteration (ms): nan | lm loss: inf | global batch size: 1e400 |\n",
    "zero": MEGATRON.encode() + b" iteration 130/ 1000 | elapsed time per iteration (ms): 0.0 |\n",
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_logs_count_as_far_as_they_can(tmp_path, data):
    path = tmp_path / "hostile.log"
    path.write_bytes(data)
    one = training_log.read(path).logs[0]
    assert one.iteration.tolist()[:2] == [110, 120] and one.step_time_s.tolist()[:2] == pytest.approx(
        [2.0, 2.01]
    )
    assert all(
        not np.isinf(column).any() for column in (one.step_time_s, one.loss, one.tokens_per_s, one.time_s)
    )
    assert not np.nan_to_num(one.step_time_s, nan=1.0).min() <= 0


def test_real_bigscience_logs(shared_directory):
    folder = shared_directory / "samples/trainlog"
    one = training_log.read(folder / "bigscience_meg_gpt2_base_n64_dp1_tp4_pp64-1809655.out.log").logs[0]
    assert one.settings["pipeline_parallel"] == 64 and one.iteration.tolist()[:3] == [10, 20, 30]
    assert one.timers_s["backward-embedding-all-reduce"][1] == pytest.approx(4.5539)
    assert one.step_time_s[1] == pytest.approx(6.7075)
    perf = training_log.read(folder / "bigscience_meg_ds_3d_gpt2_perf_n16-ds-on.out.log").logs[0]
    assert perf.framework == "bigscience" and len(perf.iteration) == 49
    assert np.median(perf.tokens_per_s) == pytest.approx(1024 * 1024 / np.median(perf.step_time_s))
    face = training_log.read(folder / "bigscience_hf_ds_gpt2_base_n16-1832552.out.log").logs[0]
    assert face.framework == "huggingface" and face.step_time_s.tolist() == [225.28, 210.0, 215.0, 221.0]


def test_real_atorch_events(shared_directory):
    one = training_log.read(shared_directory / "samples/trainlog/dlrover_atorch_events_0.log").logs[0]
    assert one.iteration.tolist() == [177019, 177020, 177021]
    assert [round(event.seconds, 1) for event in one.events if event.kind == "checkpoint-end"] == [91.6, 91.0]
