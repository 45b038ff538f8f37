// Where each value of a configuration was written, for messages: "penstock.yaml:12: pool.max: …".
#pragma once

#include <map>
#include <string>

#include "common/base/status.h"

namespace penstock::app {

class ConfigLines {
 public:
  explicit ConfigLines(std::string filename) : filename_(std::move(filename)) {}

  // `key` as people write it: "pool.max", "datasets[0].name". Lines count from 1. The
  // first one stays: a section's is that of its name, not of what is in it.
  void Set(const std::string& key, int line) { lines_.emplace(key, line); }

  // A refusal of what is at `key`; where nobody wrote it, at the nearest section above that
  // somebody wrote. A configuration that nobody wrote has no lines.
  absl::Status Refuse(const std::string& key, absl::string_view why) const;
  absl::Status RefuseAt(int line, absl::string_view what) const;

 private:
  static constexpr int kNoLine = 0;

  std::string filename_;
  std::map<std::string, int> lines_;
};

}  // namespace penstock::app
