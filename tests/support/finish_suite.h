// One test suite for everything that finishes batches: the CPU variants and the GPU kernels. Each
// is a Finisher, and each test program instantiates FinishSuite with its own.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/finish/finish.h"

namespace penstock::finish {

// How far past a multiple of 16 the source and the destination begin.
struct Places {
  size_t rows = 0;
  size_t into = 0;
};

class Finisher {
 public:
  virtual ~Finisher() = default;
  // Returns the result's memory with kMargin bytes before and after it. All of it was kPoison at
  // first.
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

// All combinations of type and layout for one finisher.
std::vector<FinishCase> AllCases(const std::string& finisher, std::shared_ptr<Finisher> (*make)());
std::string FinishCaseName(const ::testing::TestParamInfo<FinishCase>& info);

class FinishSuite : public ::testing::TestWithParam<FinishCase> {
 protected:
  void SetUp() override;
  // Expects the same bits as the naive reference, and unchanged margins.
  ::testing::AssertionResult EqualsTheReference(const Spec& spec, const Shape& shape,
                                                const std::vector<uint8_t>& rows,
                                                const Places& places = {});
  // The case's type and layout.
  Spec MakeSpec(const std::vector<float>& mean, const std::vector<float>& stddev) const;

  std::shared_ptr<Finisher> finisher_;
};

std::vector<uint8_t> RandomRows(const Shape& shape);

// One mean or deviation per channel; ImageNet's first.
std::vector<float> Means(uint32_t channels);
std::vector<float> Deviations(uint32_t channels);

// Computes element by element, following the contract literally.
std::vector<std::byte> NaiveFinish(const Spec& spec, const Shape& shape,
                                   const std::vector<uint8_t>& rows);

}  // namespace penstock::finish
