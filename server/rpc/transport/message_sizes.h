// Follows the messages in a call's data: each begins with a byte of flags and its length in four
// bytes. Tells of messages whose announced length is more than gRPC takes. It refuses them before
// our services see the call, so that nothing else could count them. (What unpacks to more than gRPC
// takes is refused, too, and not told of; our clients send nothing packed.)
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
