#include "server/source/arrays/npy_literal.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace penstock::source {
namespace {

constexpr size_t kMostShown = 20;
constexpr size_t kMostDigits = 19;  // fits in 64 bits
constexpr size_t kMostDimensions = 64;

class Parser {
 public:
  Parser(absl::string_view text, size_t at, const std::string& path)
      : all_(text), rest_(text), at_(at), path_(path) {}

  absl::StatusOr<NpyLiteral> Parse() {
    PENSTOCK_RETURN_IF_ERROR(Expect('{'));
    while (!Take('}')) {
      PENSTOCK_RETURN_IF_ERROR(ParseEntry());
      if (!Take(',') && !Sees('}')) return Unexpected("',' or '}'");
    }
    SkipSpace();
    if (!rest_.empty()) return Unexpected("nothing more");
    for (const auto& [name, is_there] : {std::pair{"descr", descr_.has_value()},
                                         {"fortran_order", fortran_order_.has_value()},
                                         {"shape", shape_.has_value()}})
      if (!is_there) return Wrong(absl::StrCat("it lacks '", name, "'"));
    return NpyLiteral{
        .descr = *descr_, .fortran_order = *fortran_order_, .shape = *std::move(shape_)};
  }

 private:
  absl::Status ParseEntry() {
    PENSTOCK_ASSIGN_OR_RETURN(const std::string key, ParseString());
    PENSTOCK_RETURN_IF_ERROR(Expect(':'));
    const bool again = (key == "descr" && descr_) || (key == "fortran_order" && fortran_order_) ||
                       (key == "shape" && shape_);
    if (again) return Wrong(absl::StrCat("'", key, "' is there twice"));
    if (key == "descr") return ParseDescr();
    if (key == "fortran_order") return ParseBool();
    if (key == "shape") return ParseShape();
    return Wrong(absl::StrCat("'", absl::CHexEscape(key),
                              "' is none of 'descr', 'fortran_order' and 'shape'"));
  }

  absl::Status ParseDescr() {
    if (Sees('['))
      return absl::InvalidArgumentError(
          absl::StrCat("'", path_,
                       "' holds records of several fields; save each field as a separate array, "
                       "with numpy.save(path, array['field'])"));
    PENSTOCK_ASSIGN_OR_RETURN(descr_, ParseString());
    return absl::OkStatus();
  }

  absl::Status ParseBool() {
    SkipSpace();
    for (const auto& [word, value] : {std::pair{"True", true}, {"False", false}}) {
      if (!absl::StartsWith(rest_, word)) continue;
      rest_.remove_prefix(absl::string_view(word).size());
      fortran_order_ = value;
      return absl::OkStatus();
    }
    return Unexpected("True or False");
  }

  // A tuple: (), (3,), (3, 4) or (3, 4,).
  absl::Status ParseShape() {
    PENSTOCK_RETURN_IF_ERROR(Expect('('));
    std::vector<uint64_t> shape;
    bool comma = true;
    while (!Take(')')) {
      if (!comma) return Unexpected("',' or ')'");
      if (shape.size() == kMostDimensions) return Wrong("its shape has more than 64 dimensions");
      PENSTOCK_ASSIGN_OR_RETURN(const uint64_t size, ParseSize());
      shape.push_back(size);
      comma = Take(',');
    }
    if (shape.size() == 1 && !comma) return Unexpected("',' after the only dimension");
    shape_ = std::move(shape);
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> ParseSize() {
    SkipSpace();
    size_t digits = 0;
    while (digits < rest_.size() && absl::ascii_isdigit(rest_[digits])) ++digits;
    if (digits == 0) return Unexpected("a dimension, as an integer");
    uint64_t size = 0;
    if (digits > kMostDigits || !absl::SimpleAtoi(rest_.substr(0, digits), &size))
      return Unexpected("a dimension that fits in 63 bits");
    rest_.remove_prefix(digits);
    // Python 2 wrote long integers like this.
    if (absl::StartsWith(rest_, "L")) rest_.remove_prefix(1);
    return size;
  }

  absl::StatusOr<std::string> ParseString() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return Unexpected("a quoted word");
    const size_t end = rest_.find(rest_[0], 1);
    const absl::string_view word = rest_.substr(1, end == rest_.npos ? rest_.npos : end - 1);
    if (end == rest_.npos || absl::StrContains(word, "\\"))
      return Unexpected("a quoted word without backslashes");
    rest_.remove_prefix(end + 1);
    return std::string(word);
  }

  void SkipSpace() {
    while (!rest_.empty() && absl::ascii_isspace(rest_[0])) rest_.remove_prefix(1);
  }
  bool Sees(char c) {
    SkipSpace();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Take(char c) {
    if (!Sees(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  absl::Status Expect(char c) {
    return Take(c) ? absl::OkStatus() : Unexpected(absl::StrCat("'", std::string(1, c), "'"));
  }

  absl::Status Unexpected(absl::string_view wanted) const {
    const std::string got =
        rest_.empty() ? "its end"
                      : absl::StrCat("'", absl::CHexEscape(rest_.substr(0, kMostShown)), "'");
    return Wrong(absl::StrCat("got ", got, ", wanted ", wanted));
  }
  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", path_, "': the header of a .npy file, at byte ", at_ + (all_.size() - rest_.size()),
        ": ", what, "; save the array again with numpy.save"));
  }

  const absl::string_view all_;
  absl::string_view rest_;
  const size_t at_;
  const std::string& path_;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<std::vector<uint64_t>> shape_;
};

}  // namespace

absl::StatusOr<NpyLiteral> ParseNpyLiteral(absl::string_view text, size_t at,
                                           const std::string& path) {
  return Parser(text, at, path).Parse();
}

}  // namespace penstock::source
