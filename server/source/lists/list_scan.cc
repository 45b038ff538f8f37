#include "server/source/lists/list_scan.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/source/files/escape.h"
#include "server/source/images/image_names.h"
#include "server/source/lists/delimited.h"
#include "server/source/lists/json_line.h"
#include "server/source/lists/list_builder.h"
#include "server/source/parse/scan_steps.h"

namespace penstock::source {
namespace {

absl::Status AtLine(const absl::Status& status, const std::string& path, uint64_t line) {
  if (status.ok() || absl::IsCancelled(status)) return status;
  return base::Annotate(status, absl::StrCat(path, ":", line));
}

bool NamesAnImage(const std::vector<ListCell>& cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const ListCell& cell) { return HasImageExtension(cell.text); });
}

bool IsColumnName(const std::string& column) {
  return column.find_first_not_of("0123456789") != std::string::npos;
}

std::vector<std::string> TextsOf(const std::vector<ListCell>& cells) {
  std::vector<std::string> texts;
  for (const ListCell& cell : cells) texts.push_back(cell.text);
  return texts;
}

// Scans a table.
class TableScan {
 public:
  TableScan(absl::string_view text, const std::string& path, char separator, const ListSpec& spec)
      : table_(text, separator), path_(path), spec_(spec), builder_(spec) {}

  absl::StatusOr<ScannedList> Run(const ScanWatch& watch) {
    ScanSteps steps(watch);
    std::vector<ListCell> first, cells;
    PENSTOCK_ASSIGN_OR_RETURN(bool more, Next(first));
    const uint64_t first_line = table_.line();
    if (!more) return builder_.Finish();
    PENSTOCK_ASSIGN_OR_RETURN(more, Next(cells));
    PENSTOCK_ASSIGN_OR_RETURN(const bool header, IsHeader(first, cells, more));
    PENSTOCK_RETURN_IF_ERROR(
        AtLine(header ? builder_.Begin(TextsOf(first)) : builder_.BeginNumbered(first.size()),
               path_, first_line));
    if (!header)
      PENSTOCK_RETURN_IF_ERROR(AtLine(builder_.Add(first, first_line), path_, first_line));
    while (more) {
      PENSTOCK_RETURN_IF_ERROR(AtLine(builder_.Add(cells, table_.line()), path_, table_.line()));
      PENSTOCK_RETURN_IF_ERROR(steps.Add(1));
      PENSTOCK_ASSIGN_OR_RETURN(more, Next(cells));
    }
    return builder_.Finish();
  }

 private:
  absl::StatusOr<bool> Next(std::vector<ListCell>& cells) {
    absl::StatusOr<bool> more = table_.Next(cells);
    if (!more.ok()) return AtLine(more.status(), path_, table_.line());
    return more;
  }

  // A first row without a name of an image, before one with such a name, is a header.
  absl::StatusOr<bool> IsHeader(const std::vector<ListCell>& first,
                                const std::vector<ListCell>& second, bool has_second) const {
    if (spec_.header != ListHeader::kAuto) return spec_.header == ListHeader::kYes;
    if (IsColumnName(spec_.path) || IsColumnName(spec_.label)) return true;
    if (NamesAnImage(first)) return false;
    if (has_second && NamesAnImage(second)) return true;
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ":", table_.line(),
                     ": whether the first row is a header cannot be told, because no cell ends in "
                     "an image's extension; say header=yes or header=no"));
  }

  Delimited table_;
  const std::string& path_;
  const ListSpec& spec_;
  ListBuilder builder_;
};

// Puts the members into the order of the columns, which are the first line's keys.
absl::Status ToCells(std::vector<JsonMember>& members, const std::vector<std::string>& keys,
                     std::vector<ListCell>& cells) {
  cells.resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto at = i < members.size() && members[i].key == keys[i]
                        ? members.begin() + static_cast<ptrdiff_t>(i)
                        : std::find_if(members.begin(), members.end(),
                                       [&](const JsonMember& each) { return each.key == keys[i]; });
    if (at == members.end())
      return absl::InvalidArgumentError(absl::StrCat("the key '", EscapeForDisplay(keys[i]),
                                                     "', which the first line has, is missing"));
    cells[i] = at->value;
  }
  if (members.size() == keys.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the object has ", members.size(),
                                                 " keys, expected the first line's ", keys.size()));
}

class JsonScan {
 public:
  JsonScan(absl::string_view text, const std::string& path, const ListSpec& spec)
      : rest_(text), path_(path), builder_(spec) {}

  absl::StatusOr<ScannedList> Run(const ScanWatch& watch) {
    ScanSteps steps(watch);
    for (uint64_t line = 1; !rest_.empty(); ++line) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      const absl::string_view text = absl::StripAsciiWhitespace(rest_.substr(0, end));
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      if (text.empty()) continue;
      PENSTOCK_RETURN_IF_ERROR(AtLine(AddLine(text, line), path_, line));
      PENSTOCK_RETURN_IF_ERROR(steps.Add(1));
    }
    return builder_.Finish();
  }

 private:
  absl::Status AddLine(absl::string_view text, uint64_t line) {
    PENSTOCK_RETURN_IF_ERROR(ReadJsonLine(text, members_));
    if (!builder_.begun()) {
      for (const JsonMember& member : members_) keys_.push_back(member.key);
      if (keys_.empty())
        return absl::InvalidArgumentError("the object is empty; name a path in it");
      PENSTOCK_RETURN_IF_ERROR(builder_.Begin(keys_));
    }
    PENSTOCK_RETURN_IF_ERROR(ToCells(members_, keys_, cells_));
    return builder_.Add(cells_, line);
  }

  absl::string_view rest_;
  const std::string& path_;
  ListBuilder builder_;
  std::vector<std::string> keys_;
  std::vector<JsonMember> members_;
  std::vector<ListCell> cells_;
};

absl::StatusOr<ScannedList> ScanRows(absl::string_view text, const std::string& path,
                                     const ListSpec& spec, const ScanWatch& watch) {
  const std::string name = absl::AsciiStrToLower(spec.file);
  if (absl::EndsWith(name, ".csv")) return TableScan(text, path, ',', spec).Run(watch);
  if (absl::EndsWith(name, ".tsv") || absl::EndsWith(name, ".tab"))
    return TableScan(text, path, '\t', spec).Run(watch);
  if (absl::EndsWith(name, ".jsonl") || absl::EndsWith(name, ".ndjson"))
    return JsonScan(text, path, spec).Run(watch);
  return absl::InvalidArgumentError(
      absl::StrCat("'", path,
                   "' is a list of unknown format; wanted a name that ends in .csv, .tsv, .tab, "
                   ".jsonl or .ndjson"));
}

}  // namespace

absl::StatusOr<ScannedList> ScanList(absl::string_view text, const std::string& path,
                                     const ListSpec& spec, const ScanWatch& watch) {
  PENSTOCK_ASSIGN_OR_RETURN(ScannedList list, ScanRows(text, path, spec, watch));
  if (!list.rows.empty()) return list;
  return absl::InvalidArgumentError(
      absl::StrCat("'", path, "' has no rows; wanted one row per sample"));
}

}  // namespace penstock::source
