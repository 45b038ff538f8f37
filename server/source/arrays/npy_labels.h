// Labels read from an array of integers.
// **Thread safety**: immutable; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "common/base/status.h"

namespace penstock::source {

class NpyLabels {
 public:
  // `bytes`: `count` elements of an integer type. `path` is for messages. **Errors**:
  // InvalidArgument, with the index, for a label that does not fit in int64.
  static absl::StatusOr<NpyLabels> Make(std::unique_ptr<std::byte[]> bytes, uint64_t count,
                                        base::DType type, const std::string& path);

  int64_t At(uint64_t sample) const;  // **Requires**: sample < count
  std::span<const std::byte> bytes() const;

  // The numbers from 0 to the greatest label if all labels are in [0, 65536), else empty. Negative
  // labels are allowed but don't define classes.
  std::vector<std::string> Classes() const;

 private:
  NpyLabels(std::unique_ptr<std::byte[]> bytes, uint64_t count, base::DType type)
      : bytes_(std::move(bytes)), count_(count), type_(type) {}

  std::unique_ptr<std::byte[]> bytes_;
  uint64_t count_;
  base::DType type_;
};

}  // namespace penstock::source
