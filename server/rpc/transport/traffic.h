// Decides which frames of a client may go to gRPC, and when. gRPC queues an acknowledgement for
// each PING and SETTINGS without a limit, keeps a few hundred bytes for each cancelled call, and
// accepts messages in pieces of one byte. So frames are passed one at a time, only as fast as gRPC
// answers and as often as a well-behaved client needs. Nothing is lost: what may not pass now
// passes later.
//
// Pure; time is an argument. **Thread safety**: one thread. Input from clients is untrusted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/token_bucket.h"
#include "server/rpc/transport/frames.h"
#include "server/rpc/transport/message_sizes.h"

namespace penstock::rpc {

struct TrafficLimits {
  // PING and SETTINGS frames that gRPC has not yet acknowledged.
  uint32_t unanswered = 16;
  base::TokenBucket::Options calls = {4'000, 256};
  base::TokenBucket::Options resets = {100, 64};  // calls cancelled by the client
  // All other frames except those with data.
  base::TokenBucket::Options controls = {16'000, 2048};
  uint32_t open_calls = 64;     // gRPC advertises fewer
  uint32_t header_frames = 16;  // a HEADERS frame and its CONTINUATIONs
  uint32_t header_bytes = 64 << 10;
  uint32_t small_data = 64;          // bytes; smaller frames cost more than they carry
  uint32_t small_frames = 4096;      // per call
  uint32_t message_bytes = 1 << 20;  // which gRPC takes
};

// State shared by all connections of a user. One thread.
struct UserTraffic {
  base::TokenBucket calls{{8'000, 1024}};
  base::TokenBucket resets{{1'000, 512}};
  base::TokenBucket controls{{64'000, 16'384}};
  uint32_t small_frames = 0;  // of open calls
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
    size_t pass = 0;      // bytes to pass on now
    base::Duration wait;  // until the next pass; zero: needs more bytes, or a response from gRPC
    // Messages that begin in what passes, and that gRPC will not take.
    std::vector<UntakenMessage> untaken = {};
  };
  // `bytes`: everything received and not yet passed on. **Errors**: why the connection must be
  // ended.
  absl::StatusOr<Allowed> FromClient(std::span<const std::byte> bytes, base::TimePoint now);

  // Observes gRPC's output, all of which passes.
  void FromServer(std::span<const std::byte> bytes);

  uint32_t unanswered() const { return unanswered_; }
  size_t open_calls() const { return calls_.size(); }

 private:
  struct May {
    bool pass = true;
    base::Duration wait{};  // time to wait, if nothing else is missing
  };
  struct Buckets {
    base::TokenBucket calls, resets, controls;
  };
  struct OpenCall {
    uint32_t small_frames = 0;
    MessageSizes messages = {};
  };
  // What is left of a frame's data, without padding.
  struct DataLeft {
    uint32_t stream = 0;
    uint32_t bytes = 0;
    bool begins_with_padding = false;  // with the length of the padding
  };
  absl::StatusOr<May> Judge(const Frame& frame, base::TimePoint now);
  absl::StatusOr<May> JudgeHeaders(const Frame& frame, base::TimePoint now);
  absl::StatusOr<May> JudgeData(const Frame& frame, base::TimePoint now);
  std::optional<UntakenMessage> FollowData(std::span<const std::byte> payload);
  May Take(base::TokenBucket& own, base::TokenBucket& of_user, base::TimePoint now);
  void Answered(const Frame& frame);
  void EndCall(uint32_t stream);

  const TrafficLimits limits_;
  const std::shared_ptr<UserTraffic> user_;
  Buckets own_;

  // Parser state for data from the client.
  uint32_t preface_left_ = kPrefaceBytes;
  uint64_t payload_left_ = 0;             // of the frame that is being passed
  DataLeft data_left_ = {};               // of it
  std::optional<uint32_t> block_stream_;  // stream whose headers are incomplete
  uint32_t block_frames_ = 0;
  uint64_t block_bytes_ = 0;
  uint32_t unanswered_ = 0;
  std::map<uint32_t, OpenCall> calls_;  // by stream

  // Parser state for data from gRPC.
  std::byte header_[kFrameHeaderBytes] = {};
  size_t header_have_ = 0;
  uint64_t answer_left_ = 0;
};

}  // namespace penstock::rpc
