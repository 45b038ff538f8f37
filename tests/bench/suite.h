// A benchmark suite. Each is one .cc file; suites.cc has the table.
#pragma once

#include <span>

#include "common/base/status.h"
#include "tests/bench/harness/arguments.h"
#include "tests/bench/harness/result.h"

namespace penstock::bench {

struct Suite {
  const char* name;
  const char* what;  // one line of --help
  absl::StatusOr<Result> (*run)(const Arguments& arguments);
};

std::span<const Suite> Suites();

absl::StatusOr<Result> RunHandoff(const Arguments& arguments);
absl::StatusOr<Result> RunRead(const Arguments& arguments);
absl::StatusOr<Result> RunDecode(const Arguments& arguments);
absl::StatusOr<Result> RunCheckpoints(const Arguments& arguments);
absl::StatusOr<Result> RunCopy(const Arguments& arguments);
absl::StatusOr<Result> RunFeed(const Arguments& arguments);
absl::StatusOr<Result> RunBeside(const Arguments& arguments);

}  // namespace penstock::bench
