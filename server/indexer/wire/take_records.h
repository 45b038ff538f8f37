// Takes many records of an answer. Their number is only a claim, so memory grows as bytes arrive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "common/base/status.h"
#include "server/indexer/wire/answer_stream.h"
#include "server/indexer/wire/wire.h"

namespace penstock::indexer {

// Makes room for more records than before, for at most `most`. While they are moved there is memory
// for both the old and the new ones.
template <typename Record>
absl::Status MakeRoom(uint64_t most, AnswerMemory& memory, std::vector<Record>& records) {
  const uint64_t before = records.capacity();
  const uint64_t room =
      std::min(most, std::max(2 * before, before + kWindowBytes / sizeof(Record)));
  PENSTOCK_RETURN_IF_ERROR(memory.Take(room * sizeof(Record)));
  try {
    records.reserve(room);
  } catch (const std::bad_alloc&) {
    memory.GiveBack(room * sizeof(Record));
    return absl::ResourceExhaustedError("there is no memory for what the file holds");
  }
  memory.GiveBack(before * sizeof(Record));
  return absl::OkStatus();
}

// Appends `count` records. `most`: how many there can be in the end.
template <typename Record>
absl::Status TakeRecords(AnswerSource& source, uint64_t count, uint64_t most, AnswerMemory& memory,
                         std::vector<Record>& records) {
  const uint64_t end = records.size() + count;
  while (records.size() < end) {
    const uint64_t before = records.size();
    if (before == records.capacity()) PENSTOCK_RETURN_IF_ERROR(MakeRoom(most, memory, records));
    const uint64_t step = std::min(end, before + kWindowBytes / sizeof(Record));
    records.resize(std::min<uint64_t>(step, records.capacity()));
    PENSTOCK_RETURN_IF_ERROR(
        source.Take(std::as_writable_bytes(std::span(records).subspan(before))));
  }
  return absl::OkStatus();
}

}  // namespace penstock::indexer
