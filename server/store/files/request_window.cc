#include "server/store/files/request_window.h"

#include <algorithm>

namespace penstock::store {
namespace {

constexpr double kPays = 1.05;
constexpr uint32_t kFirstRest = 8, kLongestRest = 256;  // rounds
constexpr uint32_t kShortestRound = 16;                 // requests

}  // namespace

RequestWindow::RequestWindow(const Limits& limits)
    : limits_(limits), size_(std::clamp(limits.first, limits.least, limits.most)) {}

void RequestWindow::End(const EndedRequest& request, base::TimePoint now) {
  if (began_ == base::TimePoint{}) BeginRound(now);
  ++ended_;
  full_ += request.was_full ? 1 : 0;
  bytes_ += request.bytes;
  // Requests that were under way together ask together: once a round is enough.
  if (request.asks_to_slow && !has_halved_) return Halve(now);
  if (ended_ >= std::max(size_, kShortestRound)) EndRound(now);
}

void RequestWindow::BeginRound(base::TimePoint now) {
  began_ = now;
  ended_ = full_ = 0;
  bytes_ = 0;
}

void RequestWindow::EndRound(base::TimePoint now) {
  const bool was_full = full_ >= ended_ / 2;
  const double rate = static_cast<double>(bytes_) /
                      std::max(1e-6, std::chrono::duration<double>(now - began_).count());
  BeginRound(now);
  has_halved_ = false;
  if (!was_full) return;  // says nothing about the store
  if (smaller_ != 0 && rate < kPays * smaller_rate_) {
    size_ = smaller_;
    smaller_ = 0;
    rest_ = next_rest_;
    next_rest_ = std::min(kLongestRest, 2 * next_rest_);
    return;
  }
  if (smaller_ != 0) next_rest_ = kFirstRest;
  if (rest_ > 0) {
    --rest_;
    return;
  }
  smaller_rate_ = rate;
  Grow();
}

void RequestWindow::Grow() {
  smaller_ = size_ < limits_.most ? size_ : 0;
  size_ = std::min(limits_.most, size_ + std::max(1u, size_ / 4));
}

void RequestWindow::Halve(base::TimePoint now) {
  size_ = std::max(limits_.least, size_ / 2);
  ++halvings_;
  has_halved_ = true;
  smaller_ = 0;
  rest_ = kFirstRest;
  BeginRound(now);
}

}  // namespace penstock::store
