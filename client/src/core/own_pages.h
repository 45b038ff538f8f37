// Which pages of a private file mapping this process has written to.
//
// **Thread safety**: any thread.
#pragma once

#include <cstddef>
#include <span>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::client {

// Makes private file mappings show the file again. It looks up in /proc/self/pagemap which pages
// the process has of its own, and drops only those: page tables of the others cost more to build
// than their data to read. It belongs to the process that made it; a forked child must not use it.
class OwnPages {
 public:
  // Works without /proc, too, but then drops all pages.
  OwnPages();

  // **Requires**: `mapping` is a private mapping of a file, begins at a page, and nobody uses it.
  //
  // **Errors**: from madvise(2); pages may still be the process's own.
  absl::Status Drop(std::span<std::byte> mapping) const;

 private:
  posix::Fd pagemap_;
};

}  // namespace penstock::client
