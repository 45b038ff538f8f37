#include "server/source/made/python_dataset.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "common/base/hash.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kPythonPrefix = "python:";
constexpr size_t kShownDigits = 8;  // enough to tell a few datasets apart

template <typename... Words>
absl::Status NotPython(absl::string_view text, const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "': ", words..., "; wanted ", kPythonPrefix, "id=ID,samples=N with an id of 1 to ",
      kMaxPythonIdDigits, " hexadecimal digits and 1 to ", kMaxPythonSamples, " samples"));
}

bool IsId(absl::string_view id) {
  return !id.empty() && id.size() <= kMaxPythonIdDigits &&
         std::all_of(id.begin(), id.end(), absl::ascii_isxdigit);
}

bool IsCount(absl::string_view digits, uint64_t& count) {
  return std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(digits, &count) && count >= 1 && count <= kMaxPythonSamples;
}

class PythonDataset final : public Dataset {
 public:
  explicit PythonDataset(const PythonSpec& spec) : spec_(spec) {}

  absl::string_view kind() const override { return "python"; }
  uint64_t samples() const override { return spec_.samples; }
  // Of all Python datasets: an id may be random, and then differs between runs of one program. What
  // stays the same is in the feed's options (session::PythonFeed::digest).
  uint64_t digest() const override { return base::Hash(kPythonPrefix); }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool labeled() const override { return false; }
  int64_t label(uint64_t) const override { return 0; }
  std::string path(uint64_t sample) const override {
    PENSTOCK_CHECK(sample < spec_.samples);
    return absl::StrCat("dataset[", sample, "] of Python dataset ",
                        spec_.id.substr(0, kShownDigits));
  }
  Storage storage() const override { return Storage::kMade; }
  absl::StatusOr<Selection> Select(std::span<const FieldRequest> requests) const override {
    if (requests.empty()) return Selection{};
    return absl::InvalidArgumentError(
        absl::StrCat("a Python dataset's batches have the structure that its program gives them, "
                     "and no fields to choose from: got '",
                     requests.front().name, "', expected none; leave the fields out"));
  }

 private:
  const PythonSpec spec_;
  const std::vector<std::string> classes_;
};

}  // namespace

bool IsPython(absl::string_view text) { return absl::StartsWith(text, kPythonPrefix); }

absl::StatusOr<PythonSpec> ParsePython(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kPythonPrefix))
    return NotPython(text, "it does not begin with ", kPythonPrefix);
  PythonSpec spec;
  for (const absl::string_view part : absl::StrSplit(rest, ',')) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(part, '=');
    if (field.first == "id" && spec.id.empty() && IsId(field.second)) {
      spec.id = absl::AsciiStrToLower(field.second);
    } else if (field.first != "samples" || spec.samples != 0 ||
               !IsCount(field.second, spec.samples)) {
      return NotPython(text, "'", part, "' is not understood");
    }
  }
  if (spec.id.empty()) return NotPython(text, "it has no id");
  if (spec.samples == 0) return NotPython(text, "it has no number of samples");
  return spec;
}

std::string ToString(const PythonSpec& spec) {
  return absl::StrCat(kPythonPrefix, "id=", spec.id, ",samples=", spec.samples);
}

std::unique_ptr<Dataset> MakePython(const PythonSpec& spec) {
  PENSTOCK_CHECK(IsId(spec.id) && spec.samples >= 1 && spec.samples <= kMaxPythonSamples);
  return std::make_unique<PythonDataset>(spec);
}

}  // namespace penstock::source
