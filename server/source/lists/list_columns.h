// Collects the values of a list's columns of numbers.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/dtype.h"
#include "server/source/lists/cell.h"
#include "server/source/lists/scanned_list.h"

namespace penstock::source {

// A column is int64 if all of its cells are integers; else, if all are numbers, of the type for
// reals; else it is left out.
class ColumnCollector {
 public:
  ColumnCollector(std::string name, base::DType reals) : name_(std::move(name)), reals_(reals) {}

  void Add(const ListCell& cell, uint64_t line);
  bool is_left_out() const { return !problem_.empty(); }
  // "'NAME' (line N has 'text')". **Requires**: is_left_out().
  const std::string& problem() const { return problem_; }
  // **Requires**: not is_left_out(). The collector is then empty.
  ListColumn Finish();

 private:
  std::string name_;
  base::DType reals_;
  bool integers_ = true;
  std::vector<uint64_t> ints_, floats_;  // the bits of each value
  std::string problem_;
};

}  // namespace penstock::source
