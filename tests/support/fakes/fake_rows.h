// A dataset of stored rows in memory for tests: byte j of sample i is i + j. Copies fail when the
// test says so.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/source/core/dataset.h"

namespace penstock::testing {

class FakeRows final : public source::Dataset {
 public:
  // Called before each copy, on the copying threads.
  using Trouble = std::function<absl::Status(std::span<const uint64_t> samples)>;

  FakeRows(uint64_t samples, source::RowShape shape, Trouble trouble = nullptr)
      : samples_(samples), shape_(shape), trouble_(std::move(trouble)) {}

  absl::string_view kind() const override { return "fake rows"; }
  uint64_t samples() const override { return samples_; }
  uint64_t digest() const override { return 2000 + samples_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override { return static_cast<int64_t>(sample % 10); }
  std::string path(uint64_t sample) const override { return absl::StrCat("/fake#", sample); }
  source::Storage storage() const override { return source::Storage::kRows; }
  std::vector<source::SampleField> fields() const override {
    return {{.name = source::kImage, .shape = {shape_.height, shape_.width, shape_.channels}}};
  }
  absl::Status CopyRows(const source::Selection&, std::span<const uint64_t> samples,
                        std::span<std::byte* const> blocks) const override {
    std::byte* into = blocks.front();
    if (trouble_) PENSTOCK_RETURN_IF_ERROR(trouble_(samples));
    for (const uint64_t sample : samples)
      for (uint64_t j = 0; j < shape_.bytes(); ++j) *into++ = ByteOf(sample, j);
    return absl::OkStatus();
  }

  static std::byte ByteOf(uint64_t sample, uint64_t j) {
    return static_cast<std::byte>(sample + j);
  }

 private:
  const uint64_t samples_;
  const source::RowShape shape_;
  const Trouble trouble_;
  const std::vector<std::string> classes_ = {"daisy", "rose"};
};

}  // namespace penstock::testing
