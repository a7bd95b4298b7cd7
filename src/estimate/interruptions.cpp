#include "estimate/interruptions.h"

#include "cost/reliability.h"

namespace shardplan {

template <class N>
Interruptions<N> interruptions(const Estimator& estimator) {
  const Question& q = estimator.question();
  const Reliability& r = q.cluster.reliability;
  const StateBytes& kept = q.framework.state[static_cast<std::size_t>(q.workload.optimizer)];
  const Sourced<BytesPerSecond<>> storage = r.checkpoint_bandwidth(q.cluster.gpus);
  Interruptions<N> i;
  i.between = call<InterruptionTime>(InterruptionTime::In<N>{
      leaf<N>("mean time between interruptions for one GPU", r.mtbf_gpu.value, r.mtbf_gpu.source),
      leaf<N>("GPUs", static_cast<double>(q.cluster.gpus), "question")});
  i.checkpoint = call<CheckpointSize>(
      CheckpointSize::In<N>{leaf<N>("trained parameters", estimator.trained_parameters(), q.model.source),
                            leaf<N>("bytes of a weight", kept.weight.value, kept.weight.source),
                            leaf<N>("bytes of master and moments", kept.optimizer(), kept.moments.source)});
  i.write = call<CheckpointWrite>(CheckpointWrite::In<N>{
      i.checkpoint, leaf<N>("bandwidth of the storage", storage.value, storage.source)});
  i.interval = call<CheckpointInterval>(CheckpointInterval::In<N>{i.write, i.between});
  i.effective = call<EffectiveTime>(EffectiveTime::In<N>{
      i.interval, i.write, leaf<N>("restart", r.restart.value, r.restart.source), i.between});
  return i;
}

Ratio<> effective_time(const Interruptions<>& at, Seconds<> restart, Seconds<> between) {
  const Seconds<> interval = call<CheckpointInterval>(CheckpointInterval::In<double>{at.write, between});
  return call<EffectiveTime>(EffectiveTime::In<double>{interval, at.write, restart, between});
}

template Interruptions<double> interruptions<double>(const Estimator&);
template Interruptions<Traced> interruptions<Traced>(const Estimator&);

}  // namespace shardplan
