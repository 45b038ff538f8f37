// An indexer's answer in memory, which a test can modify.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "server/indexer/wire/answer_stream.h"

namespace penstock::indexer {

class AnswerInMemory final : public AnswerSink, public AnswerSource {
 public:
  AnswerInMemory() = default;
  explicit AnswerInMemory(std::string bytes) : bytes_(std::move(bytes)) {}

  absl::Status Put(std::span<const std::byte> bytes) override {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return absl::OkStatus();
  }
  absl::Status Take(std::span<std::byte> into) override {
    if (into.size() > bytes_.size() - at_) return Lie("less than it promised");
    std::memcpy(into.data(), bytes_.data() + at_, into.size());
    at_ += into.size();
    return absl::OkStatus();
  }
  bool all_taken() const { return at_ == bytes_.size(); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

// Memory with a limit.
class LimitedMemory final : public AnswerMemory {
 public:
  explicit LimitedMemory(uint64_t limit = uint64_t{1} << 40) : limit_(limit) {}

  absl::Status Take(uint64_t bytes) override {
    if (bytes > limit_ - taken_) return absl::ResourceExhaustedError("too much memory");
    taken_ += bytes;
    most_ = std::max(most_, taken_);
    return absl::OkStatus();
  }
  void GiveBack(uint64_t bytes) override { taken_ -= bytes; }
  uint64_t taken() const { return taken_; }
  uint64_t most() const { return most_; }

 private:
  const uint64_t limit_;
  uint64_t taken_ = 0, most_ = 0;
};

}  // namespace penstock::indexer
