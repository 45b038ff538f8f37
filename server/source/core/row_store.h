// Rows of one size that lie one behind the other: in memory of ours, or in a file that is mapped.
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/status.h"
#include "common/posix/fd.h"
#include "server/source/files/tree_file.h"

namespace penstock::source {

class RowStore {
 public:
  virtual ~RowStore() = default;
  // Rows `rows` one behind the other. Unavailable: what they are stored in is in trouble, or not
  // there any more; try again. DataLoss: it is another file than when it was opened.
  virtual absl::Status Copy(std::span<const uint64_t> rows, std::byte* into) const = 0;
  // Of the rows alone, for content_digest.h.
  virtual uint64_t bytes() const = 0;
  virtual absl::Status Read(uint64_t offset, std::span<std::byte> into) const = 0;
  // Dataset::changed.
  virtual bool changed() const = 0;
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
