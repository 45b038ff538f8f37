#include "penstock/sampling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/base/philox.h"

namespace penstock {
namespace {

// Operation number of the random draw; decoding uses other numbers for its crops and flips.
constexpr uint32_t kOperation = 11;

Status Wrong(const std::string& message) { return Status(Code::kInvalidArgument, message); }

Status Check(std::span<const double> weights, uint64_t count) {
  if (weights.empty()) return Wrong("there are no weights; give one for each sample");
  if (count == 0) return Wrong("count: got 0, expected at least 1");
  double total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      return Wrong("weight of sample " + std::to_string(i) + ": got " + std::to_string(weights[i]) +
                   ", expected a finite number of at least 0");
    total += weights[i];
  }
  if (total == 0) return Wrong("all weights are 0; at least one must be positive");
  if (!std::isfinite(total)) return Wrong("the weights' sum is too large; scale them down");
  return {};
}

// Walker's alias method: each of n equally likely columns holds one sample up to a threshold and
// another one above it. Built by Vose's algorithm (A linear algorithm for generating random numbers
// with a given distribution, 1991).
class Columns {
 public:
  explicit Columns(std::span<const double> weights)
      : chance_(weights.size(), 1.0),
        other_(weights.size(), std::max_element(weights.begin(), weights.end()) - weights.begin()) {
    double total = 0;
    for (const double weight : weights) total += weight;
    std::vector<double> share(weights.size());
    std::vector<uint64_t> less, more;
    for (size_t i = 0; i < weights.size(); ++i) {
      // Rounding may leave a column without a partner; it then keeps its own sample, unless that
      // has weight 0.
      if (weights[i] == 0) chance_[i] = 0;
      share[i] = weights[i] / total * static_cast<double>(weights.size());
      (share[i] < 1 ? less : more).push_back(i);
    }
    while (!less.empty() && !more.empty()) {
      const uint64_t i = less.back(), j = more.back();
      less.pop_back();
      chance_[i] = share[i];
      other_[i] = j;
      share[j] = share[j] + share[i] - 1;
      if (share[j] >= 1) continue;
      less.push_back(j);
      more.pop_back();
    }
  }

  uint64_t Draw(const base::PhiloxWords& words) const {
    const uint64_t wide = uint64_t{words[0]} << 32 | words[1];
    const auto column =
        static_cast<uint64_t>(static_cast<unsigned __int128>(wide) * chance_.size() >> 64);
    const uint64_t fraction = uint64_t{words[2]} << 21 | words[3] >> 11;
    return static_cast<double>(fraction) * 0x1p-53 < chance_[column] ? column : other_[column];
  }

 private:
  std::vector<double> chance_;
  std::vector<uint64_t> other_;
};

}  // namespace

Result<std::vector<uint64_t>> DrawWeighted(std::span<const double> weights, uint64_t count,
                                           uint64_t seed, uint64_t epoch) {
  if (Status wrong = Check(weights, count); !wrong.ok()) return wrong;
  const Columns columns(weights);
  std::vector<uint64_t> order(count);
  for (uint64_t place = 0; place < count; ++place) {
    const base::PhiloxWords counter = {static_cast<uint32_t>(place),
                                       static_cast<uint32_t>(place >> 32),
                                       static_cast<uint32_t>(epoch), kOperation};
    order[place] = columns.Draw(base::Philox4x32(counter, seed));
  }
  return order;
}

}  // namespace penstock
