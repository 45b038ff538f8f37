#include "server/plan/given_order.h"

#include <limits>
#include <utility>

#include "common/base/check.h"
#include "server/plan/hash.h"

namespace penstock::plan {

uint64_t GivenOrder::bytes() const {
  return size_ * (std::holds_alternative<Narrow>(samples_) ? sizeof(uint32_t) : sizeof(uint64_t));
}

// Equal samples are kept in equal width.
bool GivenOrder::operator==(const GivenOrder& other) const {
  return hash_ == other.hash_ && samples_ == other.samples_;
}

absl::Status GivenOrder::CheckFits(const Range& samples) const {
  const bool low = !samples.Contains(smallest_);
  if (!low && samples.Contains(largest_)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the given order has sample ", low ? smallest_ : largest_, " at place ",
      low ? smallest_at_ : largest_at_, ", but the dataset has ", samples.count, " samples, ",
      samples.first, " to ", samples.first + (samples.count - 1), "; send an order of these"));
}

GivenOrderBuilder::GivenOrderBuilder(uint64_t length) : order_(length) {
  std::get<GivenOrder::Narrow>(order_.samples_).reserve(length);
}

absl::Status GivenOrderBuilder::Add(std::span<const uint64_t> samples) {
  if (samples.size() > length() - added_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the order was to have ", length(), " samples, got at least ", added_ + samples.size()));
  }
  for (const uint64_t sample : samples) Keep(sample);
  return absl::OkStatus();
}

void GivenOrderBuilder::Keep(uint64_t sample) {
  if (sample > order_.largest_ || added_ == 0) {
    order_.largest_ = sample;
    order_.largest_at_ = added_;
    if (sample > std::numeric_limits<uint32_t>::max()) Widen();
  }
  if (sample < order_.smallest_ || added_ == 0) {
    order_.smallest_ = sample;
    order_.smallest_at_ = added_;
  }
  if (auto* narrow = std::get_if<GivenOrder::Narrow>(&order_.samples_)) {
    narrow->push_back(static_cast<uint32_t>(sample));
  } else {
    std::get<GivenOrder::Wide>(order_.samples_).push_back(sample);
  }
  hash_ = HashOn(hash_, sample);
  ++added_;
}

void GivenOrderBuilder::Widen() {
  const auto* narrow = std::get_if<GivenOrder::Narrow>(&order_.samples_);
  if (narrow == nullptr) return;
  GivenOrder::Wide wide;
  wide.reserve(length());
  wide.assign(narrow->begin(), narrow->end());
  order_.samples_ = std::move(wide);
}

absl::StatusOr<GivenOrder> GivenOrderBuilder::Finish() {
  PENSTOCK_CHECK(order_.hash_ == 0);
  if (added_ != length() || added_ == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the order was to have ", length(), " samples, got ", added_,
                     added_ == 0 ? "; an order has at least one" : ""));
  }
  hash_ = HashOn(hash_, added_);
  order_.hash_ = hash_ == 0 ? 1 : hash_;
  return std::move(order_);
}

}  // namespace penstock::plan
