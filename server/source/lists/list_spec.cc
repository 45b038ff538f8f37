#include "server/source/lists/list_spec.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kListPrefix = "list:";
constexpr absl::string_view kHeaderWords[] = {"auto", "yes", "no"};
constexpr absl::string_view kLabelsWords[] = {"auto", "numbers", "texts"};

template <typename... Words>
absl::Status WrongList(absl::string_view text, const Words&... words) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "': ", words...,
                   "; wanted list:/FILE.csv, optionally with path=COLUMN,label=COLUMN,root=/FOLDER,"
                   "header=auto|yes|no,labels=auto|numbers|texts,reals=float64|float32"));
}

// Sets `value` to the number of the word; false for an unknown word.
template <typename Value>
bool TakeWord(absl::string_view word, const absl::string_view (&words)[3], Value& value) {
  for (int i = 0; i < 3; ++i) {
    if (words[i] != word) continue;
    value = static_cast<Value>(i);
    return true;
  }
  return false;
}

bool TakeText(absl::string_view text, std::string& value) {
  value = std::string(text);
  return !text.empty();
}

bool TakeReals(absl::string_view text, base::DType& type) {
  const auto known = base::DTypeFromName(text);
  if (known) type = *known;
  return known.has_value();
}

bool ParseListField(absl::string_view name, absl::string_view value, ListSpec& spec) {
  if (name == "path") return TakeText(value, spec.path);
  if (name == "label") return TakeText(value, spec.label);
  if (name == "root") return TakeText(value, spec.root);
  if (name == "header") return TakeWord(value, kHeaderWords, spec.header);
  if (name == "labels") return TakeWord(value, kLabelsWords, spec.labels);
  return name == "reals" && TakeReals(value, spec.reals);
}

}  // namespace

absl::Status Validate(const ListSpec& spec) {
  if (!absl::StartsWith(spec.file, "/"))
    return absl::InvalidArgumentError(absl::StrCat(
        "the list's file: got '", spec.file, "', wanted an absolute path like /data/train.csv"));
  if (!spec.root.empty() && !absl::StartsWith(spec.root, "/"))
    return absl::InvalidArgumentError(absl::StrCat("the list's root: got '", spec.root,
                                                   "', wanted an absolute path like /data/images"));
  if (spec.reals != base::DType::kFloat64 && spec.reals != base::DType::kFloat32)
    return absl::InvalidArgumentError(absl::StrCat(
        "the list's reals: got ", base::DTypeName(spec.reals), ", wanted float64 or float32"));
  return absl::OkStatus();
}

bool IsListText(absl::string_view text) { return absl::StartsWith(text, kListPrefix); }

absl::StatusOr<ListSpec> ParseListText(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kListPrefix))
    return WrongList(text, "it does not begin with ", kListPrefix);
  ListSpec spec;
  for (const absl::string_view part : absl::StrSplit(rest, ',')) {
    if (spec.file.empty()) {
      spec.file = std::string(part);
      if (!absl::StartsWith(part, "/")) return WrongList(text, "'", part, "' is no absolute path");
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    if (!ParseListField(field.first, field.second, spec))
      return WrongList(text, "'", part, "' is not understood");
  }
  PENSTOCK_RETURN_IF_ERROR(Validate(spec));
  return spec;
}

std::string ToString(const ListSpec& spec) {
  std::string text = absl::StrCat(kListPrefix, spec.file);
  const auto add = [&](absl::string_view name, absl::string_view value) {
    if (!value.empty()) absl::StrAppend(&text, ",", name, "=", value);
  };
  add("path", spec.path);
  add("label", spec.label);
  add("root", spec.root);
  if (spec.header != ListHeader::kAuto)
    add("header", kHeaderWords[static_cast<size_t>(spec.header)]);
  if (spec.labels != LabelsAs::kAuto) add("labels", kLabelsWords[static_cast<size_t>(spec.labels)]);
  if (spec.reals != base::DType::kFloat64) add("reals", base::DTypeName(spec.reals));
  return text;
}

}  // namespace penstock::source
