"""What a kernel, a collective or a host span is, by its name: PyTorch, cuBLAS, cuDNN, CUTLASS, Triton, rocBLAS, NCCL, RCCL."""

from __future__ import annotations

import re
from functools import lru_cache

# Of a name only so much is looked at: templates of kernels run to kilobytes.
_LOOKED_AT = 1500
# Kinds of kernels, the first that fits: order matters (fbgemm is no gemm, an attention kernel of CUTLASS no product).
CATEGORIES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            "communication",
            r"nccl|rccl|msccl|oneccl|cross_device_reduce|nvshmem|deep_ep::|kuserbuffers|multimem_|symm_mem|"
            r"(one|two)_shot_all_?reduce|allreduce_fusion|^gloo:",
        ),
        ("copy", r"^mem(cpy|set)\b|__amd_rocclr_(copy|fill)|^CUDA mem(cpy|set)"),
        ("attention", r"flash|fmha|attention|attn|\bmha_|_mha\b"),
        ("embedding", r"fbgemm|embedding|index_select|indexSelect|split_embeddings"),
        ("optimizer", r"multi_tensor_apply|adam|adagrad|\blamb(?!da)|fusedsgd|_sgd_|muon"),
        (
            "convolution",
            r"conv(?!ert)|fprop|dgrad|wgrad|winograd|scudnn|cudnn_(infer|train)_|\d{3}cudnn|cudnn.*::(nchw|nhwc)To",
        ),
        (
            "gemm",
            r"gemm|gemv|^Cijk_|matmul|cublas|nvjet|_mm_|_bmm|addmm|xmma|wgmma|s\d{3,6}(gemm|cudnn)|splitKreduce",
        ),
        (
            "normalization",
            r"layer_?norm|rms_?norm|batch_?norm|group_?norm|GammaBeta|RowwiseMoments|\bbn_|_norm_|\bln_(fwd|bwd)",
        ),
        (
            "reduction",
            r"reduce|softmax|triton_(red|per)_|cross_entropy|nll_loss|cub::Device(Scan|Segmented)|pool_|norm(?!al)",
        ),
        ("sort", r"sort|topk|radix|cub::|moe_align|permute_"),
        (
            "elementwise",
            r"elementwise|pointwise|triton_poi_|CatArray|dropout|gelu|silu|swiglu|relu|copy|fill|scatter|gather|index|rope|rotary|"
            r"transpose|triu|tril|where|cast",
        ),
        ("triton", r"^triton_"),
    )
)
COMPUTE, COMMUNICATION, COPY = range(3)  # indices of records.ACTIVITIES

_COLLECTIVES = tuple(
    (operation, re.compile(pattern, re.IGNORECASE))
    for operation, pattern in (
        ("reduce_scatter", r"reduce_?scatter"),
        ("all_reduce", r"all_?reduce|cross_device_reduce"),
        ("all_gather", r"all_?gather"),
        ("all_to_all", r"all_?to_?all|deep_ep::.*(dispatch|combine)"),
        ("broadcast", r"broadcast"),
        ("send_recv", r"send_?recv|\bsend\b|\brecv\b|p2p"),
        ("reduce", r"reduce"),
        ("gather", r"gather"),
        ("scatter", r"scatter"),
        ("barrier", r"barrier"),
    )
)
# Kinds of host spans worth naming. A compiled function that runs (`CompiledFunction`, `Torch-Compiled Region`) is no
# compilation, a look into Dynamo's cache neither; activation checkpointing saves no checkpoint.
_MARKS = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            "data-loading",
            r"^enumerate\(DataLoader\)#|DataLoaderIter\.__next__|dataloader\.py\(\d+\): __next__|^data_?load(ing)?\b",
        ),
        (
            "garbage-collection",
            r"\bgc\.collect|garbage.?collect|built-in function collect|python gc\b|^gc\b|gc_collect",
        ),
        (
            "compilation",
            r"torch/_dynamo/convert_frame\.py\(\d+\): _?compile|entire_frame_compile|compile_inner|backend_compile|"
            r"call_user_compiler|inductor_compile|compile_fx|async_?compile|torch/_inductor/.*compile|triton/compiler/|cudagraph.*(warm_?up|record)",
        ),
        (
            "checkpoint",
            r"(save|saving|write)[\w.:\- ]*(checkpoint|ckpt|state_dict)|(checkpoint|ckpt)[\w.:\-/ ]*(save|saving|write)|"
            r"torch/serialization\.py\(\d+\): save|\bdcp\.(async_)?save|\btorch\.save\b",
        ),
    )
)
_NO_MARK = re.compile(
    r"CheckpointFunction|checkpoint_wrapper|activation_checkpoint|Backward|Torch-Compiled Region",
    re.IGNORECASE,
)

# Bytes of an element, by the names of PyTorch's types in NCCL's arguments and in `Input type`.
_ELEMENT_BYTES = {
    8: ("double", "long", "longint", "int64", "float64", "complexfloat", "uint64"),
    4: ("float", "int", "float32", "int32", "uint32", "scalarfloat"),
    2: ("half", "bfloat16", "float16", "short", "shortint", "int16"),
    1: (
        "char",
        "byte",
        "bool",
        "unsignedchar",
        "signedchar",
        "int8",
        "uint8",
        "float8e4m3fn",
        "float8e5m2",
        "float8e4m3fnuz",
    ),
}
_BYTES = {name: size for size, names in _ELEMENT_BYTES.items() for name in names}


@lru_cache(1 << 14)
def category(name: str) -> str:
    """The kind of a device kernel by its name: a word of CATEGORIES, or `other`."""
    head = name[:_LOOKED_AT]
    return next((kind for kind, pattern in CATEGORIES if pattern.search(head)), "other")


def activity(kind: str) -> int:
    """The index in records.ACTIVITIES of a category's kernels."""
    return {"communication": COMMUNICATION, "copy": COPY}.get(kind, COMPUTE)


@lru_cache(1 << 12)
def collective(name: str) -> str:
    """The operation of a collective's kernel, of a `Collective name` or of a `nccl:…` annotation; `unknown` if none."""
    head = name[:200].removeprefix("nccl:").removeprefix("rccl:")
    return next((operation for operation, pattern in _COLLECTIVES if pattern.search(head)), "unknown")


@lru_cache(1 << 14)
def mark(name: str) -> str | None:
    """The kind of a host span worth naming (data-loading, garbage-collection, compilation, checkpoint), else None."""
    head = name[:_LOOKED_AT]
    if _NO_MARK.search(head):
        return None
    return next((kind for kind, pattern in _MARKS if pattern.search(head)), None)


def element_bytes(kind: str) -> int:
    """Bytes of one element of a type as PyTorch writes it (BFloat16, c10::Half, long int, …); 0 unknown."""
    return _BYTES.get(re.sub(r"^c10::|[ _]", "", kind).lower(), 0)
