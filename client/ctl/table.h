// A text table: aligned columns, two spaces apart, no trailing spaces; and text of a given width.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::ctl {

struct Column {
  enum class Align { kLeft, kRight };  // kRight for numbers
  std::string title;
  Align align = Align::kLeft;
  // Where a table is too wide, columns of the highest number are left out first; 0: never.
  int leave_out = 0;
};

inline constexpr Column::Align kLeft = Column::Align::kLeft;
inline constexpr Column::Align kRight = Column::Align::kRight;

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // **Requires**: as many cells as columns.
  void Add(std::vector<std::string> row);

  // The titles and then one line for each row, each with a newline, and at most `columns` wide (0:
  // as wide as it is). Without enough room, columns are left out, and the widest texts are cut.
  std::string Text(size_t columns = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Number of characters, not bytes, of UTF-8 text.
size_t Width(const std::string& text);

// The text in at most `columns` characters; "…" ends one that was cut.
std::string CutTo(const std::string& text, size_t columns);

// The parts in one line, `between` them, or in several where they are wider than `columns` (0: no
// limit), the later ones after `indent` spaces. No part is cut. Ends with a newline.
std::string InLines(const std::vector<std::string>& parts, const std::string& between,
                    size_t columns, size_t indent);

// For display: "1,234,567" and "3 h 12 m", "12 s", "850 ms".
std::string Count(uint64_t number);
std::string Age(uint64_t milliseconds);

// a - b for two counters that were read one after the other; 0 if b is already ahead.
inline uint64_t Less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Replaces control characters by '?', so that the text is one line on a terminal.
std::string OneLine(const std::string& text);

}  // namespace penstock::ctl
