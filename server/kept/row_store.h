// All kept rows, within a limit for memory, and one for a folder.
// **Thread safety** and **Ownership**: as RowShelf, which has its functions for rows.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "common/base/mutex.h"
#include "server/kept/kept_row.h"
#include "server/kept/memory_left.h"
#include "server/kept/row_shelf.h"
#include "server/kept/row_writer.h"

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
  // By sample. Ordered, so that the first one is found, and room for another made, in no time.
  using RowsOfMedium = absl::btree_map<uint64_t, std::shared_ptr<const KeptRow>>;

  RowsOfMedium& In(Medium medium) { return rows[static_cast<size_t>(medium)]; }
  uint64_t& BytesIn(Medium medium) { return bytes[static_cast<size_t>(medium)]; }

  RowShelfKey key;
  std::array<RowsOfMedium, kMedia> rows;
  // Rows that are being put, by sample. A row is kept only if its number is still here.
  absl::flat_hash_map<uint64_t, uint64_t> being_put;
  std::array<uint64_t, kMedia> bytes{};  // with rows that are being put
  std::shared_ptr<RowFile> file;         // null: no row was written
  uint64_t users = 0;                    // shelves that exist, and rows that are being put
  uint64_t closed = 0;                   // when the last one went, counted in closings
};

class KeptRowStore : public std::enable_shared_from_this<KeptRowStore> {
 public:
  struct Options {
    uint64_t memory = 0;
    std::string folder = {};  // empty: none
    uint64_t folder_max = 0;
    // The memory that the machine has left; see MemoryLeft. Not set: enough.
    MemoryLeft::Ask ask = {};
  };
  explicit KeptRowStore(const Options& options);
  ~KeptRowStore();

  uint64_t max_bytes(Medium medium) const { return max_[static_cast<size_t>(medium)]; }
  // Null if nothing is to be kept.
  std::shared_ptr<RowShelf> Open(const RowShelfKey& key);

  struct Counts {
    uint64_t bytes = 0;         // memory in use
    uint64_t folder_bytes = 0;  // in files, whole blocks
    uint64_t served = 0;        // rows that were copied instead of decoded
    uint64_t refused = 0;       // rows that were not kept, because there was no room, or no time
    uint64_t wrong = 0;         // rows whose checksum was wrong, or which could not be read
  };
  Counts counts() const;
  // The samples of which rows are kept for files in this state, in any order, some perhaps twice.
  std::vector<uint64_t> SamplesOf(uint64_t files) const;
  // Forgets the rows of one of these samples.
  void Forget(uint64_t files, uint64_t sample);
  void NotePassedOver();  // a row was not kept, because the threads are behind

 private:
  friend class RowShelf;
  std::optional<Medium> Find(RowEntry& entry, uint64_t sample) const;
  std::optional<uint64_t> FindBytes(RowEntry& entry, uint64_t sample) const;
  bool HasRoomFor(RowEntry& entry, uint64_t bytes);
  bool Take(RowEntry& entry, uint64_t sample, const RowParts& parts);
  static uint64_t RoomOf(Medium medium, uint64_t bytes);  // that a row takes
  // A row for which there is room.
  struct Admitted {
    uint64_t sample, number, bytes;  // what it takes
    Medium medium;
  };
  std::optional<Admitted> Admit(RowEntry& entry, uint64_t sample, uint64_t bytes);
  void Put(RowEntry& entry, uint64_t sample, const RowParts& parts);
  void Close(RowEntry& entry);

  std::shared_ptr<const KeptRow> RowOf(RowEntry& entry, uint64_t sample) const
      PENSTOCK_REQUIRES(mutex_);
  void WriteToFolder(RowEntry& entry, const Admitted& admitted,
                     std::shared_ptr<const MemoryRow> row);
  // The row for which room was made, or null: there is none.
  void Arrived(RowEntry& entry, const Admitted& admitted,
               const std::shared_ptr<const KeptRow>& row);
  void Leave(RowEntry& entry) PENSTOCK_REQUIRES(mutex_);
  void EraseIfEmpty(RowEntry& entry) PENSTOCK_REQUIRES(mutex_);
  void Drop(RowEntry& entry, Medium medium, uint64_t sample) PENSTOCK_REQUIRES(mutex_);

  // Who gets room (row_room.cc).
  bool MayHaveRoom(RowEntry& entry, Medium medium, uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  bool MakeRoom(RowEntry& entry, Medium medium, uint64_t bytes) PENSTOCK_REQUIRES(mutex_);
  bool MayHaveFile(const RowEntry& entry) PENSTOCK_REQUIRES(mutex_);
  std::map<uint32_t, uint64_t> BytesByUser(Medium medium) PENSTOCK_REQUIRES(mutex_);
  RowEntry* OldestClosed(Medium medium) PENSTOCK_REQUIRES(mutex_);
  RowEntry* LargestOfAnother(RowEntry& entry, Medium medium, uint64_t bytes)
      PENSTOCK_REQUIRES(mutex_);

  const std::array<uint64_t, kMedia> max_;
  MemoryLeft memory_left_;
  // Shared with the rows in memory, the last of which may outlive the store.
  const std::shared_ptr<std::atomic<uint64_t>> in_use_ = std::make_shared<std::atomic<uint64_t>>(0);
  mutable base::Mutex mutex_;
  std::map<RowShelfKey, RowEntry> entries_ PENSTOCK_GUARDED_BY(mutex_);
  std::array<uint64_t, kMedia> held_ PENSTOCK_GUARDED_BY(mutex_){};  // bytes, with those being put
  size_t files_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t closings_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t puts_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  Counts counts_ PENSTOCK_GUARDED_BY(mutex_);
  std::unique_ptr<RowWriter> writer_;  // null: no folder; the last member, because it calls us
};

}  // namespace penstock::kept
