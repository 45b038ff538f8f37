// A table of text: aligned columns, two spaces apart, no trailing blanks. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::ctl {

struct Column {
  enum class Align { kLeft, kRight };  // numbers go to the right
  std::string title;
  Align align = Align::kLeft;
};

inline constexpr Column::Align kRight = Column::Align::kRight;

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns.
  void Add(std::vector<std::string> row);

  // One line a row, each with its newline; the titles first.
  std::string Text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// For people: "1,234,567"; "3 h 12 m", "12 s", "850 ms".
std::string Count(uint64_t number);
std::string Age(uint64_t milliseconds);

// Of two counters read one after the other; 0 where the first is behind.
inline uint64_t Less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Text for a terminal on one line: control characters become '?'.
std::string OneLine(const std::string& text);

}  // namespace penstock::ctl
