// The contract of every source of samples. To add a source, write a Store for it
// (source_stores.h), which creates and damages its datasets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "server/source/core/content_digest.h"
#include "server/source/core/dataset.h"
#include "tests/contract/source_stores.h"
#include "tests/support/fakes/unpacked.h"

namespace penstock::source {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Whether classes have names or only numbers.
enum class Classes { kNames, kNumbers };

struct Source {
  std::string name;
  Classes classes;
  std::function<std::unique_ptr<Store>()> make_store;
};

class SourceContract : public ::testing::TestWithParam<Source> {
 protected:
  std::unique_ptr<Dataset> Open() {
    auto dataset = store_->Open();
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *std::move(dataset);
  }
  void PutThree() {
    store_->Put("dogs/b.jpg", "dog b");
    store_->Put("cats/z.jpg", "the cat z");
    store_->Put("dogs/a.jpg", "dog a");
  }
  static std::string Read(Dataset::Reader& reader, uint64_t sample) {
    const auto read = penstock::testing::ReadUnpacked(reader, sample);
    if (!read.ok()) return read.status().ToString();
    return read->fault == base::Fault::kNone ? read->image
                                             : std::string(base::FaultName(read->fault));
  }

  // Of opening and reading it. A change is noticed by the one or the other.
  static absl::Status StatusOf(Dataset::Reader& reader, uint64_t sample) {
    return penstock::testing::ReadUnpacked(reader, sample).status();
  }

