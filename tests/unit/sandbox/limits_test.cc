#include "common/sandbox/limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "common/base/units.h"
#include "common/sandbox/sandbox.h"
#include "tests/unit/sandbox/in_child.h"

namespace penstock::sandbox {
namespace {

bool Has(__rlimit_resource_t what, rlim_t wanted) {
  rlimit limit{};
  ::getrlimit(what, &limit);
  return limit.rlim_cur == wanted && limit.rlim_max == wanted;
}

// Sets a hard limit, becomes an ordinary user, and lowers the limits. 0: they are as wanted.
int Limited(rlim_t hard_files, rlim_t hard_memory, rlim_t files, rlim_t memory) {
  return InChild([&] {
    const rlimit most_files{.rlim_cur = hard_files, .rlim_max = hard_files};
    const rlimit most_memory{.rlim_cur = hard_memory, .rlim_max = hard_memory};
    if (::setrlimit(RLIMIT_NOFILE, &most_files) != 0) return 1;
    if (!kIsInstrumented && ::setrlimit(RLIMIT_DATA, &most_memory) != 0) return 2;
    if (::geteuid() == 0 && ::setuid(54321) != 0) return 3;  // root may raise limits
    if (!LimitProcess({.open_files = 64, .memory = 4 * base::kGiB}).ok()) return 4;
    if (!Has(RLIMIT_NOFILE, files)) return 5;
    return kIsInstrumented || Has(RLIMIT_DATA, memory) ? 0 : 6;
  });
}

TEST(LimitsTest, AStricterLimitThatIsInheritedStays) {
  EXPECT_EQ(Limited(32, 2 * base::kGiB, 32, 2 * base::kGiB), 0);
  EXPECT_EQ(Limited(1000, 8 * base::kGiB, 64, 4 * base::kGiB), 0);
  EXPECT_EQ(Limited(64, RLIM_INFINITY, 64, 4 * base::kGiB), 0);
}

}  // namespace
}  // namespace penstock::sandbox
