// Follows the messages in a call's data: each begins with a byte of flags and its length in four
// bytes. Tells of messages that gRPC will refuse because they are too large. It refuses them before
// our services see the call, so that nothing else could count them.
//
// Pure. **Thread safety**: one thread. Input from clients is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::rpc {

class MessageSizes {
 public:
  // Takes the next data of the call. Returns the size of the first message that is larger than
  // `most`, once; gRPC then ends the call.
  std::optional<uint32_t> Take(std::span<const std::byte> data, uint32_t most);

 private:
  static constexpr uint32_t kPrefixBytes = 5;

  uint32_t prefix_have_ = 0;
  uint32_t size_ = 0;          // as far as the prefix is known
  uint32_t message_left_ = 0;  // bytes of the current message that are still to come
  bool too_large_ = false;
};

}  // namespace penstock::rpc
