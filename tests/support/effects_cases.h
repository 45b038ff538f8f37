// Effects for tests of the finish: many combinations, and a reference that applies them element by
// element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/finish/effects/effects.h"

namespace penstock::finish {

struct EffectsCase {
  std::string name;
  std::vector<Erasure> erasures = {};
  EraseFill fill = EraseFill::kValue;
  Mix mix = {};

  // Refers to this case.
  Effects ToEffects() const;
};

// Every kind of mix with and without boxes that are empty, whole lines, corners and random, filled
// with values or with noise.
std::vector<EffectsCase> EffectsCases(const Spec& spec, const Shape& shape);

// Computes element by element what penstock/effects.h says.
std::vector<std::byte> NaiveEffects(const Spec& spec, const Effects& effects, const Shape& shape,
                                    const std::vector<uint8_t>& rows);

// Labels below `classes`, some equal to their neighbours'.
std::vector<int64_t> RandomLabels(uint32_t rows, uint32_t classes);
std::vector<float> NaiveSoftLabels(const Mix& mix, const std::vector<int64_t>& labels,
                                   uint32_t classes);

}  // namespace penstock::finish
