// Rows of one size that lie one behind the other: in memory of ours, or in a file that is mapped.
// The folder of tests/unit/source says what happens to a file that changes under us. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/source/tree.h"

namespace penstock::source {

// A file beneath a tree that may be opened again.
struct TreeFile {
  std::shared_ptr<const Tree> tree;  // shared by a dataset's files
  std::string name;                  // relative to the tree

  std::string path() const { return tree->FullPath(name); }
  // A regular file, for reading. Never waits for a FIFO's other side.
  absl::StatusOr<posix::Fd> Open() const;
};

// What a file is: another size, time, inode or device is another file.
struct FileIdentity {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t mtime_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};
absl::StatusOr<FileIdentity> IdentityOf(const posix::Fd& file, const std::string& path);

// Reads all of `into` at the offset. DataLoss: the file ends before that.
absl::Status ReadExactly(const posix::Fd& file, const std::string& path, uint64_t offset,
                         std::span<std::byte> into);

class RowStore {
 public:
  virtual ~RowStore() = default;
  // Rows `rows` one behind the other. Unavailable: what they are stored in is in trouble, is not
  // there any more, or is another file than when it was opened; try again.
  virtual absl::Status Copy(std::span<const uint64_t> rows, std::byte* into) const = 0;
  // XXH3 over the rows: all of them, of more than 1 GiB 64 pieces of 1 MiB. Reads them.
  virtual absl::StatusOr<uint64_t> Hash() const = 0;
};

struct RowExtent {
  uint64_t offset = 0;  // in the file
  uint64_t row_bytes = 0;
  uint64_t rows = 0;
  uint64_t bytes() const { return row_bytes * rows; }  // checked by whoever made it
};

// Takes memory that holds the rows.
std::unique_ptr<RowStore> KeepRows(std::unique_ptr<std::byte[]> memory, const RowExtent& extent);

// Maps the rows of a file: the page cache holds them, nothing of ours does. `opened` was opened
// from `file` and has all of them.
absl::StatusOr<std::unique_ptr<RowStore>> MapRows(TreeFile file, posix::Fd opened,
                                                  const RowExtent& extent);

}  // namespace penstock::source
