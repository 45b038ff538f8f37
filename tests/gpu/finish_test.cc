// Runs tests/support/finish_suite on the GPU kernels, and tests what only they have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/finish/on_device.h"
#include "tests/gpu/gpu.h"
#include "tests/support/finish_suite.h"

namespace penstock::finish {
namespace {

using cuda::DeviceMemory;
using gpu::Must;

// Uses memory that grows on demand and is filled again for each batch.
class GpuFinisher final : public Finisher {
 public:
  absl::StatusOr<std::vector<std::byte>> Finish(const Spec& spec, const Shape& shape,
                                                const std::vector<uint8_t>& rows,
                                                const Places& places) override {
    PENSTOCK_ASSIGN_OR_RETURN(const uint64_t bytes, FinishedBytes(spec.type, shape));
    const std::vector<std::byte> poison(bytes + 2 * kMargin, kPoison);
    PENSTOCK_RETURN_IF_ERROR(Grow(rows_, rows.size() + places.rows));
    PENSTOCK_RETURN_IF_ERROR(Grow(into_, poison.size() + places.into));
    std::byte* from = rows_.data() + places.rows;
    std::byte* into = into_.data() + places.into;
    PENSTOCK_RETURN_IF_ERROR(gpu::Fill(from, std::as_bytes(std::span(rows))));
    PENSTOCK_RETURN_IF_ERROR(gpu::Fill(into, poison));
    PENSTOCK_RETURN_IF_ERROR(ApplyOnDevice(spec, shape,
                                           {reinterpret_cast<const uint8_t*>(from), rows.size()},
                                           {}, {into + kMargin, bytes}, {}, nullptr));
    return gpu::ReadBack(into, poison.size());
  }

 private:
  static absl::Status Grow(DeviceMemory& memory, uint64_t bytes) {
    if (memory.bytes() >= bytes) return absl::OkStatus();
    PENSTOCK_ASSIGN_OR_RETURN(memory, DeviceMemory::Make(bytes));
    return absl::OkStatus();
  }

