#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/source/annotated/note_scan.h"

namespace penstock::source {
namespace {

constexpr size_t kNumbers = 5;       // the class, and the box
constexpr double kTolerance = 0.01;  // beyond the image's edges, as Ultralytics allows

template <typename... Words>
absl::Status WrongLine(const Words&... words) {
  return absl::InvalidArgumentError(absl::StrCat(
      words..., "; wanted 5 numbers, CLASS X Y WIDTH HEIGHT, as shares of the image's sides"));
}

absl::Status CheckLength(size_t numbers) {
  if (numbers == kNumbers) return absl::OkStatus();
  if (numbers > kNumbers && numbers % 2 == 1)
    return WrongLine("the line has ", numbers,
                     " numbers, as a polygon or keypoints have, which are not read");
  return WrongLine("the line has ", numbers, " numbers");
}

absl::Status ScanLine(absl::string_view line, Annotations& into) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  PENSTOCK_RETURN_IF_ERROR(CheckLength(words.size()));
  double numbers[kNumbers];
  for (size_t i = 0; i < kNumbers; ++i)
    if (!ToDecimal(words[i], numbers[i]) || !std::isfinite(numbers[i]))
      return WrongLine("the number ", i + 1, " of the line is none");
  const double number = numbers[0];
  if (number < 0 || number > std::numeric_limits<int32_t>::max() || number != std::floor(number))
    return WrongLine("the class is ", number);
  for (size_t i = 1; i < kNumbers; ++i) {
    if (numbers[i] < -kTolerance || numbers[i] > 1 + kTolerance)
      return WrongLine("the number ", i + 1, " of the line is ", numbers[i]);
    into.columns[0].Add(static_cast<float>(numbers[i]));
  }
  into.columns[1].Add(static_cast<int64_t>(number));
  return absl::OkStatus();
}

}  // namespace

Annotations NewYolo() {
  return {.columns = {{.what = ObjectValue::kBoxes}, {.what = ObjectValue::kLabels}}};
}

absl::Status ScanYolo(absl::string_view text, Annotations& into, uint32_t& objects) {
  uint64_t number = 0;
  for (const absl::string_view each : absl::StrSplit(text, '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(each);
    if (line.empty()) continue;
    if (const absl::Status status = ScanLine(line, into); !status.ok())
      return absl::InvalidArgumentError(absl::StrCat(number, ": ", status.message()));
    ++objects;
  }
  return absl::OkStatus();
}

}  // namespace penstock::source
