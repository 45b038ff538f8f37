// The .idx file beside a Megatron .bin file: which sequences of tokens the .bin file holds, where
// they begin, and which of them form a document (https://github.com/NVIDIA/Megatron-LM,
// megatron/core/datasets/indexed_dataset.py). Pure.
//
// Little endian, unaligned: "MMIDIDX\0\0", uint64 version 1, uint8 type, uint64 number of
// sequences, uint64 entries in the document table; then, per sequence, its length in tokens (int32)
// and its byte offset in the .bin file (int64); then the document table (int64): the first sequence
// of each document and, at the end, the number of sequences. Multimodal indexes end with an int8
// mode per sequence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/dtype.h"
#include "common/base/status.h"

namespace penstock::source {

// Whether a file begins like one.
inline constexpr absl::string_view kMegatronMagic("MMIDIDX\0\0", 9);
inline bool IsMegatronIndex(std::span<const std::byte> begin) {
  return absl::string_view(reinterpret_cast<const char*>(begin.data()), begin.size())
             .substr(0, kMegatronMagic.size()) == kMegatronMagic;
}

// A validated view.
// **Ownership**: the bytes belong to the caller and must outlive it.
class MegatronIndex {
 public:
  struct Files {
    std::string index, bin;  // for messages
    uint64_t bin_bytes = 0;
  };
  // `bytes`: the whole file.
  // **Errors**: InvalidArgument if it is not such an index, has the wrong size, or refers to bytes
  // outside of the .bin file or to the same bytes twice. Messages name the file, the offset, what
  // was expected and found, and the remedy.
  static absl::StatusOr<MegatronIndex> Parse(std::span<const std::byte> bytes, const Files& files);

  base::DType type() const { return type_; }
  uint64_t sequences() const { return sequences_; }
  uint64_t documents() const { return documents_; }

  uint64_t TokensOf(uint64_t sequence) const;
  uint64_t ByteOf(uint64_t sequence) const;  // in the .bin file
  // A document consists of sequences [FirstOf(document), FirstOf(document + 1)). **Requires**:
  // document ≤ documents().
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