  const std::unique_ptr<Store> store_ = GetParam().make_store();
};

TEST_P(SourceContract, WhatIsNotThereCannotBeOpened) {
  EXPECT_TRUE(absl::IsNotFound(store_->Open().status()));
}

TEST_P(SourceContract, AnEmptySampleIsAFault) {
  store_->Put("cats/a.jpg", "");

  EXPECT_EQ(Read(*Open()->NewReader(), 0), "empty");
}

TEST_P(SourceContract, AChangedSampleIsNotReadAndItsNeighboursAre) {
  PutThree();
  const auto dataset = Open();
  const auto reader = dataset->NewReader();
  store_->Put("dogs/a.jpg", "another dog");

  const absl::Status read = StatusOf(*reader, 1);

  EXPECT_TRUE(absl::IsDataLoss(read)) << read;
  EXPECT_THAT(std::string(read.message()),
              AllOf(HasSubstr("dogs/a.jpg"), HasSubstr("changed since it was indexed")));
  EXPECT_TRUE(dataset->changed());
  EXPECT_EQ(Read(*reader, 0), "the cat z");
  EXPECT_EQ(Read(*reader, 2), "dog b");
}

// The reader returns neither the old nor the new bytes.
TEST_P(SourceContract, ASampleWithAnotherContentIsNotReadThoughSizeAndTimeAreWhatTheyWere) {
  PutThree();
  const auto dataset = Open();
  const auto reader = dataset->NewReader();
  ASSERT_EQ(Read(*reader, 1), "dog a");

  store_->Overwrite("dogs/a.jpg", "god a");

  const absl::Status read = StatusOf(*reader, 1);
  EXPECT_TRUE(absl::IsDataLoss(read)) << read;
  EXPECT_THAT(std::string(read.message()), HasSubstr("dogs/a.jpg"));
  EXPECT_TRUE(dataset->changed());
}

TEST_P(SourceContract, WhatWasOverwrittenBetweenTwoOpeningsIsReadAnewBesideTheOldOne) {
  PutThree();
  const auto before = Open();
  ASSERT_EQ(Read(*before->NewReader(), 1), "dog a");
  const uint64_t stamp = before->stamp(1);

  store_->Overwrite("dogs/a.jpg", "god a");
  const auto after = Open();

  EXPECT_EQ(Read(*after->NewReader(), 1), "god a");
  EXPECT_NE(after->stamp(1), stamp);
  EXPECT_EQ(after->stamp(2), before->stamp(2));
  EXPECT_TRUE(absl::IsDataLoss(StatusOf(*before->NewReader(), 1)));
}

TEST_P(SourceContract, ASampleThatIsGoneIsTheSourcesTroubleAndTheReaderGoesOn) {
  PutThree();
  const auto dataset = Open();
  const auto reader = dataset->NewReader();
  store_->Remove("dogs/a.jpg");

  EXPECT_FALSE(StatusOf(*reader, 1).ok());

  EXPECT_EQ(Read(*reader, 2), "dog b");
}

TEST_P(SourceContract, ASampleCutOffBetweenOpenAndReadIsTroubleOrWholeNotHalfASample) {
  PutThree();
  const auto dataset = Open();
  const auto reader = dataset->NewReader();
  const auto opened = reader->Open(0);
  ASSERT_TRUE(opened.ok());
  store_->Put("cats/z.jpg", "the");

  std::string bytes(opened->bytes, '\0');

  const auto read = reader->Read(std::as_writable_bytes(std::span(bytes)));

  EXPECT_TRUE(!read.ok() || penstock::testing::Unpack(*reader, bytes).image == "the cat z");
}

TEST_P(SourceContract, AnOpenedSampleMayBeLeftUnread) {
  PutThree();
  const auto dataset = Open();
  const auto reader = dataset->NewReader();
  ASSERT_TRUE(reader->Open(0).ok());

  EXPECT_EQ(Read(*reader, 1), "dog a");
}

TEST_P(SourceContract, SamplesComeByClassThenByName) {
  PutThree();
  const auto dataset = Open();

  ASSERT_EQ(dataset->samples(), 3u);
  const bool named = GetParam().classes == Classes::kNames;
  EXPECT_THAT(dataset->classes(), named ? ElementsAre("cats", "dogs") : ElementsAre("0", "1"));
  EXPECT_THAT(dataset->path(0), HasSubstr("cats/z"));
  EXPECT_THAT(dataset->path(1), HasSubstr("dogs/a"));
  EXPECT_THAT(dataset->path(2), HasSubstr("dogs/b"));
  EXPECT_EQ(dataset->label(0), 0);
  EXPECT_EQ(dataset->label(1), 1);
  EXPECT_EQ(dataset->label(2), 1);
}

TEST_P(SourceContract, EverySampleReadsAsItWasPutInAnyOrderByAnyReader) {
  PutThree();
  store_->Put("cats/large.jpg", std::string(3'000'000, 'x'));
  const auto dataset = Open();
  const auto one = dataset->NewReader(), two = dataset->NewReader();

  EXPECT_EQ(Read(*one, 3), "dog b");
  EXPECT_EQ(Read(*two, 0), std::string(3'000'000, 'x'));
  EXPECT_EQ(Read(*one, 1), "the cat z");
  EXPECT_EQ(Read(*one, 1), "the cat z");
  EXPECT_EQ(Read(*two, 2), "dog a");
}

TEST_P(SourceContract, EveryRangeIsThoseSamplesOfTheWholeUnderTheirOwnNumbers) {
  std::vector<std::string> put;
  for (int i = 10; i < 40; ++i) {
    put.push_back(absl::StrCat("sample ", i));
    store_->Put(absl::StrCat("class/", i, ".jpg"), put.back());
  }
  const auto dataset = Open();
  for (const auto& [begin, end] : {std::pair(0, 30), {0, 1}, {29, 30}, {7, 19}}) {
    const auto reader = dataset->NewReader();
    for (int sample = begin; sample < end; ++sample) {
      EXPECT_EQ(Read(*reader, static_cast<uint64_t>(sample)), put[static_cast<size_t>(sample)]);
      EXPECT_THAT(dataset->path(static_cast<uint64_t>(sample)),
                  HasSubstr(absl::StrCat("class/", sample + 10)));
    }
  }
}

TEST_P(SourceContract, LabelsAndPathsHoldAtTheEndsOfManyClasses) {
  for (int c = 100; c < 130; ++c)
    for (int i = 0; i < c % 4 + 1; ++i)
      store_->Put(absl::StrCat(c, "/", i, ".jpg"), absl::StrCat(c, ".", i));
  const auto dataset = Open();
  const auto reader = dataset->NewReader();

  uint64_t sample = 0;
  for (int c = 100; c < 130; ++c)
    for (int i = 0; i < c % 4 + 1; ++i, ++sample) {
      EXPECT_EQ(dataset->label(sample), c - 100);
      EXPECT_THAT(dataset->path(sample), HasSubstr(absl::StrCat(c, "/", i)));
      EXPECT_EQ(Read(*reader, sample), absl::StrCat(c, ".", i));
    }
  EXPECT_EQ(dataset->samples(), sample);
}

TEST_P(SourceContract, TheDigestStaysUntilSomethingChanges) {
  PutThree();
  const uint64_t digest = Open()->digest();
  EXPECT_EQ(Open()->digest(), digest);

  store_->Put("dogs/c.jpg", "dog c");

  EXPECT_NE(Open()->digest(), digest);
}

TEST_P(SourceContract, TheContentDigestIsOfEveryByte) {
  PutThree();
  const auto dataset = Open();
  const std::string digest = ContentDigest(*dataset, ParallelFor{.threads = 2}).value();

  EXPECT_EQ(ContentDigest(*Open(), ParallelFor{}).value(), digest);
  store_->Overwrite("dogs/a.jpg", "dog A");
  const auto other = Open();
  if (GetParam().classes == Classes::kNames) {
    EXPECT_EQ(other->digest(), dataset->digest()) << "it is of names and sizes";
  }
  EXPECT_NE(ContentDigest(*other, ParallelFor{}).value(), digest);
  EXPECT_TRUE(absl::IsDataLoss(ContentDigest(*dataset, ParallelFor{}).status()));
}

using SourceContractDeathTest = SourceContract;

TEST_P(SourceContractDeathTest, ASampleBeyondTheLastIsNeverLookedUp) {
  PutThree();
  const auto dataset = Open();

  EXPECT_DEATH(dataset->label(3), "cannot happen");
  EXPECT_DEATH(dataset->path(3), "cannot happen");
  EXPECT_DEATH((void)dataset->NewReader()->Open(3), "cannot happen");
}

template <typename SomeStore, Tree::Confinement confinement>
std::unique_ptr<Store> Make() {
  return std::make_unique<SomeStore>(confinement);
}

const Source kSources[] = {
    {"Folder", Classes::kNames, Make<FolderStore, Tree::Confinement::kKernel>},
    {"FolderPortable", Classes::kNames, Make<FolderStore, Tree::Confinement::kPortable>},
    {"List", Classes::kNames, Make<ListStore, Tree::Confinement::kKernel>},
    {"ListPortable", Classes::kNames, Make<ListStore, Tree::Confinement::kPortable>},
    {"Tar", Classes::kNumbers, Make<TarStore, Tree::Confinement::kKernel>},
    {"TarPortable", Classes::kNumbers, Make<TarStore, Tree::Confinement::kPortable>},
    {"TfRecord", Classes::kNumbers, Make<RecordStore, Tree::Confinement::kKernel>},
    {"TfRecordPortable", Classes::kNumbers, Make<RecordStore, Tree::Confinement::kPortable>},
    {"RemoteTar", Classes::kNumbers, Make<RemoteStore<TarStore>, Tree::Confinement::kKernel>},
    {"RemoteTfRecord", Classes::kNumbers,
     Make<RemoteStore<RecordStore>, Tree::Confinement::kKernel>},
};

INSTANTIATE_TEST_SUITE_P(Sources, SourceContract, ::testing::ValuesIn(kSources),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Sources, SourceContractDeathTest, ::testing::ValuesIn(kSources),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace penstock::source
