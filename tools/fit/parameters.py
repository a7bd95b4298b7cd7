"""The constants of the step-time model that measured steps may move, and what is known of them beforehand.

One entry: name, prior, relative s.d. of the prior (absolute where `linear`), and the places of the catalog that hold it:
(file, path), a path's [name=x] picking the element of a list. A place may be (file, path, factor): the catalog holds the
constant times it. What tables of single kernels say is in the prior; a small s.d. keeps it there.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Parameter:
    name: str
    prior: float
    spread: float
    places: tuple
    linear: bool = False  # a share in [0, 0.98], else positive and moved by its logarithm


# The inner dimension that tables of single products are mostly of.
USUAL_K = 8192


def asymptote(share, k_half):
    """The share of a table's products, before what the law takes off at their inner dimension."""
    return share * (1 + k_half / USUAL_K)


def device(names, path):
    return tuple(("devices", f"devices/[name={n}]/efficiency/{path}") for n in names.split())


def law(key, *architectures):
    if not architectures:
        return (("timing", f"kernels/all/{key}"),)
    return tuple(("timing", f"kernels/by_architecture/[architectures={a}]/{key}") for a in architectures)


def frameworks(key, names):
    return tuple(("timing", f"frameworks/[name={n}]/{key}") for n in names.split())


A100 = "a100-40gb-sxm a100-80gb-sxm"
BRIDGE = "megatron-bridge nemo"
MODERN = BRIDGE + " megatron-core"
ALL = "megatron-bridge nemo megatron-core megatron-lm-2021 megatron-lm-2022 megatron-deepspeed megatron-deepspeed-vtrain llm-foundry maxtext torchtitan internevo"
FITTED = A100 + " h100-sxm h100-sxm-96gb b200 gb200 b300 gb300"


