#include "server/source/lists/list_builder.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/source/files/escape.h"
#include "server/source/files/python_order.h"

namespace penstock::source {
namespace {

constexpr size_t kMostLeftOutShown = 8;

bool IsColumnNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::string NamesShown(const std::vector<std::string>& names) {
  std::vector<std::string> shown(names.begin(), names.begin() + std::min<size_t>(names.size(), 20));
  if (shown.size() < names.size()) shown.push_back("…");
  return EscapeForDisplay(absl::StrJoin(shown, ", "));
}

// Why a column's values can never be a field of that name; empty: they can.
std::string WhyNoField(const std::string& name, const std::set<std::string>& taken) {
  if (name.empty()) return "a column without a name";
  if (taken.count(name) != 0)
    return absl::StrCat("'", EscapeForDisplay(name), "' (the name is taken)");
  if (name.size() > kLongestListColumnName || !IsUtf8(name))
    return absl::StrCat("'", EscapeForDisplay(name.substr(0, kLongestListColumnName)),
                        "' (the name is not UTF-8, or has more than ", kLongestListColumnName,
                        " bytes)");
  return "";
}

absl::Status CheckListedPath(const std::string& path) {
  if (path.empty())
    return absl::InvalidArgumentError("the path is empty; give every sample a file");
  if (path.find('\0') != std::string::npos)
    return absl::InvalidArgumentError("the path contains a NUL byte; remove it");
  if (path.size() > kLongestListPath)
    return absl::InvalidArgumentError(
        absl::StrCat("the path has ", path.size(), " bytes, expected at most ", kLongestListPath));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<size_t> ListBuilder::Find(absl::string_view option, const std::string& column,
                                         const std::vector<std::string>& names) const {
  const auto at = std::find(names.begin(), names.end(), column);
  if (at != names.end()) return static_cast<size_t>(at - names.begin());
  size_t number = 0;
  if (IsColumnNumber(column) && absl::SimpleAtoi(column, &number) && number < names.size())
    return number;
  return absl::InvalidArgumentError(
      absl::StrCat(option, "=", column, " names no column; there are ", names.size(), ": ",
                   NamesShown(names), "; give one of these names, or a number from 0"));
}

absl::Status ListBuilder::Begin(const std::vector<std::string>& names) {
  if (names.size() > kMostListColumns)
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", names.size(), " columns, expected at most ", kMostListColumns));
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size())
    return absl::InvalidArgumentError(
        absl::StrCat("two columns have the same name; give each its own: got ", NamesShown(names)));
  const auto has = [&](absl::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!spec_.path.empty()) {
    PENSTOCK_ASSIGN_OR_RETURN(path_, Find("path", spec_.path, names));
  } else if (has("path")) {
    PENSTOCK_ASSIGN_OR_RETURN(path_, Find("path", "path", names));
  }
  if (!spec_.label.empty() || has("label")) {
    PENSTOCK_ASSIGN_OR_RETURN(label_,
                              Find("label", spec_.label.empty() ? "label" : spec_.label, names));
  }
  if (label_ == path_)
    return absl::InvalidArgumentError(absl::StrCat(
        "column ", path_, " would be both path and label; give path= and label= two columns"));
  columns_ = names.size();
  return MakeColumns(names);
}

absl::Status ListBuilder::BeginNumbered(size_t columns) {
  std::vector<std::string> names;
  for (size_t i = 0; i < columns; ++i) names.push_back(absl::StrCat(i));
  return Begin(names);
}

absl::Status ListBuilder::MakeColumns(const std::vector<std::string>& names) {
  const std::set<std::string> taken = {"image", "label", "sample_id", "valid"};
  collectors_.resize(columns_);
  std::vector<std::string> problems;
  for (size_t i = 0; i < columns_; ++i) {
    if (i == path_ || i == label_) continue;
    std::string problem = WhyNoField(names[i], taken);
    if (problem.empty())
      collectors_[i].emplace(names[i], spec_.reals);
    else
      problems.push_back(std::move(problem));
  }
  list_.left_out = absl::StrJoin(problems, ", ");
  list_.labeled = label_.has_value();
  return absl::OkStatus();
}

absl::Status ListBuilder::Add(const std::vector<ListCell>& cells, uint64_t line) {
  if (cells.size() != columns_)
    return absl::InvalidArgumentError(absl::StrCat(
        "the row has ", cells.size(), " cells, expected ", columns_, ", as many as the first row"));
  const std::string& path = cells[path_].text;
  PENSTOCK_RETURN_IF_ERROR(CheckListedPath(path));
  if (label_) PENSTOCK_RETURN_IF_ERROR(labels_.Add(cells[*label_].text, cells[*label_].is_text));
  for (size_t i = 0; i < columns_; ++i)
    if (collectors_[i]) collectors_[i]->Add(cells[i], line);
  list_.paths.insert(list_.paths.end(), path.begin(), path.end());
  constexpr uint64_t kLastLine = std::numeric_limits<uint32_t>::max();
  list_.rows.push_back({.path_bytes = static_cast<uint32_t>(path.size()),
                        .line = static_cast<uint32_t>(std::min(line, kLastLine))});
  return absl::OkStatus();
}

ScannedList ListBuilder::Finish() {
  std::vector<std::string> problems;
  if (!list_.left_out.empty()) problems.push_back(list_.left_out);
  for (std::optional<ColumnCollector>& column : collectors_) {
    if (!column) continue;
    if (column->is_left_out())
      problems.push_back(column->problem());
    else
      list_.columns.push_back(column->Finish());
  }
  const size_t more = problems.size() - std::min(problems.size(), kMostLeftOutShown);
  problems.resize(problems.size() - more);
  list_.left_out = absl::StrCat(absl::StrJoin(problems, ", "),
                                more > 0 ? absl::StrCat(" and ", more, " more") : "");
  if (list_.labeled) {
    Labels labels = labels_.Finish();
    list_.labels = std::move(labels.values);
    list_.classes = std::move(labels.classes);
  }
  return std::move(list_);
}

}  // namespace penstock::source
