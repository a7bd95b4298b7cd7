// The works that formulas cite. A formula names one by id and says where in it; registry.h checks the id.
#pragma once

#include <array>
#include <string_view>

namespace shardplan {

struct Work {
  std::string_view id;
  std::string_view reference;  // authors, title, year, identifier
};

inline constexpr std::array kWorks{
    Work{
        "korthikanti2022",
        "Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022, arXiv:2205.05198"},
    Work{
        "rajbhandari2019",
        "Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2019, arXiv:1910.02054"},
    Work{
        "narayanan2021",
        "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, 2021, arXiv:2104.04473"},
    Work{
        "thakur2005",
        "Thakur, Rabenseifner, Gropp, Optimization of Collective Communication Operations in MPICH, IJHPCA 19(1), 2005"},
    Work{
        "hockney1994",
        "Hockney, The Communication Challenge for MPP: Intel Paragon and Meiko CS-2, Parallel Computing 20(3), 1994"},
    Work{
        "patarasuk2009",
        "Patarasuk, Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, JPDC 69(2), 2009"},
    Work{"williams2009",
         "Williams, Waterman, Patterson, Roofline: An Insightful Visual Performance Model for Multicore "
         "Architectures, CACM 52(4), 2009"},
    Work{"nccl2026",
         "NVIDIA, NCCL source, version 2.30.7, commit 5067397c, 2026, https://github.com/NVIDIA/nccl"},
    Work{
        "johnsson1989",
        "Johnsson, Ho, Optimum Broadcasting and Personalized Communication in Hypercubes, IEEE Transactions on "
        "Computers 38(9), 1989"},
    Work{"chowdhery2022",
         "Chowdhery et al., PaLM: Scaling Language Modeling with Pathways, 2022, arXiv:2204.02311"},
    Work{"kaplan2020", "Kaplan et al., Scaling Laws for Neural Language Models, 2020, arXiv:2001.08361"},
    Work{
        "dao2022",
        "Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness, 2022, arXiv:2205.14135"},
    Work{
        "dao2023",
        "Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning, 2023, arXiv:2307.08691"},
    Work{
        "zhao2023",
        "Zhao et al., PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel, 2023, arXiv:2304.11277"},
    Work{"hu2021", "Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, 2021, arXiv:2106.09685"},
    Work{"dettmers2023",
         "Dettmers et al., QLoRA: Efficient Finetuning of Quantized LLMs, 2023, arXiv:2305.14314"},
    Work{"ren2021",
         "Ren et al., ZeRO-Offload: Democratizing Billion-Scale Model Training, 2021, arXiv:2101.06840"},
    Work{"pope2022", "Pope et al., Efficiently Scaling Transformer Inference, 2022, arXiv:2211.05102"},
    Work{
        "sglang",
        "SGLang, python/sglang/srt/model_executor/model_runner.py, 2026, https://github.com/sgl-project/sglang (source)"},
    Work{"tensorrt-llm", "NVIDIA, TensorRT-LLM documentation, 2026, https://nvidia.github.io/TensorRT-LLM"},
    Work{"little1961",
         "Little, A Proof for the Queuing Formula L = lambda W, Operations Research 9(3), 1961"},
    Work{"kingman1961",
         "Kingman, The Single Server Queue in Heavy Traffic, Proc. Cambridge Phil. Soc. 57(4), 1961"},
    Work{
        "zhong2024",
        "Zhong et al., DistServe: Disaggregating Prefill and Decoding for Goodput-optimized Large Language Model Serving, 2024, arXiv:2401.09670"},
    Work{"vllm-worker",
         "vLLM, vllm/v1/worker/gpu_worker.py, 2026, https://github.com/vllm-project/vllm (source)"},
    Work{"deepep", "DeepSeek, DeepEP: an efficient expert-parallel communication library, 2025 (source)"},
    Work{
        "kwon2023",
        "Kwon et al., Efficient Memory Management for Large Language Model Serving with PagedAttention, 2023, arXiv:2309.06180"},
    Work{
        "zero-bubble",
        "Qi et al., Zero Bubble Pipeline Parallelism, 2023, arXiv:2401.10241; sail-sg/zero-bubble-pipeline-parallelism (source)"},
    Work{"dualpipe",
         "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, arXiv:2412.19437; deepseek-ai/DualPipe (source)"},
    Work{"nvidia-matmul", "NVIDIA, Matrix Multiplication Background User's Guide, DU-09799-001"},
    Work{"nccl-tuning", "NVIDIA/nccl, src/graph/tuning.cc (source); NVIDIA/nccl-tests logs"},
    Work{"deepseek-v3", "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, arXiv:2412.19437"},
    Work{"micikevicius2022", "Micikevicius et al., FP8 Formats for Deep Learning, 2022, arXiv:2209.05433"},
    Work{"megatron-core", "NVIDIA/Megatron-LM, megatron/core (source)"},
    Work{"torchtitan", "pytorch/torchtitan, torchtitan (source)"},
    Work{"torch-pipelining", "pytorch/pytorch, torch/distributed/pipelining (source)"},
    Work{"deepspeed", "deepspeedai/DeepSpeed, deepspeed (source)"},
    Work{
        "scaling-book",
        "Austin et al., How to Scale Your Model, 2025, https://github.com/jax-ml/scaling-book: tpus.md (part 2), "
        "sharding.md (part 3)"},
    Work{"transformer-engine", "NVIDIA/TransformerEngine, transformer_engine (source)"},
    Work{
        "daly2006",
        "Daly, A Higher Order Estimate of the Optimum Checkpoint Interval for Restart Dumps, Future Generation "
        "Computer Systems 22(3), 2006, doi:10.1016/j.future.2004.11.016"},
    Work{
        "kokolis2025",
        "Kokolis et al., Revisiting Reliability in Large-Scale Machine Learning Research Clusters, HPCA 2025, "
        "arXiv:2410.21680"},
    Work{"llama3", "Llama Team, The Llama 3 Herd of Models, 2024, arXiv:2407.21783"},
    Work{
        "bloom-training",
        "Bekman, The Technology Behind BLOOM Training, 2022, https://huggingface.co/blog/bloom-megatron-deepspeed"},
    Work{"brandon2023",
         "Brandon et al., Striped Attention: Faster Ring Attention for Causal Transformers, 2023, "
         "arXiv:2311.09431"},
    Work{"shardplan", "derived in this project; the derivation stands in the assumption and the example"},
};

/// For constant expressions: a comparison of pointers is none under the undefined-behaviour sanitizer.
constexpr bool is_known_work(std::string_view id) {
  for (const Work& w : kWorks) {
    if (w.id == id) return true;
  }
  return false;
}

constexpr const Work* find_citation(std::string_view id) {
  for (const Work& w : kWorks) {
    if (w.id == id) return &w;
  }
  return nullptr;
}

}  // namespace shardplan
