// A slot with a whole batch that a Python worker made: arrays first, then a table of them and a
// pickle of everything else. client/python/penstock/_pydata/README.md specifies the format;
// slot_format.py beside it writes and reads it. The daemon owns the memory and looks only at the
// header: it never unpickles.
//
// The worker writes the magic number last. All numbers are little endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace penstock::shm {

inline constexpr uint64_t kPythonSlotMagic = 0x53544F4C534E4550;  // "PENSLOTS", little endian
inline constexpr uint32_t kPythonSlotVersion = 1;
inline constexpr uint64_t kPythonSlotAlignment = 64;  // of each array, from the slot's first byte
inline constexpr uint32_t kPythonSlotMaxBuffers = 1048576;

// At the slot's first byte.
struct PythonSlotHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t buffer_count;    // entries of the table
  uint64_t total_bytes;     // of the slot: header, arrays, table, skeleton
  uint64_t tail_offset;     // where the table begins; the skeleton follows it
  uint64_t table_bytes;     // entries have different lengths
  uint64_t skeleton_bytes;  // of the pickle
  uint32_t tail_crc32;      // zlib's, of table and skeleton
  uint32_t reserved;        // 0
  uint64_t reserved_too;    // 0
};
static_assert(sizeof(PythonSlotHeader) == 64);
static_assert(offsetof(PythonSlotHeader, total_bytes) == 16);
static_assert(offsetof(PythonSlotHeader, skeleton_bytes) == 40);
static_assert(offsetof(PythonSlotHeader, tail_crc32) == 48);
static_assert(std::is_trivially_copyable_v<PythonSlotHeader>);

enum class PythonBufferForm : uint16_t {
  kBytes = 0,   // a buffer of pickle protocol 5
  kArray = 1,   // of NumPy
  kTensor = 2,  // of torch
};

// One array. `dimensions` sides (int64) follow it, then as many strides (int64), both in elements.
struct PythonSlotEntry {
  PythonBufferForm form;
  uint16_t dtype;  // a code of slot_format.py; 0: the skeleton has it
  uint16_t dimensions;
  uint16_t reserved;  // 0
  uint64_t item_bytes;
  uint64_t offset;  // of the first element in the slot
  uint64_t bytes;
};
static_assert(sizeof(PythonSlotEntry) == 32 && std::is_trivially_copyable_v<PythonSlotEntry>);

// Whether `header`, a copy of the first bytes of a slot of `available` bytes, describes a slot that
// lies within it. Internal: the worker did not finish it, or wrote something else. Says nothing of
// the tail, which only the trainer parses.
inline absl::Status CheckPythonSlot(const PythonSlotHeader& header, uint64_t available) {
  if (available < sizeof(header) || header.magic != kPythonSlotMagic) {
    return absl::InternalError(absl::StrCat("Python slot: it begins with ", absl::Hex(header.magic),
                                            ", expected ", absl::Hex(kPythonSlotMagic),
                                            "; its worker has not finished it"));
  }
  if (header.version != kPythonSlotVersion) {
    return absl::InternalError(absl::StrCat("Python slot: version: got ", header.version,
                                            ", expected ", kPythonSlotVersion,
                                            "; the worker has another version of Penstock"));
  }
  const bool whole =
      header.total_bytes <= available && header.tail_offset >= sizeof(header) &&
      header.tail_offset <= header.total_bytes &&
      header.table_bytes <= header.total_bytes - header.tail_offset &&
      header.skeleton_bytes == header.total_bytes - header.tail_offset - header.table_bytes &&
      header.buffer_count <= kPythonSlotMaxBuffers && header.reserved == 0 &&
      header.reserved_too == 0;
  if (!whole) {
    return absl::InternalError(absl::StrCat(
        "Python slot: its lengths contradict each other: total ", header.total_bytes, ", tail at ",
        header.tail_offset, ", table ", header.table_bytes, ", skeleton ", header.skeleton_bytes,
        ", in a slot of ", available, " bytes; the worker is damaged"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::shm
