// Leaves out of a COCO file what is in its polygons: the lists that are values of `segmentation`.
// They are four fifths of such a file and nobody needs them, and a JSON parser takes most of its
// time for their numbers. `"segmentation": [[1, 2]]` becomes `"segmentation": []`. What is left out
// is not checked, but for its brackets.
// **Thread safety**: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::source {

class PolygonFilter {
 public:
  // Takes bytes from the front of `rest`. Returns those that stay, which lie in it; they may be
  // none.
  std::span<const std::byte> Next(std::span<const std::byte>& rest);
  // How many bytes were left out so far.
  uint64_t left_out() const { return left_out_; }

 private:
  enum class State { kOutside, kKey, kAfterKey, kAfterColon, kPolygons, kText, kEscape };

  size_t Pass(std::span<const std::byte> bytes);
  size_t Skip(std::span<const std::byte> bytes);
  bool skips() const { return state_ >= State::kPolygons; }

  State state_ = State::kOutside;
  size_t matched_ = 0;  // bytes of the key
  uint64_t depth_ = 0;  // of brackets
  uint64_t left_out_ = 0;
};

}  // namespace penstock::source
