// Decompresses a gzip file incrementally, never producing more than the caller asks for, so that a
// small file that expands to terabytes does no harm.
// **Thread safety**: one thread.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::source {

// Whether a file that begins with these bytes is a gzip file.
inline bool IsGzip(std::span<const std::byte> begin) {
  return begin.size() >= 2 && begin[0] == std::byte{0x1f} && begin[1] == std::byte{0x8b};
}

class Gunzip {
 public:
  // `path` is for messages. **Requires**: `file` outlives this.
  Gunzip(const posix::Fd& file, std::string path);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Decompresses up to `into.size()` bytes and returns the number of bytes; fewer at the end of the
  // file.
  // **Errors**: DataLoss, with the offset, if the file is damaged or truncated.
  absl::StatusOr<size_t> Read(std::span<std::byte> into);
  uint64_t unpacked() const { return unpacked_; }  // bytes so far

 private:
  absl::Status Refill();
  absl::Status EndMember();
  absl::Status Damaged(absl::string_view why) const;

  const posix::Fd& file_;
  const std::string path_;
  z_stream stream_ = {};
  std::vector<std::byte> input_;
  uint64_t read_ = 0;  // bytes of the file
  uint64_t unpacked_ = 0;
  bool file_ended_ = false;
  bool in_member_ = true;  // a gzip file has one or more members
};

}  // namespace penstock::source
