// The list of all formulas. Everything that walks them (example tests, Traced == double, the reference,
// explain) uses it.
#pragma once

#include "cost/activations_ops.h"
#include "cost/activations_paper.h"
#include "cost/adapters.h"
#include "cost/collectives.h"
#include "cost/compute.h"
#include "cost/framework_buffers.h"
#include "cost/kernels.h"
#include "cost/library_formulas.h"
#include "cost/memory_counters.h"
#include "cost/memory_peak.h"
#include "cost/multi_token.h"
#include "cost/offload.h"
#include "cost/pipeline.h"
#include "cost/rails.h"
#include "cost/reliability.h"
#include "cost/run.h"
#include "cost/schedules.h"
#include "cost/serving_memory.h"
#include "cost/serving_time.h"
#include "cost/state.h"
#include "cost/step_collectives.h"
#include "cost/torus_collectives.h"
#include "cost/utilisation.h"
#include "formula/registry.h"

namespace shardplan {

using AllFormulas = FormulaList<
    StateTerm, PaddedElements, StateTotal, StateFloor, UsableMemory, MinimumGpus,         //
    PaperLayerNone, PaperLayerSelective, PaperLayerFull, Logits, InFlightFull, InFlight,  //
    SelectiveProductActivations, NormActivations, AttentionActivations, RecurrentActivations, MlpActivations,
    MoeActivations,  //
    AdapterParameters, BlockWidth, AdapterActivations, WidenedWeight, WidenTime, ActivationsOnDevice,
    GradientsOnDevice, HostTransfer, HostOptimizerTime,  //
    LayerBackwardTransient, MoeBackwardTransient, ScoresBackwardTransient, HeadBackwardTransient,
    EmbeddingBackwardTransient, GatheredLayers, GatheredRoot, OptimizerStepTransient, UnshardedStart,
    StageEdgeActivations, ReservedPeak, DriverPeak, PlaceholderGradients, QuantizedWeights,
    SequenceGatherBuffer, BatchBuffers, PipelineBuffers, PredictionInputActivations, PredictionLogits,
    DeferredHeadGradients,                                                                 //
    RingAllReduceBandwidth, RingAllReduceLatency, RingGatherBandwidth, RingGatherLatency,  //
    AllToAllBandwidth, AllToAllLatency, ChainBandwidth, ChainLatency, GradientMessage, BackwardWindow,
    ExposedTime, RequiredBandwidth, NetworkHop, RingStepsLatency, TreeLatency, SwitchLatency,
    AggregatedTreesLatency, ProtocolBandwidth, SwitchBandwidth, SwitchTreeBandwidth, MeshBandwidth,
    TreeBandwidth, PipelineFill, OneShotBandwidth,
    MultimemBandwidth,  //
    GemmTime, TileSlowdown, FewRows, AttentionTime, ScorePasses, MemoryBoundTime, CastTime, LaunchFloor,
    CausalRingImbalance, StragglerWait, OptimizerTime, ModelFlops, MegatronHardwareFlops,
    SelectiveHardwareFlops, FlopsUtilisation, FrozenModelFlops, TrainingThroughput,  //
    CollectiveOverhead, TokenExchange, TorusGatherBandwidth, TorusExchangeBandwidth, TorusHops,
    RailShare,  //
    PipelineBubble, StageImbalance, PipelineStagePath, PipelineSends, InFlightZeroBubble, InFlightV,
    InFlightDualPipe, ZeroBubbleH1Bubble, ZeroBubbleVBubble, DualPipeBubble,  //
    ReadTime, ProductsTime, PromptScores, DistinctExperts, HiddenTraffic, KernelFloor, ExpertExchange,
    PromptsBeside, PromptsFirst, DraftTime, RequestRate, PromptQueue, LatePromptQueue, LatePrompts,
    CacheTransfer,  //
    StoredWeights, KvBytesPerToken, RequestCache, WarmUpTokens, WarmUpSampler, CachePool, CachePoolOfFree,
    CachePoolAfter, CachePoolOfReserve, PoolTokens, RequestsAtOnce,  //
    RunTime, RunCost, InterruptionTime, CheckpointSize, CheckpointWrite, CheckpointInterval, EffectiveTime>;

}  // namespace shardplan
