// Python datasets in a private daemon's catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server/app/catalog/catalog.h"
#include "tests/unit/app/catalog/catalog_rig.h"

namespace penstock::app {
namespace {

using CatalogPythonTest = CatalogRig;

TEST_F(CatalogPythonTest, WhoNamesTheSameIdSharesTheDatasetNowAndLater) {
  const feed::DatasetState* const first = Open("python:id=ab,samples=12").value().get();

  EXPECT_EQ(Open("python:samples=12,id=AB").value().get(), first);
  EXPECT_NE(Open("python:id=ac,samples=12").value().get(), first);
  EXPECT_NE(Open("python:id=ab,samples=13").value().get(), first);
  EXPECT_EQ(Open("python:id=ab,samples=12").value().get(), first);
}

// Nothing is counted sample by sample.
TEST_F(CatalogPythonTest, AnyNumberOfSamplesOpensAtOnce) {
  const Catalog::State state = Open("python:id=ab,samples=4611686018427387904").value();

  EXPECT_EQ(state->dataset->samples(), uint64_t{1} << 62);
  EXPECT_EQ(state->files, 0u);
  EXPECT_EQ(catalog().RangeOf(state->name, *state).value().count, uint64_t{1} << 62);
}

TEST_F(CatalogPythonTest, BadSamplesAreRememberedInMemoryAlone) {
  const std::string name = "python:id=ab,samples=12";
  Open(name).value()->quarantine.Add({.sample = 1, .path = "p", .fault = base::Fault::kTimeout});

  const Catalog::State state = Open(name).value();

  EXPECT_TRUE(state->quarantine.Contains(1));
  EXPECT_TRUE(state->quarantine.Save().ok());
  EXPECT_FALSE(std::filesystem::exists(folder_.At("state/quarantine")));
}

TEST_F(CatalogPythonTest, TheListShowsItUnderItsName) {
  Open("python:id=ab,samples=12").value();

  const std::vector<DatasetView> views = catalog().List();

  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].name, "python:id=ab,samples=12");
  EXPECT_EQ(views[0].state->dataset->kind(), "python");
}

}  // namespace
}  // namespace penstock::app
