// One screen of `penstockctl top`: what there is now, and how fast it goes since the look before.
// Pure.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/v1/admin.pb.h"

namespace penstock::ctl {

enum class TopOrder { kById, kByRate, kByUser };

struct TopScreen {
  uint32_t rows = 0, columns = 0;  // what does not fit is cut off; 0: as much as there is
  TopOrder order = TopOrder::kById;
  bool keys = false;  // say which ones there are
};

// `before` may be the same as `now`: then there are no rates yet.
std::string ShowTop(const v1::WatchStatusResponse& now, const v1::WatchStatusResponse& before,
                    const TopScreen& screen);

// The next one, as a key steps through them.
TopOrder Next(TopOrder order);

}  // namespace penstock::ctl
