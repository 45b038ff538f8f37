#include "server/session/validate.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/shm/control_page.h"
#include "common/shm/python_host.h"
#include "server/pool/slot_layout.h"
#include "server/session/targets.h"
#include "server/session/wrong.h"
#include "server/source/core/stored_images.h"

namespace penstock::session {
namespace {

// ---- The request alone ----

absl::Status CheckFields(const std::vector<source::FieldRequest>& fields) {
  if (fields.size() > kMaxFields)
    return Wrong("feed.fields: wanted at most ", kMaxFields, ", got ", fields.size());
  for (const source::FieldRequest& field : fields) {
    if (field.name.empty()) return Wrong("feed.fields: one has no name; name the field");
    PENSTOCK_RETURN_IF_ERROR(CheckText("feed.fields.name", field.name, kMaxNameBytes));
  }
  return absl::OkStatus();
}

// The size of a shard may come from the dataset, which is not known here.
absl::Status CheckOrder(const FeedOptions& feed) {
  PENSTOCK_RETURN_IF_ERROR(base::Annotate(plan::Validate(feed.given_by), "feed.given_by"));
  if (feed.order != plan::Order::kShuffledInWindows) return absl::OkStatus();
  plan::Windows windows = feed.windows;
  if (windows.shard_samples == 0) windows.shard_samples = 1;
  return base::Annotate(plan::Validate(windows), "feed.shuffle_window");
}

absl::Status CheckRange(const std::optional<plan::Range>& range) {
  const plan::Range widest = {.first = 0, .count = plan::kMaxSamples};
  if (!range || plan::Validate(*range, widest).ok()) return absl::OkStatus();
  return Wrong("feed.range: wanted at least one sample, and numbers up to ", plan::kMaxSamples,
               ", got ", range->count, " from ", range->first, " on");
}

// All images of a sample are made of the same decoded pixels.
absl::Status CheckMoreImage(const FeedOptions& feed, size_t place) {
  const std::string field = absl::StrCat("feed.more_images[", place, "]");
  const std::string& name = feed.more_images[place];
  if (name.empty()) return Wrong(field, ".name is missing");
  PENSTOCK_RETURN_IF_ERROR(CheckText(absl::StrCat(field, ".name"), name, kMaxNameBytes));
  const auto begin = feed.more_images.begin();
  if (name == source::kImage || std::count(begin, feed.more_images.end(), name) > 1)
    return Wrong(field, ".name: '", name,
                 "' is the name of another image; choose names that differ");
  const decode::Spec& decoding = feed.more_decodings[place];
  PENSTOCK_RETURN_IF_ERROR(
      base::Annotate(decode::Validate(decoding), absl::StrCat(field, ".image")));
  if (decoding.canvas != 0 || feed.decoding.canvas != 0)
    return Wrong(field, ".image: a canvas is for sessions with one image of each sample");
  if (decoding.undecoded.place_bytes > 0 || feed.decoding.undecoded.place_bytes > 0)
    return Wrong(field, ".image: undecoded rows are for sessions with one image of each sample");
  if (decoding.color == feed.decoding.color && decoding.exif == feed.decoding.exif)
    return absl::OkStatus();
  return Wrong(field, ".image: color and apply_exif_orientation must be those of feed.image");
}

absl::Status CheckMoreImages(const FeedOptions& feed) {
  if (feed.more_images.size() > kMaxMoreImages)
    return Wrong("feed.more_images: wanted at most ", kMaxMoreImages, ", got ",
                 feed.more_images.size());
  for (size_t i = 0; i < feed.more_images.size(); ++i) {
    PENSTOCK_RETURN_IF_ERROR(CheckMoreImage(feed, i));
  }
  return absl::OkStatus();
}

absl::Status CheckDecoding(const Request& request) {
  if (request.decoding_mode == DecodingMode::kNone) return absl::OkStatus();
  PENSTOCK_RETURN_IF_ERROR(base::Annotate(decode::Validate(request.feed.decoding), "feed.image"));
  return CheckMoreImages(request.feed);
}

absl::Status CheckSizes(const Request& request) {
  const plan::Share& share = request.share;
  if (share.batch_size < 1 || share.batch_size > kMaxBatchSize)
    return Wrong("batch_size: wanted 1 to ", kMaxBatchSize, ", got ", share.batch_size);
  if (request.window < 1 || request.window > shm::kControlCapacity)
    return Wrong("window: wanted 1 to ", shm::kControlCapacity, " batches ahead, got ",
                 request.window);
  if (share.world < 1 || share.world > kMaxWorldSize)
    return Wrong("world_size: wanted 1 to ", kMaxWorldSize, ", got ", share.world);
  if (share.rank >= share.world)
    return Wrong("rank: wanted 0 to ", share.world - 1, " in a world of ", share.world, ", got ",
                 share.rank);
  if (request.epochs > UINT64_MAX - request.first_epoch)
    return Wrong("epochs: ", request.epochs, " from epoch ", request.first_epoch,
                 " on exceed the maximum; request fewer");
  return absl::OkStatus();
}

absl::Status CheckDelivery(const Request& request) {
  PENSTOCK_RETURN_IF_ERROR(CheckText("delivery_reason", request.delivery_reason, kMaxReasonBytes));
  if (request.delivery != Delivery::kDevice) return absl::OkStatus();
  if (request.feed.decoding.undecoded.place_bytes > 0)
    return Wrong("delivery: wanted DELIVERY_HOST or DELIVERY_PINNED for undecoded rows, which the ",
                 "client reads there");
  if (!request.device) return Wrong("device is missing; set the GPU, or request another delivery");
  if (request.device->depth > exporting::kMaxDeviceDepth)
    return Wrong("device.depth: wanted 1 to ", exporting::kMaxDeviceDepth,
                 " batches, or 0 for the daemon's default, got ", request.device->depth);
  if (request.device->client.pid < 0)
    return Wrong("device.pid: wanted a PID, got ", request.device->client.pid);
  return absl::OkStatus();
}

// An iterable dataset's streams give samples in one order, to one trainer at a time.
absl::Status CheckStreams(const Request& request) {
  const PythonFeed& python = *request.feed.python;
  if (python.streams > request.python_workers.count)
    return Wrong("feed.python.streams: wanted at most one for each of ",
                 request.python_workers.count, " workers, got ", python.streams);
  if (python.streams == 0) return absl::OkStatus();
  if (request.share.batch_size != 1)
    return Wrong("batch_size: wanted 1, because of an iterable dataset (feed.python.streams) each ",
                 "sample is a whole batch of its stream, got ", request.share.batch_size);
  if (request.given_order || request.feed.order != plan::Order::kSequential)
    return Wrong("feed.order: wanted ORDER_SEQUENTIAL (1), because an iterable dataset (",
                 "feed.python.streams) has only its own order");
  if (request.feed.range)
    return Wrong("feed.range: wanted none, because an iterable dataset (feed.python.streams) has ",
                 "no numbers for its samples");
  if (request.share.world != 1)
    return Wrong("world_size: wanted 1, because an iterable dataset (feed.python.streams) cannot ",
                 "be divided among ranks, got ", request.share.world,
                 "; let the dataset give each rank its own samples, as a dataset of its own");
  if (python.replace_bad_samples)
    return Wrong("feed.python.replace_bad_samples: wanted false, because an iterable dataset ",
                 "(feed.python.streams) has no other samples to choose from");
  return absl::OkStatus();
}

absl::Status CheckPython(const Request& request) {
  if (!request.feed.python) return absl::OkStatus();
  const uint64_t most = request.feed.python->max_batch_bytes;
  if (most < kMinMadeBytes || most > pool::kMostMadeBytes)
    return Wrong("feed.python.max_batch_bytes: wanted ", kMinMadeBytes, " to ",
                 pool::kMostMadeBytes, ", or 0 for the default, got ", most);
  const PythonWorkers& workers = request.python_workers;
  if (workers.count < 1 || workers.count > shm::kMaxPythonWorkers)
    return Wrong("feed.python.workers: wanted 1 to ", shm::kMaxPythonWorkers, ", got ",
                 workers.count);
  if (workers.timeout < base::Duration::zero() || workers.timeout > kMaxPythonTimeout)
    return Wrong("feed.python.timeout_ms: wanted at most a day, or 0 for an hour");
  return CheckStreams(request);
}

// ---- The request and its dataset ----

bool IsMade(const Target& target) { return target.dataset.storage() == source::Storage::kMade; }

// A Python dataset, and what it alone may and must have.
absl::Status CheckMade(const Target& target, const Request& request) {
  const std::string& name = request.dataset_name;
  if (!IsMade(target)) {
    if (!request.feed.python) return absl::OkStatus();
    return Wrong("feed.python: wanted none, because dataset '", name, "' (", target.dataset.kind(),
                 ") is not made by Python workers; leave it out");
  }
  if (!request.feed.python)
    return Wrong("feed.python is missing; dataset '", name,
                 "' is made by Python workers of its trainer: open it with "
                 "penstock.torch.DataLoader");
  if (request.decoding_mode != DecodingMode::kNone)
    return Wrong("feed.image: wanted none, because dataset '", name,
                 "' is made in Python, and nothing of it is decoded by the daemon; leave it out");
  if (request.delivery == Delivery::kDevice)
    return Wrong("delivery: wanted DELIVERY_HOST (1) or DELIVERY_PINNED (3), got DELIVERY_DEVICE ",
                 "(2): batches of a Python dataset differ in size, and the client copies them to ",
                 "the GPU itself; request pinned delivery");
  return absl::OkStatus();
}

// Whether workers decode the samples.
bool IsEncoded(const Target& target, const Request& request) {
  return target.dataset.storage() == source::Storage::kEncoded ||
         DecodesStoredImages(target.dataset, request);
}

// Stored images come with their labels alone. Those of one channel are decoded as gray ones.
absl::Status FitStoredImages(const Target& target, Request& request) {
  if (!DecodesStoredImages(target.dataset, request)) return absl::OkStatus();
  if (!request.fields.empty())
    return Wrong("feed.fields: wanted none, because the images of dataset '", request.dataset_name,
                 "' (", target.dataset.kind(),
                 ") are stored rows; request no decoding with fields");
  if (source::StoredImages(target.dataset)->channels != 1) return absl::OkStatus();
  request.feed.decoding.color = decode::Color::kGray;
  for (decode::Spec& decoding : request.feed.more_decodings) decoding.color = decode::Color::kGray;
  return absl::OkStatus();
}

bool IsSynthetic(const Target& target) {
  return target.dataset.storage() == source::Storage::kNothing;
}

absl::Status CheckMode(const Target& target, const Request& request) {
  if (!IsEncoded(target, request) && !request.feed.more_images.empty())
    return Wrong("feed.more_images: wanted none, because the rows of dataset '",
                 request.dataset_name, "' (", target.dataset.kind(), ") need no decoding");
  if (IsEncoded(target, request) && request.decoding_mode == DecodingMode::kNone)
    return Wrong("dataset '", request.dataset_name,
                 "' has images, which must be decoded: set a crop; it has no rows as they "
                 "are stored");
  if (!IsEncoded(target, request) && request.decoding_mode == DecodingMode::kRequired)
    return Wrong("dataset '", request.dataset_name, "' (", target.dataset.kind(),
                 ") has rows that are no images of bytes and need no decoding: request no crop, "
                 "flip or other decoding");
  return absl::OkStatus();
}

// The requested samples must be among those that the dataset's name stands for.
absl::Status FitRange(const Target& target, Request& request) {
  std::optional<plan::Range>& range = request.feed.range;
  if (!range) {
    range = target.range;
    return absl::OkStatus();
  }
  if (target.mixture != nullptr)
    return Wrong("dataset '", request.dataset_name,
                 "' is a mixture, which cannot have a range; set ranges for its parts in the "
                 "configuration, or an order");
  return base::Annotate(plan::Validate(*range, target.range),
                        absl::StrCat("dataset '", request.dataset_name, "'"));
}

absl::Status FitWindows(const Target& target, Request& request) {
  plan::Windows& windows = request.feed.windows;
  if (request.feed.order != plan::Order::kShuffledInWindows || windows.shard_samples != 0)
    return absl::OkStatus();
  windows.shard_samples = target.dataset.shard_samples();
  if (windows.shard_samples != 0) return absl::OkStatus();
  return Wrong("dataset '", request.dataset_name, "' (", target.dataset.kind(),
               ") has no shards to shuffle in windows; state how many consecutive samples "
               "form a shard");
}

// Synthetic rows are noise in any order, and the consumer numbers the samples itself. Nothing is
// stored or copied; labels and ids go to the host.
absl::Status FitSynthetic(const Target& target, Request& request) {
  if (!IsSynthetic(target)) return absl::OkStatus();
  if (target.given != nullptr)
    return Wrong("dataset '", request.dataset_name,
                 "' is synthetic, and its samples have only one order; set none");
  request.feed.order = plan::Order::kSequential;
  request.delivery = Delivery::kHost;
  return absl::OkStatus();
}

uint64_t EpochSamples(const Target& target, const Request& request) {
  if (target.given != nullptr) return target.given->size();
  if (target.mixture != nullptr) return target.mixture->epoch_samples();
  return request.feed.range->count;
}

absl::Status FitShare(const Target& target, Request& request) {
  request.share.samples = EpochSamples(target, request);
  PENSTOCK_RETURN_IF_ERROR(plan::Validate(request.share));
  plan::Share whole = request.share;
  whole.consumed = 0;
  if (plan::BatchCount(whole) != 0) return absl::OkStatus();
  return Wrong("rank ", whole.rank, " of ", whole.world, " would never have a batch: an epoch's ",
               whole.samples, " samples in batches of ", whole.batch_size, " for ", whole.world,
               " ranks leave none for it; use smaller batches, fewer ranks, or pad");
}

absl::StatusOr<source::Selection> SelectFields(const Target& target, const Request& request) {
  if (DecodesStoredImages(target.dataset, request)) return source::Selection();
  absl::StatusOr<source::Selection> selection = target.dataset.Select(request.fields);
  if (!selection.ok())
    return base::Annotate(selection.status(), absl::StrCat("dataset '", request.dataset_name, "'"));
  PENSTOCK_RETURN_IF_ERROR(
      FitTargets(request, target.dataset.fields(), IsEncoded(target, request), *selection));
  for (const source::FieldRequest& field : request.fields) {
    const std::vector<std::string>& images = request.feed.more_images;
    if (std::find(images.begin(), images.end(), field.name) != images.end())
      return Wrong("feed.more_images: '", field.name, "' is the name of a field, too");
    if (request.feed.decoding.canvas != 0 && field.name == source::kImageSize)
      return Wrong("feed.fields: '", field.name, "' is what images on a canvas have themselves");
  }
  if (IsEncoded(target, request) || IsMade(target) || !selection->layout.blocks.empty())
    return selection;
  return Wrong("the samples of dataset '", request.dataset_name,
               "' have no fixed-size field; name the wanted variable-length fields, and "
               "the maximum number of elements of each");
}

}  // namespace

bool DecodesStoredImages(const source::Dataset& dataset, const Request& request) {
  return request.decoding_mode == DecodingMode::kRequired && source::StoredImages(dataset);
}

absl::Status CheckText(absl::string_view field, absl::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes)
    return Wrong(field, ": wanted at most ", max_bytes, " bytes, got ", text.size(),
                 "; shorten it");
  const bool clean = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  if (clean) return absl::OkStatus();
  return Wrong(field, ": '", absl::CHexEscape(text), "' has control characters; leave them out");
}

