// Who makes the batches of Python datasets, as the filler sees it: Hosts, or a test's stand-in.
//
// **Thread safety**: the runner's thread only. No call waits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/pyworkers/make_item.h"

namespace penstock::pyworkers {

// Names a dataset: the same address for all of its sessions, and no other's as long as one of its
// sessions is open or one of its items has not ended.
using DatasetRef = const void*;

// A worker waits for room. Answer it with GiveRoom.
struct RoomWanted {
  RoomNeed need;
  uint64_t host = 0;   // number of its host
  uint32_t place = 0;  // of the worker
};

// A worker of a dataset has ended.
struct MakerDeath {
  DatasetRef dataset = nullptr;
  uint64_t account = 0;  // charged for it, as the sessions of the dataset gave it
  uint32_t place = 0;
  int64_t pid = 0;  // 0: unknown
  std::string how = {}, words = {};
};

struct MakerNews {
  std::vector<MakeResult> results;
  std::vector<RoomWanted> needs;
  std::vector<MakerDeath> deaths;
  // Datasets for which no host can be had, with the reason: their feeds must fail. Reported once,
  // until a session is opened.
  std::vector<std::pair<DatasetRef, absl::Status>> failed;
};

class BatchMakers {
 public:
  virtual ~BatchMakers() = default;

  // Whether an item of the dataset may be submitted now: with a StreamPart if `in_stream`, else
  // without. Otherwise notes that one waits, so that a trainer is asked for a host if there is none.
  virtual bool MayMake(DatasetRef dataset, bool in_stream) = 0;
  // **Requires**: MayMake.
  virtual void Submit(DatasetRef dataset, const MakeItem& item, base::TimePoint now) = 0;
  // Nothing more will be submitted in this pass.
  virtual void GivenOut(base::TimePoint now) = 0;

  // What happened since the last call; each item ends once.
  virtual MakerNews Collect(base::TimePoint now) = 0;
  // From now on the worker may write `granted` bytes, not fewer than before. If these are fewer
  // than it needs, it answers with an error.
  virtual void GiveRoom(const RoomWanted& wanted, uint64_t granted, base::TimePoint now) = 0;
};

}  // namespace penstock::pyworkers
