// Unpacks a gzip file as it is read, piece by piece, and never more than is asked for: a few bytes
// that unpack to terabytes do no harm. One thread.
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

// Whether these are the first bytes of a gzip file.
bool IsGzip(std::span<const std::byte> begin);

class Gunzip {
 public:
  // `path` is for messages.
  Gunzip(const posix::Fd& file, std::string path);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Fills `into`, or as much of it as there is left: how many bytes. DataLoss: the file is damaged
  // or ends too early, with the place in it.
  absl::StatusOr<size_t> Read(std::span<std::byte> into);
  uint64_t unpacked() const { return unpacked_; }  // so far

 private:
  absl::Status Refill();
  absl::Status EndMember();
  absl::Status Damaged(absl::string_view why) const;

  const posix::Fd& file_;
  const std::string path_;
  z_stream stream_ = {};
  std::vector<std::byte> input_;
  uint64_t read_ = 0;  // of the file
  uint64_t unpacked_ = 0;
  bool file_ended_ = false;
  bool in_member_ = true;  // a gzip file is one member or several
};

}  // namespace penstock::source
