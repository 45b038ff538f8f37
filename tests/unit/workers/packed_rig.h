// A dataset of packed records in memory, for tests of what readers pass to workers.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "server/source/core/dataset.h"
#include "tests/support/files/record_maker.h"

namespace penstock::workers {

// A record's data and checksum, which is what a reader reads.
inline std::string PackedSample(const std::vector<int64_t>& numbers, const std::string& text,
                                const std::string& image = "") {
  using namespace penstock::testing;
  std::string features = IntsFeature("numbers", numbers) + BytesFeature("text", {text});
  if (!image.empty()) features += BytesFeature("image", {image});
  return RecordBytes(ExampleOf(features)).substr(12);
}

// Each sample is one of PackedSample's. An empty one is stored as it is, and its rows consist of
// the byte '='. Rows: two int64 "numbers", and a "text" of at most 4 bytes.
class PackedDataset final : public source::Dataset {
 public:
  std::vector<std::string> packed_samples;
  std::string image_name = {};  // if set, samples have an image with this name

  PackedDataset() {
    selection_.fields = {0, 1};
    selection_.layout.Add("numbers", base::DType::kInt64, {2});
    selection_.layout.Add("text", base::DType::kUInt8, {4}, source::RowLayout::Length::kVariable);
  }
  const source::Selection& selection() const { return selection_; }

  absl::string_view kind() const override { return "packed"; }
  uint64_t samples() const override { return packed_samples.size(); }
  uint64_t digest() const override { return 1; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(uint64_t sample) const override { return static_cast<int64_t>(sample) * 10; }
  std::string path(uint64_t sample) const override { return absl::StrCat("/packed#", sample); }
  source::Storage storage() const override {
    return image_name.empty() ? source::Storage::kRows : source::Storage::kEncoded;
  }
  bool packed() const override { return image_name.empty(); }
  std::unique_ptr<Reader> NewReader() const override {
    return std::make_unique<PackedReader>(*this);
  }

 private:
  class PackedReader final : public Reader {
   public:
    explicit PackedReader(const PackedDataset& dataset) : dataset_(dataset) {}
    absl::StatusOr<Opened> Open(uint64_t sample) override {
      sample_ = &dataset_.packed_samples.at(sample);
      return Opened{.bytes = sample_->size()};
    }
    absl::Status Read(std::span<std::byte> into) override {
      std::memcpy(into.data(), sample_->data(), into.size());
      return absl::OkStatus();
    }
    unpack::Recipe RecipeFor(const source::Selection& selection) const override {
      unpack::Recipe recipe = {.packing = unpack::SamplePacking::kExample,
                               .image = dataset_.image_name};
      if (selection.fields.empty()) return recipe;
      recipe.fields = {
          {.name = "numbers",
           .kind = unpack::FeatureKind::kInts,
           .type = base::DType::kInt64,
           .most = 2},
          {.name = "text", .kind = unpack::FeatureKind::kBytes, .variable = true, .most = 4}};
      return recipe;
    }
    absl::StatusOr<base::Fault> ReadFields(const source::Selection& selection,
                                           std::span<std::byte* const> rows) override {
      for (size_t block = 0; block < rows.size(); ++block)
        std::memset(rows[block], '=', selection.layout.blocks[block]);
      return base::Fault::kNone;
    }

   private:
    const PackedDataset& dataset_;
    const std::string* sample_ = nullptr;
  };

  source::Selection selection_;
  std::vector<std::string> classes_;
};

}  // namespace penstock::workers
