#include "server/decode/core/place.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "common/base/philox.h"

namespace penstock::decode {
namespace {

constexpr uint64_t kShareKey = 0x6A70656720677075;

}  // namespace

bool IsAmongShare(const Undecoded& undecoded, uint64_t sample) {
  const base::PhiloxWords words = base::Philox4x32(
      {static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32), 0, 0}, kShareKey);
  return undecoded.share > 0 && words[0] <= undecoded.share;
}

// Clearing a whole place takes longer than copying a file, so it is done only where another feed's
// bytes may be. A hijacked worker can note too little; what stays there then is its user's own.
uint32_t BeginPlace(const Undecoded& undecoded, uint32_t bytes, std::span<std::byte> place) {
  const uint32_t room = RoomOf(undecoded);
  if (undecoded.rewrites == 0) return room;
  shm::RowNote note;
  std::byte* const end = place.data() + room;
  std::memcpy(&note, end, sizeof note);
  if (note.bytes >= bytes) return std::min(note.bytes, room);
  note.bytes = bytes;
  std::memcpy(end, &note, sizeof note);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the note comes before the bytes
  return bytes;
}

void EndPlace(const shm::RowNote& note, uint32_t held, std::span<std::byte> place) {
  std::ranges::fill(place.first(std::max(held, note.bytes)).subspan(note.bytes), std::byte{0});
  std::atomic_signal_fence(std::memory_order_seq_cst);  // and behind the zeros
  std::memcpy(place.last(sizeof note).data(), &note, sizeof note);
}

}  // namespace penstock::decode
