// Makes a ScannedList from rows of cells: finds the columns of paths and labels, and checks each
// row.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "server/source/lists/cell.h"
#include "server/source/lists/labels.h"
#include "server/source/lists/list_columns.h"
#include "server/source/lists/list_spec.h"
#include "server/source/lists/scanned_list.h"

namespace penstock::source {

class ListBuilder {
 public:
  explicit ListBuilder(const ListSpec& spec) : spec_(spec), labels_(spec.labels) {}

  // The columns' names. `numbered`: without a header, so that the specification names columns by
  // their numbers. **Errors** of both: InvalidArgument, without the line.
  absl::Status Begin(const std::vector<std::string>& names);
  absl::Status BeginNumbered(size_t columns);
  bool begun() const { return columns_ > 0; }
  // **Requires**: begun.
  absl::Status Add(const std::vector<ListCell>& cells, uint64_t line);
  ScannedList Finish();

 private:
  absl::StatusOr<size_t> Find(absl::string_view option, const std::string& column,
                              const std::vector<std::string>& names) const;
  absl::Status MakeColumns(const std::vector<std::string>& names);

  const ListSpec& spec_;
  size_t columns_ = 0;
  size_t path_ = 0;
  std::optional<size_t> label_;
  LabelCollector labels_;
  std::vector<std::optional<ColumnCollector>> collectors_;  // one per column
  ScannedList list_;
};

}  // namespace penstock::source
