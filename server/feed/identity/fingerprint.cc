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
constexpr uint64_t kInterpolation = 8000;
constexpr uint64_t kRecipe = 9000;
constexpr uint64_t kCanvas = 11000;
constexpr uint64_t kUndecoded = 13000;

// With the kind, for each field that follows the image's geometry.
constexpr uint64_t kTarget = 12000;

// Before each further image.
constexpr uint64_t kMoreImage = 10000;

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

void Add(const augment::Step& step, Hash& hash) {
  hash.Add(static_cast<uint64_t>(step.op));
  hash.Add(uint64_t{augment::VersionOf(step.op)});
  hash.Add(uint64_t{step.children});
  hash.Add(uint64_t{step.interpolation});
  hash.Add(uint64_t{step.mode});
  hash.Add(uint64_t{step.flags});
  for (const uint8_t value : step.fill.values) hash.Add(uint64_t{value});
  hash.Add(step.probability);
  hash.Add(step.weight);
  for (const double argument : step.args) hash.Add(argument);
}

void Add(const augment::TransformRecipe& recipe, Hash& hash) {
  if (recipe.empty()) return;
  hash.Add(kRecipe + recipe.count);
  for (uint32_t i = 0; i < recipe.count; ++i) Add(recipe.steps[i], hash);
}

void Add(const decode::Spec& decoding, Hash& hash) {
  hash.Add(static_cast<uint64_t>(decoding.geometry));
  hash.Add(uint64_t{decoding.height});
  hash.Add(uint64_t{decoding.width});
  if (decoding.geometry == decode::Geometry::kResizeCenterCrop) {
    hash.Add(uint64_t{decoding.resize});
  } else if (decoding.geometry == decode::Geometry::kRandomResizedCrop) {
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
  if (decoding.interpolation != base::Interpolation::kBilinear) {
    hash.Add(kInterpolation + static_cast<uint64_t>(decoding.interpolation));
  }
  if (decoding.canvas != 0) hash.Add(kCanvas);
  if (decoding.undecoded.place_bytes > 0) {
    hash.Add(kUndecoded);
    hash.Add(uint64_t{decoding.undecoded.place_bytes});
    hash.Add(uint64_t{decoding.undecoded.share});
    hash.Add(decoding.undecoded.decoder);
  }
  Add(decoding.recipe, hash);
}

void AddName(const std::string& name, Hash& hash) {
  hash.Add(uint64_t{name.size()});
  for (const char letter : name) hash.Add(uint64_t{static_cast<uint8_t>(letter)});
}

// Blocks follow from the tensors and the dataset, whose digest comes first.
void Add(const source::Tensor& tensor, Hash& hash) {
  AddName(tensor.name, hash);
  hash.Add(static_cast<uint64_t>(tensor.type));
  hash.Add(uint64_t{tensor.shape.size()});
  for (const uint32_t side : tensor.shape) hash.Add(uint64_t{side});
  hash.Add(uint64_t{tensor.lengths_block ? 1u : 0u});
}

// `place`: of its tensor.
void Add(const base::TargetSpec& target, uint64_t place, Hash& hash) {
  if (target.kind == base::TargetKind::kNone) return;
  hash.Add(kTarget + static_cast<uint64_t>(target.kind));
  hash.Add(place);
  hash.Add(static_cast<uint64_t>(target.format));
  hash.Add(uint64_t{target.relative});
  hash.Add(uint64_t{target.fill});
  hash.Add(double{target.min_side});
  hash.Add(uint64_t{target.pairs});
  for (uint32_t i = 0; i < 2 * target.pairs; ++i) hash.Add(uint64_t{target.pair[i]});
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
  const uint32_t place_bytes = decoding.undecoded.place_bytes;
  source::RowLayout layout = place_bytes > 0 ? source::ImageLayout(1, place_bytes, 1)
                                             : source::ImageLayout(decoding.height, decoding.width,
                                                                   decode::Channels(decoding));
  for (size_t i = 0; i < more_images.size(); ++i) {
    const decode::Spec& spec = more_decodings[i];
    layout.Add(more_images[i], base::DType::kUInt8,
               {spec.height, spec.width, decode::Channels(spec)});
  }
  const auto first = static_cast<uint32_t>(layout.blocks.size());
  const source::RowLayout& more = selection.layout;
  layout.blocks.insert(layout.blocks.end(), more.blocks.begin(), more.blocks.end());
  for (source::Tensor tensor : more.tensors) {
    tensor.block += first;
    if (tensor.lengths_block) *tensor.lengths_block += first;
    layout.tensors.push_back(std::move(tensor));
  }
  if (decoding.canvas != 0) layout.Add(source::kImageSize, base::DType::kInt32, {2});
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
    for (size_t i = 0; i < spec.more_images.size(); ++i) {
      hash.Add(kMoreImage);
      AddName(spec.more_images[i], hash);
      Add(spec.more_decodings[i], hash);
    }
  } else {
    hash.Add(kAsStored + static_cast<uint64_t>(spec.storage));
  }
  for (const source::Tensor& tensor : spec.selection.layout.tensors) Add(tensor, hash);
  for (size_t i = 0; i < spec.selection.targets.size(); ++i) {
    Add(spec.selection.targets[i], i, hash);
  }
  if (spec.python) Add(*spec.python, hash);
  return hash.value() == 0 ? 1 : hash.value();
}

}  // namespace penstock::feed
