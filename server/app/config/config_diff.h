// What two configurations differ in. Pure.
#pragma once

#include <string>
#include <vector>

#include "penstock/config/v1/config.pb.h"

namespace penstock::app {

struct ConfigChange {
  std::string key;            // as people write it: pool.max; of a dataset, datasets alone
  std::string before, after;  // as people write them
  bool needs_restart = false;

  // "pool.max: 4GiB, now 8GiB"
  std::string ToString() const;
};

std::vector<ConfigChange> Compare(const config::v1::Config& before,
                                  const config::v1::Config& after);

}  // namespace penstock::app
