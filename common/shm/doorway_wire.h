// The doorway's messages: fixed structs on a SEQPACKET socket at "<address>.door", beside the gRPC
// socket. The client sends one message (Hello, with a pidfd of itself). The daemon answers with
// Welcome or Refused, and later sends the descriptors of sessions and segments in the order in
// which these are created.
//
// A host (python_host.h) and a Python worker (python_channel.h) enter like a client, with a Hello
// of their own. Only a private daemon admits them, and only as its own user. They get no ticket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace penstock::shm {

inline constexpr uint32_t kDoorwayMagic = 0x524F4F44;  // "DOOR", little endian
inline constexpr uint32_t kProtocolVersion = 1;        // covers both doorway and RPC
inline constexpr char kDoorwaySuffix[] = ".door";
inline constexpr char kTicketMetadataKey[] = "penstock-ticket";  // 32 hex digits
// Of calls that are part of a distributed trace, as in W3C Trace Context.
inline constexpr char kTraceMetadataKey[] = "traceparent";

enum class DoorwayKind : uint32_t {
  kHandshake = 1,    // client → daemon, 1 descriptor: a pidfd of the client
  kWelcome = 2,      // daemon → client, no descriptor
  kRefused = 3,      // daemon → client, no descriptor, then EOF
  kSession = 4,      // daemon → client, 2 descriptors: control page, event
  kSegment = 5,      // daemon → client, 1 descriptor: the segment, read-only
  kSegmentGone = 6,  // daemon → client, no descriptor: no more batches in it; unmap it
  kSlab = 7,         // daemon → client, 1 descriptor: a slab of device memory (HANDLE_KIND_VMM)
  kHost = 8,         // host → daemon, 1 descriptor: a pidfd of the host
  kWorker = 9,       // Python worker → daemon, 1 descriptor: a pidfd of the worker
  kHostPage = 10,    // daemon → host, 3 descriptors: page, event to the host, event to the daemon
  kChannel = 11,  // daemon → worker, 3 descriptors: channel, event to the worker, to the daemon
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

// Names the session that wants a host. The daemon sends it to the trainer with the session's grant,
// and the host passes it on to its workers. Nobody can guess it.
inline constexpr size_t kHostTokenBytes = 16;

struct DoorwayHost {
  DoorwayHeader header;
  unsigned char token[kHostTokenBytes];
  char client[64];  // as in DoorwayHandshake
};

struct DoorwayWorker {
  DoorwayHeader header;
  unsigned char token[kHostTokenBytes];  // its host's
  uint32_t place;                        // < kMaxPythonWorkers
  uint32_t start;                        // which start of that place it is, from 1
};

struct DoorwayWelcome {
  DoorwayHeader header;
  unsigned char ticket[16];  // zeros for a host or a Python worker
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

// kHostPage and kChannel.
struct DoorwayMemory {
  DoorwayHeader header;
  uint64_t bytes;
  uint64_t reserved;
};

static_assert(sizeof(DoorwayHeader) == 16 && sizeof(DoorwayHandshake) == 80);
static_assert(sizeof(DoorwayWelcome) == 32 && sizeof(DoorwayRefused) == 528);
static_assert(sizeof(DoorwaySession) == 32 && sizeof(DoorwaySegment) == 32);
static_assert(sizeof(DoorwaySlab) == 32 && sizeof(DoorwayMemory) == 32);
static_assert(sizeof(DoorwayHost) == 96 && sizeof(DoorwayWorker) == 40);
static_assert(std::is_trivially_copyable_v<DoorwayRefused>);
inline constexpr uint32_t kMaxDoorwayBytes = sizeof(DoorwayRefused);

}  // namespace penstock::shm
