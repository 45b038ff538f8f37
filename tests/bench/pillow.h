// Pillow's own chain as a peer: a Python process that decodes, crops and resizes the same crops of
// the same files, as often as it is told to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/decode/core/spec.h"
#include "tests/bench/measure.h"

namespace penstock::bench {

struct PillowCrop {
  std::string path;
  decode::Draw draw;
};

class Pillow {
 public:
  // Unavailable says why there is none here.
  static absl::StatusOr<std::unique_ptr<Pillow>> Start(const decode::Spec& spec,
                                                       const std::vector<PillowCrop>& crops);
  virtual ~Pillow() = default;

  // All crops once: the seconds of a core that it took.
  virtual absl::StatusOr<double> Run() = 0;
};

}  // namespace penstock::bench
