// A catalogue over real folders. It only indexes them, so their files need not be photographs.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/app/catalog/catalog.h"
#include "server/source/parse/directly.h"
#include "tests/support/files/temp_folder.h"

namespace penstock::app {

class CatalogRig : public ::testing::Test {
 protected:
  CatalogRig() { MakeDataset("flowers", 3); }

  void MakeDataset(const std::string& name, int files) {
    for (int i = 0; i < files; ++i)
      folder_.Write(absl::StrCat(name, "/daisy/", i, ".jpg"), absl::StrCat("photograph ", i));
  }

  // Created on the first call, with the options at that time.
  Catalog& catalog() {
    if (!catalog_) catalog_.emplace(options_);
    return *catalog_;
  }

  absl::StatusOr<Catalog::State> Open(const std::string& dataset, const Opener& opener = {}) {
    std::promise<absl::StatusOr<Catalog::State>> answer;
    catalog().Open(dataset, opener, [&](absl::StatusOr<Catalog::State> state) {
      answer.set_value(std::move(state));
    });
    return answer.get_future().get();
  }

  // Indexes the dataset and returns the last progress report, or the error.
  absl::StatusOr<rpc::IndexProgress> Index(const std::string& dataset,
                                           const Opener& opener = {.is_operator = true},
                                           bool cancelled = false) {
    std::promise<absl::StatusOr<rpc::IndexProgress>> end;
    catalog().Index(
        {.dataset = dataset}, opener, [cancelled] { return cancelled; },
        [&](absl::StatusOr<rpc::IndexProgress> progress) {
          if (!progress.ok() || progress->done) end.set_value(std::move(progress));
        });
    return end.get_future().get();
  }

  // Like a configured daemon, serves "flowers" to these groups and "trees" to everybody, and
  // nothing by path.
  void ServeByName(std::vector<gid_t> groups = {}) {
    options_.any_path = false;
    options_.offer.datasets = {{"flowers", folder_.At("flowers"), std::move(groups)},
                               {"trees", folder_.At("trees"), {}}};
  }

  testing::TempFolder folder_;
  Catalog::Options options_{.any_path = true,  // as a private daemon's
                            .state_dir = folder_.At("state"),
                            .new_parsers = [](const auto&) { return source::DirectParsers(); }};
  std::optional<Catalog> catalog_;
};

}  // namespace penstock::app
