#include "server/export/passes.h"

#include <algorithm>

#include "server/export/gpu.h"

namespace penstock::exporting {

void Passes::Add(const HeldBatch& from, const CopyOrder& order) {
  passing_.push_back({.from = from, .order = order});
}

void Passes::Start() {
  for (Passing& each : passing_) {
    if (each.started || !each.from.gpu->Ready(each.from)) continue;
    each.started = true;
    const Gpu::BatchPlace from = each.from.gpu->PlaceOf(each.from);
    copier_->Pass({.id = each.order.id,
                   .from_slab = from.slab,
                   .from = from.address,
                   .from_offset = from.offset,
                   .slab = each.order.slab,
                   .slab_offset = each.order.slab_offset,
                   .bytes = each.order.bytes,
                   .epoch = each.order.epoch,
                   .first = each.order.first});
  }
}

std::optional<CopyOrder> Passes::End(uint64_t id) {
  const auto found = std::find_if(passing_.begin(), passing_.end(),
                                  [id](const Passing& each) { return each.order.id == id; });
  if (found == passing_.end()) return std::nullopt;
  const Passing ended = *found;
  passing_.erase(found);
  ended.from.gpu->LetGo(*ended.from.arena, ended.from.id);
  return ended.order;
}

}  // namespace penstock::exporting
