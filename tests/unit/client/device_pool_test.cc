// A pool's memory on a GPU simulated in host memory: who may write to it, and when.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>

#include "client/src/gpu/pool_core.h"
#include "tests/unit/client/fake_gpu.h"

namespace penstock::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Test;

constexpr size_t kBufferBytes = 1000;

class DevicePoolTest : public Test {
 protected:
  static std::byte* At(const DeviceBuffer& buffer) {
    return static_cast<std::byte*>(buffer.data());
  }
  // Like a finish on the pool's stream, fills the buffer when the stream reaches this point.
  void Fill(const DeviceBuffer& buffer, int value) {
    std::memset(source_.data(), value, source_.size());
    ASSERT_TRUE(gpu_->CopyOnDevice(At(buffer), source_.data(), 1, pool_.stream()).ok());
  }
  DeviceBuffer Take(size_t bytes = kBufferBytes) {
    Result<DeviceBuffer> buffer = pool_.Take(bytes);
    EXPECT_TRUE(buffer.ok()) << buffer.status().ToString();
    return *std::move(buffer);
  }

  const std::shared_ptr<FakeGpu> gpu_ = std::make_shared<FakeGpu>();
  DevicePool pool_ = PoolCore::ToPool(PoolCore::Make(gpu_).value());
  const Stream reader_ = FakeGpu::Named(1), other_ = FakeGpu::Named(2);
  std::array<std::byte, kBufferBytes> source_ = {};
};

TEST_F(DevicePoolTest, AStreamThatIsCapturedIsRefusedAndTheBufferGoesBack) {
  gpu_->captured = {reader_};

  const Status status = Take().UsableOn(reader_);

  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("captured"));
  (void)Take();
  EXPECT_EQ(gpu_->alive, 1);
}

TEST_F(DevicePoolTest, MoreThanFitsIsNotCopied) {
  DeviceBuffer buffer = Take();

  const Status status = buffer.CopyFrom(source_.data(), buffer.bytes() + 1, reader_);

  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(gpu_->Waiting(reader_), 0u);
}

TEST_F(DevicePoolTest, ABufferWhoseReadersCannotBeNotedIsNeverWrittenAgainNorFreedBeforeThePool) {
  std::byte* const data = [&] {
    DeviceBuffer buffer = Take();
    EXPECT_TRUE(buffer.UsableOn(reader_).ok());
    gpu_->captured = {reader_};
    return At(buffer);
  }();

  EXPECT_NE(At(Take()), data);
  EXPECT_EQ(gpu_->alive, 2);
}

