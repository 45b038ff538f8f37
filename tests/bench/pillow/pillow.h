// Pillow as a peer: a Python process that decodes, crops and resizes the same crops of the same
// files, whenever it is told to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/decode/core/spec.h"
#include "tests/bench/harness/measure.h"

namespace penstock::bench {

struct PillowCrop {
  std::string path;
  decode::Draw draw;
};

class Pillow {
 public:
  // Unavailable if there is no Pillow; the message says why.
  static absl::StatusOr<std::unique_ptr<Pillow>> Start(const decode::Spec& spec,
                                                       const std::vector<PillowCrop>& crops);
  virtual ~Pillow() = default;

  // Processes all crops once; returns the seconds of CPU time that it took.
  virtual absl::StatusOr<double> Run() = 0;
};

}  // namespace penstock::bench