absl::Status CheckDatasetName(absl::string_view name) {
  if (name.empty())
    return Wrong("dataset is missing; set a dataset's name (penstockctl datasets lists them)");
  PENSTOCK_RETURN_IF_ERROR(CheckText("dataset", name, kMaxDatasetBytes));
  if (!absl::StartsWithIgnoreCase(name, "http://") && !absl::StartsWithIgnoreCase(name, "https://"))
    return absl::OkStatus();
  const absl::string_view place = name.substr(name.find("://") + 3);
  if (absl::StrContains(place.substr(0, place.find('/')), '@'))
    return Wrong(
        "dataset: the URL contains a user or a password, and names of datasets are logged; "
        "leave it out");
  if (absl::StrContains(place, '?'))
    return Wrong(
        "dataset: the URL contains a query, which may be a secret, and names of datasets are "
        "logged; use s3:// with keys, or a URL without one");
  return absl::OkStatus();
}

absl::Status Validate(const Request& request) {
  PENSTOCK_RETURN_IF_ERROR(CheckDatasetName(request.dataset_name));
  PENSTOCK_RETURN_IF_ERROR(CheckOrder(request.feed));
  PENSTOCK_RETURN_IF_ERROR(CheckRange(request.feed.range));
  PENSTOCK_RETURN_IF_ERROR(CheckDecoding(request));
  PENSTOCK_RETURN_IF_ERROR(CheckFields(request.fields));
  PENSTOCK_RETURN_IF_ERROR(CheckSizes(request));
  PENSTOCK_RETURN_IF_ERROR(CheckPython(request));
  PENSTOCK_RETURN_IF_ERROR(CheckText("name", request.name, kMaxNameBytes));
  return CheckDelivery(request);
}

absl::StatusOr<source::Selection> Fit(const Target& target, Request& request) {
  PENSTOCK_RETURN_IF_ERROR(Validate(request));
  PENSTOCK_RETURN_IF_ERROR(CheckMade(target, request));
  PENSTOCK_RETURN_IF_ERROR(CheckMode(target, request));
  PENSTOCK_RETURN_IF_ERROR(FitRange(target, request));
  PENSTOCK_RETURN_IF_ERROR(FitStoredImages(target, request));
  PENSTOCK_RETURN_IF_ERROR(FitWindows(target, request));
  PENSTOCK_RETURN_IF_ERROR(FitSynthetic(target, request));
  if (target.given != nullptr)
    PENSTOCK_RETURN_IF_ERROR(target.given->CheckFits(*request.feed.range));
  PENSTOCK_RETURN_IF_ERROR(FitShare(target, request));
  if (request.delivery != Delivery::kDevice) request.device.reset();
  return SelectFields(target, request);
}

}  // namespace penstock::session
