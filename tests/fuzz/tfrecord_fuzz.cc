// Arbitrary bytes as a record's data (a tf.train.Example), and as a file of records: every feature
// and value lies within its record, and counting and reading values agree.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/check.h"
#include "common/base/crc32c.h"
#include "server/source/tfrecord/tfrecord_format.h"
#include "server/unpack/example_sample.h"

using namespace penstock::source;
using namespace penstock::unpack;

namespace {

void CheckString(ExampleBytes& example, const Feature& feature) {
  const auto only = OnlyString(example, feature);
  if (!only.ok() || !*only) return;
  PENSTOCK_CHECK((*only)->offset >= feature.offset && (*only)->bytes <= feature.bytes);
  PENSTOCK_CHECK((*only)->offset - feature.offset <= feature.bytes - (*only)->bytes);
  const auto count = CountValues(example, feature);
  PENSTOCK_CHECK(count.ok() && *count >= 1);
}

void CheckNumbers(ExampleBytes& example, const Feature& feature) {
  std::vector<int64_t> ints(3);
  std::vector<float> floats(3);
  const auto read = feature.kind == FeatureKind::kInts ? ReadInts(example, feature, ints)
                                                       : ReadFloats(example, feature, floats);
  const auto count = CountValues(example, feature);
  if (read.ok()) PENSTOCK_CHECK(count.ok() && *count == *read);
}

void CheckExample(std::span<const std::byte> bytes) {
  ExampleInMemory example(bytes);
  const auto features = ParseExample(example);
  if (!features.ok()) return;
  PENSTOCK_CHECK(features->size() <= kMostFeatures);
  for (const Feature& feature : *features) {
    PENSTOCK_CHECK(feature.offset <= bytes.size());
    PENSTOCK_CHECK(feature.bytes <= bytes.size() - feature.offset);
    if (feature.kind == FeatureKind::kBytes) CheckString(example, feature);
    if (feature.kind > FeatureKind::kBytes) CheckNumbers(example, feature);
  }
}

void CheckFile(std::span<const std::byte> file) {
  for (uint64_t at = 0; at < file.size();) {
    const auto header = file.subspan(at, std::min<uint64_t>(kRecordHeader, file.size() - at));
    const auto bytes = ParseRecordHeader(header, {"x", at, file.size()});
    if (!bytes.ok()) return;
    at += kRecordHeader;
    PENSTOCK_CHECK(*bytes + kRecordFooter <= file.size() - at);
    ExampleSample sample;
    (void)sample.Open(file.subspan(at, *bytes + kRecordFooter));
    CheckExample(file.subspan(at, *bytes));
    at += *bytes + kRecordFooter;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  PENSTOCK_CHECK(penstock::base::Crc32c(bytes) == penstock::base::PortableCrc32c(bytes));
  CheckFile(bytes);
  CheckExample(bytes);
  return 0;
}
