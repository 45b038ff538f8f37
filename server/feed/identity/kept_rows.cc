#include "server/feed/identity/kept_rows.h"

#include <algorithm>

namespace penstock::feed {
namespace {

using augment::Op;

bool IsCertain(const augment::Step& step) {
  constexpr Op kCertain[] = {Op::kPad, Op::kCenterCrop, Op::kResize, Op::kGrayscale};
  return std::ranges::find(kCertain, step.op) != std::end(kCertain) && step.probability == 1;
}

}  // namespace

bool DrawsNothing(const decode::Spec& decoding) {
  if (decoding.geometry == decode::Geometry::kRandomResizedCrop) return false;
  if (decoding.undecoded.place_bytes > 0) return false;  // files are kept by the kernel already
  if (decoding.flip_probability != 0) return false;
  return std::all_of(decoding.recipe.steps, decoding.recipe.steps + decoding.recipe.count,
                     IsCertain);
}

bool MayKeepRows(const FeedSpec& spec) {
  return spec.storage == source::Storage::kEncoded && !spec.stored_images && !spec.python &&
         DrawsNothing(spec.decoding) && std::ranges::all_of(spec.more_decodings, DrawsNothing);
}

bool MayKeepImages(const FeedSpec& spec) {
  return spec.storage == source::Storage::kEncoded && !spec.stored_images && !spec.python &&
         !spec.packed && spec.decoding.undecoded.place_bytes == 0;
}

uint64_t ImagesFingerprint(const FeedSpec& spec) {
  constexpr uint64_t kOfDigest = 0x9E3779B97F4A7C15, kOfSamples = 0xC2B2AE3D27D4EB4F;
  return spec.dataset_digest * kOfDigest + spec.samples * kOfSamples +
         static_cast<uint64_t>(spec.decoding.exif);
}

uint64_t RowsFingerprint(FeedSpec spec) {
  static const session::FeedOptions kAnyOrder;
  spec.order = kAnyOrder.order;
  spec.given_by = kAnyOrder.given_by;
  spec.windows = kAnyOrder.windows;
  spec.range = kAnyOrder.range;
  spec.seed = kAnyOrder.seed;
  spec.given = nullptr;
  spec.mixture = nullptr;
  return Fingerprint(spec);
}

}  // namespace penstock::feed
