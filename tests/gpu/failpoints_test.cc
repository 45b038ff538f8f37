// Kills the daemon at the failpoints of GPU delivery, while trainers of other users take batches on
// a GPU. They must get what they get without that.
#include <string>
#include <vector>

#include "tests/system/failpoints/kills.h"

namespace penstock::testing {
namespace {

class GpuFailpointsTest : public KillsAtFailpoints {
 protected:
  GpuFailpointsTest() : KillsAtFailpoints(Where::kOnGpu) {}
};

TEST_F(GpuFailpointsTest, WhereverTheDaemonIsKilledTrainersGetTheSame) {
  const std::vector<std::string> of_gpu = Reachable();
  EXPECT_GE(of_gpu.size(), 10u);
  KillAt(of_gpu);
}

}  // namespace
}  // namespace penstock::testing
