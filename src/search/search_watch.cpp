#include "search/search_watch.h"

namespace shardplan {

SearchStage SearchWatch::stage() const {
  const std::lock_guard lock(guard_);
  return stage_.value_or(SearchStage{"layouts", searched, layouts});
}

void SearchWatch::set_stage(const std::optional<SearchStage>& stage) {
  const std::lock_guard lock(guard_);
  stage_ = stage;
  if (stage) return;
  layouts = 0;  // those counted until now were of its items
  searched = 0;
}

WatchedItems::~WatchedItems() {
  if (watch_ != nullptr) watch_->set_stage(std::nullopt);
}

bool WatchedItems::next() {
  if (watch_ == nullptr) return true;
  if (watch_->stop) return false;
  ++stage_.done;
  watch_->set_stage(stage_);
  return true;
}

}  // namespace shardplan
