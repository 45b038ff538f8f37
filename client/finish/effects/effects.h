// The finish with effects, on the CPU: as ../finish.h, and erases, mixes and makes soft labels in
// the same pass. penstock/effects.h says what the effects are.
//
// Guaranteed for every machine, CPU variant and GPU: the same bits. The values of float types are
// computed as float32 and rounded once to a half type, after the mix.
//
// **Thread safety**: pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "client/finish/finish.h"
#include "client/finish/synthetic.h"
#include "penstock/effects.h"

namespace penstock::finish {

// Values of an erased box, at most one for each channel.
inline constexpr uint32_t kEffectChannels = 3;

// The factors of a mix in float32, as torch rounds them.
struct MixFactors {
  float of_partner = 0, of_row = 1;
};
inline MixFactors ToFactors(const Mix& mix) {
  return {static_cast<float>(1.0 - mix.share), static_cast<float>(mix.share)};
}

constexpr uint32_t PartnerOf(uint32_t row, uint32_t rows) { return row == 0 ? rows - 1 : row - 1; }

// Whether there is anything for ApplyWithEffects to do that Apply does not.
bool HasEffects(const Effects& effects);

// Checks that the effects fit the finish and the rows. InvalidArgument names what does not.
absl::Status CheckEffects(const Spec& spec, const Shape& shape, const Effects& effects);

// Checks that the labels fit the soft labels: one for each row, below the number of classes.
absl::Status CheckSoftLabels(const Effects& effects, uint32_t rows,
                             std::span<const int64_t> labels);

// As Apply. `labels`: one for each row if soft labels are wanted, else not read.
absl::Status ApplyWithEffects(const Spec& spec, const Effects& effects, const Shape& shape,
                              std::span<const uint8_t> rows, std::span<const int64_t> labels,
                              std::span<std::byte> into);
absl::Status ApplyWithEffects(const Spec& spec, const Effects& effects, const Shape& shape,
                              std::span<const uint8_t> rows, std::span<const int64_t> labels,
                              std::span<std::byte> into, Variant variant);

// As Synthesize.
absl::Status SynthesizeWithEffects(const Synthetic& what, const Spec& spec, const Effects& effects,
                                   const Shape& shape, std::span<std::byte> into,
                                   std::span<int64_t> labels);

}  // namespace penstock::finish
