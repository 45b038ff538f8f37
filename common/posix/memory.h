// Anonymous shared memory (memfd) and mappings of it.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The size of the file behind a descriptor, by fstat(2).
absl::StatusOr<size_t> SizeOf(const Fd& fd);

// Owns one mmap of [0, bytes) of a descriptor, MAP_SHARED. Move-only.
class Mapping {
 public:
  Mapping() = default;
  static absl::StatusOr<Mapping> Map(const Fd& fd, size_t bytes, Access access);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace penstock::posix
