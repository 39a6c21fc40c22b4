"""What kernels, collectives and host spans are, by names as libraries write them."""

from __future__ import annotations

import pytest

from argosy.observe import names


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("communication", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
        ("communication", "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)"),
        ("communication", "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)"),
        ("communication", "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)"),
        ("copy", "Memcpy HtoD (Pinned -> Device)"),
        ("copy", "__amd_rocclr_copyBuffer"),
        ("attention", "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4, false> >(Flash_fwd_params)"),
        ("attention", "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)"),
        ("attention", "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_6"),
        ("gemm", "nvjet_tst_256x128_64x4_2x1_v_bz_TNT"),
        ("gemm", "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1"),
        ("gemm", "Cijk_Alik_Bljk_BBS_BH_Bias_AS_SAV_UserArgs_MT256x256x64_MI16x16x1"),
        ("gemm", "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(Params)"),
        ("gemm", "triton_tem_fused_mm_3"),
        ("convolution", "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1"),
        ("convolution", "void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)"),
        ("embedding", "void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int)"),
        ("optimizer", "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4> >()"),
        ("normalization", "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)"),
        ("elementwise", "void at::native::vectorized_elementwise_kernel<4, at::native::gelu_kernel::{lambda()#1}>(int)"),
        ("elementwise", "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda::{lambda(float)#1} >(int)"),
        ("elementwise", "triton_poi_fused_add_cos_sin_0"),
        ("reduction", "triton_per_fused_sum_4"),
        ("reduction", "void (anonymous namespace)::softmax_warp_forward<float, float, float, 11, true, false>(float*)"),
        ("other", "my_kernel"),
    ],
)  # fmt: skip
def test_kinds_of_kernels(kind: str, name: str) -> None:
    assert names.category(name) == kind
    expected = {"communication": names.COMMUNICATION, "copy": names.COPY}.get(kind, names.COMPUTE)
    assert names.activity(kind) == expected


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (
            "all_reduce",
            [
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                "allreduce",
                "nccl:all_reduce",
                "allreduce_coalesced",
            ],
        ),
        (
            "reduce_scatter",
            ["ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "_reduce_scatter_base", "nccl:reduce_scatter"],
        ),
        (
            "all_gather",
            ["ncclKernel_AllGather_RING_LL_Sum_int8_t", "_allgather_base", "nccl:_all_gather_base"],
        ),
        ("all_to_all", ["all_to_allv", "nccl:all_to_all", "alltoall_base"]),
        ("send_recv", ["ncclDevKernel_SendRecv", "send", "nccl:recv 0<-1"]),
        ("broadcast", ["ncclDevKernel_Broadcast_RING_LL", "nccl:broadcast"]),
        ("reduce", ["ncclDevKernel_Reduce_Sum_f32_RING_LL", "nccl:reduce"]),
        ("unknown", ["ncclDevKernel_Generic_1", "coalesced", ""]),
    ],
)
def test_operations_of_collectives(operation: str, words: list[str]) -> None:
    assert {names.collective(word) for word in words} == {operation}


@pytest.mark.parametrize(
    ("size", "kinds"),
    [(8, ["Long", "double", "long int"]), (4, ["Float", "Int", "float"]), (2, ["BFloat16", "c10::Half", "c10::BFloat16"]),
     (1, ["Byte", "unsigned char", "Float8_e4m3fn"]), (0, ["", "TensorList", "Scalar"])],
)  # fmt: skip
def test_bytes_of_elements(size: int, kinds: list[str]) -> None:
    assert {names.element_bytes(kind) for kind in kinds} == {size}
