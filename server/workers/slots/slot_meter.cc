#include "server/workers/slots/slot_meter.h"

#include <algorithm>

namespace penstock::workers {
namespace {

constexpr std::chrono::nanoseconds kMostUnseen = std::chrono::seconds(10);

}  // namespace

void Utilisation::Update(base::TimePoint now, uint64_t busy_ns) {
  const base::Duration passed = now - since_;
  if (passed < std::chrono::milliseconds(250)) return;
  // The workers report this themselves. A wrong report only gives a wrong figure between 0 and 1.
  const uint64_t more = busy_ns >= busy_ns_ ? busy_ns - busy_ns_ : 0;
  // A sample counts when it ends, so it may have taken longer than the time that passed.
  unseen_ += std::chrono::nanoseconds(std::min<uint64_t>(more, kMostUnseen.count()));
  if (busy_ns < busy_ns_) unseen_ = {};
  const base::Duration spent = std::min(unseen_, passed);
  unseen_ = std::min<base::Duration>(unseen_ - spent, kMostUnseen);
  value_ = static_cast<double>(spent.count()) / static_cast<double>(passed.count());
  since_ = now;
  busy_ns_ = busy_ns;
}

base::Duration SlotMeter::Charge(std::span<Outcome> outcomes, base::TimePoint now) {
  Times& first = outcomes.front().times;
  // An item read with `aside` occupied no worker slot while it was read.
  first.taken = taken_since_ ? now - *taken_since_ : first.decode;
  taken_since_ = now;
  decoded_ += static_cast<uint64_t>(
      std::count_if(outcomes.begin(), outcomes.end(),
                    [](const Outcome& each) { return each.kind == OutcomeKind::kDone; }));
  return first.taken / static_cast<int64_t>(outcomes.size());
}

}  // namespace penstock::workers
