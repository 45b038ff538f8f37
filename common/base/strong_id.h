// An integer type that does not convert to other kinds of ids.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace penstock::base {

template <typename Tag, typename Rep = uint64_t>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;

  template <typename H>
  friend H AbslHashValue(H h, const StrongId& id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  Rep value_{};
};

}  // namespace penstock::base

template <typename Tag, typename Rep>
struct std::hash<penstock::base::StrongId<Tag, Rep>> {
  size_t operator()(const penstock::base::StrongId<Tag, Rep>& id) const {
    return std::hash<Rep>{}(id.value());
  }
};
