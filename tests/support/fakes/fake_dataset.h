// A dataset in memory for tests: any number of samples with bytes that the test supplies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/source/core/dataset.h"

namespace penstock::testing {

class FakeDataset final : public source::Dataset {
 public:
  using Bytes = std::vector<std::byte>;
  // Returns a sample's bytes, or why they cannot be read. Called by reader threads.
  using Files = std::function<absl::StatusOr<Bytes>(uint64_t sample)>;

  // Called by reader threads before they read a sample's bytes; may block.
  using BeforeRead = std::function<void(uint64_t sample)>;

  explicit FakeDataset(
      uint64_t samples, Files files = NoFiles, BeforeRead before = [](uint64_t) {})
      : samples_(samples), files_(std::move(files)), before_(std::move(before)) {}

  absl::string_view kind() const override { return "fake"; }
  uint64_t samples() const override { return samples_; }
  uint64_t digest() const override { return 1000 + samples_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override { return static_cast<int64_t>(sample % 10); }
  std::string path(uint64_t sample) const override { return absl::StrCat("/fake/", sample); }
  std::unique_ptr<Reader> NewReader() const override {
    return std::make_unique<FakeReader>(files_, before_);
  }

 private:
  class FakeReader final : public Reader {
   public:
    FakeReader(Files files, BeforeRead before)
        : files_(std::move(files)), before_(std::move(before)) {}
    absl::StatusOr<Opened> Open(uint64_t sample) override {
      sample_ = sample;
      PENSTOCK_ASSIGN_OR_RETURN(bytes_, files_(sample));
      return Opened{.bytes = bytes_.size(),
                    .fault = bytes_.empty() ? base::Fault::kEmpty : base::Fault::kNone};
    }
    absl::Status Read(std::span<std::byte> into) override {
      before_(sample_);
      std::copy(bytes_.begin(), bytes_.end(), into.begin());
      return absl::OkStatus();
    }

   private:
    const Files files_;
    const BeforeRead before_;
    uint64_t sample_ = 0;
    Bytes bytes_;
  };

  static absl::StatusOr<Bytes> NoFiles(uint64_t) { return Bytes(); }

  const uint64_t samples_;
  const Files files_;
  const BeforeRead before_;
  const std::vector<std::string> classes_ = {"daisy", "rose"};
};

}  // namespace penstock::testing
