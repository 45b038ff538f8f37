#include "server/feed/fill/held_rows.h"

#include <algorithm>
#include <utility>

#include "server/feed/fill/runs.h"

namespace penstock::feed {

void HeldRows::Hold(HeldRow row, base::TimePoint again) {
  const FillPath fill_path = ToFillPath(row.feed->spec);
  held_[{row.feed->dataset.get(), row.task.user, fill_path}].emplace(again, std::move(row));
}

std::optional<HeldRow> HeldRows::Next(FillPath fill_path, base::TimePoint now, MayGoOn may_go_on) {
  for (auto rows = held_.begin(); rows != held_.end(); ++rows) {
    const auto first = rows->second.begin();
    if (rows->first.fill_path != fill_path || first->first > now || !may_go_on(first->second))
      continue;
    HeldRow row = std::move(first->second);
    rows->second.erase(first);
    if (rows->second.empty()) held_.erase(rows);
    return row;
  }
  return std::nullopt;
}

void HeldRows::Drop(absl::FunctionRef<bool(const HeldRow&)> is_wanted,
                    absl::FunctionRef<void(const HeldRow&)> drop) {
  for (auto& [key, rows] : held_) {
    std::erase_if(rows, [&](const auto& entry) {
      if (is_wanted(entry.second)) return false;
      drop(entry.second);
      return true;
    });
  }
  std::erase_if(held_, [](const auto& entry) { return entry.second.empty(); });
}

const HeldRow* HeldRows::OldestOf(const Feed& feed) const {
  const HeldRow* oldest = nullptr;
  for (const auto& [key, rows] : held_) {
    if (key.dataset != feed.dataset.get()) continue;
    for (const auto& [again, row] : rows) {
      if (row.feed.get() != &feed) continue;
      if (oldest == nullptr || row.task.failing_since < oldest->task.failing_since) oldest = &row;
    }
  }
  return oldest;
}

size_t HeldRows::size() const {
  size_t size = 0;
  for (const auto& [key, rows] : held_) size += rows.size();
  return size;
}

std::optional<base::TimePoint> HeldRows::oldest_since() const {
  std::optional<base::TimePoint> oldest;
  for (const auto& [key, rows] : held_)
    for (const auto& [again, row] : rows)
      oldest = std::min(oldest.value_or(row.task.failing_since), row.task.failing_since);
  return oldest;
}

}  // namespace penstock::feed
