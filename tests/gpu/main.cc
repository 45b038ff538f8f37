// The main function of all programs in tests/gpu: without a GPU, it skips all tests and says so.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>

#include "common/cuda/device.h"

namespace {

// Skips each test before it begins. The fixture's constructor still runs, so fixtures must use CUDA
// in SetUp, not in their constructors.
class Skipper final : public ::testing::EmptyTestEventListener {
 public:
  explicit Skipper(std::string why) : why_(std::move(why)) {}
  void OnTestStart(const ::testing::TestInfo&) override { Skip(); }

 private:
  void Skip() { GTEST_SKIP() << "no GPU: " << why_; }

  const std::string why_;
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (const absl::Status usable = penstock::cuda::Usable(); usable.ok()) {
    std::printf("%s\n", penstock::cuda::Versions().c_str());
  } else {
    const std::string why(usable.message());
    std::printf("SKIPPED: no GPU: %s\n", why.c_str());
    // GoogleTest owns it.
    ::testing::UnitTest::GetInstance()->listeners().Append(new Skipper(why));
  }
  return RUN_ALL_TESTS();
}
