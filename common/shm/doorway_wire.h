// The doorway's messages: fixed structs on a SEQPACKET socket at "<address>.door", beside the gRPC
// socket. The client sends one message (Hello, with a pidfd of itself). The daemon answers with
// Welcome or Refused, and later sends the descriptors of sessions and segments in the order in
// which these are created.
#pragma once

#include <cstdint>
#include <type_traits>

namespace penstock::shm {

inline constexpr uint32_t kDoorwayMagic = 0x524F4F44;  // "DOOR", little endian
inline constexpr uint32_t kProtocolVersion = 1;        // covers both doorway and RPC
inline constexpr char kDoorwaySuffix[] = ".door";
inline constexpr char kTicketMetadataKey[] = "penstock-ticket";  // 32 hex digits

enum class DoorwayKind : uint32_t {
  kHandshake = 1,    // client → daemon, 1 descriptor: a pidfd of the client
  kWelcome = 2,      // daemon → client, no descriptor
  kRefused = 3,      // daemon → client, no descriptor, then EOF
  kSession = 4,      // daemon → client, 2 descriptors: control page, event
  kSegment = 5,      // daemon → client, 1 descriptor: the segment, read-only
  kSegmentGone = 6,  // daemon → client, no descriptor: no more batches in it; unmap it
  kSlab = 7,         // daemon → client, 1 descriptor: a slab of device memory (HANDLE_KIND_VMM)
};

struct DoorwayHeader {
  uint32_t magic;
  uint32_t version;  // kProtocolVersion of the sender
  DoorwayKind kind;
  uint32_t reserved;
};

struct DoorwayHandshake {
  DoorwayHeader header;
  char client[64];  // NUL-terminated: program and library version, for status
};

struct DoorwayWelcome {
  DoorwayHeader header;
  unsigned char ticket[16];
};

struct DoorwayRefused {
  DoorwayHeader header;
  uint32_t code;  // an absl::StatusCode
  char reason[508];
};

struct DoorwaySession {
  DoorwayHeader header;
  uint64_t session_id;
  uint64_t control_bytes;
};

// kSegment and kSegmentGone.
struct DoorwaySegment {
  DoorwayHeader header;
  uint32_t segment;
  uint32_t reserved;
  uint64_t bytes;
};

struct DoorwaySlab {
  DoorwayHeader header;
  uint32_t slab;
  uint32_t reserved;
  uint64_t bytes;
};

static_assert(sizeof(DoorwayHeader) == 16 && sizeof(DoorwayHandshake) == 80);
static_assert(sizeof(DoorwayWelcome) == 32 && sizeof(DoorwayRefused) == 528);
static_assert(sizeof(DoorwaySession) == 32 && sizeof(DoorwaySegment) == 32);
static_assert(sizeof(DoorwaySlab) == 32);
static_assert(std::is_trivially_copyable_v<DoorwayRefused>);
inline constexpr uint32_t kMaxDoorwayBytes = sizeof(DoorwayRefused);

}  // namespace penstock::shm
