// The batches of iterable datasets that wait for the worker of their stream. Each stream is
// iterated by one process, at the place of its number; if that process ends, nobody can go on where
// it was. Pure.
//
// **Thread safety**: one thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "common/shm/python_host.h"
#include "server/pyworkers/make_item.h"

namespace penstock::pyworkers {

// A process at a place: its host's number, and which start it is. Never used again.
struct MakerName {
  uint64_t host = 0;
  uint32_t start = 0;
  auto operator<=>(const MakerName&) const = default;
};

class StreamQueue {
 public:
  // A session's window, which is as much as one has under way.
  static constexpr size_t kMost = 256;

  size_t size() const { return size_; }
  // **Requires**: size() < kMost; the item has a part.
  void Add(const MakeItem& item);
  bool Waits(uint32_t place) const { return waiting_.contains(place); }

  // Takes the oldest item that waits for a place, to give it to that process. `is_lost`: another
  // process began to iterate the stream, and has ended. **Requires**: Waits(place).
  struct Taken {
    MakeItem item;
    bool is_lost = false;
  };
  Taken Take(uint32_t place, const MakerName& process);
  // Takes all, in no order.
  std::deque<MakeItem> TakeAll();

 private:
  // How far a place is.
  struct StreamProgress {
    uint64_t feed = 0, epoch = 0, unit = 0;
    MakerName process;
  };
  std::map<uint32_t, std::deque<MakeItem>> waiting_;  // by place; none is empty
  std::map<uint32_t, StreamProgress> progress_;
  size_t size_ = 0;
};

}  // namespace penstock::pyworkers
