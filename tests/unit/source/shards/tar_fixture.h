// Opens tar shards in a temporary folder as a dataset.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/source/parse/directly.h"
#include "server/source/tar/tar.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::source {

// An image with its label.
inline std::string TarSampleOf(const std::string& key, const std::string& image, int label) {
  return penstock::testing::TarFile(key + ".jpg", image) +
         penstock::testing::TarFile(key + ".cls", std::to_string(label));
}

class TarTest : public ::testing::Test {
 protected:
  absl::StatusOr<OpenedShards> TryOpen() {
    ShardOptions options;
    options.spec = asked_;
    if (options.spec.shards.empty()) options.spec.shards = {folder_.At("x.tar")};
    options.state_dir = state_;
    options.threads = 3;
    options.cache = use_;
    return OpenTar(options, DirectParsers());
  }
  std::unique_ptr<Dataset> Open() {
    auto opened = TryOpen();
    EXPECT_TRUE(opened.ok()) << opened.status();
    warning_ = opened.ok() ? opened->warning : "";
    from_cache_ = opened.ok() && opened->from_cache;
    return opened.ok() ? std::move(opened->dataset) : nullptr;
  }
  std::string Refusal() { return std::string(TryOpen().status().message()); }

  static std::string Read(const Dataset& dataset, uint64_t sample) {
    const auto reader = dataset.NewReader();
    const auto opened = reader->Open(sample);
    if (!opened.ok()) return opened.status().ToString();
    if (opened->fault != base::Fault::kNone) return std::string(base::FaultName(opened->fault));
    std::string bytes(opened->bytes, '\0');
    const auto status = reader->Read(std::as_writable_bytes(std::span(bytes)));
    return status.ok() ? bytes : status.ToString();
  }

  penstock::testing::TempFolder folder_;
  ShardsSpec asked_;
  std::string state_ = folder_.At("state");
  CacheUse use_ = CacheUse::kUse;
  std::string warning_;
  bool from_cache_ = false;
};

class TarFieldsTest : public TarTest {
 protected:
  // Sets rows_ to the sample's fields. Returns the fault.
  absl::StatusOr<base::Fault> ReadFields(const Dataset& dataset, uint64_t sample,
                                         const std::vector<FieldRequest>& requests) {
    PENSTOCK_ASSIGN_OR_RETURN(const Selection selection, dataset.Select(requests));
    rows_.clear();
    std::vector<std::byte*> at;
    for (const uint64_t bytes : selection.layout.blocks) rows_.push_back(std::string(bytes, '#'));
    for (std::string& row : rows_) at.push_back(reinterpret_cast<std::byte*>(row.data()));
    const auto reader = dataset.NewReader();
    EXPECT_TRUE(reader->Open(sample).ok());
    return reader->ReadFields(selection, at);
  }
  std::vector<std::string> rows_;
};

}  // namespace penstock::source
