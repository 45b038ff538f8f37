#include "server/rpc/access/callers.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace penstock::rpc {

std::string PeerOf(const posix::Fd& socket) {
  sockaddr_un name = {};
  socklen_t size = sizeof(name);
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return "";
  // Includes the NUL byte of the abstract namespace.
  constexpr size_t kBefore = offsetof(sockaddr_un, sun_path) + 1;
  if (size <= kBefore || size > sizeof(name) || name.sun_path[0] != '\0') return "";
  return absl::StrCat("unix-abstract:", absl::string_view(name.sun_path + 1, size - kBefore));
}

}  // namespace penstock::rpc
