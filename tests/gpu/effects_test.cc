// The finish with effects on a GPU: the same bits as on the CPU, which tests/unit/finish compares
// with a reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>

#include "client/finish/effects/on_device.h"
#include "tests/gpu/gpu.h"
#include "tests/support/effects_cases.h"
#include "tests/support/finish_suite.h"

namespace penstock::finish {
namespace {

using cuda::DeviceMemory;
using gpu::Must;

constexpr Type kTypes[] = {Type::kUInt8, Type::kFloat32, Type::kFloat16, Type::kBFloat16};
constexpr uint32_t kClasses = 13;

// A batch's memory on the device.
struct Memory {
  explicit Memory(const Shape& shape)
      : rows(Must(DeviceMemory::Make(*FinishedBytes(Type::kUInt8, shape) + 16))),
        into(Must(DeviceMemory::Make(*FinishedBytes(Type::kFloat32, shape) + 16))),
        labels(Must(DeviceMemory::Make(shape.rows * 8))),
        labels_into(Must(DeviceMemory::Make(shape.rows * 8))),
        soft(Must(DeviceMemory::Make(shape.rows * kClasses * 4))) {}
  DeviceMemory rows, into, labels, labels_into, soft;
};

int64_t* AsLabels(const DeviceMemory& memory) { return reinterpret_cast<int64_t*>(memory.data()); }

std::vector<float> ReadFloats(const DeviceMemory& memory, size_t count) {
  const auto bytes = Must(gpu::ReadBack(memory.data(), count * 4));
  std::vector<float> floats(count);
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

// Shapes for both kernels, for lines that a group of pixels crosses, and for more rows than one
// launch takes.
class GpuEffectsTest : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override { memory_.emplace(shape_); }

  // `shift`: how far past a multiple of 16 the memory begins.
  void Compare(const Spec& spec, const EffectsCase& one, size_t shift) {
    Effects effects = one.ToEffects();
    std::vector<float> soft(shape_.rows * kClasses);
    effects.soft_labels = soft.data(), effects.classes = kClasses;
    std::vector<std::byte> expected(*FinishedBytes(spec.type, shape_));
    ASSERT_OK(ApplyWithEffects(spec, effects, shape_, host_, labels_, expected));
    std::byte *const from = memory_->rows.data() + shift, *const into =
                                                              memory_->into.data() + shift;
    ASSERT_OK(gpu::Fill(from, std::as_bytes(std::span(host_))));
    ASSERT_OK(gpu::Fill(memory_->labels.data(), std::as_bytes(std::span(labels_))));

    effects.soft_labels = reinterpret_cast<float*>(memory_->soft.data());
    ASSERT_OK(ApplyWithEffectsOnDevice(
        spec, effects, shape_, {reinterpret_cast<const uint8_t*>(from), host_.size()},
        {AsLabels(memory_->labels), shape_.rows}, {into, expected.size()},
        {AsLabels(memory_->labels_into), shape_.rows}, nullptr));

    EXPECT_TRUE(Must(gpu::ReadBack(into, expected.size())) == expected)
        << one.name << ", type " << static_cast<int>(spec.type) << ", layout "
        << static_cast<int>(spec.layout) << ", shift " << shift;
    EXPECT_EQ(ReadFloats(memory_->soft, soft.size()), soft) << one.name;
    EXPECT_EQ(Must(gpu::ReadBack(memory_->labels_into.data(), labels_.size() * 8)),
              Must(gpu::ReadBack(memory_->labels.data(), labels_.size() * 8)));
  }

  const Shape shape_ = GetParam();
  const std::vector<uint8_t> host_ = RandomRows(shape_);
  const std::vector<int64_t> labels_ = RandomLabels(shape_.rows, kClasses);
  std::optional<Memory> memory_;
};

TEST_P(GpuEffectsTest, EqualTheCpus) {
  const std::vector<float> mean = Means(shape_.channels), stddev = Deviations(shape_.channels);
  for (const Type type : kTypes)
    for (const Layout layout : {Layout::kNHWC, Layout::kNCHW}) {
      const Spec spec = {type, layout, mean, stddev};
      for (const EffectsCase& one : EffectsCases(spec, shape_))
        for (const size_t shift : {0, 1}) Compare(spec, one, shift);
    }
}

// 1e-40: the inverse of a deviation that the fast division cannot use.
TEST_P(GpuEffectsTest, EqualTheCpusWithExactDivision) {
  const std::vector<float> mean(shape_.channels, 0.3f), stddev(shape_.channels, 1e-40f);
  const Spec spec = {Type::kFloat32, Layout::kNCHW, mean, stddev};
  EffectsCase one = {.name = "exact"};
  one.mix = {
      .kind = MixKind::kCutMix, .share = 0.5, .box = {0, 0, shape_.width, (shape_.height + 1) / 2}};
  Compare(spec, one, 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuEffectsTest,
                         ::testing::Values(Shape{1, 1, 1, 3}, Shape{5, 16, 16, 3},
                                           Shape{7, 24, 10, 3}, Shape{3, 61, 53, 3},
                                           Shape{4, 20, 20, 1}, Shape{2, 61, 53, 16},
                                           Shape{800, 8, 8, 3}, Shape{800, 3, 5, 2},
                                           Shape{8, 224, 224, 3}));

TEST(GpuSyntheticEffectsTest, EqualTheCpus) {
  const Shape shape = {9, 30, 31, 3};
  const Synthetic what = {.seed = 3, .epoch = 1, .first_sample = 8, .classes = kClasses};
  const std::vector<float> mean = Means(3), stddev = Deviations(3);
  const Memory memory(shape);
  for (const Type type : kTypes) {
    const Spec spec = {type, Layout::kNCHW, mean, stddev};
    for (const EffectsCase& one : EffectsCases(spec, shape)) {
      Effects effects = one.ToEffects();
      std::vector<float> soft(shape.rows * kClasses);
      std::vector<int64_t> labels(shape.rows);
      std::vector<std::byte> expected(*FinishedBytes(type, shape));
      effects.soft_labels = soft.data(), effects.classes = kClasses;
      ASSERT_OK(SynthesizeWithEffects(what, spec, effects, shape, expected, labels));

      effects.soft_labels = reinterpret_cast<float*>(memory.soft.data());
      ASSERT_OK(SynthesizeWithEffectsOnDevice(what, spec, effects, shape,
                                              {memory.into.data(), expected.size()},
                                              {AsLabels(memory.labels_into), shape.rows}, nullptr));

      EXPECT_TRUE(Must(gpu::ReadBack(memory.into.data(), expected.size())) == expected) << one.name;
      EXPECT_EQ(ReadFloats(memory.soft, soft.size()), soft) << one.name;
    }
  }
}

TEST(GpuEffectsRefusalTest, WhatTheCpuRefusesIsRefusedInTheSameWords) {
  const Effects effects = {.mix = {.kind = MixKind::kMixUp, .share = 0.5}};
  const std::vector<uint8_t> rows(3);
  std::vector<std::byte> into(3);

  const absl::Status cpu =
      ApplyWithEffects({.type = Type::kUInt8}, effects, {1, 1, 1, 3}, rows, {}, into);

  EXPECT_FALSE(cpu.ok());
  EXPECT_EQ(ApplyWithEffectsOnDevice({.type = Type::kUInt8}, effects, {1, 1, 1, 3}, rows, {}, into,
                                     {}, nullptr),
            cpu);
}

}  // namespace
}  // namespace penstock::finish
