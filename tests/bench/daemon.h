// A daemon of the bench's own: beside this program, in a temporary folder, for one dataset. It ends
// with its owner, however that ends.
#pragma once

#include <string>

#include "client/include/penstock/penstock.h"
#include "common/base/status.h"
#include "common/posix/process.h"
#include "tests/bench/photographs.h"
#include "tests/bench/scratch.h"

namespace penstock::bench {

class Daemon {
 public:
  static constexpr char kDataset[] = "bench";

  // Returns once it answers. Its errors go to standard error.
  static absl::StatusOr<Daemon> Start(const Photographs& photographs, uint32_t workers);

  Client& client() { return client_; }

 private:
  Daemon(ScratchFolder folder, posix::Child child, Client client)
      : folder_(std::move(folder)), child_(std::move(child)), client_(std::move(client)) {}

  ScratchFolder folder_;
  posix::Child child_;
  Client client_;
};

}  // namespace penstock::bench
