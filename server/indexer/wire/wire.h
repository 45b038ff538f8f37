// The protocol between penstockd and penstock-indexer, over a SEQPACKET socket and a window of
// shared memory. Both programs come from the same build. All numbers are in the machine's byte
// order.
//
// The daemon sends one question at a time: an Ask, the texts after it, and the files' descriptors.
// The indexer answers with a stream of bytes (results.h), which it puts into the window piece by
// piece: it reports each piece with a Tell, and writes the next one only when the daemon asks for
// more. So the daemon decides how much memory it spends on an answer, however long the answer is.
// Behind the window it reports how far it is, so that the daemon notices one that hangs.
//
// The bytes of a file in an object store are sent to it piece by piece, when it asks for them.
//
// The daemon trusts nothing that comes from an indexer, and copies bytes before it checks them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "server/source/files/read_exactly.h"

namespace penstock::indexer {

// Descriptors that the program inherits.
inline constexpr int kSocketNumber = 3, kWindowNumber = 4;

// Whether an indexer enters a sandbox (workers.sandbox).
enum class Sandboxed { kYes, kNo };
// The program's only argument, for an indexer without a sandbox.
inline constexpr char kNoSandbox[] = "sandbox=off";

inline constexpr size_t kWindowBytes = 1 << 20;
// What the indexer reports of itself, in the shared memory behind the window.
struct Activity {
  std::atomic<uint32_t> ready{0};  // 1: it has entered its sandbox
  source::ReadCounts reads;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);
inline constexpr size_t kSharedBytes = kWindowBytes + 4096;
inline constexpr size_t kMostAskBytes = 32 << 10;   // with the texts, or bytes of a file
inline constexpr size_t kMostBytesSent = 16 << 10;  // bytes of a remote file, at once
// Private memory of one indexer. A shard needs 28 bytes, twice, for each member and each sample.
inline constexpr uint64_t kMemoryBytes = uint64_t{4} << 30;
// The exit codes of an indexer that cannot enter its sandbox, and of one that runs out of memory.
inline constexpr int kExitNotReady = 2, kExitNoMemory = 3;

enum class Task : uint32_t {
  kMore = 0,  // the next piece of the answer
  kScanTar = 1,
  kTarKey = 2,
  kScanRecords = 3,
  kNpy = 4,
  kTokens = 5,
  kMegatron = 6,
  kIdx = 7,
  kUnpack = 8,  // of the file of the last kIdx
  kList = 9,
  kCifar = 10,
  kNames = 11,
  kCoco = 12,
  kNotes = 13,
  kBytes = 14,  // not a question: the bytes that kWants asked for, after the Ask
  kIndexFile = 15,
};

// Texts: the path; the path of the second file; the image's name, or the specification of a list or
// of COCO's annotations, or the roles of an index file; the label's name, or a shard's version.
inline constexpr size_t kTexts = 4;

struct Ask {
  Task task = Task::kMore;
  uint32_t format = 0, type = 0,
           role = 0;    // TokenFormat, NamesFormat, NoteFormat or IndexedKind; DType; IdxRole
  uint64_t number = 0;  // of the question, from 1
  uint64_t bytes = 0, second_bytes = 0;  // sizes of the files
  // kTarKey: two places in the shard. kUnpack: `offset` is the number of bytes.
  uint64_t from = 0, offset = 0;
  uint32_t has_second = 0;  // whether there is an index beside the shard
  // 1: the file is remote. No descriptor is sent, and the indexer asks for its bytes (kWants).
  uint32_t is_remote = 0;
  uint32_t wants_places = 0;  // 1: the daemon wants kPlace of each member or record
  uint32_t reserved = 0;
  uint32_t text_bytes[kTexts] = {};
};
static_assert(std::is_trivially_copyable_v<Ask> && sizeof(Ask) == 88);

enum class Tells : uint32_t {
  kFound = 1,      // `count` more samples were found
  kPiece = 2,      // the window's first `count` bytes are the answer's next ones
  kLastPiece = 3,  // and its last
  kWants = 4,      // `count` bytes of the remote file from `offset` on, at most kMostBytesSent
  kPlace = 5       // a member or a record was found at `offset`, of `count` bytes
};

struct Tell {
  Tells what = Tells::kFound;
  uint32_t reserved = 0;
  uint64_t number = 0;  // of the question
  uint64_t count = 0;
  uint64_t offset = 0;
};
static_assert(std::is_trivially_copyable_v<Tell> && sizeof(Tell) == 32);

}  // namespace penstock::indexer
