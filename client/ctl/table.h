// A text table: aligned columns, two spaces apart, no trailing spaces. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::ctl {

struct Column {
  enum class Align { kLeft, kRight };  // kRight for numbers
  std::string title;
  Align align = Align::kLeft;
};

inline constexpr Column::Align kRight = Column::Align::kRight;

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // **Requires**: as many cells as columns.
  void Add(std::vector<std::string> row);

  // The titles and then one line for each row, each with a newline.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// For display: "1,234,567" and "3 h 12 m", "12 s", "850 ms".
std::string Count(uint64_t number);
std::string Age(uint64_t milliseconds);

// a - b for two counters that were read one after the other; 0 if b is already ahead.
inline uint64_t Less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Replaces control characters by '?', so that the text is one line on a terminal.
std::string OneLine(const std::string& text);

}  // namespace penstock::ctl
