// An answer as a stream of bytes: the indexer puts it into a sink, the daemon takes it from a
// source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "common/base/status.h"

namespace penstock::indexer {

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual absl::Status Put(std::span<const std::byte> bytes) = 0;
};

class AnswerSource {
 public:
  virtual ~AnswerSource() = default;
  // Fills `into`. **Errors**: the answer has too few bytes.
  virtual absl::Status Take(std::span<std::byte> into) = 0;
};

// The memory that the daemon may spend on the answers of one opening.
class AnswerMemory {
 public:
  virtual ~AnswerMemory() = default;
  // Call it before as many bytes are allocated. **Errors**: ResourceExhausted.
  virtual absl::Status Take(uint64_t bytes) = 0;
  // Call it after as many bytes are freed.
  virtual void GiveBack(uint64_t bytes) = 0;
};

template <typename Record>
absl::Status PutRecord(AnswerSink& sink, const Record& record) {
  static_assert(std::is_trivially_copyable_v<Record>);
  return sink.Put(std::as_bytes(std::span(&record, 1)));
}

template <typename Record>
absl::Status TakeRecord(AnswerSource& source, Record& record) {
  static_assert(std::is_trivially_copyable_v<Record>);
  return source.Take(std::as_writable_bytes(std::span(&record, 1)));
}

// The error for an answer that no honest indexer gives.
absl::Status Lie(absl::string_view what);

}  // namespace penstock::indexer
