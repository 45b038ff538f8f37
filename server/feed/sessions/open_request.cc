#include "server/feed/sessions/open_request.h"

#include <utility>

#include "server/session/validate.h"

namespace penstock::feed {
namespace {

FeedSpec MakeSpec(const OpenRequest& request, source::Selection selection) {
  const source::Dataset& dataset = *request.dataset->dataset;
  FeedSpec spec = {request.feed};
  spec.dataset_digest = dataset.digest();
  spec.samples = dataset.samples();
  spec.given = request.given;
  spec.mixture = request.dataset->mixture;
  spec.stored_images = session::DecodesStoredImages(dataset, request);
  spec.storage = spec.stored_images ? source::Storage::kEncoded : dataset.storage();
  spec.packed = dataset.packed();
  spec.largest_sample = dataset.largest_sample();
  spec.selection = std::move(selection);
  return spec;
}

pool::SlotLayout LayOutFor(const FeedSpec& spec, uint32_t rows) {
  if (spec.storage == source::Storage::kMade)
    return pool::LayOutMade(rows, spec.python->max_batch_bytes);
  return pool::LayOut(spec.Layout().blocks, rows);
}

session::Target ToTarget(const OpenRequest& request) {
  const source::Dataset& dataset = *request.dataset->dataset;
  return {.dataset = dataset,
          .range = request.part.value_or(plan::Range{.first = 0, .count = dataset.samples()}),
          .mixture = request.dataset->mixture.get(),
          .given = request.given.get()};
}

}  // namespace

absl::StatusOr<Opening> Prepare(OpenRequest request) {
  PENSTOCK_ASSIGN_OR_RETURN(source::Selection selection, session::Fit(ToTarget(request), request));
  FeedSpec spec = MakeSpec(request, std::move(selection));
  const uint64_t fingerprint = Fingerprint(spec);
  pool::SlotLayout layout = LayOutFor(spec, request.share.batch_size);
  return Opening{.request = std::move(request),
                 .spec = std::move(spec),
                 .fingerprint = fingerprint,
                 .layout = std::move(layout)};
}

session::Grant MakeGrant(const Opening& opening, uint64_t session) {
  const OpenRequest& request = opening.request;
  const source::Dataset& dataset = *request.dataset->dataset;
  plan::Share whole = request.share;
  whole.consumed = 0;
  session::Grant grant = {.session = session,
                          .fingerprint = opening.fingerprint,
                          .files = request.dataset->files,
                          .digest = dataset.digest(),
                          .samples = request.feed.range->count,
                          .epoch_samples = request.share.samples,
                          .classes = static_cast<uint32_t>(dataset.classes().size()),
                          .labeled = dataset.labeled(),
                          .row = opening.spec.Layout(),
                          .layout = opening.layout,
                          .first_epoch_batches = plan::BatchCount(request.share),
                          .epoch_batches = plan::BatchCount(whole),
                          .window = request.window,
                          .quarantine_version = request.dataset->quarantine.version(),
                          .delivery = request.delivery};
  if (dataset.storage() == source::Storage::kNothing) grant.synthetic_seed = dataset.row_seed();
  return grant;
}

}  // namespace penstock::feed
