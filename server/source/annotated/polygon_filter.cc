#include "server/source/annotated/polygon_filter.h"

#include "absl/strings/string_view.h"

namespace penstock::source {
namespace {

constexpr absl::string_view kKey = "\"segmentation\"";

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

std::span<const std::byte> PolygonFilter::Next(std::span<const std::byte>& rest) {
  if (skips()) {
    const size_t skipped = Skip(rest);
    left_out_ += skipped;
    rest = rest.subspan(skipped);
  }
  const size_t passed = skips() ? 0 : Pass(rest);
  const std::span<const std::byte> stay = rest.first(passed);
  rest = rest.subspan(passed);
  return stay;
}

// Up to the bracket with which polygons begin. A quote that ends a text may be taken for one that
// begins a key; no value follows that key then.
size_t PolygonFilter::Pass(std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = static_cast<char>(bytes[i]);
    if (state_ == State::kKey && c == kKey[matched_]) {
      if (++matched_ == kKey.size()) state_ = State::kAfterKey;
    } else if (c == '"') {
      state_ = State::kKey;
      matched_ = 1;
    } else if (state_ == State::kAfterKey && c == ':') {
      state_ = State::kAfterColon;
    } else if (state_ == State::kAfterColon && c == '[') {
      state_ = State::kPolygons;
      depth_ = 1;
      return i + 1;
    } else if (state_ == State::kKey || !IsSpace(c)) {
      state_ = State::kOutside;
    }
  }
  return bytes.size();
}

// Up to the bracket with which they end.
size_t PolygonFilter::Skip(std::span<const std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = static_cast<char>(bytes[i]);
    if (state_ == State::kText) {
      if (c == '\\') state_ = State::kEscape;
      if (c == '"') state_ = State::kPolygons;
    } else if (state_ == State::kEscape || c == '"') {
      state_ = State::kText;
    } else if (c == '[') {
      ++depth_;
    } else if (c == ']' && --depth_ == 0) {
      state_ = State::kOutside;
      return i;
    }
  }
  return bytes.size();
}

}  // namespace penstock::source
