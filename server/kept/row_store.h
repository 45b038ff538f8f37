// All kept rows, within a limit.
// **Thread safety** and **Ownership**: as RowShelf, which has its functions for rows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/mutex.h"
#include "server/kept/kept_row.h"
#include "server/kept/row_shelf.h"

namespace penstock::kept {

// Which rows are the same: those of a user with the same files, in their state, and the same
// fields and transforms.
struct RowShelfKey {
  uint32_t user = 0;
  uint64_t files = 0;  // 0: not known, so nothing is kept
  uint64_t rows = 0;

  auto operator<=>(const RowShelfKey&) const = default;
};

struct RowEntry {
  RowShelfKey key;
  absl::flat_hash_map<uint64_t, std::shared_ptr<const KeptRow>> rows;  // by sample
  uint64_t bytes = 0;
  uint64_t shelves = 0;  // that exist
  uint64_t closed = 0;   // when the last one went, counted in closings
};

class RowStore : public std::enable_shared_from_this<RowStore> {
 public:
  explicit RowStore(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  uint64_t max_bytes() const { return max_bytes_; }
  // Null if nothing is to be kept.
  std::shared_ptr<RowShelf> Open(const RowShelfKey& key);

  struct Counts {
    uint64_t bytes = 0;    // memory in use
    uint64_t served = 0;   // rows that were copied instead of decoded
    uint64_t refused = 0;  // rows that were not kept, because there was no room, or no time
    uint64_t wrong = 0;    // rows whose checksum was wrong
  };
  Counts counts() const;
  // The samples of which rows are kept for files in this state, in any order, some perhaps twice.
  std::vector<uint64_t> SamplesOf(uint64_t files) const;
  // Forgets the rows of one of these samples.
  void Forget(uint64_t files, uint64_t sample);
  void NotePassedOver();  // a row was not kept, because the threads are behind

 private:
  friend class RowShelf;
  bool Has(const RowEntry& entry, uint64_t sample) const;
  bool HasRoomFor(const RowEntry& entry, uint64_t bytes) const;
  bool Take(RowEntry& entry, uint64_t sample, const RowParts& parts);
  void Put(RowEntry& entry, uint64_t sample, const RowParts& parts);
  void Close(RowEntry& entry);

  bool MakeRoom(const RowEntry& entry, uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  std::map<uint32_t, uint64_t> BytesByUser() const PENSTOCK_REQUIRES(mutex_);
  RowEntry* OldestClosed() PENSTOCK_REQUIRES(mutex_);
  RowEntry* LargestOfAnother(const RowEntry& entry, uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  void DropRow(RowEntry& entry) PENSTOCK_REQUIRES(mutex_);
  void NoteWrong(RowEntry& entry, uint64_t sample, const KeptRow& row);
  using Found = absl::flat_hash_map<uint64_t, std::shared_ptr<const KeptRow>>::iterator;
  void Drop(RowEntry& entry, Found row) PENSTOCK_REQUIRES(mutex_);

  const uint64_t max_bytes_;
  // Shared with the rows, the last of which may outlive the store.
  const std::shared_ptr<std::atomic<uint64_t>> in_use_ = std::make_shared<std::atomic<uint64_t>>(0);
  mutable base::Mutex mutex_;
  std::map<RowShelfKey, RowEntry> entries_ PENSTOCK_GUARDED_BY(mutex_);
  uint64_t held_ PENSTOCK_GUARDED_BY(mutex_) = 0;  // bytes of all entries' rows
  uint64_t closings_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  Counts counts_ PENSTOCK_GUARDED_BY(mutex_);
};

}  // namespace penstock::kept