  DeviceMemory rows_, into_;
};

INSTANTIATE_TEST_SUITE_P(
    Gpu, FinishSuite,
    ::testing::ValuesIn(AllCases(
        "Gpu", +[]() -> std::shared_ptr<Finisher> { return std::make_shared<GpuFinisher>(); })),
    FinishCaseName);

const std::vector<float> kMean = Means(3), kStddev = Deviations(3);

std::vector<Spec> AllSpecs() {
  std::vector<Spec> specs;
  for (const Type type : {Type::kUInt8, Type::kFloat32, Type::kFloat16, Type::kBFloat16}) {
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      specs.push_back({type, layout, kMean, kStddev});
    }
  }
  return specs;
}

const uint8_t* Bytes(const DeviceMemory& memory) {
  return reinterpret_cast<const uint8_t*>(memory.data());
}

TEST(GpuFinishTest, WhatTheCpuRefusesIsRefusedInTheSameWords) {
  const float zero[3] = {0, 0, 0};
  const Spec spec = {.mean = zero, .stddev = zero};
  const std::vector<uint8_t> rows(3);
  std::vector<std::byte> into(12);

  const absl::Status cpu = Apply(spec, {1, 1, 1, 3}, rows, into);

  EXPECT_FALSE(cpu.ok());
  EXPECT_EQ(ApplyOnDevice(spec, {1, 1, 1, 3}, rows, {}, into, {}, nullptr), cpu);
}

TEST(GpuFinishTest, LabelsThatHaveNoRoomAreRefused) {
  const auto memory = Must(DeviceMemory::Make(4096));
  const auto* labels = reinterpret_cast<const int64_t*>(memory.data() + 1024);
  auto* into = reinterpret_cast<int64_t*>(memory.data() + 2048);

  EXPECT_FALSE(ApplyOnDevice({.type = Type::kUInt8}, {2, 1, 1, 3}, {Bytes(memory), 6}, {labels, 2},
                             {memory.data() + 512, 6}, {into, 1}, nullptr)
                   .ok());
}

// Uses more rows than a block has threads, with every kernel.
TEST(GpuFinishTest, LabelsGoAlong) {
  constexpr uint32_t kRows = 1000;
  const auto rows = Must(DeviceMemory::Make(kRows * 75)),
             into = Must(DeviceMemory::Make(kRows * 300));
  const auto labels = Must(DeviceMemory::Make(kRows * 8)),
             out = Must(DeviceMemory::Make(kRows * 8));
  const auto pattern = gpu::Pattern(kRows * 8, 1);
  ASSERT_OK(gpu::Fill(labels.data(), pattern));
  for (const Spec& spec : AllSpecs()) {
    for (const uint32_t width : {5u, 4u}) {
      const Shape shape = {kRows, width, width, 3};
      const uint64_t stored = *FinishedBytes(Type::kUInt8, shape);
      ASSERT_OK(gpu::Fill(out.data(), std::vector<std::byte>(kRows * 8)));

      ASSERT_OK(ApplyOnDevice(spec, shape, {Bytes(rows), stored},
                              {reinterpret_cast<const int64_t*>(labels.data()), kRows},
                              {into.data(), into.bytes()},
                              {reinterpret_cast<int64_t*>(out.data()), kRows}, nullptr));

      EXPECT_EQ(Must(gpu::ReadBack(out.data(), kRows * 8)), pattern);
    }
  }
}

TEST(GpuFinishTest, ATrainersBatchEqualsTheCpus) {
  constexpr Shape kShape = {256, 224, 224, 3};
  const std::vector<uint8_t> host = RandomRows(kShape);
  const auto rows = Must(DeviceMemory::Make(host.size()));
  const auto into = Must(DeviceMemory::Make(host.size() * 4));
  ASSERT_OK(gpu::Fill(rows.data(), std::as_bytes(std::span(host))));
  for (const Spec& spec : AllSpecs()) {
    std::vector<std::byte> expected(*FinishedBytes(spec.type, kShape));
    ASSERT_OK(Apply(spec, kShape, host, expected));

    ASSERT_OK(ApplyOnDevice(spec, kShape, {Bytes(rows), host.size()}, {},
                            {into.data(), expected.size()}, {}, nullptr));

    EXPECT_TRUE(Must(gpu::ReadBack(into.data(), expected.size())) == expected)
        << FinishCaseName({{"", nullptr, spec.type, spec.layout}, 0});
  }
}

class GpuSyntheticTest : public ::testing::TestWithParam<Shape> {};

TEST_P(GpuSyntheticTest, EqualsTheCpus) {
  const Shape shape = GetParam();
  Synthetic what = {
      .seed = 0x0123456789ABCDEF, .epoch = 3, .first_sample = 0xFFFFFFFE, .classes = 1000};
  const std::vector<float> mean = Means(shape.channels), stddev = Deviations(shape.channels);
  std::vector<int64_t> labels(shape.rows);
  const auto device_labels = Must(DeviceMemory::Make(shape.rows * 8));
  for (Spec spec : AllSpecs()) {
    spec.mean = mean, spec.stddev = stddev;
    // Crosses 2³² and the dataset's end.
    what.samples = spec.layout == Layout::kNHWC ? UINT64_MAX : 0xFFFFFFFF;
    std::vector<std::byte> expected(*FinishedBytes(spec.type, shape));
    ASSERT_OK(Synthesize(what, spec, shape, expected, labels));
    const auto into = Must(DeviceMemory::Make(expected.size()));

    ASSERT_OK(SynthesizeOnDevice(what, spec, shape, {into.data(), expected.size()},
                                 {reinterpret_cast<int64_t*>(device_labels.data()), shape.rows},
                                 nullptr));

    EXPECT_TRUE(Must(gpu::ReadBack(into.data(), expected.size())) == expected);
    const auto label_bytes = std::as_bytes(std::span(labels));
    EXPECT_EQ(Must(gpu::ReadBack(device_labels.data(), label_bytes.size())),
              std::vector<std::byte>(label_bytes.begin(), label_bytes.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuSyntheticTest,
                         ::testing::Values(Shape{1, 1, 1, 1}, Shape{3, 5, 7, 3},
                                           Shape{700, 3, 3, 2}, Shape{2, 61, 53, 16},
                                           Shape{32, 224, 224, 3}));

}  // namespace
}  // namespace penstock::finish
