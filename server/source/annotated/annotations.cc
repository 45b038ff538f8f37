#include "server/source/annotated/annotations.h"

#include "common/base/check.h"

namespace penstock::source {
namespace {

constexpr ObjectValueFacts kFacts[kObjectValues] = {
    {"boxes", base::DType::kFloat32, 4},       {"labels", base::DType::kInt64, 1},
    {"area", base::DType::kFloat32, 1},        {"iscrowd", base::DType::kInt64, 1},
    {"annotation_id", base::DType::kInt64, 1}, {"keypoints", base::DType::kFloat32, 0},
    {"difficult", base::DType::kUInt8, 1},     {"truncated", base::DType::kUInt8, 1},
};

}  // namespace

const ObjectValueFacts& FactsOf(ObjectValue what) {
  PENSTOCK_CHECK(static_cast<uint32_t>(what) < kObjectValues);
  return kFacts[static_cast<uint32_t>(what)];
}

uint64_t BytesOf(ObjectValue what, uint32_t points) {
  const ObjectValueFacts& facts = FactsOf(what);
  const uint64_t numbers = facts.numbers == 0 ? uint64_t{3} * points : facts.numbers;
  return numbers * base::ElementBytes(facts.type);
}

uint64_t Annotations::objects() const {
  uint64_t all = 0;
  for (const AnnotatedImage& image : images) all += image.objects;
  return all;
}

}  // namespace penstock::source
