#include "client/src/gpu/host_memory.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace penstock::client {
namespace {

// Asks the kernel: it answers EFAULT for unreadable memory before it rejects the invalid call.
bool HostReads(const void* memory) {
  const uintptr_t word = reinterpret_cast<uintptr_t>(memory) & ~uintptr_t{7};
  return ::syscall(SYS_rt_sigprocmask, ~0, word, nullptr, 8) == 0 || errno != EFAULT;
}

}  // namespace

bool HostReads(const void* memory, size_t bytes) {
  return HostReads(memory) &&
         (bytes == 0 || HostReads(static_cast<const std::byte*>(memory) + bytes - 1));
}

Status NotTheHosts(const char* what) {
  return Status(Code::kInvalidArgument,
                absl::StrCat("this batch is in host memory and is finished there, but '", what,
                             "' is not memory that the host can use; pass host memory, or open "
                             "the session with a device"));
}

}  // namespace penstock::client
