// The specification of CIFAR's files, and the names of its classes. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"

namespace penstock::source {

enum class CifarSplit { kTrain, kTest };
enum class CifarLabels { kFine, kCoarse };  // CIFAR-100's 100 classes, or its 20 superclasses

struct CifarSpec {
  std::string folder = {};  // absolute
  CifarSplit split = CifarSplit::kTrain;
  CifarLabels labels = CifarLabels::kFine;
  bool operator==(const CifarSpec&) const = default;
};

// Text form: "cifar:/data/cifar-10-batches-bin,split=train|test,labels=fine|coarse".
bool IsCifarText(absl::string_view text);
absl::StatusOr<CifarSpec> ParseCifarText(absl::string_view text);
std::string ToString(const CifarSpec& spec);

std::vector<std::string> Cifar10Classes();
std::vector<std::string> Cifar100Classes(CifarLabels labels);

}  // namespace penstock::source
