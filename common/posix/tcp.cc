#include "common/posix/tcp.h"

#include <arpa/inet.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock::posix {
namespace {

absl::Status Refuse(const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("got '", text,
                   "', wanted a numeric address and a port from 1 to 65535, like 127.0.0.1:7741 "
                   "or [::1]:7741"));
}

}  // namespace

std::string TcpAddress::ToString() const {
  return v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::StatusOr<TcpAddress> ParseTcpAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return Refuse(text);
  std::string host = text.substr(0, colon);
  const std::string port = text.substr(colon + 1);
  TcpAddress address;
  address.v6 = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (address.v6) host = host.substr(1, host.size() - 2);
  unsigned char bytes[16];
  uint32_t number = 0;
  const bool digits = !port.empty() && port.find_first_not_of("0123456789") == std::string::npos;
  if (inet_pton(address.v6 ? AF_INET6 : AF_INET, host.c_str(), bytes) != 1 || !digits ||
      !absl::SimpleAtoi(port, &number) || number == 0 || number > UINT16_MAX)
    return Refuse(text);
  address.host = std::move(host);
  address.port = static_cast<uint16_t>(number);
  return address;
}

}  // namespace penstock::posix
