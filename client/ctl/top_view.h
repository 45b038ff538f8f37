// One screen of `penstockctl top`: the current state, and rates since the previous one. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

enum class TopOrder { kById, kByRate, kByUser };

struct TopScreen {
  uint32_t rows = 0, columns = 0;  // size, to which the text is cut; 0: unlimited
  TopOrder order = TopOrder::kById;
  bool keys = false;  // list the keys
};

// If `before` is `now`, rates are not known yet.
std::string ShowTop(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                    const TopScreen& screen);

// Cuts a text to the size of the screen: its last line is then "…".
std::string FitToScreen(const std::string& text, const TopScreen& screen);

// The order that the key `s` selects next.
TopOrder Next(TopOrder order);

}  // namespace penstock::ctl
