// What identifies a feed: dataset, order, seed and, if samples are decoded, decoding.
#pragma once

#include <cstdint>
#include <memory>

#include "server/plan/given_order.h"
#include "server/plan/mixture.h"
#include "server/plan/plan.h"
#include "server/session/request.h"
#include "server/source/core/dataset.h"

namespace penstock::feed {

// The client's options, and what follows from the dataset.
struct FeedSpec : session::FeedOptions {
  uint64_t dataset_digest = 0;
  uint64_t samples = 0;  // of the dataset
  // Replaces `order` if the client gave one. Shared with the store that keeps it for later
  // sessions.
  std::shared_ptr<const plan::GivenOrder> given = {};
  // How samples are drawn, if the dataset is a mixture and no order is given. Shared with the
  // dataset's state.
  std::shared_ptr<const plan::Mixture> mixture = {};
  source::Storage storage = source::Storage::kEncoded;
  // Whether the samples are stored rows, which are read as images: `storage` is then kEncoded.
  bool stored_images = false;
  // Whether workers unpack stored rows (Dataset::packed), and the bytes of the largest of them.
  bool packed = false;
  uint64_t largest_sample = 0;
  // For encoded samples, the fields beside the image; for others, the whole row.
  source::Selection selection = {};

  // N, the number of samples in an epoch.
  uint64_t epoch_samples() const;
  // The range of samples that may occur.
  plan::Range Within() const { return range.value_or(plan::Range{.first = 0, .count = samples}); }
  // A row's layout: the decoded image and the selected fields.
  source::RowLayout Layout() const;
};

// A 64-bit hash of the spec, identical on all machines and never 0.
uint64_t Fingerprint(const FeedSpec& spec);

}  // namespace penstock::feed
