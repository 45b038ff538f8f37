// Splits a table into rows and cells, as RFC 4180 describes: cells may stand in double quotes, in
// which a doubled quote is one, and separators and line ends are ordinary characters. Lines end
// with CR LF or LF. Beyond the RFC: a byte order mark at the beginning and empty lines are skipped.
// **Thread safety**: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/base/status.h"
#include "server/source/lists/cell.h"

namespace penstock::source {

class Delimited {
 public:
  // `text` must outlive this object.
  Delimited(absl::string_view text, char separator);

  // Reads the next row into `cells`; false at the end.
  // **Errors**: InvalidArgument, without the place, which is line().
  absl::StatusOr<bool> Next(std::vector<ListCell>& cells);
  // The line in which the last row begins, from 1.
  uint64_t line() const { return row_line_; }

 private:
  absl::Status ReadCell(std::string& cell);
  absl::Status ReadQuoted(std::string& cell);
  bool AtEnd() const { return at_ == text_.size(); }
  bool AtLineEnd() const;
  void SkipLineEnd();

  const absl::string_view text_;
  const char separator_;
  size_t at_ = 0;
  uint64_t line_ = 1, row_line_ = 0;
};

}  // namespace penstock::source
