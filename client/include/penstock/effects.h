// Effects that the finish applies to the values of a batch as it writes them: erased boxes, MixUp,
// CutMix, and soft labels. Plain values, and pure functions that draw them;
// server/plan/README.md specifies the draws.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "penstock/export.h"
#include "penstock/finish.h"
#include "penstock/sampling.h"
#include "penstock/status.h"

namespace penstock {

class Batch;

// A box of an image, in pixels. Empty if a side is 0.
struct PixelBox {
  uint32_t x = 0, y = 0, width = 0, height = 0;
  bool operator==(const PixelBox&) const = default;
};

// What is erased from one row: at most one box.
struct Erasure {
  PixelBox box = {};
  uint64_t noise_key = 0;  // for EraseFill::kNoise
  bool operator==(const Erasure&) const = default;
};

// kValue: a constant for each channel. kNoise: normal variates, of mean 0 and deviation 1.
enum class EraseFill { kValue, kNoise };

// How a batch's rows are mixed with each other. Row i's partner is row i − 1, and row 0's is the
// last one, of all rows that are delivered, padding included: torch's roll(1, 0). `share` is what
// remains of row i itself.
//
// kMixUp:  fl(fl(partner · fl(1 − share)) + fl(row · fl(share))), in float32
// kCutMix: the partner's values inside `box`, the row's own outside of it
enum class MixKind { kNone, kMixUp, kCutMix };
struct Mix {
  MixKind kind = MixKind::kNone;
  double share = 1.0;  // in [0, 1]; for kCutMix what is outside of the box
  PixelBox box = {};   // for kCutMix
  bool operator==(const Mix&) const = default;
};

// The effects on one batch, in this order: erased boxes, then the mix, then the rounding to half
// types. Values are those of the finished image: after the mean and the standard deviation.
//
// uint8 takes erased boxes with whole numbers of 0 to 255, and nothing else.
struct Effects {
  std::span<const Erasure> erasures = {};  // one for each row; empty: none
  EraseFill fill = EraseFill::kValue;
  float value[3] = {0, 0, 0};  // of an erased box, for each channel
  Mix mix = {};
  // Receives rows × classes numbers: the one-hot labels, mixed like the images of kMixUp by the
  // mix's share. Device memory for a batch on a GPU, else host memory. Null: not wanted.
  float* soft_labels = nullptr;
  uint32_t classes = 0;  // with soft labels: above every label
};

// Parameters of torchvision's RandomErasing, with its defaults.
struct RandomErasing {
  double probability = 0.5;
  double scale_min = 0.02, scale_max = 0.33;  // share of the image's area, in [0, 1]
  double ratio_min = 0.3, ratio_max = 3.3;    // height / width of the box, above 0
  EraseFill fill = EraseFill::kValue;
  float value[3] = {0, 0, 0};  // for each channel
  uint32_t step = 1;           // keys the draws; see DrawKey
};

// One of the mixes among which a batch's is chosen.
struct MixChoice {
  MixKind kind = MixKind::kMixUp;  // kNone: the batch is not mixed
  double alpha = 1.0;              // of the distribution Beta(alpha, alpha); 1e-9 to 1e9
  double weight = 1.0;             // its probability, in proportion to the others
};

// Identifies draws. No two transforms of a feed have the same view and step.
struct DrawKey {
  uint64_t seed = 0, epoch = 0;
  uint32_t view = 0;  // number of the view of the sample, below 256; 0 if there is only one
  uint32_t step = 1;  // 1 + place of the transform in its list, below 65536
};

// Draws one erasure for each key of a row (RowKeys), for images of this size.
//
// **Errors**: kInvalidArgument names the parameter that is out of its range.
PENSTOCK_EXPORT Result<std::vector<Erasure>> DrawErasures(const RandomErasing& erasing,
                                                          const DrawKey& key,
                                                          std::span<const uint64_t> rows,
                                                          uint32_t height, uint32_t width);

// Draws the mix of the batch that begins at position `first` of the epoch's order: with this
// probability one of the choices, else none. Ranks have different positions, and so does a resumed
// trainer have those it would have had.
//
// **Errors**: as DrawErasures.
PENSTOCK_EXPORT Result<Mix> DrawMix(std::span<const MixChoice> choices, double probability,
                                    const DrawKey& key, uint64_t first, uint32_t height,
                                    uint32_t width);

// What a row's draws are keyed by.
struct RowKeying {
  // By position and sample together: for feeds whose samples may come more than once in an epoch (a
  // given order, a mixture). Otherwise by sample, except for padding.
  bool by_position = false;
  GivenBy given_by = {};  // the session's, if each rank gives an order of its own
};

// The keys of a batch's rows. A substitute for a bad sample has the key of the sample that it is.
PENSTOCK_EXPORT std::vector<uint64_t> RowKeys(const RowKeying& keying, uint64_t first,
                                              std::span<const uint64_t> sample_ids,
                                              uint32_t valid_rows);

// The effects of a whole feed, from which each batch's are drawn.
struct EffectOptions {
  uint64_t seed = 0;  // the session's
  uint32_t view = 0;
  std::optional<RandomErasing> erasing = {};
  std::vector<MixChoice> mixes = {};
  double mix_probability = 1.0;
  uint32_t mix_step = 2;
  uint32_t classes = 0;  // of soft labels; 0: not wanted
  RowKeying keying = {};
};

// The effects drawn for one batch. Owns what they refer to; soft labels' memory is the caller's.
class DrawnEffects {
 public:
  DrawnEffects(std::vector<Erasure> erasures, const Effects& effects)
      : erasures_(std::move(erasures)), effects_(effects) {}
  // `soft_labels`: as in Effects.
  Effects For(float* soft_labels) const {
    Effects effects = effects_;
    effects.erasures = erasures_;
    effects.soft_labels = soft_labels;
    return effects;
  }

 private:
  std::vector<Erasure> erasures_;
  Effects effects_;
};

// **Errors**: as DrawErasures; kFailedPrecondition if the batch was released.
PENSTOCK_EXPORT Result<DrawnEffects> DrawEffects(const EffectOptions& options, const Batch& batch);

}  // namespace penstock
