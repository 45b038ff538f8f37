// The .idx file beside a Megatron .bin: which sequences of tokens the .bin holds, where they begin,
// and which of them make a document (https://github.com/NVIDIA/Megatron-LM,
// megatron/core/datasets/indexed_dataset.py). Pure.
//
// Little endian, unaligned: "MMIDIDX\0\0", uint64 version 1, uint8 type, uint64 sequences, uint64
// entries of the documents' table; then int32 tokens of each sequence, int64 byte of each in the
// .bin, int64 first sequence of each document and, behind the last, their number; and an int8 mode
// of each sequence where there are several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/base/dtype.h"
#include "common/base/status.h"

namespace penstock::source {

bool IsMegatronIndex(std::span<const std::byte> begin);

// A view of bytes that belong to somebody else and outlive it. All that it says was checked.
class MegatronIndex {
 public:
  struct Files {
    std::string index, bin;  // for messages
    uint64_t bin_bytes = 0;
  };
  // `bytes`: the whole file. InvalidArgument: what is no such index, ends too early or too late,
  // points outside of the .bin, or at bytes twice; with file, byte, wanted, got and remedy.
  static absl::StatusOr<MegatronIndex> Parse(std::span<const std::byte> bytes, const Files& files);

  base::DType type() const { return type_; }
  uint64_t sequences() const { return sequences_; }
  uint64_t documents() const { return documents_; }

  uint64_t TokensOf(uint64_t sequence) const;
  uint64_t ByteOf(uint64_t sequence) const;  // in the .bin
  // Sequences [FirstOf(document), FirstOf(document + 1)) are a document's; its last argument is
  // documents().
  uint64_t FirstOf(uint64_t document) const;

 private:
  MegatronIndex() = default;
  absl::Status ParseHeader(const Files& files);
  absl::Status CheckSequences(const Files& files) const;
  absl::Status CheckNothingTwice(const Files& files) const;
  absl::Status CheckDocuments(const Files& files) const;
  template <typename Number>
  Number At(uint64_t byte) const;
  uint64_t LengthAt(uint64_t sequence) const;
  uint64_t PointerAt(uint64_t sequence) const;
  uint64_t DocumentAt(uint64_t document) const;

  std::span<const std::byte> bytes_;
  base::DType type_ = base::DType::kUInt16;
  uint64_t sequences_ = 0, documents_ = 0;
};

}  // namespace penstock::source
