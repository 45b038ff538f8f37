#include "server/source/lists/delimited.h"

#include "absl/strings/match.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Delimited::Delimited(absl::string_view text, char separator) : text_(text), separator_(separator) {
  if (absl::StartsWith(text, kByteOrderMark)) at_ = kByteOrderMark.size();
}

absl::StatusOr<bool> Delimited::Next(std::vector<ListCell>& cells) {
  while (!AtEnd() && AtLineEnd()) SkipLineEnd();
  row_line_ = line_;
  if (AtEnd()) return false;
  for (size_t count = 1;; ++count) {
    if (cells.size() < count) cells.emplace_back();
    PENSTOCK_RETURN_IF_ERROR(ReadCell(cells[count - 1].text));
    if (!AtEnd() && text_[at_] == separator_) {
      ++at_;
      continue;
    }
    cells.resize(count);
    if (!AtEnd()) SkipLineEnd();
    return true;
  }
}

// A CR alone does not end a line.
bool Delimited::AtLineEnd() const {
  return text_[at_] == '\n' ||
         (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n');
}

void Delimited::SkipLineEnd() {
  at_ += text_[at_] == '\r' ? 2 : 1;
  ++line_;
}

absl::Status Delimited::ReadCell(std::string& cell) {
  if (!AtEnd() && text_[at_] == '"') return ReadQuoted(cell);
  const size_t begin = at_;
  while (!AtEnd() && text_[at_] != separator_ && !AtLineEnd()) {
    if (text_[at_] == '"')
      return absl::InvalidArgumentError(
          "there is a quote within a cell that does not begin with one; put the cell in quotes and "
          "double the quotes in it");
    if (text_[at_] == '\r')
      return absl::InvalidArgumentError(
          "there is a CR without an LF; end lines with LF or CR LF, and put other cells with a CR "
          "in quotes");
    ++at_;
  }
  cell.assign(text_.data() + begin, at_ - begin);
  return absl::OkStatus();
}

absl::Status Delimited::ReadQuoted(std::string& cell) {
  cell.clear();
  for (++at_; !AtEnd(); ++at_) {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c != '"') {
      cell.push_back(c);
      continue;
    }
    ++at_;
    if (AtEnd() || text_[at_] == separator_ || AtLineEnd()) return absl::OkStatus();
    if (text_[at_] != '"')
      return absl::InvalidArgumentError(
          "there is more text after a cell's closing quote; double the quotes within a cell");
    cell.push_back('"');
  }
  return absl::InvalidArgumentError("a cell's closing quote is missing");
}

}  // namespace penstock::source
