#include "tests/support/programs/trainer.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace penstock::testing {
namespace {

// FNV-1a, 64 bits.
uint64_t HashOf(const uint8_t* bytes, size_t count) {
  uint64_t hash = 0xCBF29CE484222325;
  for (size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001B3;
  return hash;
}

}  // namespace

void Note(const Batch& batch, Delivered& delivered) {
  NoteRows(batch, {batch.images(), batch.labels(), batch.sample_ids()}, delivered);
}

void NoteRows(const Batch& batch, const BatchRows& rows, Delivered& delivered) {
  const Shape shape = batch.shape();
  const size_t row_bytes = size_t{shape.height} * shape.width * shape.channels;
  for (uint32_t row = 0; row < batch.valid_rows(); ++row) {
    const Delivered::Row got = {HashOf(rows.images.data() + row * row_bytes, row_bytes),
                                rows.labels[row], rows.sample_ids[row]};
    if (!delivered.rows.emplace(std::pair(batch.epoch(), batch.first() + row), got).second)
      ++delivered.twice;
  }
  ++delivered.batches;
}

void Merge(const Delivered& from, Delivered& into) {
  for (const auto& [place, row] : from.rows)
    if (!into.rows.emplace(place, row).second) ++into.twice;
  into.batches += from.batches;
  into.twice += from.twice;
}

SessionOptions SmallRows(const std::string& dataset, uint32_t batch_size) {
  SessionOptions options;
  options.dataset = dataset;
  options.batch_size = batch_size;
  options.seed = 7;
  options.random_crop = RandomResizedCrop{.height = 32, .width = 32};
  options.flip_probability = 0.5;
  options.epochs = 1;
  return options;
}

Status TakeBatches(Session& session, uint64_t at_most, Delivered& delivered,
                   std::chrono::milliseconds step) {
  for (uint64_t taken = 0; taken < at_most; ++taken) {
    Result<Batch> batch = session.Next(std::chrono::seconds(30));
    if (!batch.ok()) return batch.status();
    Note(*batch, delivered);
    if (step.count() > 0) std::this_thread::sleep_for(step);
  }
  return Status();
}

Delivered OneEpoch(const std::string& address, const SessionOptions& options) {
  Delivered delivered;
  Result<Client> client = Client::Connect({.address = address});
  EXPECT_TRUE(client.ok()) << client.status().ToString();
  if (!client.ok()) return delivered;
  Result<Session> session = client->Open(options);
  EXPECT_TRUE(session.ok()) << session.status().ToString();
  if (!session.ok()) return delivered;
  const Status end = TakeBatches(*session, std::numeric_limits<uint64_t>::max(), delivered);
  EXPECT_EQ(end.code(), Code::kEndOfEpoch) << end.ToString();
  EXPECT_EQ(session->Next().status().code(), Code::kEndOfData);
  return delivered;
}

}  // namespace penstock::testing
