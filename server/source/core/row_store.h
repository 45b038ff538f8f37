// Fixed-size rows stored contiguously, in our own memory or in a mapped file.
// **Thread safety**: any thread.
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
  // Copies the given rows to `into`, contiguously.
  // **Errors**: Unavailable if the storage fails or is missing; retry. DataLoss if the file is not
  // the one that was opened.
  virtual absl::Status Copy(std::span<const uint64_t> rows, std::byte* into) const = 0;
  // The rows as one range of bytes, for content_digest.h.
  virtual uint64_t bytes() const = 0;
  virtual absl::Status Read(uint64_t offset, std::span<std::byte> into) const = 0;
  // See Dataset::changed.
  virtual bool changed() const = 0;
  // As those of Dataset, for one row.
  virtual bool is_remote() const { return false; }
  virtual void Expect(uint64_t, const UseTimes&) const {}
  virtual absl::StatusOr<FetchOutcome> Fetch(uint64_t) const {
    return FetchOutcome{.is_kept = true};
  }
  // Reads and returns the XXH3 of all rows, or, above 1 GiB, of 64 samples of 1 MiB. Of a remote
  // file, of its version, and nothing is read.
  virtual absl::StatusOr<uint64_t> Hash() const = 0;
};

struct RowExtent {
  uint64_t offset = 0;  // in the file
  uint64_t row_bytes = 0;
  uint64_t rows = 0;
  uint64_t bytes() const { return row_bytes * rows; }  // whoever creates it checks for overflow
};

// Takes ownership of memory that holds the rows.
std::unique_ptr<RowStore> KeepRows(std::unique_ptr<std::byte[]> memory, const RowExtent& extent);

// Maps the rows of a file, so that they live in the page cache and in no memory of our own.
// **Requires**: `opened` was opened from `file` and contains all the rows.
absl::StatusOr<std::unique_ptr<RowStore>> MapRows(TreeFile file, posix::Fd opened,
                                                  const RowExtent& extent);

// Rows of a file in an object store, which are read by ranges: a row each, or, of short rows, as
// many as fill 64 KiB.
std::unique_ptr<RowStore> FetchRows(std::shared_ptr<const RemoteFile> file,
                                    const RowExtent& extent);

}  // namespace penstock::source
