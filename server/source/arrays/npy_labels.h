// Labels that came as an array of integers. Immutable; any thread.
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
  // `bytes`: the elements, `count` of them, of an integer's type. InvalidArgument: one that int64
  // does not hold, with its place; `path` is for messages.
  static absl::StatusOr<NpyLabels> Make(std::unique_ptr<std::byte[]> bytes, uint64_t count,
                                        base::DType type, const std::string& path);

  int64_t At(uint64_t sample) const;  // sample < count
  std::span<const std::byte> bytes() const;

  // The numbers from 0 to the greatest label, where all of them lie in [0, 65536); else nothing:
  // negative labels are allowed, and are no classes.
  std::vector<std::string> Classes() const;

 private:
  NpyLabels(std::unique_ptr<std::byte[]> bytes, uint64_t count, base::DType type)
      : bytes_(std::move(bytes)), count_(count), type_(type) {}

  std::unique_ptr<std::byte[]> bytes_;
  uint64_t count_;
  base::DType type_;
};

}  // namespace penstock::source
