// A temporary folder that is removed with all its contents.
#pragma once

#include <string>

#include "common/base/status.h"

namespace penstock::bench {

class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> Make();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchFolder& operator=(ScratchFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~ScratchFolder();

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;  // empty: moved from
};

}  // namespace penstock::bench
