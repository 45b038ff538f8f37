#include "server/feed/identity/fingerprint.h"

#include <bit>
#include <utility>

#include "server/plan/hash.h"

namespace penstock::feed {
namespace {

// Takes the place of an order's number.
constexpr uint64_t kGiven = 2;

// Takes, with the storage's number, the place of a decoding's geometry.
constexpr uint64_t kAsStored = 1000;

// Appended, with the option's number, to what all decodings have.
constexpr uint64_t kColor = 2000;
constexpr uint64_t kExif = 3000;

// Appended to the order, if it applies.
constexpr uint64_t kRange = 4000;
constexpr uint64_t kMixture = 5000;
constexpr uint64_t kGivenBy = 6000;

// Appended to all else, for a Python dataset.
constexpr uint64_t kPython = 7000;

class Hash {
 public:
  void Add(uint64_t word) { state_ = plan::HashOn(state_, word); }
  void Add(double number) { Add(std::bit_cast<uint64_t>(number)); }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0;
};

void Add(const decode::Spec& decoding, Hash& hash) {
  hash.Add(static_cast<uint64_t>(decoding.geometry));
  hash.Add(uint64_t{decoding.height});
  hash.Add(uint64_t{decoding.width});
  if (decoding.geometry == decode::Geometry::kResizeCenterCrop) {
    hash.Add(uint64_t{decoding.resize});
  } else {
    hash.Add(decoding.scale_min);
    hash.Add(decoding.scale_max);
    hash.Add(decoding.ratio_min);
    hash.Add(decoding.ratio_max);
  }
  hash.Add(decoding.flip_probability);
  // Appended only if it isn't the default, because the option is newer than existing fingerprints.
  if (decoding.color != decode::Color::kRgb) {
    hash.Add(kColor + static_cast<uint64_t>(decoding.color));
  }
  if (decoding.exif != decode::Exif::kIgnore) {
    hash.Add(kExif + static_cast<uint64_t>(decoding.exif));
  }
}

// Blocks follow from the tensors and the dataset, whose digest comes first.
void Add(const source::Tensor& tensor, Hash& hash) {
  hash.Add(uint64_t{tensor.name.size()});
  for (const char letter : tensor.name) hash.Add(uint64_t{static_cast<uint8_t>(letter)});
  hash.Add(static_cast<uint64_t>(tensor.type));
  hash.Add(uint64_t{tensor.shape.size()});
  for (const uint32_t side : tensor.shape) hash.Add(uint64_t{side});
  hash.Add(uint64_t{tensor.lengths_block ? 1u : 0u});
}

// What decides a made batch's bytes. The number of workers and their limits do not.
void Add(const session::PythonFeed& python, Hash& hash) {
  hash.Add(kPython);
  hash.Add(python.digest);
  hash.Add(uint64_t{python.streams});
  hash.Add(uint64_t{python.replace_bad_samples ? 1u : 0u});
}

void AddOrder(const FeedSpec& spec, Hash& hash) {
  hash.Add(static_cast<uint64_t>(spec.order));
  if (spec.order == plan::Order::kShuffledInWindows) {
    hash.Add(spec.windows.shard_samples);
    hash.Add(uint64_t{spec.windows.shards});
  }
  const plan::Range range = spec.Within();
  if (range != plan::Range{.first = 0, .count = spec.samples}) {
    hash.Add(kRange);
    hash.Add(range.first);
    hash.Add(range.count);
  }
  if (spec.mixture != nullptr) {
    hash.Add(kMixture);
    hash.Add(spec.mixture->hash());
  }
}

void AddGiven(const FeedSpec& spec, Hash& hash) {
  hash.Add(kGiven);
  hash.Add(spec.given->hash());
  if (spec.given_by == plan::GivenBy{}) return;
  hash.Add(kGivenBy);
  hash.Add(uint64_t{spec.given_by.rank});
  hash.Add(uint64_t{spec.given_by.ranks});
}

}  // namespace

source::RowLayout FeedSpec::Layout() const {
  if (storage != source::Storage::kEncoded) return selection.layout;
  source::RowLayout layout =
      source::ImageLayout(decoding.height, decoding.width, decode::Channels(decoding));
  const auto first = static_cast<uint32_t>(layout.blocks.size());
  const source::RowLayout& more = selection.layout;
  layout.blocks.insert(layout.blocks.end(), more.blocks.begin(), more.blocks.end());
  for (source::Tensor tensor : more.tensors) {
    tensor.block += first;
    if (tensor.lengths_block) *tensor.lengths_block += first;
    layout.tensors.push_back(std::move(tensor));
  }
  return layout;
}

uint64_t FeedSpec::epoch_samples() const {
  if (given != nullptr) return given->size();
  return mixture != nullptr ? mixture->epoch_samples() : Within().count;
}

uint64_t Fingerprint(const FeedSpec& spec) {
  Hash hash;
  hash.Add(spec.dataset_digest);
  hash.Add(spec.samples);
  if (spec.given != nullptr) {
    AddGiven(spec, hash);
  } else {
    AddOrder(spec, hash);
  }
  hash.Add(spec.seed);
  if (spec.storage == source::Storage::kEncoded) {
    Add(spec.decoding, hash);
  } else {
    hash.Add(kAsStored + static_cast<uint64_t>(spec.storage));
  }
  for (const source::Tensor& tensor : spec.selection.layout.tensors) Add(tensor, hash);
  if (spec.python) Add(*spec.python, hash);
  return hash.value() == 0 ? 1 : hash.value();
}

}  // namespace penstock::feed
