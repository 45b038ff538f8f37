// Memory for what is read when a dataset is opened. A small file can ask for a lot of it: a sparse
// file of labels takes no space on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace penstock::source {

inline constexpr uint64_t kAlwaysAllowed = uint64_t{16} << 20;

// Whether the daemon may take this much: at most half of what the machine and its cgroups leave, so
// that one dataset does not end everybody's daemon. Amounts below 16 MiB are always allowed.
//
// **Errors**: ResourceExhausted names the file and both amounts.
absl::Status CheckIndexMemory(uint64_t bytes, absl::string_view path);

// The same, for a machine that leaves `available`. Pure.
absl::Status CheckIndexMemory(uint64_t bytes, absl::string_view path, uint64_t available);

// Counts the memory that one opening takes for all of its files together, piece by piece. Its limit
// is the one above, and is measured again for every 16 MiB, because others take memory meanwhile.
// **Ownership**: belongs to one opening. **Thread safety**: any thread.
class IndexMemory {
 public:
  using Available = std::function<uint64_t()>;  // what the machine and the cgroups leave now
  IndexMemory();                                // asks this machine
  explicit IndexMemory(Available available) : available_(std::move(available)) {}

  // Counts `more` bytes; call it before they are allocated, or a folder's after it was listed.
  // **Errors**: ResourceExhausted, as CheckIndexMemory; then nothing is counted.
  absl::Status Take(uint64_t more, absl::string_view path);
  // Call it after such bytes are freed.
  void GiveBack(uint64_t bytes);

 private:
  const Available available_;
  base::Mutex mutex_;
  uint64_t taken_ PENSTOCK_GUARDED_BY(mutex_) = 0;
  uint64_t allowed_ PENSTOCK_GUARDED_BY(mutex_) = kAlwaysAllowed;  // until the next measurement
};

}  // namespace penstock::source
