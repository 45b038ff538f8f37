#include "client/ctl/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace penstock::ctl {
namespace {

// Number of characters, not bytes, of UTF-8 text.
size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

void AppendLine(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                const std::vector<size_t>& widths, std::string& text) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(widths[i] - Width(cells[i]), ' ');
    const bool right = columns[i].align == Column::Align::kRight;
    absl::StrAppend(&line, i == 0 ? "" : "  ", right ? blanks : "", cells[i], right ? "" : blanks);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(&text, line, "\n");
}

}  // namespace

void Table::Add(std::vector<std::string> row) {
  PENSTOCK_CHECK(row.size() == columns_.size());
  for (std::string& cell : row) cell = cell.empty() ? "-" : OneLine(cell);
  rows_.push_back(std::move(row));
}

std::string Table::Text() const {
  std::vector<std::string> titles;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    widths.push_back(Width(titles[i]));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  AppendLine(titles, columns_, widths, text);
  for (const auto& row : rows_) AppendLine(row, columns_, widths, text);
  return text;
}

std::string Count(uint64_t number) {
  const std::string digits = absl::StrCat(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string Age(uint64_t milliseconds) {
  if (milliseconds < 1000) return absl::StrCat(milliseconds, " ms");
  const uint64_t seconds = milliseconds / 1000;
  if (seconds < 60) return absl::StrCat(seconds, " s");
  if (seconds < 3600) return absl::StrCat(seconds / 60, " m ", seconds % 60, " s");
  const uint64_t hours = seconds / 3600;
  if (hours < 24) return absl::StrCat(hours, " h ", seconds / 60 % 60, " m");
  return absl::StrCat(hours / 24, " d ", hours % 24, " h");
}

std::string OneLine(const std::string& text) {
  std::string line = text;
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return line;
}

}  // namespace penstock::ctl
