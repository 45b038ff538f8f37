#include "server/rpc/transport/traffic.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/rpc/transport/cut_off.h"

namespace penstock::rpc {

Traffic::~Traffic() {
  while (!calls_.empty()) EndCall(calls_.begin()->first);
}

absl::StatusOr<Traffic::Allowed> Traffic::FromClient(std::span<const std::byte> bytes,
                                                     base::TimePoint now) {
  Allowed allowed{};
  if (preface_left_ > 0) {
    if (!IsPreface(bytes))
      return CutOffFor(CutOff::kNotHttp2, absl::InvalidArgumentError("it does not speak HTTP/2"));
    if (bytes.size() < kPrefaceBytes) return allowed;
    allowed.pass = kPrefaceBytes;
    preface_left_ = 0;
  }
  for (;;) {
    const size_t passing = std::min<uint64_t>(payload_left_, bytes.size() - allowed.pass);
    const auto untaken = FollowData(bytes.subspan(allowed.pass, passing));
    if (untaken) allowed.untaken.push_back(*untaken);
    payload_left_ -= passing;
    allowed.pass += passing;
    const std::optional<Frame> frame = FrameAt(bytes.subspan(allowed.pass));
    if (payload_left_ > 0 || !frame) return allowed;
    PENSTOCK_ASSIGN_OR_RETURN(const May may, Judge(*frame, now));
    allowed.wait = may.wait;
    if (!may.pass) return allowed;
    payload_left_ = frame->length;
    data_left_ = {frame->stream, frame->type == kFrameData ? frame->length : 0, frame->is_padded()};
    allowed.pass += kFrameHeaderBytes;
  }
}

// Payload of the current frame that passes. Returns a message that gRPC will not take.
std::optional<UntakenMessage> Traffic::FollowData(std::span<const std::byte> payload) {
  if (payload.empty() || data_left_.bytes == 0) return std::nullopt;
  if (std::exchange(data_left_.begins_with_padding, false)) {
    const uint32_t no_data = 1 + std::to_integer<uint32_t>(payload.front());
    data_left_.bytes -= std::min(data_left_.bytes, no_data);
    payload = payload.subspan(1);
  }
  const auto data = payload.first(std::min<size_t>(data_left_.bytes, payload.size()));
  data_left_.bytes -= static_cast<uint32_t>(data.size());
  const auto call = calls_.find(data_left_.stream);
  if (call == calls_.end()) return std::nullopt;
  return call->second.messages.Take(data, limits_.message_bytes);
}

absl::StatusOr<Traffic::May> Traffic::Judge(const Frame& frame, base::TimePoint now) {
  if (block_stream_ || frame.type == kFrameHeaders || frame.type == kFrameContinuation)
    return JudgeHeaders(frame, now);
  if (frame.type == kFrameData) return JudgeData(frame, now);
  if (frame.type == kFrameResetStream) {
    const May may = Take(own_.resets, user_->resets, now);
    if (may.pass) EndCall(frame.stream);
    return may;
  }
  const bool wants_answer =
      (frame.type == kFramePing || frame.type == kFrameSettings) && !frame.is_ack();
  if (wants_answer && unanswered_ >= limits_.unanswered) return May{.pass = false};
  const May may = Take(own_.controls, user_->controls, now);
  if (may.pass && wants_answer) ++unanswered_;
  return may;
}

// Handles a HEADERS frame, and frames that arrive before its headers are complete.
absl::StatusOr<Traffic::May> Traffic::JudgeHeaders(const Frame& frame, base::TimePoint now) {
  const bool begins = !block_stream_;
  if (begins ? frame.type != kFrameHeaders
             : frame.type != kFrameContinuation || frame.stream != *block_stream_)
    return CutOffFor(CutOff::kHeaders,
                     absl::InvalidArgumentError("header frames that are not contiguous"));
  const uint32_t frames = begins ? 1 : block_frames_ + 1;
  const uint64_t size = (begins ? 0 : block_bytes_) + frame.length;
  if (frames > limits_.header_frames || size > limits_.header_bytes)
    return CutOffFor(CutOff::kHeaders,
                     absl::ResourceExhaustedError(absl::StrCat(
                         "headers of ", size, " bytes in ", frames, " frames; the limits are ",
                         limits_.header_bytes, " bytes and ", limits_.header_frames, " frames")));
  const bool is_call = begins && !calls_.contains(frame.stream);
  if (is_call && calls_.size() >= limits_.open_calls)
    return CutOffFor(CutOff::kCalls,
                     absl::ResourceExhaustedError(absl::StrCat(
                         "more than ", limits_.open_calls, " calls at once on one connection")));
  const May may =
      is_call ? Take(own_.calls, user_->calls, now) : Take(own_.controls, user_->controls, now);
  if (!may.pass) return may;
  if (is_call) calls_[frame.stream] = {};
  block_frames_ = frames;
  block_bytes_ = size;
  block_stream_ = frame.ends_headers() ? std::nullopt : std::optional(frame.stream);
  return may;
}

absl::StatusOr<Traffic::May> Traffic::JudgeData(const Frame& frame, base::TimePoint now) {
  if (frame.length >= limits_.small_data || frame.ends_stream()) return May{};
  const May may = Take(own_.controls, user_->controls, now);
  const auto call = calls_.find(frame.stream);
  if (!may.pass || call == calls_.end()) return may;
  if (call->second.small_frames >= limits_.small_frames ||
      user_->small_frames >= user_->kMostSmallFrames)
    return CutOffFor(CutOff::kPieces,
                     absl::ResourceExhaustedError(absl::StrCat(
                         "a call with more than ", limits_.small_frames, " pieces of fewer than ",
                         limits_.small_data, " bytes, or the user's calls with more than ",
                         user_->kMostSmallFrames)));
  ++call->second.small_frames;
  ++user_->small_frames;
  return may;
}

Traffic::May Traffic::Take(base::TokenBucket& own, base::TokenBucket& of_user,
                           base::TimePoint now) {
  const base::Duration wait = std::max(own.Wait(now), of_user.Wait(now));
  if (wait > base::Duration::zero()) return {.pass = false, .wait = wait};
  own.Take(now);
  of_user.Take(now);
  return {};
}

void Traffic::FromServer(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (answer_left_ > 0) {
      const size_t passing = std::min<uint64_t>(answer_left_, bytes.size());
      answer_left_ -= passing;
      bytes = bytes.subspan(passing);
      continue;
    }
    const size_t part = std::min(kFrameHeaderBytes - header_have_, bytes.size());
    std::memcpy(header_ + header_have_, bytes.data(), part);
    header_have_ += part;
    bytes = bytes.subspan(part);
    if (header_have_ < kFrameHeaderBytes) return;
    header_have_ = 0;
    const Frame frame = *FrameAt(header_);
    answer_left_ = frame.length;
    Answered(frame);
  }
}

void Traffic::Answered(const Frame& frame) {
  switch (frame.type) {
    case kFramePing:
    case kFrameSettings:
      if (frame.is_ack() && unanswered_ > 0) --unanswered_;
      return;
    case kFrameResetStream:
      return EndCall(frame.stream);
    case kFrameData:
    case kFrameHeaders:
      if (frame.ends_stream()) EndCall(frame.stream);
      return;
    default:
      return;
  }
}

void Traffic::EndCall(uint32_t stream) {
  const auto call = calls_.find(stream);
  if (call == calls_.end()) return;
  user_->small_frames -= call->second.small_frames;
  calls_.erase(call);
}

}  // namespace penstock::rpc