def parameters():
    p = []

    def add(name, prior, spread, places, linear=False):
        p.append(Parameter(name, prior, spread, places, linear))

    # Matrix products: shares just under the p90 of measured GEMM tables (rows >= 4096).
    for names, bf16 in ((A100, 0.80), ("h100-sxm", 0.78), ("h100-sxm-96gb", 0.64), ("b200", 0.70), ("gb200", 0.68), ("b300", 0.70), ("gb300", 0.70)):
        add(f"gemm bf16 {names.split()[-1]}", asymptote(bf16, 150), 0.08, device(names, "gemm/bf16"))
    for names, fp8 in (("h100-sxm", 0.66), ("h100-sxm-96gb", 0.5), ("b200", 0.62), ("gb200", 0.60), ("b300", 0.62), ("gb300", 0.61)):
        add(f"gemm fp8 {names}", asymptote(fp8, 500 if "h100" in names else 800), 0.12, device(names, "gemm/fp8"))
    for names, fp4 in (("b200", 0.45), ("gb200", 0.44), ("b300", 0.36), ("gb300", 0.36)):
        add(f"gemm fp4 {names}", asymptote(fp4, 1200), 0.15, device(names, "gemm/fp4"))
    add("k half bf16 A100", 120, 0.5, device(A100, "gemm_k_half/bf16"))
    add("k half bf16 Hopper", 250, 0.5, device("h100-sxm h100-sxm-96gb", "gemm_k_half/bf16"))
    add("k half bf16 Blackwell", 150, 0.3, device("b200 gb200 b300 gb300", "gemm_k_half/bf16"))
    add("k half fp8 Hopper", 500, 0.5, device("h100-sxm h100-sxm-96gb", "gemm_k_half/fp8"))
    blackwell = device("b200 gb200 b300 gb300", "gemm_k_half/fp8")
    add("k half fp8 Blackwell", 800, 0.5, blackwell + tuple((f, q, 1.5) for f, q in device("b200 gb200 b300 gb300", "gemm_k_half/fp4")))
    add("waves", 0.6, 0.3, law("wave_share"))
    add("expert rows half", 150, 0.6, law("expert_rows_half"))
    add("products of Megatron-Core's scripts", 0.74, 0.08, frameworks("gemm", "megatron-core"))
    # Attention: shares that papers and serving tables give.
    add("attention A100", 0.55, 0.15, device(A100, "attention"))
    add("attention Hopper", 0.60, 0.15, device("h100-sxm h100-sxm-96gb", "attention"))
    add("attention Blackwell", 0.50, 0.15, device("b200 b300", "attention") + tuple((f, q, 0.9) for f, q in device("gb200 gb300", "attention")))
    add("older attention on Hopper", 0.5, 0.15, law("older_attention", "Hopper"))
    add("narrow heads on Blackwell", 0.55, 0.3, law("narrow_heads", "Blackwell"))
    add("attention backward", 0.80, 0.15, law("attention_backward"))
    add("unaligned heads", 0.15, 0.5, law("unaligned_heads"))
    add("score passes", 5.0, 0.3, law("score_passes"))
    add("window saved", 0.5, 0.3, law("window_saved"), linear=True)
    # Memory-bound kernels.
    add("memory", 0.80, 0.1, device(FITTED, "memory"))
    add("casts", 1.0, 0.4, law("cast_passes"))
    add("permutation", 6.0, 0.4, law("permute_passes"))
    add("scan", 14.0, 0.4, law("scan_passes"))
    add("biased experts", 8.0, 0.6, law("biased_expert_passes"))
    for names, phi in ((BRIDGE, 1.2), ("megatron-core", 1.2), ("megatron-lm-2021 megatron-lm-2022", 1.1), ("megatron-deepspeed", 1.2), ("megatron-deepspeed-vtrain", 1.3), ("llm-foundry", 1.6), ("maxtext", 1.0), ("torchtitan", 1.0), ("internevo", 1.4)):
        add(f"elementwise {names.split()[0]}", phi, 0.25, frameworks("elementwise", names))
    # The host.
    add("kernels of vTrain's", 7.6, 0.4, frameworks("kernels", "megatron-deepspeed-vtrain"))
    add("step", 0.02, 0.6, frameworks("step_s", ALL.replace(" megatron-deepspeed-vtrain", "")))
    add("step of vTrain's", 0.006, 0.4, frameworks("step_s", "megatron-deepspeed-vtrain"))
    add("moe layer", 120e-6, 0.5, frameworks("moe_layer_s", MODERN))
    add("moe layer graphed", 50e-6, 0.5, frameworks("moe_layer_graphed_s", MODERN))
    add("stage pass", 0.03, 0.8, frameworks("stage_pass_s", "megatron-deepspeed"))
    add("jitter", 0.005, 0.7, frameworks("jitter", ALL))
    # Collectives and what hides them.
    add("collective", 12e-6, 0.4, law("collective_s"))
    add("send", 60e-6, 0.5, law("send_s"))
    add("exchange inside", 0.9, 0.2, law("exchange_inside"))
    add("exchange outside", 0.7, 0.25, law("exchange_outside"))
    add("tensor hidden", 0.55, 0.12, frameworks("tensor_hidden", BRIDGE) + frameworks("tensor_hidden_async", BRIDGE), linear=True)
    add("tensor hidden, experts", 0.18, 0.1, frameworks("tensor_hidden_experts", BRIDGE), linear=True)
    add("tensor hidden, torchtitan", 0.17, 0.1, frameworks("tensor_hidden", "torchtitan"), linear=True)
    add("tensor hidden, torchtitan async", 0.6, 0.12, frameworks("tensor_hidden_async", "torchtitan"), linear=True)
    add("tensor hidden, Megatron-LM of 2022", 0.25, 0.12, frameworks("tensor_hidden", "megatron-lm-2022"), linear=True)
    add("reductions of DeepSpeed's pipeline engine", 1.5, 0.5, frameworks("reduce_slowdown", "megatron-deepspeed"))
    add("exchange hidden", 0.85, 0.06, frameworks("exchange_hidden", BRIDGE), linear=True)
    add("sends hidden", 0.7, 0.15, frameworks("sends_hidden", BRIDGE), linear=True)
    add("reduce window", 0.85, 0.1, frameworks("reduce_window", BRIDGE + " internevo"), linear=True)
    add("gather window", 0.85, 0.1, frameworks("gather_window", "megatron-bridge nemo llm-foundry torchtitan maxtext"), linear=True)
    add("contention", 0.15, 0.5, device(FITTED, "contention"))
    add("hop", 6e-6, 0.5, frameworks("hop_s", "internevo nemo megatron-bridge"))
    return p
