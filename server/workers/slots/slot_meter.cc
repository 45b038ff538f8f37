#include "server/workers/slots/slot_meter.h"

#include <algorithm>

namespace penstock::workers {

void Utilisation::Update(base::TimePoint now, uint64_t busy_ns) {
  const base::Duration passed = now - since_;
  if (passed < std::chrono::milliseconds(250)) return;
  // The workers report this themselves. A wrong report only gives a wrong figure between 0 and 1.
  const double spent = busy_ns >= busy_ns_ ? static_cast<double>(busy_ns - busy_ns_) : 0;
  value_ = std::clamp(spent / static_cast<double>(passed.count()), 0.0, 1.0);
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
