// The pool's segments that items may use, each of one user. A worker receives only segments of its
// own user.
//
// **Ownership**: owned by the supervisor. **Thread safety**: the supervisor's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/workers/user_worker.h"

namespace penstock::workers {

class SharedSegments {
 public:
  // Duplicates the descriptor. **Requires**: the segment is new.
  absl::Status Add(uint32_t segment, uint32_t user, const posix::Fd& memory, uint64_t bytes) {
    PENSTOCK_ASSIGN_OR_RETURN(posix::Fd own, memory.Duplicate());
    PENSTOCK_CHECK(segments_.try_emplace(segment, Shared{std::move(own), bytes, user}).second);
    return absl::OkStatus();
  }
  void Remove(uint32_t segment) { PENSTOCK_CHECK(segments_.erase(segment) == 1); }

  // Sends the segment to the worker. False: the worker could not be told, and must not get an item
  // that uses the segment. **Requires**: the segment belongs to the worker's user.
  bool Show(UserWorker& worker, uint32_t segment) const {
    const auto found = segments_.find(segment);
    PENSTOCK_CHECK(found != segments_.end() && found->second.user == worker.user());
    const Shared& shared = found->second;
    return worker.ShowSegment(segment, shared.memory, shared.bytes);
  }

 private:
  struct Shared {
    posix::Fd memory;
    uint64_t bytes = 0;
    uint32_t user = 0;
  };
  std::map<uint32_t, Shared> segments_;
};

}  // namespace penstock::workers
