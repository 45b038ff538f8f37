// Arbitrary bytes sent by a client to the daemon's socket, and the same bytes as gRPC's answer.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "server/rpc/transport/traffic.h"

namespace rpc = penstock::rpc;
namespace base = penstock::base;

namespace {

// The result of passing on bytes that arrive in pieces.
struct Passed {
  size_t bytes = 0;
  bool refused = false;
  std::vector<rpc::UntakenMessage> untaken = {};
};

Passed PassInPieces(std::span<const std::byte> bytes, size_t piece) {
  const auto user = std::make_shared<rpc::UserTraffic>();
  rpc::Traffic traffic(rpc::TrafficLimits(), user);
  const base::TimePoint now = base::TimePoint() + std::chrono::hours(1);
  Passed passed;
  for (size_t come = 0; come < bytes.size();) {
    come = std::min(come + piece, bytes.size());
    const auto held = bytes.subspan(passed.bytes, come - passed.bytes);
    const auto verdict = traffic.FromClient(held, now);
    if (!verdict.ok()) {
      passed.refused = true;
      break;
    }
    PENSTOCK_CHECK(verdict->pass <= held.size());
    // Bytes held back without a time to wait for are either less than a preface or waiting for
    // gRPC's answers.
    PENSTOCK_CHECK(verdict->wait > base::Duration::zero() || traffic.unanswered() >= 16 ||
                   held.size() - verdict->pass < rpc::kPrefaceBytes);
    passed.bytes += verdict->pass;
    passed.untaken.insert(passed.untaken.end(), verdict->untaken.begin(), verdict->untaken.end());
  }
  PENSTOCK_CHECK(traffic.open_calls() <= rpc::TrafficLimits().open_calls);
  traffic.FromServer(bytes);
  return passed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const std::string text = (size > 0 && data[0] == 'P' ? "" : preface) +
                           std::string(reinterpret_cast<const char*>(data), size);
  const auto bytes = std::as_bytes(std::span(text));
  const Passed whole = PassInPieces(bytes, text.size() + 1);
  for (const size_t piece : {size_t{1}, size_t{7}, 1 + text.size() / 3}) {
    const Passed parts = PassInPieces(bytes, piece);
    PENSTOCK_CHECK(parts.refused == whole.refused);
    PENSTOCK_CHECK(parts.bytes == whole.bytes || whole.refused);
    PENSTOCK_CHECK(parts.untaken == whole.untaken || whole.refused);
  }
  return 0;
}
