// The line of each value in the configuration file, for messages: "penstock.yaml:12: pool.max: …".
#pragma once

#include <map>
#include <string>

#include "common/base/status.h"

namespace penstock::app {

class ConfigLines {
 public:
  explicit ConfigLines(std::string filename = "") : filename_(std::move(filename)) {}

  // `key` is as in YAML: "pool.max", "datasets[0].name". Lines count from 1. The first call for a
  // key wins, so a section has the line of its name, not of its content.
  void Set(const std::string& key, int line) { lines_.emplace(key, line); }

  // An error about the value at `key`. If the file doesn't contain that key, it names the line of
  // the nearest enclosing section. A configuration without a file has no lines.
  absl::Status Refuse(const std::string& key, absl::string_view why) const;
  absl::Status RefuseAt(int line, absl::string_view what) const;

  // An error that a part found, with the place of the key with which its message begins ("KEY: …"),
  // else with the file, and the same code. Without a file (a private daemon): unchanged.
  absl::Status Locate(const absl::Status& why) const;

 private:
  static constexpr int kNoLine = 0;

  // "FILE:LINE" of the key, or of the nearest section that encloses it.
  std::string PlaceOf(std::string key) const;

  std::string filename_;
  std::map<std::string, int> lines_;
};

}  // namespace penstock::app
