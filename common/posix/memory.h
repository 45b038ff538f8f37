// Anonymous shared memory (memfd) and mappings of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/base/status.h"
#include "common/posix/fd.h"

namespace penstock::posix {

enum class Access { kReadOnly, kReadWrite };

// Creates a memfd of exactly `bytes` zero bytes: mode 0600, close-on-exec, sealed against
// shrinking, growing and further seals. `name` appears only in /proc. **Errors**: ResourceExhausted
// if the system refuses the memory.
absl::StatusOr<Fd> MakeMemory(const std::string& name, size_t bytes);

// Opens the same memory through a descriptor that can neither be written nor mapped writable
// (reopened through /proc/self/fd). Consumers get this one.
absl::StatusOr<Fd> ReadOnlyView(const Fd& memory);

// Returns the pages of [from, from + bytes) to the system even where they are mapped; they read as
// zeros from then on. **Requires**: `memory` is writable.
absl::Status GiveBackPages(const Fd& memory, uint64_t from, uint64_t bytes);
// The offset of the first page from `from` on that was written, by lseek(2); nullopt: there is
// none. It moves the descriptor's position.
std::optional<uint64_t> FindPages(const Fd& memory, uint64_t from);

// Bytes of pages that the memory has, in RAM or swap, by fstat(2); nullopt if that fails.
std::optional<uint64_t> AllocatedBytes(const Fd& memory);

// The size of the file behind a descriptor, by fstat(2).
absl::StatusOr<size_t> SizeOf(const Fd& fd);

// Owns one mmap of a part of a descriptor. Move-only.
class Mapping {
 public:
  Mapping() = default;
  // Maps [0, bytes), shared with all that map it.
  static absl::StatusOr<Mapping> Map(const Fd& fd, size_t bytes, Access access);
  // Maps [from, from + bytes) writable, even if the descriptor is read-only: pages show the file
  // until this process writes to them, and are then its own. `from` is a multiple of the page size.
  static absl::StatusOr<Mapping> MapPrivately(const Fd& fd, uint64_t from, size_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }
  // Leaves it out of core files, which would else contain all of it, also what is sparse.
  void LeaveOutOfDumps() const;

 private:
  static absl::StatusOr<Mapping> MapPart(const Fd& fd, uint64_t from, size_t bytes, int protection,
                                         int flags);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace penstock::posix
