// What makes two feeds the same: dataset, order, seed and, where there is one, decoding.
#pragma once

#include <cstdint>
#include <memory>

#include "server/plan/given_order.h"
#include "server/plan/mixture.h"
#include "server/plan/plan.h"
#include "server/session/request.h"
#include "server/source/core/dataset.h"

namespace penstock::feed {

// What the client chose, and what follows from the dataset.
struct FeedSpec : session::FeedOptions {
  uint64_t dataset_digest = 0;
  uint64_t samples = 0;  // of the dataset
  // Replaces `order`, where a client gave one. Shared with what keeps it for later sessions.
  std::shared_ptr<const plan::GivenOrder> given = {};
  // How the dataset's samples are drawn, where it is a mixture and no order is given. Shared with
  // the dataset's state.
  std::shared_ptr<const plan::Mixture> mixture = {};
  source::Storage storage = source::Storage::kEncoded;
  // Of encoded samples what travels beside the image; of the others all that a row has.
  source::Selection selection;

  // N: how many samples an epoch has.
  uint64_t epoch_samples() const;
  // The samples that may come.
  plan::Range Within() const { return range.value_or(plan::Range{.first = 0, .count = samples}); }
  // Of a row: the image that is decoded, and what was selected.
  source::RowLayout Layout() const;
};

// 64 bits that differ for feeds that differ, whatever the machine; never 0.
uint64_t Fingerprint(const FeedSpec& spec);

}  // namespace penstock::feed
