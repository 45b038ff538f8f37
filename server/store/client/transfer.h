// One HTTP request, and what came of it. Plain values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "server/store/credentials/store_keys.h"

namespace penstock::store {

struct TransferRange {
  uint64_t offset = 0, bytes = 0;  // at least one byte
};

// Memory for a part of an answer's body.
struct TransferPart {
  uint64_t from = 0;  // where in the body it begins
  std::span<std::byte> into = {};
};

struct TransferRequest {
  enum class Method { kGet, kHead, kPut, kPost };
  Method method = Method::kGet;
  std::string url;                                           // percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;  // without empty values
  std::optional<TransferRange> range = {};
  // Signed for this region if there are credentials (AWS's signature version 4).
  SharedKeys sign_with = {};
  std::string region = {};
  std::string body = {};     // of kPut and kPost
  std::string ca_file = {};  // certificates to trust; empty: those of the transfers
  bool is_direct = false;    // never through a proxy, and with little time to connect
  // Follows at most five redirects, none from https to http. **Requires**: it is not signed.
  bool follows_redirects = false;
  // The memory that takes the bytes of a successful answer to a range, in the order of its bytes;
  // those between the parts are dropped. It is not written to any more once the transfer has ended.
  // If the store takes unusually long, the request is sent once more, and the answer that is
  // complete first counts.
  std::vector<TransferPart> parts = {};
  // Takes the bytes instead as they arrive, on the thread of the transfers. False ends the
  // transfer. Neither: they are collected in TransferAnswer::body, at most `most_body`.
  std::function<bool(std::span<const std::byte>)> sink = {};
  uint64_t most_body = 1 << 20;
  base::Duration deadline = std::chrono::seconds(60);  // of the whole transfer
};

struct TransferAnswer {
  // Ok if there is a complete answer, whatever its code. **Errors**: Unavailable: no connection, a
  // deadline, an answer that was cut off, or that is not of the range that was asked for (perhaps a
  // page that says what is wrong); ResourceExhausted: more than `most_body`; Cancelled: the sink,
  // or Transfers ended.
  absl::Status status;
  int code = 0;                                                   // 200, 404, …
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in lower case
  std::string body = {};     // of an answer that is no success: its first 16 KiB
  uint64_t bytes = 0;        // that reached the sink or the body of a success
  uint64_t total_bytes = 0;  // of the object, if a range was asked for

  bool ok() const { return status.ok() && code >= 200 && code < 300; }
  // The header's value; empty if there is none. `name` is in lower case.
  absl::string_view Header(absl::string_view name) const;
};

}  // namespace penstock::store
