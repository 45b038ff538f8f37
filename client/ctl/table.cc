#include "client/ctl/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace penstock::ctl {
namespace {

constexpr size_t kBetween = 2;    // spaces
constexpr size_t kNarrowest = 8;  // to which a text is cut
constexpr size_t kReadable = 16;  // a text is cut to this width before a column is left out

using RowTexts = std::vector<std::string>;

// How many bytes at the beginning of the text control a terminal or change the direction of text;
// 0: none. C0 and C1 controls, and Unicode's marks, overrides and isolates of direction.
size_t ControlBytes(absl::string_view text) {
  const auto at = [&](size_t i) -> unsigned { return i < text.size() ? uint8_t(text[i]) : 0u; };
  if (at(0) < 0x20 || at(0) == 0x7f) return 1;
  if (at(0) == 0xc2 && at(1) >= 0x80 && at(1) < 0xa0) return 2;
  if (at(0) != 0xe2) return 0;
  const unsigned code = 0x2000 | (at(1) & 0x3f) << 6 | (at(2) & 0x3f);
  const bool turns = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
  return at(2) != 0 && turns ? 3 : 0;
}

void AppendLine(const RowTexts& cells, const std::vector<Column>& columns,
                const std::vector<size_t>& shown, const std::vector<size_t>& widths,
                std::string& text) {
  std::string line;
  for (const size_t i : shown) {
    const std::string cell = CutTo(cells[i], widths[i]);
    const std::string blanks(widths[i] - Width(cell), ' ');
    const bool right = columns[i].align == Column::Align::kRight;
    absl::StrAppend(&line, i == shown.front() ? "" : "  ", right ? blanks : "", cell,
                    right ? "" : blanks);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(&text, line, "\n");
}

size_t WidthOf(const std::vector<size_t>& shown, const std::vector<size_t>& widths) {
  size_t width = kBetween * (shown.size() - 1);
  for (const size_t i : shown) width += widths[i];
  return width;
}

// The column to leave out first; the end if none may be.
std::vector<size_t>::iterator Dispensable(std::vector<size_t>& shown,
                                          const std::vector<Column>& columns) {
  const auto first = std::max_element(shown.begin(), shown.end(), [&](size_t a, size_t b) {
    return columns[a].leave_out < columns[b].leave_out;
  });
  return columns[*first].leave_out == 0 ? shown.end() : first;
}

// Cuts the widest texts until the line fits; numbers stay whole.
void Narrow(const std::vector<size_t>& shown, const std::vector<Column>& columns, size_t wanted,
            std::vector<size_t>& widths) {
  while (WidthOf(shown, widths) > wanted) {
    const auto width = [&](size_t i) {
      return columns[i].align == Column::Align::kRight ? 0 : widths[i];
    };
    const size_t widest = *std::max_element(
        shown.begin(), shown.end(), [&](size_t a, size_t b) { return width(a) < width(b); });
    if (width(widest) <= kNarrowest) return;
    --widths[widest];
  }
}

}  // namespace

size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string CutTo(const std::string& text, size_t columns) {
  if (Width(text) <= columns) return text;
  if (columns == 0) return "";
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    if ((text[end] & 0xC0) == 0x80) continue;
    if (++characters == columns) break;  // the place of "…"
  }
  return text.substr(0, end) + "…";
}

std::string InLines(const std::vector<std::string>& parts, const std::string& between,
                    size_t columns, size_t indent) {
  std::string text;
  size_t at = 0;
  for (const std::string& part : parts) {
    const bool first = text.empty();
    if (!first && columns > 0 && at + Width(between) + Width(part) > columns) {
      absl::StrAppend(&text, "\n", std::string(indent, ' '), part);
      at = indent + Width(part);
    } else {
      absl::StrAppend(&text, first ? "" : between, part);
      at += (first ? 0 : Width(between)) + Width(part);
    }
  }
  return text + "\n";
}

void Table::Add(std::vector<std::string> row) {
  PENSTOCK_CHECK(row.size() == columns_.size());
  for (std::string& cell : row) cell = cell.empty() ? "-" : OneLine(cell);
  rows_.push_back(std::move(row));
}

std::string Table::Text(size_t columns) const {
  RowTexts titles;
  std::vector<size_t> widths, shown;
  for (size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    widths.push_back(Width(titles[i]));
    shown.push_back(i);
    for (const auto& row : rows_) widths[i] = std::max(widths[i], Width(row[i]));
  }
  if (columns > 0) {
    std::vector<size_t> readable = widths;
    for (size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i].align == Column::Align::kLeft) readable[i] = std::min(readable[i], kReadable);
    while (WidthOf(shown, readable) > columns) {
      const auto dispensable = Dispensable(shown, columns_);
      if (dispensable == shown.end()) break;
      shown.erase(dispensable);
    }
    Narrow(shown, columns_, columns, widths);
  }
  std::string text;
  AppendLine(titles, columns_, shown, widths, text);
  for (const auto& row : rows_) AppendLine(row, columns_, shown, widths, text);
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
  std::string line;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = ControlBytes(absl::string_view(text).substr(i));
    line += bytes > 0 ? '?' : text[i];
    i += std::max<size_t>(bytes, 1);
  }
  return line;
}

}  // namespace penstock::ctl
