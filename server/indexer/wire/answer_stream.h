// The stream of bytes that is an answer: where an indexer puts it, and where the daemon takes it.
#pragma once

#include <cstddef>
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
  // Fills `into`. **Errors**: if the answer ends first.
  virtual absl::Status Take(std::span<std::byte> into) = 0;
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

// An error in what an indexer said.
absl::Status Lie(absl::string_view what);

}  // namespace penstock::indexer
