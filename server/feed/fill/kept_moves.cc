#include "server/feed/fill/kept_moves.h"

#include <utility>

#include "common/base/check.h"

namespace penstock::feed {
namespace {

kept::RowParts PartsOf(const Rows::Place& row) {
  kept::RowParts parts;
  for (size_t block = 0; block < row.slot->layout.blocks.size(); ++block)
    parts.emplace_back(row.slot->Row(block, row.row), row.slot->layout.blocks[block].row_bytes);
  return parts;
}

}  // namespace

bool KeptMoves::Take(const workers::WorkItem& item, const Rows::Place& row) {
  if (keepers_ == nullptr || row.shelf == nullptr || !row.shelf->Has(item.sample)) return false;
  taken_.emplace(item.id, item.given);
  keepers_->Submit({.id = item.id,
                    .move = kept::RowMove::kTake,
                    .shelf = row.shelf,
                    .sample = item.sample,
                    .parts = PartsOf(row)});
  return true;
}

bool KeptMoves::Put(const workers::Outcome& outcome, const Rows::Place& row) {
  if (keepers_ == nullptr || row.shelf == nullptr || row.shelf->Has(row.sample)) return false;
  kept::RowParts parts = PartsOf(row);
  if (!row.shelf->HasRoomFor(kept::BytesOf(parts)) || !keepers_->MayPut()) {
    row.shelf->NotePassedOver();
    return false;
  }
  put_.emplace(outcome.id, outcome);
  keepers_->Submit({.id = outcome.id,
                    .move = kept::RowMove::kPut,
                    .shelf = row.shelf,
                    .sample = row.sample,
                    .parts = std::move(parts)});
  return true;
}

std::vector<KeptMoves::Ended> KeptMoves::Collect(base::TimePoint now) {
  std::vector<Ended> ended;
  if (keepers_ == nullptr) return ended;
  for (const kept::RowMoved& moved : keepers_->Collect()) {
    if (moved.move == kept::RowMove::kPut) {
      const auto put = put_.find(moved.id);
      PENSTOCK_CHECK(put != put_.end());
      ended.push_back({std::move(put->second), false});
      put_.erase(put);
      continue;
    }
    const auto taken = taken_.find(moved.id);
    PENSTOCK_CHECK(taken != taken_.end());
    const base::TimePoint given = taken->second;
    taken_.erase(taken);
    using workers::OutcomeKind;
    workers::Outcome outcome = {.id = moved.id,
                                .kind = moved.done ? OutcomeKind::kDone : OutcomeKind::kLost};
    outcome.times = {.given = given, .read_begin = now, .read_end = now, .ended = now};
    ended.push_back({std::move(outcome), true});
  }
  return ended;
}

}  // namespace penstock::feed
