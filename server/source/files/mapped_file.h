// A file that is mapped and copied from while its storage may fail, or somebody cut it off or write
// to it: that is noticed behind each copy, and the file is opened anew for the next one. Any
// thread.
//
// Owned by what knows where the samples lie in it. The folder of tests/unit/source says what
// happens to a file that changes under us.
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
  // Maps the first `bytes` of `opened`, which was opened from `file` and has so many.
  static absl::StatusOr<std::unique_ptr<MappedFile>> Map(TreeFile file, posix::Fd opened,
                                                         uint64_t bytes);

  // For one copy: what is mapped, or what the file's path leads to now, once it was in trouble: a
  // file server that is back gives the same file under the same name, and none to those who held it
  // open. Reading from it is posix::GatherRows' and GatherPieces' business alone.
  class View {
   public:
    const std::byte* data() const { return mapped_->mapping.data(); }

   private:
    friend class MappedFile;
    struct Mapped {
      posix::Fd file;
      posix::Mapping mapping;
    };
    std::shared_ptr<const Mapped> mapped_;  // by the file and by copies under way
  };
  absl::StatusOr<View> Look() const;

  enum class Copied { kWhole, kBusError };
  // Behind a copy. Unavailable: what it copied means nothing; the file is in trouble or gone; try
  // again. DataLoss: it was written to, cut off, or is another one (Changed), for good.
  absl::Status Check(const View& view, Copied copied) const;

  // By read(2), for those who read much once. The errors of Look, Check and ReadExactly.
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const;

  std::string path() const { return file_.path(); }
  uint64_t file_bytes() const { return state_.bytes; }
  // Whether it was found to be another file than was opened first.
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
  mutable View view_ PENSTOCK_GUARDED_BY(mutex_);  // empty: to be opened again
};

}  // namespace penstock::source
