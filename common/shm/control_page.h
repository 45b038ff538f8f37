// The session control page: what the daemon and one consumer exchange for each batch.
//
// **Ownership**: one page-aligned memfd per session holds the page and, behind it, the labels and
// ids of device delivery ("notes"). The daemon creates it; both sides map it read-write. Each field
// has one writer.
//
// The daemon does not trust the consumer: it copies what the consumer wrote, then checks the copy.
// The consumer also checks the daemon's numbers against its own mappings before it uses them.
//
//   daemon                                     consumer
//   entries[n % capacity] = batch n
//   announced = n + 1  (release), wake      →  waits while announced == taken
//                                              taken = n + 1
//   polls released[] of outstanding leases  ←  released[n % capacity] = n + 1  (release)
//   may reuse entry n % capacity               (notifies the session's event if daemon_asleep)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace penstock::shm {

inline constexpr uint64_t kControlMagic = 0x4B434F54534E4550;  // "PENSTOCK", little endian
inline constexpr uint32_t kControlVersion = 2;
inline constexpr uint32_t kControlCapacity = 256;  // the largest prefetch window

enum class SessionState : uint32_t {
  kOpen = 1,
  kFinished = 2,  // no batches follow those announced
  kFailed = 3,    // `error` says why
  kClosing = 4,   // the daemon is stopping
};

// One announced batch, in a slot of a segment.
struct ControlEntry {
  uint64_t sequence;    // n + 1, so that 0 is never announced
  uint64_t generation;  // the slot's generation
  // id as sent through the doorway: of the segment or, for device delivery, the slab
  uint32_t segment;
  uint32_t rows;    // rows in the slot, padding included
  uint64_t offset;  // offset of row 0 in the segment or slab
  uint64_t epoch;
  uint64_t first;          // position of row 0 in the epoch
  uint64_t step;           // this rank's step within the epoch, counted from its start
  uint64_t consumed;       // samples of the epoch that all ranks have consumed after this batch
  uint32_t valid_rows;     // rows that are not padding
  uint32_t last_of_epoch;  // 0 or 1
  // Where the host reads the labels (int64) and then the ids (uint64), one of each per row of a
  // full batch: an offset from the start of the session's own memory. 0: they are in the slot.
  uint64_t notes_offset;
};
static_assert(sizeof(ControlEntry) == 80 && std::is_trivially_copyable_v<ControlEntry>);

struct alignas(64) ControlPage {
  // Written by the daemon once, before it sends the page.
  uint64_t magic;
  uint32_t version;
  uint32_t capacity;
  uint64_t session_id;
  uint32_t window;
  uint32_t reserved;

  // Written by the daemon.
  alignas(64) std::atomic<uint64_t> announced;
  std::atomic<uint32_t> wakeup;  // the consumer's futex; changes with each announcement
  std::atomic<uint32_t> state;   // SessionState
  std::atomic<uint32_t> daemon_asleep;
  uint32_t error_code;  // an absl::StatusCode; valid once state is kFailed
  char error[1024];     // NUL-terminated; valid likewise
  // How many hosts the daemon has asked this consumer to fork (python_host.h). It asks for another
  // by raising it, and wakes the consumer.
  std::atomic<uint32_t> hosts_wanted;

  // Written by the consumer.
  alignas(64) std::atomic<uint64_t> taken;
  std::atomic<uint32_t> consumer_asleep;
  // Not 0: the consumer closed the session, after releasing all batches. Tells a daemon that did
  // not receive its CloseSession.
  std::atomic<uint32_t> left;
  // How many of the wanted hosts the consumer has forked, or tried to.
  std::atomic<uint32_t> hosts_forked;

  // Written by the consumer (or its GPU): the sequence of the batch last released in that entry.
  alignas(64) std::atomic<uint64_t> released[kControlCapacity];

  // Written by the daemon.
  alignas(64) ControlEntry entries[kControlCapacity];
};
static_assert(std::is_standard_layout_v<ControlPage>);
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(offsetof(ControlPage, announced) == 64);
static_assert(offsetof(ControlPage, error) == 64 + 24);
static_assert(offsetof(ControlPage, hosts_wanted) == 1112);
static_assert(offsetof(ControlPage, taken) == 1152);
static_assert(offsetof(ControlPage, left) == 1152 + 12);
static_assert(offsetof(ControlPage, hosts_forked) == 1152 + 16);
static_assert(offsetof(ControlPage, released) == 1216);
static_assert(offsetof(ControlPage, entries) == 1216 + 8 * kControlCapacity);

inline constexpr size_t kControlBytes = sizeof(ControlPage);

}  // namespace penstock::shm
