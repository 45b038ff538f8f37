#include "server/source/lists/labels.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/source/files/escape.h"
#include "server/source/files/python_order.h"

namespace penstock::source {
namespace {

bool IsInteger(absl::string_view text) {
  int64_t ignored = 0;
  return absl::SimpleAtoi(text, &ignored);
}

bool IsNumber(absl::string_view text) {
  double ignored = 0;
  return absl::SimpleAtod(text, &ignored);
}

std::string Shown(absl::string_view text) {
  return absl::StrCat("'", EscapeForDisplay(std::string(text.substr(0, 100))), "'");
}

std::vector<std::string> ClassesOfNumbers(const std::vector<int64_t>& values) {
  std::vector<std::string> classes;
  if (values.empty()) return classes;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*least < 0 || *most >= static_cast<int64_t>(kMostListedClasses)) return classes;
  for (int64_t label = 0; label <= *most; ++label) classes.push_back(absl::StrCat(label));
  return classes;
}

}  // namespace

absl::Status LabelCollector::Add(absl::string_view text, bool is_text) {
  if (text.empty())
    return absl::InvalidArgumentError("the label is empty; give every sample a label");
  if (as_ == LabelsAs::kAuto) {
    const bool number = !is_text && IsNumber(text);
    if (number && !IsInteger(text))
      return absl::InvalidArgumentError(absl::StrCat(
          "the label ", Shown(text),
          " is not a 64-bit integer; leave label= out and ask for the column as a field, or "
          "say labels=texts if these are names of classes"));
    as_ = number ? LabelsAs::kNumbers : LabelsAs::kTexts;
    first_ = std::string(text);
  } else if (!first_.empty() && as_ == LabelsAs::kTexts && !is_text && IsNumber(text)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the label ", Shown(text), " is a number, but the first label is the text ", Shown(first_),
        "; correct it, or say labels=texts if it is the name of a class"));
  }
  return as_ == LabelsAs::kNumbers ? AddNumber(text) : AddText(text);
}

absl::Status LabelCollector::AddNumber(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value))
    return absl::InvalidArgumentError(absl::StrCat(
        "the label ", Shown(text), " is not a 64-bit integer",
        first_.empty() ? "" : absl::StrCat(", but the first label, ", Shown(first_), ", is"),
        "; correct it, or say labels=texts if all are names of classes"));
  values_.push_back(value);
  return absl::OkStatus();
}

absl::Status LabelCollector::AddText(absl::string_view text) {
  if (!IsUtf8(text))
    return absl::InvalidArgumentError(
        absl::StrCat("the label ", Shown(text), " is not UTF-8; convert it"));
  const auto number = static_cast<int64_t>(texts_.size());
  const auto [at, is_new] = texts_.emplace(std::string(text), number);
  if (is_new && texts_.size() > kMostListedClasses)
    return absl::InvalidArgumentError(
        absl::StrCat("there are more than ", kMostListedClasses,
                     " different labels; name the column of labels, or leave it out"));
  values_.push_back(at->second);
  return absl::OkStatus();
}

Labels LabelCollector::Finish() {
  Labels labels = {.values = std::move(values_)};
  if (as_ != LabelsAs::kTexts) {
    labels.classes = ClassesOfNumbers(labels.values);
    return labels;
  }
  std::vector<std::pair<std::string, int64_t>> sorted(texts_.begin(), texts_.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return PythonLess(a.first, b.first); });
  std::vector<int64_t> place(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    place[static_cast<size_t>(sorted[i].second)] = static_cast<int64_t>(i);
    labels.classes.push_back(std::move(sorted[i].first));
  }
  for (int64_t& value : labels.values) value = place[static_cast<size_t>(value)];
  texts_.clear();
  return labels;
}

}  // namespace penstock::source
