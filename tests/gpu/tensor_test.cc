// The kernel that gathers and casts a tensor's rows gives the same bits as the CPU variant.
#include "client/finish/tensor.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/gpu/gpu.h"

namespace penstock::finish {
namespace {

using base::DType;
using cuda::DeviceMemory;
using gpu::Must;

struct Cast {
  DType from, to;
};

std::vector<Cast> AllCasts() {
  std::vector<Cast> casts;
  for (uint32_t from = 1; from <= 13; ++from) {
    for (uint32_t to = 1; to <= 13; ++to) {
      const Cast cast = {static_cast<DType>(from), static_cast<DType>(to)};
      if (CheckTensor({.from = cast.from, .to = cast.to}).ok()) casts.push_back(cast);
    }
  }
  return casts;
}

std::string CastName(const ::testing::TestParamInfo<Cast>& info) {
  return absl::StrCat(base::DTypeName(info.param.from), "_to_", base::DTypeName(info.param.to));
}

class GpuTensorTest : public ::testing::TestWithParam<Cast> {
 protected:
  // Compares both results for the same random bytes. NaNs are excluded, because a GPU may encode
  // them differently.
  static void ExpectTheSame(TensorJob job, uint64_t gap) {
    const uint64_t element = base::ElementBytes(job.from);
    job.row_stride = (job.elements + gap) * element;
    job.into_bytes = job.rows * job.elements * base::ElementBytes(job.to);
    std::mt19937_64 random(job.elements);
    std::vector<std::byte> rows(job.rows * job.row_stride);
    for (std::byte& byte : rows) byte = static_cast<std::byte>(random() & 0x3F);  // no NaN
    std::vector<std::byte> wanted(job.into_bytes);
    const auto there = Must(DeviceMemory::Make(rows.size() + job.into_bytes + 512));
    std::byte* const into = there.data() + (rows.size() + 255) / 256 * 256;
    ASSERT_TRUE(gpu::Fill(there.data(), rows).ok());

    TensorJob on_cpu = job, on_gpu = job;
    on_cpu.data = rows.data(), on_cpu.into = wanted.data();
    on_gpu.data = there.data(), on_gpu.into = into;
    ASSERT_TRUE(Convert(on_cpu).ok());
    ASSERT_TRUE(ConvertOnDevice(on_gpu, nullptr).ok());

    EXPECT_EQ(Must(gpu::ReadBack(into, wanted.size())), wanted)
        << job.rows << " x " << job.elements << ", gap " << gap;
  }
};

TEST_P(GpuTensorTest, HasTheBitsOfTheCpuWhateverTheShapeAndTheGaps) {
  const auto [from, to] = GetParam();
  for (const uint64_t elements : {1, 7, 1024, 2048, 2049, 5000})
    for (const uint64_t gap : {0, 1, 3})
      ExpectTheSame({.from = from, .to = to, .rows = 33, .elements = elements}, gap);
}

TEST_P(GpuTensorTest, RefusesWhatTheCpuRefusesInTheSameWords) {
  const auto [from, to] = GetParam();
  const TensorJob job = {.from = from, .to = to, .rows = 2, .elements = 2, .into_bytes = 1};
  EXPECT_EQ(ConvertOnDevice(job, nullptr), Convert(job));
}

INSTANTIATE_TEST_SUITE_P(Casts, GpuTensorTest, ::testing::ValuesIn(AllCasts()), CastName);

}  // namespace
}  // namespace penstock::finish
