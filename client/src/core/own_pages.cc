#include "client/src/core/own_pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace penstock::client {
namespace {

constexpr size_t kOwnPageBytes = 4096;
constexpr size_t kEntriesARead = 4096;

// Bits of an entry (Documentation/admin-guide/mm/pagemap.rst).
constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62,
                   kOfFile = uint64_t{1} << 61;

bool IsOwn(uint64_t entry) {
  return (entry & kSwapped) != 0 || (entry & (kPresent | kOfFile)) == kPresent;
}

absl::Status DropAll(std::byte* from, size_t bytes) {
  if (::madvise(from, bytes, MADV_DONTNEED) == 0) return absl::OkStatus();
  return base::ErrnoStatus(errno, "dropping pages of a private mapping");
}

}  // namespace

OwnPages::OwnPages() : pagemap_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}

absl::Status OwnPages::Drop(std::span<std::byte> mapping) const {
  std::array<uint64_t, kEntriesARead> entries;
  const size_t pages = (mapping.size() + kOwnPageBytes - 1) / kOwnPageBytes;
  const auto first = reinterpret_cast<uintptr_t>(mapping.data()) / kOwnPageBytes;
  for (size_t done = 0; done < pages;) {
    const size_t wanted = std::min(pages - done, entries.size());
    const size_t bytes = wanted * sizeof(uint64_t);
    const auto at = static_cast<off_t>((first + done) * sizeof(uint64_t));
    if (::pread(pagemap_.get(), entries.data(), bytes, at) != static_cast<ssize_t>(bytes)) {
      return DropAll(mapping.data(), mapping.size());
    }
    const auto end = entries.begin() + static_cast<ptrdiff_t>(wanted);
    for (auto own = std::find_if(entries.begin(), end, IsOwn); own != end;) {
      const auto behind = std::find_if_not(own, end, IsOwn);
      const size_t page = done + static_cast<size_t>(own - entries.begin());
      PENSTOCK_RETURN_IF_ERROR(DropAll(mapping.data() + page * kOwnPageBytes,
                                       static_cast<size_t>(behind - own) * kOwnPageBytes));
      own = std::find_if(behind, end, IsOwn);
    }
    done += wanted;
  }
  return absl::OkStatus();
}

}  // namespace penstock::client
