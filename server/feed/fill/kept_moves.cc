#include "server/feed/fill/kept_moves.h"

#include <utility>

#include "common/base/check.h"

namespace penstock::feed {
namespace {

// Rows that are submitted at once: as many as keep several threads busy for some time.
constexpr size_t kMostPending = 32;

kept::RowParts ToParts(const Rows::KeptPlace& row) {
  kept::RowParts parts;
  for (size_t block = 0; block < row.slot->layout.blocks.size(); ++block)
    parts.emplace_back(row.slot->Row(block, row.row), row.slot->layout.blocks[block].row_bytes);
  return parts;
}

}  // namespace

bool KeptMoves::Take(const workers::WorkItem& item, const Rows::KeptPlace& row,
                     base::TimePoint now) {
  if (row.shelf == nullptr) return false;
  const std::optional<kept::Medium> medium = row.shelf->Find(item.sample);
  if (!medium) return false;
  const bool in_folder = *medium == kept::Medium::kFolder;
  kept::RowKeepers* const keepers = in_folder ? keepers_.folder : keepers_.memory;
  if (keepers == nullptr || (in_folder && keepers->IsStuck(now))) return false;
  taken_.emplace(item.id, item.given);
  (in_folder ? of_folder_ : of_memory_)
      .push_back({.id = item.id,
                  .move = kept::RowMove::kTake,
                  .shelf = row.shelf,
                  .sample = item.sample,
                  .parts = ToParts(row)});
  if (of_memory_.size() + of_folder_.size() >= kMostPending) Submit();
  return true;
}

// Also rows for which only the folder has room are copied to memory first.
bool KeptMoves::Put(const workers::Outcome& outcome, const Rows::KeptPlace& row) {
  if (row.shelf == nullptr || row.shelf->Find(row.sample)) return false;
  kept::RowKeepers* const keepers = keepers_.memory;
  kept::RowParts parts = ToParts(row);
  if (keepers == nullptr || !keepers->MayPut() || !row.shelf->HasRoomFor(kept::BytesOf(parts))) {
    row.shelf->NotePassedOver();
    return false;
  }
  put_.emplace(outcome.id, outcome);
  of_memory_.push_back({.id = outcome.id,
                        .move = kept::RowMove::kPut,
                        .shelf = row.shelf,
                        .sample = row.sample,
                        .parts = std::move(parts)});
  return true;
}

void KeptMoves::Submit() {
  if (keepers_.memory != nullptr) keepers_.memory->Submit(of_memory_);
  if (keepers_.folder != nullptr) keepers_.folder->Submit(of_folder_);
}

std::vector<KeptMoves::Ended> KeptMoves::Collect(base::TimePoint now) {
  std::vector<Ended> ended;
  for (kept::RowKeepers* keepers : {keepers_.memory, keepers_.folder})
    if (keepers != nullptr) Collect(*keepers, now, ended);
  return ended;
}

void KeptMoves::Collect(kept::RowKeepers& keepers, base::TimePoint now, std::vector<Ended>& ended) {
  for (const kept::RowMoved& moved : keepers.Collect()) {
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
}

}  // namespace penstock::feed
