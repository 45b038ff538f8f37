// The kept rows of one kind of feed, for one user.
// **Thread safety**: any thread; calls wait for a lock that is held for microseconds, never while
// rows are copied.
// **Ownership**: holds its store. While a shelf exists, its rows are in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "server/kept/kept_row.h"

namespace penstock::kept {

class KeptRowStore;
struct RowEntry;

class RowShelf {
 public:
  // Use KeptRowStore::Open.
  RowShelf(std::shared_ptr<KeptRowStore> store, RowEntry& entry)
      : store_(std::move(store)), entry_(entry) {}
  ~RowShelf();
  RowShelf(const RowShelf&) = delete;
  RowShelf& operator=(const RowShelf&) = delete;

  // Where the sample's row is kept, if it is.
  std::optional<Medium> Find(uint64_t sample) const;
  std::optional<uint64_t> BytesOf(uint64_t sample) const;
  // Whether Put would keep a row of this size.
  bool HasRoomFor(uint64_t bytes) const;

  // Copies the sample's row to its parts. Returns false if there is none, or if its checksum was
  // wrong; it is then forgotten, and the parts' bytes are unspecified.
  bool Take(uint64_t sample, const RowParts& parts) const;

  // Counts a row that is not kept, because the threads are behind or there is no room.
  void NotePassedOver() const;

  // Keeps the sample's row if there is room.
  void Put(uint64_t sample, const RowParts& parts);

 private:
  const std::shared_ptr<KeptRowStore> store_;
  RowEntry& entry_;  // the store's; it exists as long as this
};

}  // namespace penstock::kept
