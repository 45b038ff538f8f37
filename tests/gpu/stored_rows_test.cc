// Tests rows that need no decoding on a GPU: copied as stored, or generated there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/gpu/delivery.h"
#include "tests/gpu/gpu.h"
#include "tests/support/files/idx_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"

namespace penstock::gpu {
namespace {

using ::testing::HasSubstr;

constexpr Finish kBytes = {.type = Type::kUInt8, .layout = Layout::kNHWC};
constexpr Finish kFloats = {
    .type = Type::kFloat32, .layout = Layout::kNCHW, .mean = {0.5f}, .stddev = {0.25f}};

SessionOptions Rows(const std::string& dataset, const std::string& device) {
  SessionOptions options;
  options.dataset = dataset;
  options.batch_size = 16;
  options.seed = 3;
  options.epochs = 1;
  options.device = device;
  return options;
}

// Expects the same epoch, batch by batch, from a session on the GPU and one in host memory.
void ExpectTheHostsEpoch(Client& client, const std::string& dataset, const Finish& finish) {
  Session there = client.Open(Rows(dataset, "cuda:0")).OrDie();
  Session here = client.Open(Rows(dataset, "host")).OrDie();
  const Desk desk(there, 4);
  uint64_t batches = 0;
  while (auto expected = here.Next()) {
    ++batches;
    std::vector<uint8_t> images(expected->FinishedBytes(finish));
    const std::vector<int64_t> labels(expected->labels().begin(), expected->labels().end());
    ASSERT_TRUE(expected->FinishInto(finish, images.data(), images.size()).ok());
    const Result<Batch> got = there.NextInto(finish, desk.into(), desk.stream());
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(desk.Images(images.size(), desk.stream()), images);
    EXPECT_EQ(desk.Labels(labels.size(), desk.stream()), labels);
  }
  EXPECT_GT(batches, 3u);
}

class StoredRowsOnGpuTest : public ::testing::Test {
 protected:
  testing::DaemonProcess daemon_{{.workers = 1}};
  Client client_ = Client::Connect({.address = daemon_.address()}).OrDie();
};

TEST_F(StoredRowsOnGpuTest, RowsOfOneChannelAreTheHosts) {
  testing::TempFolder folder;
  folder.Write("images-idx3", testing::IdxImages(100, 28, 28));
  folder.Write("labels-idx1", testing::IdxLabels(100));

  ExpectTheHostsEpoch(client_, folder.path(), kBytes);
  ExpectTheHostsEpoch(client_, folder.path(), kFloats);
}

TEST_F(StoredRowsOnGpuTest, SyntheticRowsAreMadeThereAsTheHostMakesThemAndNothingIsCopied) {
  const std::string dataset = "synthetic:31x33x1,samples=100,classes=10,seed=4";

  ExpectTheHostsEpoch(client_, dataset, kBytes);
  ExpectTheHostsEpoch(client_, dataset, kFloats);

  EXPECT_EQ(daemon_.Status().gpus_size(), 0);  // synthetic rows needed no GPU in the daemon
  Session session = client_.Open(Rows(dataset, "cuda:0")).OrDie();
  EXPECT_EQ(session.device(), 0);
  EXPECT_THAT(session.delivery_reason(), HasSubstr("synthetic rows are made by the consumer"));
}

}  // namespace
}  // namespace penstock::gpu
