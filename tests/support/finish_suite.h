// One suite for everything that finishes batches: the CPU's variants and the GPU's kernels. Each is
// a Finisher; a test program instantiates FinishSuite with those that it has.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/finish/finish.h"

namespace penstock::finish {

// How far behind a multiple of 16 the two sides begin.
struct Places {
  size_t rows = 0;
  size_t into = 0;
};

class Finisher {
 public:
  virtual ~Finisher() = default;
  // What lies in the place for the result afterwards, with kMargin bytes before and behind it,
  // which were kPoison, as all of it was.
  virtual absl::StatusOr<std::vector<std::byte>> Finish(const Spec& spec, const Shape& shape,
                                                        const std::vector<uint8_t>& rows,
                                                        const Places& places) = 0;

  static constexpr size_t kMargin = 32;
  static constexpr std::byte kPoison{0xA5};
};

struct FinishCase {
  std::string finisher;
  std::shared_ptr<Finisher> (*make)();
  Type type;
  Layout layout;
};

// All types and layouts of one finisher.
std::vector<FinishCase> AllCases(const std::string& finisher, std::shared_ptr<Finisher> (*make)());
std::string FinishCaseName(const ::testing::TestParamInfo<FinishCase>& info);

class FinishSuite : public ::testing::TestWithParam<FinishCase> {
 protected:
  void SetUp() override;
  // Expects the bits of the naive reference, and the margins as they were.
  ::testing::AssertionResult EqualsTheReference(const Spec& spec, const Shape& shape,
                                                const std::vector<uint8_t>& rows,
                                                const Places& places = {});
  // The case's type and layout.
  Spec SpecOf(const std::vector<float>& mean, const std::vector<float>& stddev) const;

  std::shared_ptr<Finisher> finisher_;
};

std::vector<uint8_t> RandomRows(const Shape& shape);

// One mean and deviation a channel; ImageNet's first.
std::vector<float> Means(uint32_t channels);
std::vector<float> Deviations(uint32_t channels);

// Element by element, as the contract reads.
std::vector<std::byte> NaiveFinish(const Spec& spec, const Shape& shape,
                                   const std::vector<uint8_t>& rows);

}  // namespace penstock::finish