TEST_F(DevicePoolTest, AForkedChildIsToldAndTouchesNothing) {
  std::optional<DeviceBuffer> buffer = Take();

  const pid_t child = ::fork();
  if (child == 0) {
    const bool told = pool_.Take(kBufferBytes).status().code() == Code::kFailedPrecondition &&
                      buffer->UsableOn(reader_).code() == Code::kFailedPrecondition;
    buffer.reset();
    ::_exit(told && gpu_->alive == 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

TEST_F(DevicePoolTest, AReaderWaitsForWhatThePoolsStreamWritesAndTheHostDoesNot) {
  DeviceBuffer buffer = Take();
  Fill(buffer, 7);
  ASSERT_TRUE(buffer.UsableOn(reader_).ok());

  gpu_->Run(reader_);
  EXPECT_EQ(gpu_->Waiting(reader_), 1u);
  gpu_->RunAll();

  EXPECT_EQ(gpu_->Waiting(reader_), 0u);
  EXPECT_EQ(At(buffer)[0], std::byte{7});
  EXPECT_EQ(gpu_->synchronized, 0);
}

TEST_F(DevicePoolTest, ABufferThatIsGivenBackIsWrittenAgainOnlyBehindItsReader) {
  std::byte seen{};
  std::byte* data = nullptr;
  {
    DeviceBuffer buffer = Take();
    data = At(buffer);
    Fill(buffer, 7);
    ASSERT_TRUE(buffer.UsableOn(reader_).ok());
    ASSERT_TRUE(gpu_->CopyOnDevice(&seen, data, 1, reader_).ok());
  }

  const DeviceBuffer again = Take();
  gpu_->Run(pool_.stream());  // the first fill
  Fill(again, 8);
  gpu_->Run(pool_.stream());

  EXPECT_EQ(At(again), data);
  EXPECT_EQ(data[0], std::byte{7});  // the reader hasn't run yet
  gpu_->RunAll();
  EXPECT_EQ(seen, std::byte{7});
  EXPECT_EQ(data[0], std::byte{8});
  EXPECT_EQ(gpu_->synchronized, 0);
}

TEST_F(DevicePoolTest, OfSeveralReadersTheLastOneCounts) {
  std::byte* data = nullptr;
  std::byte seen[2] = {};
  {
    DeviceBuffer buffer = Take();
    data = At(buffer);
    ASSERT_TRUE(buffer.UsableOn(reader_).ok());
    ASSERT_TRUE(buffer.UsableOn(other_).ok());
    gpu_->RunAll();
    ASSERT_TRUE(gpu_->CopyOnDevice(&seen[0], data, 1, reader_).ok());
    ASSERT_TRUE(gpu_->CopyOnDevice(&seen[1], data, 1, other_).ok());
  }

  const DeviceBuffer again = Take();
  Fill(again, 8);
  gpu_->Run(reader_);
  gpu_->Run(pool_.stream());
  EXPECT_EQ(data[0], std::byte{0});
  gpu_->RunAll();

  EXPECT_EQ(data[0], std::byte{8});
}

TEST_F(DevicePoolTest, ABufferThatNobodyReadIsWrittenAgainAtOnce) {
  (void)Take();

  const DeviceBuffer again = Take();

  EXPECT_EQ(gpu_->Waiting(pool_.stream()), 0u);
  EXPECT_EQ(gpu_->alive, 1);
}

TEST_F(DevicePoolTest, TheOneThatWasGivenBackFirstIsTakenFirst) {
  std::optional<DeviceBuffer> a = Take(), b = Take();
  const std::byte *first = At(*b), *second = At(*a);
  b.reset();
  a.reset();

  const DeviceBuffer one = Take(), two = Take();

  EXPECT_EQ(At(one), first);
  EXPECT_EQ(At(two), second);
}

TEST_F(DevicePoolTest, AnotherSizeIsOtherMemory) {
  (void)Take();

  const DeviceBuffer larger = Take(10 * kBufferBytes);

  EXPECT_GE(larger.bytes(), 10 * kBufferBytes);
  EXPECT_EQ(gpu_->alive, 2);
}

TEST_F(DevicePoolTest, ACopyIsMadeOnTheReadersStreamBehindThePools) {
  source_[0] = std::byte{9};
  DeviceBuffer buffer = Take();

  ASSERT_TRUE(buffer.CopyFrom(source_.data(), 1, reader_).ok());
  gpu_->Run(reader_);
  EXPECT_EQ(At(buffer)[0], std::byte{0});
  gpu_->RunAll();

  EXPECT_EQ(At(buffer)[0], std::byte{9});
}

TEST_F(DevicePoolTest, BuffersOutliveTheirPoolAndTheLastOneFreesEverything) {
  {
    std::optional<DeviceBuffer> buffer;
    {
      DevicePool pool = PoolCore::ToPool(PoolCore::Make(gpu_).value());
      buffer = *pool.Take(kBufferBytes);
    }
    EXPECT_TRUE(buffer->UsableOn(reader_).ok());
    EXPECT_EQ(gpu_->alive, 1);
  }

  EXPECT_EQ(gpu_->alive, 0);
}

TEST_F(DevicePoolTest, AfterAWaitWhatThePoolsStreamWritesIsThere) {
  DeviceBuffer buffer = Take();
  Fill(buffer, 7);

  ASSERT_TRUE(pool_.Wait().ok());

  EXPECT_EQ(At(buffer)[0], std::byte{7});
}

TEST_F(DevicePoolTest, WhatComesBehindSeveralStreamsWaitsForAllOfThem) {
  std::byte a{}, b{};
  ASSERT_TRUE(gpu_->CopyOnDevice(&a, source_.data(), 1, reader_).ok());
  ASSERT_TRUE(gpu_->CopyOnDevice(&b, source_.data(), 1, other_).ok());
  const std::array<Stream, 2> both = {reader_, other_};

  const Result<Stream> behind = pool_.Behind(both);

  ASSERT_TRUE(behind.ok());
  ASSERT_TRUE(gpu_->CopyOnDevice(source_.data() + 1, source_.data(), 1, *behind).ok());
  gpu_->Run(reader_);
  gpu_->Run(*behind);
  EXPECT_GE(gpu_->Waiting(*behind), 1u);
  gpu_->RunAll();
  EXPECT_EQ(gpu_->Waiting(*behind), 0u);
}

}  // namespace
}  // namespace penstock::client
