#include "server/indexer/patience.h"

#include <algorithm>
#include <chrono>

namespace penstock::indexer {
namespace {

constexpr std::chrono::seconds kMostBetweenLooks(1);  // else the daemon itself did not run
constexpr std::chrono::minutes kMostComputing(10);
// Over twice what sorting takes: a Megatron index of 256 MiB in no order took 3.1 s of a core.
constexpr std::chrono::nanoseconds kComputingOfByte(30);
// No parser reads a file more often than this, or more of a small one.
constexpr uint64_t kMostTimes = 16;
constexpr uint64_t kLeastBytes = 64 << 20;

}  // namespace

void Patience::Begin(uint64_t file_bytes, const Look& look) {
  file_bytes_ = std::min(file_bytes, UINT64_MAX / 2 / kMostTimes);
  may_read_ = kLeastBytes + kMostTimes * file_bytes_;
  last_ = look;
  starting_ = {};
  NoteMessage();
}

void Patience::NoteMessage() { standing_ = computing_ = {}; }

base::Duration Patience::MostComputing() const {
  const uint64_t bytes = std::min(file_bytes_, uint64_t{1} << 40);  // beyond that: the most
  return std::min<base::Duration>(
      kMostComputing, limits_.computing + static_cast<int64_t>(bytes) * kComputingOfByte);
}

// The count is the process's own. One that goes backwards is a large step, too.
bool Patience::ReadsOn(uint64_t read_bytes) {
  const uint64_t more = read_bytes - last_.read_bytes;
  if (more == 0) return false;
  const bool counts = more <= may_read_;
  may_read_ -= std::min(more, may_read_);
  return counts;
}

OutOfPatience Patience::Judge(const Look& look) {
  const base::Duration passed =
      std::clamp<base::Duration>(look.now - last_.now, {}, kMostBetweenLooks);
  const base::Duration used = std::max<base::Duration>(look.cpu - last_.cpu, {});
  if (ReadsOn(look.read_bytes)) NoteMessage();
  last_ = look;
  if (!look.ready) {
    starting_ += passed;
    return starting_ >= limits_.start ? OutOfPatience::kNotReady : OutOfPatience::kNo;
  }
  computing_ += used;
  standing_ = used > base::Duration::zero() ? base::Duration::zero() : standing_ + passed;
  if (computing_ >= MostComputing()) return OutOfPatience::kComputesInVain;
  if (look.reading && standing_ >= limits_.storage) return OutOfPatience::kStorageSilent;
  if (!look.reading && standing_ >= limits_.stopped) return OutOfPatience::kStopped;
  return OutOfPatience::kNo;
}

}  // namespace penstock::indexer
