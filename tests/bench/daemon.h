// A daemon for the benchmark, with one dataset. It runs in a temporary folder and ends with its
// owner, however that ends.
#pragma once

#include <string>
#include <vector>

#include "client/include/penstock/penstock.h"
#include "common/base/status.h"
#include "common/posix/process.h"
#include "tests/bench/harness/scratch.h"
#include "tests/bench/photographs.h"

namespace penstock::bench {

class Daemon {
 public:
  static constexpr char kDataset[] = "bench";

  // What it serves: the YAML of the dataset's kind ("folder: '/a'"), and the roots of its files.
  struct Serves {
    std::string kind;
    std::vector<std::string> roots;
    uint32_t workers = 1;
    std::string cache = "memory: 0B";  // the section `cache`
  };
  // Returns once the daemon answers. The daemon writes its errors to standard error.
  static absl::StatusOr<Daemon> Start(const Serves& serves);
  struct More {
    std::string cache = "memory: 0B";  // the section `cache`
  };
  static absl::StatusOr<Daemon> Start(const Photographs& photographs, uint32_t workers) {
    return Start(photographs, workers, More{});
  }
  static absl::StatusOr<Daemon> Start(const Photographs& photographs, uint32_t workers,
                                      const More& more);

  Client& client() { return client_; }

 private:
  Daemon(ScratchFolder folder, posix::Child child, Client client)
      : folder_(std::move(folder)), child_(std::move(child)), client_(std::move(client)) {}

  ScratchFolder folder_;
  posix::Child child_;
  Client client_;
};

}  // namespace penstock::bench
