// What the checks of a configuration share.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "server/app/config/config_lines.h"

namespace penstock::app {

// Checks values, and keeps the first error. **Thread safety**: used by one thread.
class ConfigChecker {
 public:
  explicit ConfigChecker(const ConfigLines& lines) : lines_(lines) {}

  absl::Status status() const { return status_; }

  // "KEY: got …, wanted …"
  void Refuse(const std::string& key, absl::string_view got, absl::string_view wanted);
  void RefuseWith(const std::string& key, const absl::Status& why);

  struct Bounds {
    uint64_t least, most;
  };
  void IsCount(const std::string& key, uint64_t value, Bounds bounds);
  void IsTime(const std::string& key, uint64_t ms, Bounds bounds);
  void IsSize(const std::string& key, uint64_t bytes, Bounds bounds);
  // More than 0 %, at most 100 %.
  void IsShare(const std::string& key, double share);
  void IsPath(const std::string& key, const std::string& path);
  // Either empty or an address to listen on.
  void IsAddress(const std::string& key, const std::string& address);
  // The name of a dataset or a group.
  void IsName(const std::string& key, const std::string& name);

  // The text in quotes; for an empty one "nothing".
  static std::string Quoted(const std::string& text);

 private:
  void InRange(const std::string& key, uint64_t value, Bounds bounds,
               std::string (*show)(uint64_t));

  const ConfigLines& lines_;
  absl::Status status_;
};

}  // namespace penstock::app
