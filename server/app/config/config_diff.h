// Compares two configurations. Pure.
#pragma once

#include <string>
#include <vector>

#include "penstock/config/v1/config.pb.h"

namespace penstock::app {

struct ConfigChange {
  std::string key;  // as in YAML: pool.max, or with the name of an entry: datasets[x].folder
  std::string before, after;  // as in YAML
  bool needs_restart = false;

  // "pool.max: 4GiB, now 8GiB"
  std::string ToString() const;
};

std::vector<ConfigChange> Compare(const config::v1::Config& before,
                                  const config::v1::Config& after);

}  // namespace penstock::app
