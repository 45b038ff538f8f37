// Indexers whose processes are the stand-in `lying_indexer.cc`: shared by the tests of this folder.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "server/indexer/indexers.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::indexer {

// The children of a process.
inline std::set<pid_t> ChildrenOf(pid_t parent) {
  std::set<pid_t> children;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(parent) + "/task")) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid; file >> pid;) children.insert(pid);
  }
  return children;
}

inline bool Eventually(const std::function<bool()>& condition,
                       std::chrono::seconds limit = std::chrono::seconds(10)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return condition();
}

class IndexersTest : public ::testing::Test {
 protected:
  IndexersTest() {
    folder_.Write("file", std::string(4096, 'x'));
    file_ = posix::Fd(::open(folder_.At("file").c_str(), O_RDONLY | O_CLOEXEC));
  }
  // What the stand-in does with a file of this name.
  source::ForeignFile File(const std::string& name) const {
    return {.fd = file_, .path = "/data/" + name, .bytes = 4096};
  }
  absl::Status Key(const std::string& name) {
    return parsers_->TarKey(File(name), 0, 512).status();
  }

  testing::TempFolder folder_;
  posix::Fd file_;
  std::shared_ptr<Indexers> indexers_ =
      std::make_shared<Indexers>(Indexers::Options{.program = PENSTOCK_LYING_INDEXER});
  std::shared_ptr<source::Parsers> parsers_ = indexers_->NewParsers();
};

}  // namespace penstock::indexer
