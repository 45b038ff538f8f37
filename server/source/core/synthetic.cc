#include "server/source/core/synthetic.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "common/base/hash.h"
#include "common/base/synthetic.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kSyntheticPrefix = "synthetic:";

template <typename... Words>
absl::Status Wrong(absl::string_view text, const Words&... words) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "': ", words...,
                   "; wanted synthetic:HEIGHTxWIDTHxCHANNELS,samples=N,classes=N,seed=N, each of "
                   "which may be left out"));
}

absl::Status CheckRange(absl::string_view name, uint64_t value, uint64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("synthetic ", name, ": wanted 1 to ", most, ", got ", value));
}

absl::Status ParseShape(absl::string_view text, absl::string_view part, RowShape& shape) {
  const std::vector<absl::string_view> sides = absl::StrSplit(part, 'x');
  if (sides.size() != 3 || !absl::SimpleAtoi(sides[0], &shape.height) ||
      !absl::SimpleAtoi(sides[1], &shape.width) || !absl::SimpleAtoi(sides[2], &shape.channels))
    return Wrong(text, "'", part, "' is no shape");
  return absl::OkStatus();
}

absl::Status ParseField(absl::string_view text, absl::string_view part, SyntheticSpec& spec) {
  const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(part, '=');
  const bool understood = field.first == "samples"   ? absl::SimpleAtoi(field.second, &spec.samples)
                          : field.first == "classes" ? absl::SimpleAtoi(field.second, &spec.classes)
                          : field.first == "seed"    ? absl::SimpleAtoi(field.second, &spec.seed)
                                                     : false;
  return understood ? absl::OkStatus() : Wrong(text, "'", part, "' is not understood");
}

class SyntheticDataset final : public Dataset {
 public:
  explicit SyntheticDataset(const SyntheticSpec& spec) : spec_(spec) {
    for (uint32_t c = 0; c < spec.classes; ++c) classes_.push_back(absl::StrCat(c));
  }

  absl::string_view kind() const override { return "synthetic"; }
  uint64_t samples() const override { return spec_.samples; }
  uint64_t digest() const override { return base::Hash(ToString(spec_)); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < spec_.samples);
    return base::SyntheticLabel(spec_.seed, sample, spec_.classes);
  }
  std::string path(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < spec_.samples);
    return absl::StrCat(ToString(spec_), "#", sample);
  }
  Storage storage() const override { return Storage::kNothing; }
  std::vector<SampleField> fields() const override {
    return {
        {.name = kImage, .shape = {spec_.shape.height, spec_.shape.width, spec_.shape.channels}}};
  }
  // Nothing is stored, so the block has no bytes.
  absl::StatusOr<Selection> Select(std::span<const FieldRequest> requests) const override {
    PENSTOCK_ASSIGN_OR_RETURN(Selection selection, Dataset::Select(requests));
    for (uint64_t& bytes : selection.layout.blocks) bytes = 0;
    return selection;
  }
  uint64_t row_seed() const override { return spec_.seed; }

 private:
  const SyntheticSpec spec_;
  std::vector<std::string> classes_;
};

}  // namespace

absl::Status Validate(const SyntheticSpec& spec) {
  PENSTOCK_RETURN_IF_ERROR(CheckRange("samples", spec.samples, kMaxSyntheticSamples));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("height", spec.shape.height, kMaxSyntheticSide));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("width", spec.shape.width, kMaxSyntheticSide));
  PENSTOCK_RETURN_IF_ERROR(CheckRange("channels", spec.shape.channels, kMaxSyntheticChannels));
  return CheckRange("classes", spec.classes, kMaxSyntheticClasses);
}

bool IsSynthetic(absl::string_view text) { return absl::StartsWith(text, kSyntheticPrefix); }

absl::StatusOr<SyntheticSpec> ParseSynthetic(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kSyntheticPrefix))
    return Wrong(text, "it does not begin with ", kSyntheticPrefix);
  SyntheticSpec spec;
  bool first = true;
  for (const absl::string_view part : absl::StrSplit(rest, ',')) {
    const bool shape = first && !absl::StrContains(part, '=');
    if (shape && part.empty()) {
      first = false;
      continue;  // "synthetic:" and "synthetic:,samples=…"
    }
    PENSTOCK_RETURN_IF_ERROR(shape ? ParseShape(text, part, spec.shape)
                                   : ParseField(text, part, spec));
    first = false;
  }
  PENSTOCK_RETURN_IF_ERROR(Validate(spec));
  return spec;
}

std::string ToString(const SyntheticSpec& spec) {
  return absl::StrCat(kSyntheticPrefix, spec.shape.height, "x", spec.shape.width, "x",
                      spec.shape.channels, ",samples=", spec.samples, ",classes=", spec.classes,
                      ",seed=", spec.seed);
}

std::unique_ptr<Dataset> MakeSynthetic(const SyntheticSpec& spec) {
  PENSTOCK_CHECK(Validate(spec).ok());
  return std::make_unique<SyntheticDataset>(spec);
}

}  // namespace penstock::source
