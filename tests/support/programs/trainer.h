// A trainer for system tests: takes batches and records their content.
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

// The delivered rows by (epoch, position): a hash of each row's pixels, its label and its id.
struct Delivered {
  struct Row {
    uint64_t pixels = 0;
    int64_t label = 0;
    uint64_t sample = 0;
    bool operator==(const Row&) const = default;
  };
  std::map<std::pair<uint64_t, uint64_t>, Row> rows;
  uint64_t batches = 0;
  uint64_t twice = 0;  // rows that were delivered more than once
  bool operator==(const Delivered& other) const { return rows == other.rows; }
};

// Adds a batch's rows, except padding.
void Note(const Batch& batch, Delivered& delivered);
// The rows of a batch, wherever its data is.
struct BatchRows {
  std::span<const uint8_t> images;
  std::span<const int64_t> labels;
  std::span<const uint64_t> sample_ids;
};
void NoteRows(const Batch& numbers, const BatchRows& rows, Delivered& delivered);
// Adds what another rank received. A row that both received counts as twice.
void Merge(const Delivered& from, Delivered& into);

// Small rows, to keep tests fast: crops of 32 × 32, shuffled, with random flips.
SessionOptions SmallRows(const std::string& dataset, uint32_t batch_size);

// Takes at most `at_most` batches, or fewer if the epoch ends. Returns the status that ended it
// (OK: at_most batches).
Status TakeBatches(Session& session, uint64_t at_most, Delivered& delivered,
                   std::chrono::milliseconds step = std::chrono::milliseconds(0));

// Takes a whole epoch in a new session. Fails the test if the epoch doesn't end properly.
Delivered OneEpoch(const std::string& address, const SessionOptions& options);

}  // namespace penstock::testing
