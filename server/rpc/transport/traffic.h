// What one client may send to gRPC, and when: gRPC queues an acknowledgement for each PING and
// SETTINGS without a limit, keeps a few hundred bytes of a call that was cancelled, and takes a
// message in pieces of one byte. So frames are let through one by one, as fast as gRPC answers and
// as often as a client has a reason for. Nothing is lost: what may not pass now passes later.
//
// Pure: it is told the time. One thread. What a client sends is hostile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/token_bucket.h"
#include "server/rpc/transport/frames.h"

namespace penstock::rpc {

struct TrafficLimits {
  // PING and SETTINGS that gRPC has not acknowledged yet.
  uint32_t unanswered = 16;
  base::TokenBucket::Options calls = {4'000, 256};
  base::TokenBucket::Options resets = {100, 64};  // calls that the client gives up
  // All other frames but those with data.
  base::TokenBucket::Options controls = {16'000, 2048};
  uint32_t open_calls = 64;     // gRPC is asked for fewer
  uint32_t header_frames = 16;  // a HEADERS and its CONTINUATIONs
  uint32_t header_bytes = 64 << 10;
  uint32_t small_data = 64;      // bytes; a frame with fewer costs more than it holds
  uint32_t small_frames = 4096;  // of one call
};

// Of all connections of a user together. Shared by them; one thread.
struct UserTraffic {
  base::TokenBucket calls{{8'000, 1024}};
  base::TokenBucket resets{{1'000, 512}};
  base::TokenBucket controls{{64'000, 16'384}};
  uint32_t small_frames = 0;  // of calls that are open
  static constexpr uint32_t kMostSmallFrames = 1 << 17;
};

class Traffic {
 public:
  Traffic(const TrafficLimits& limits, std::shared_ptr<UserTraffic> user)
      : limits_(limits),
        user_(std::move(user)),
        own_{base::TokenBucket(limits.calls), base::TokenBucket(limits.resets),
             base::TokenBucket(limits.controls)} {}
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  struct Allowed {
    size_t pass = 0;      // so many bytes go on now
    base::Duration wait;  // for the next; zero: more bytes are needed, or an answer of gRPC's
  };
  // `bytes`: all that came and did not pass yet. An error: the connection has to end, and why.
  absl::StatusOr<Allowed> FromClient(std::span<const std::byte> bytes, base::TimePoint now);

  // What gRPC answers; all of it passes.
  void FromServer(std::span<const std::byte> bytes);

  uint32_t unanswered() const { return unanswered_; }
  size_t open_calls() const { return calls_.size(); }

 private:
  struct May {
    bool pass = true;
    base::Duration wait{};  // until it may, where time is all that is missing
  };
  struct Buckets {
    base::TokenBucket calls, resets, controls;
  };
  absl::StatusOr<May> Judge(const Frame& frame, base::TimePoint now);
  absl::StatusOr<May> JudgeHeaders(const Frame& frame, base::TimePoint now);
  absl::StatusOr<May> JudgeData(const Frame& frame, base::TimePoint now);
  May Take(base::TokenBucket& own, base::TokenBucket& of_user, base::TimePoint now);
  void Answered(const Frame& frame);
  void EndCall(uint32_t stream);

  const TrafficLimits limits_;
  const std::shared_ptr<UserTraffic> user_;
  Buckets own_;

  // From the client.
  uint32_t preface_left_ = kPrefaceBytes;
  uint64_t payload_left_ = 0;             // of the frame that is passing
  std::optional<uint32_t> block_stream_;  // whose headers are not complete
  uint32_t block_frames_ = 0;
  uint64_t block_bytes_ = 0;
  uint32_t unanswered_ = 0;
  std::map<uint32_t, uint32_t> calls_;  // by stream: small frames of data

  // From gRPC.
  std::byte header_[kFrameHeaderBytes] = {};
  size_t header_have_ = 0;
  uint64_t answer_left_ = 0;
};

}  // namespace penstock::rpc
