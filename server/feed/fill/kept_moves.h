// The worker filler's rows that are copied from kept ones instead of being decoded, and decoded
// ones that are kept before their slot is complete.
//
// **Ownership**: the threads belong to the engine. **Thread safety**: the runner's thread only.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "server/feed/fill/rows.h"
#include "server/kept/row_keepers.h"

namespace penstock::feed {

class KeptMoves {
 public:
  // Null if nothing is kept there. New rows are put by those of the memory, if there are any.
  struct Keepers {
    kept::RowKeepers* memory = nullptr;
    kept::RowKeepers* folder = nullptr;
  };
  explicit KeptMoves(const Keepers& keepers) : keepers_(keepers) {}

  // Whether the row of this item is kept, and is now copied to its place.
  bool Take(const workers::WorkItem& item, const Rows::KeptPlace& row, base::TimePoint now);
  // Whether the row, which is decoded, is now copied to be kept. Its outcome comes back later.
  bool Put(const workers::Outcome& outcome, const Rows::KeptPlace& row);

  // Submits the rows since the last call. Call it at the end of each pass.
  void Submit();

  // The outcomes of rows whose copies have ended. Rows that could not be taken are lost.
  struct Ended {
    workers::Outcome outcome;
    bool taken = false;  // it was not decoded
  };
  std::vector<Ended> Collect(base::TimePoint now);

 private:
  void Collect(kept::RowKeepers& keepers, base::TimePoint now, std::vector<Ended>& ended);

  const Keepers keepers_;
  std::vector<kept::RowJob> of_memory_, of_folder_;      // not yet submitted
  std::unordered_map<uint64_t, workers::Outcome> put_;   // of rows that are being put, by item
  std::unordered_map<uint64_t, base::TimePoint> taken_;  // when they were given out, by item
};

}  // namespace penstock::feed
