// How long the daemon waits for an indexer that gets no further. Only progress counts, not time: a
// shard of a terabyte may take hours. Progress is a message, or bytes read from the file.
//
// An indexer that neither progresses nor uses a core stands still: it was stopped, or its storage
// does not answer. One that uses a core without reading on computes in vain. Time in which the
// daemon itself did not run (a suspended machine, a frozen container) does not count.
//
// Pure. **Thread safety**: one thread.
#pragma once

#include <cstdint>

#include "common/base/clock.h"

namespace penstock::indexer {

struct PatienceLimits {
  base::Duration start = std::chrono::seconds(10);    // until the program is ready
  base::Duration stopped = std::chrono::seconds(60);  // without running
  base::Duration storage = std::chrono::seconds(60);  // in one read
  // CPU time without reading on: this much, and more for large files, which the program may have
  // mapped or must sort.
  base::Duration computing = std::chrono::seconds(60);
};

enum class OutOfPatience { kNo, kNotReady, kStopped, kStorageSilent, kComputesInVain };

class Patience {
 public:
  // What the daemon sees of the process.
  struct Look {
    base::TimePoint now;
    base::Duration cpu = {};  // used so far
    uint64_t read_bytes = 0;  // the process's own claim
    bool ready = false;       // its claim, too
    bool reading = false;     // waits for storage
  };

  explicit Patience(const PatienceLimits& limits) : limits_(limits) {}

  // A question about files of that size is asked.
  void Begin(uint64_t file_bytes, const Look& look);
  // The process sent a message.
  void NoteMessage();
  OutOfPatience Judge(const Look& look);

  // How much CPU time it may use without reading on.
  base::Duration MostComputing() const;

 private:
  bool ReadsOn(uint64_t read_bytes);

  const PatienceLimits limits_;
  uint64_t file_bytes_ = 0;
  uint64_t may_read_ = 0;  // bytes that still count as progress: reading the same for ever does not
  Look last_;
  base::Duration starting_ = {}, standing_ = {}, computing_ = {};  // since the last progress
};

}  // namespace penstock::indexer
