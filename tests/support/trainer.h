// A trainer for system tests: takes batches and remembers what was in them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "client/include/penstock/penstock.h"

namespace penstock::testing {

// What was delivered, by (epoch, place in the epoch): a hash of each row's pixels, its label and
// id.
struct Delivered {
  struct Row {
    uint64_t pixels = 0;
    int64_t label = 0;
    uint64_t sample = 0;
    bool operator==(const Row&) const = default;
  };
  std::map<std::pair<uint64_t, uint64_t>, Row> rows;
  uint64_t batches = 0;
  uint64_t twice = 0;  // rows that came more than once
  bool operator==(const Delivered& other) const { return rows == other.rows; }
};

// Adds a batch's rows that are not padding.
void Note(const Batch& batch, Delivered& delivered);
// The same with what the batch gave, wherever it lies now.
struct BatchRows {
  std::span<const uint8_t> images;
  std::span<const int64_t> labels;
  std::span<const uint64_t> sample_ids;
};
void NoteRows(const Batch& numbers, const BatchRows& rows, Delivered& delivered);
// Adds what another rank got; a row that both got counts as twice.
void Merge(const Delivered& from, Delivered& into);

// Small rows, so that tests are fast: crops of 32 × 32, shuffled, flipped at random.
SessionOptions SmallRows(const std::string& dataset, uint32_t batch_size);

// Takes batches until the epoch ends or so many were taken; the status that ended it (ok: so many).
Status TakeBatches(Session& session, uint64_t at_most, Delivered& delivered,
                   std::chrono::milliseconds step = std::chrono::milliseconds(0));

// A whole epoch of a fresh session. The test fails if it does not end as it should.
Delivered OneEpoch(const std::string& address, const SessionOptions& options);

}  // namespace penstock::testing
