// A memory-mapped file to copy from, whose storage may fail and which other processes may truncate
// or write to. Each copy is checked afterwards; after a failure the file is reopened for the next
// copy.
// **Ownership**: belongs to the object that knows where the samples are in the file.
// **Thread safety**: any thread.
//
// tests/unit/source covers files that change while they are mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/posix/fd.h"
#include "common/posix/memory.h"
#include "server/source/files/tree_file.h"

namespace penstock::source {

class MappedFile {
 public:
  // Maps the first `bytes` bytes of `opened`. **Requires**: `opened` was opened from `file` and is
  // at least that long.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Map(TreeFile file, posix::Fd opened,
                                                         uint64_t bytes);

  // What one copy reads from: the current mapping, or, after a failure, a new mapping of the file
  // that the path now leads to. (When a file server returns, the file is back under its name, but
  // descriptors from before stay dead.) Only posix::GatherRows and GatherPieces may read from it.
  class View {
   public:
    const std::byte* data() const { return mapped_->mapping.data(); }

   private:
    friend class MappedFile;
    struct Mapped {
      posix::Fd file;
      posix::Mapping mapping;
    };
    std::shared_ptr<const Mapped> mapped_;  // shared by the file and the copies in progress
  };
  absl::StatusOr<View> Look() const;

  enum class Copied { kWhole, kBusError };
  // Call it after each copy.
  // **Errors**: Unavailable if the copied bytes are invalid because the file failed or is missing;
  // retry. DataLoss (Changed) if the file was written to, truncated or replaced; permanent.
  absl::Status Check(const View& view, Copied copied) const;

  // Reads with read(2), for large sequential reads. **Errors**: those of Look, Check and
  // ReadExactly.
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const;

  std::string path() const { return file_.path(); }
  uint64_t file_bytes() const { return state_.bytes; }
  // Whether the file was found to differ from the one opened first.
  bool changed() const { return changed_.load(); }

 private:
  MappedFile(TreeFile file, const FileState& state, uint64_t bytes)
      : file_(std::move(file)), state_(state), bytes_(bytes) {}
  absl::StatusOr<View> MapOpened(posix::Fd opened) const;
  absl::StatusOr<View> OpenAnew() const;
  absl::Status CheckUnchanged(const posix::Fd& file) const;
  void OpenAnewNext() const;

  const TreeFile file_;
  const FileState state_;
  const uint64_t bytes_;
  mutable std::atomic<bool> changed_{false};
  mutable base::Mutex mutex_;
  mutable View view_ PENSTOCK_GUARDED_BY(mutex_);  // empty: must be reopened
};

}  // namespace penstock::source
