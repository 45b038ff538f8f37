#include "server/source/lists/list_columns.h"

#include <bit>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/source/files/escape.h"

namespace penstock::source {
namespace {

constexpr size_t kShownBytes = 40;

// The bits of the number that is nearest to the text; nullopt if the text is no number, or one
// beyond the type's range.
template <typename Real, typename Bits>
std::optional<uint64_t> BitsOf(const std::string& text, bool (*parse)(absl::string_view, Real*)) {
  Real value = 0;
  if (!parse(text, &value)) return std::nullopt;
  const bool says_infinity = text.find_first_of("iI") != std::string::npos;
  if (std::isinf(value) && !says_infinity) return std::nullopt;
  return std::bit_cast<Bits>(value);
}

std::optional<uint64_t> RealBits(const std::string& text, base::DType type) {
  return type == base::DType::kFloat32 ? BitsOf<float, uint32_t>(text, absl::SimpleAtof)
                                       : BitsOf<double, uint64_t>(text, absl::SimpleAtod);
}

}  // namespace

void ColumnCollector::Add(const ListCell& cell, uint64_t line) {
  if (is_left_out()) return;
  const std::optional<uint64_t> real = cell.is_text ? std::nullopt : RealBits(cell.text, reals_);
  if (!real) {
    problem_ = absl::StrCat("'", EscapeForDisplay(name_), "' (line ", line, " has '",
                            EscapeForDisplay(cell.text.substr(0, kShownBytes)), "')");
    ints_ = {};
    floats_ = {};
    return;
  }
  floats_.push_back(*real);
  int64_t integer = 0;
  integers_ = integers_ && absl::SimpleAtoi(cell.text, &integer);
  if (integers_)
    ints_.push_back(static_cast<uint64_t>(integer));
  else
    ints_ = {};
}

ListColumn ColumnCollector::Finish() {
  return {.name = std::move(name_),
          .type = integers_ ? base::DType::kInt64 : reals_,
          .values = std::move(integers_ ? ints_ : floats_)};
}

}  // namespace penstock::source
