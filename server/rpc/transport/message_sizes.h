// Follows the messages in a call's data: each begins with a byte that says whether it is packed,
// and its length in four bytes. Tells of messages that gRPC will not take: those that are longer
// than it was told to, or packed. It refuses them before our services see the call, so that nothing
// else could count them.
//
// Pure. **Thread safety**: one thread. Input from clients is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace penstock::rpc {

struct UntakenMessage {
  uint32_t bytes = 0;
  bool is_packed = false;
  bool operator==(const UntakenMessage&) const = default;
};

class MessageSizes {
 public:
  // Takes the next data of the call. Returns the first message that is packed or larger than
  // `most`, once; gRPC then ends the call.
  std::optional<UntakenMessage> Take(std::span<const std::byte> data, uint32_t most);

 private:
  static constexpr uint32_t kPrefixBytes = 5;

  uint32_t prefix_have_ = 0;
  bool is_packed_ = false;
  uint32_t size_ = 0;          // as far as the prefix is known
  uint32_t message_left_ = 0;  // bytes of the current message that are still to come
  bool is_over_ = false;
};

}  // namespace penstock::rpc
