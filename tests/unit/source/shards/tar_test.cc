// Tar shards as a dataset: refusals, samples and reading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/source/parse/directly.h"
#include "tests/unit/source/shards/tar_fixture.h"

namespace penstock::source {
namespace {

using penstock::testing::PaxHeader;
using penstock::testing::PaxRecord;
using penstock::testing::TarEnd;
using penstock::testing::TarFile;
using penstock::testing::TarLongNamed;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- Refusals. ----

TEST_F(TarTest, CompressedShardsAreRefusedWithTheReasonAndTheRemedy) {
  folder_.Write("x.tar", "\x1F\x8B\x08 and so on");

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("x.tar' is compressed (gzip)"), HasSubstr("unpack it")));
}

TEST_F(TarTest, ATruncatedShardIsRefusedWithItsPlace) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1).substr(0, 1500));

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("x.tar' at byte 1024"), HasSubstr("truncated")));
}

TEST_F(TarTest, ShardsThatAreMissingAreNamedAndCounted) {
  folder_.Write("x-0.tar", TarSampleOf("a", "image", 1));
  asked_.shards = {folder_.At("x-{0..2}.tar")};

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("shard 2 of 3"), HasSubstr("x-1.tar'")));
}

TEST_F(TarTest, OneShardNamedTwiceIsRefused) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  asked_.shards = {folder_.At("x.tar"), folder_.At("./x.tar")};

  EXPECT_THAT(Refusal(), HasSubstr("named twice"));
}

TEST_F(TarTest, ShardsWithoutSamplesAreRefused) {
  folder_.Write("x.tar", TarFile("README", "nothing") + TarEnd());

  EXPECT_THAT(Refusal(), HasSubstr("no samples"));
}

TEST_F(TarTest, LabelsOfSomeSamplesOnlyAreRefusedWithTheFirstThatHasNone) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1) + TarFile("b.jpg", "image"));

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("x.tar#b' has no label"), HasSubstr("label: none")));
}

TEST_F(TarTest, AnImageOfAKindThatIsNeverDecodedIsRefusedWithTheCountAndAnExample) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1) + TarFile("b.heic", "one") +
                             TarFile("b.cls", "2") + TarFile("c.heic", "two") +
                             TarFile("c.cls", "3") + TarEnd());
  asked_.image = "heic";

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("2 samples have the image 'heic'"),
                               HasSubstr("x.tar#b.heic'"), HasSubstr("does not decode")));
}

TEST_F(TarTest, AnImageThatNoSampleHasIsRefusedWithWhatTheyHave) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  asked_.image = "png";

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("the image 'png'"), HasSubstr("jpg, cls")));
}

TEST_F(TarTest, AShardOutsideOfTheRootsIsRefused) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  ShardOptions options;
  options.spec.shards = {folder_.At("x.tar")};
  options.roots = {"/usr"};

  EXPECT_TRUE(absl::IsPermissionDenied(OpenTar(options, DirectParsers()).status()));
}

TEST_F(TarTest, KeysWithDotsMakeTooManyKindsOfMembersAndAreRefusedInWords) {
  std::string shard;
  for (int i = 0; i < 1025; ++i) shard += TarFile("img." + std::to_string(i) + ".jpg", "x");
  folder_.Write("x.tar", shard);

  EXPECT_THAT(Refusal(), AllOf(HasSubstr("more than 1024 kinds"), HasSubstr("dots")));
}

// ---- Samples. ----

TEST_F(TarTest, SamplesOfAllShardsComeInOrderWithTheirLabels) {
  folder_.Write("x-0.tar", TarSampleOf("a", "image a", 1) + TarSampleOf("b", "image b", 0));
  folder_.Write("x-1.tar", TarFile("README", "none") + TarEnd());
  folder_.Write("x-2.tar", TarSampleOf("d/c", "image c", 2) + TarEnd());
  asked_.shards = {folder_.At("x-{0..2}.tar")};

  const auto dataset = Open();

  ASSERT_EQ(dataset->samples(), 3u);
  EXPECT_EQ(dataset->kind(), "tar");
  EXPECT_EQ(dataset->shard_samples(), 2u);
  EXPECT_THAT(dataset->classes(), ElementsAre("0", "1", "2"));
  EXPECT_EQ(dataset->label(0), 1);
  EXPECT_EQ(dataset->label(2), 2);
  EXPECT_EQ(Read(*dataset, 0), "image a");
  EXPECT_EQ(Read(*dataset, 1), "image b");
  EXPECT_EQ(Read(*dataset, 2), "image c");
  EXPECT_EQ(dataset->FindPath(0), folder_.At("x-0.tar#a"));
  EXPECT_EQ(dataset->FindPath(1), folder_.At("x-0.tar#b"));
  EXPECT_EQ(dataset->FindPath(2), folder_.At("x-2.tar#d/c"));
  EXPECT_EQ(dataset->path(1), folder_.At("x-0.tar#sample 1"));  // without reading the shard
}

TEST_F(TarTest, AFolderMeansItsShardsSortedByName) {
  folder_.Write("d/b.tar", TarSampleOf("b", "image b", 0));
  folder_.Write("d/a.tar", TarSampleOf("a", "image a", 0));
  folder_.Write("d/notes.txt", "no shard");
  asked_.shards = {folder_.At("d")};

  const auto dataset = Open();

  EXPECT_EQ(Read(*dataset, 0), "image a");
  EXPECT_EQ(Read(*dataset, 1), "image b");
}

TEST_F(TarTest, LongNamesAreReadInTheShardWhenAPathIsAskedFor) {
  const std::string key = std::string(120, 'd') + "/key";
  folder_.Write("x.tar", TarSampleOf("a", "image", 0) + TarFile(".hidden", "no") +
                             TarLongNamed(key + ".jpg", "long") + TarFile("README", "none") +
                             PaxHeader(PaxRecord("path", key + ".cls")) + TarFile("cls", "1"));

  const auto dataset = Open();

  EXPECT_EQ(dataset->samples(), 2u);
  EXPECT_EQ(dataset->FindPath(1), folder_.At("x.tar#" + key));
  EXPECT_EQ(dataset->label(1), 1);
}

TEST_F(TarTest, WithoutLabelsADatasetIsNotLabeled) {
  folder_.Write("x.tar", TarFile("a.jpg", "image"));
  EXPECT_FALSE(Open()->labeled());

  folder_.Write("x.tar", TarSampleOf("a", "image", 7));
  EXPECT_TRUE(Open()->labeled());
  asked_.label = "none";
  EXPECT_FALSE(Open()->labeled());
}

TEST_F(TarTest, NegativeLabelsAreLabelsWithoutClasses) {
  folder_.Write("x.tar", TarSampleOf("a", "image", -1));

  const auto dataset = Open();

  EXPECT_EQ(dataset->label(0), -1);
  EXPECT_TRUE(dataset->classes().empty());
}

TEST_F(TarTest, ASampleWithoutTheImageOrWithAnEmptyOneIsAFault) {
  folder_.Write("x.tar", TarFile("a.jpg", "image") + TarFile("b.txt", "x") + TarFile("c.jpg", ""));

  const auto dataset = Open();

  EXPECT_EQ(Read(*dataset, 1), "not an image");
  EXPECT_EQ(Read(*dataset, 2), "empty");
}

// ---- Other fields of a sample. ----

const std::string kFive = std::string("\5\0\0\0", 4), kNone = std::string(4, '\0');

TEST_F(TarFieldsTest, WhatIsMissingOrTooLongIsAFault) {
  folder_.Write("x.tar",
                TarFile("a.jpg", "image") + TarFile("a.txt", "123456") + TarFile("b.jpg", "image"));
  const auto dataset = Open();

  EXPECT_EQ(*ReadFields(*dataset, 0, {{.name = "txt", .most = 5}}), base::Fault::kTooLong);
  EXPECT_EQ(*ReadFields(*dataset, 1, {{.name = "txt", .most = 9}}), base::Fault::kMissing);
}

TEST_F(TarFieldsTest, AFieldThatNoSampleHasIsRefusedWithThoseThereAre) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));

  EXPECT_THAT(
      Open()->Select(std::vector<FieldRequest>{{.name = "json", .most = 5}}).status().message(),
      AllOf(HasSubstr("'json'"), HasSubstr("jpg, cls")));
}

TEST_F(TarFieldsTest, MembersComeAsTheyAreWithTheirLengthsAndZerosBehind) {
  folder_.Write("x.tar",
                TarFile("a.jpg", "image") + TarFile("a.txt", "hello") + TarFile("a.json", ""));
  const auto dataset = Open();

  ASSERT_EQ(*ReadFields(*dataset, 0, {{.name = "json", .most = 3}, {.name = "txt", .most = 8}}),
            base::Fault::kNone);

  EXPECT_THAT(rows_,
              ElementsAre(std::string(3, '\0'), kNone, std::string("hello\0\0\0", 8), kFive));
}

TEST_F(TarFieldsTest, PicturesBesideTheImageNamePlacesInIt) {
  folder_.Write("x.tar", TarFile("a.jpg", "image") + TarFile("a.seg.png", "mask") +
                             TarFile("a.txt", "hello"));

  std::vector<std::string> placed;
  for (const SampleField& field : Open()->fields())
    if (field.placed) placed.push_back(field.name);

  EXPECT_THAT(placed, ElementsAre("jpg", "seg.png"));
}

TEST_F(TarFieldsTest, AMaskIsAMemberThatIsReadBesideTheImage) {
  folder_.Write("x.tar", TarFile("a.jpg", "image") + TarFile("a.seg.png", "a mask") +
                             TarFile("a.txt", "hello") + TarFile("b.jpg", "image") +
                             TarFile("b.txt", "you"));
  const auto dataset = Open();
  const Selection selection = *dataset->Select(std::vector<FieldRequest>{
      {.name = "txt", .most = 5},
      {.name = "seg.png", .target = base::TargetSpec{.kind = base::TargetKind::kMask}}});
  const auto reader = dataset->NewReader();

  ASSERT_TRUE(reader->Open(0).ok());
  const auto opened = reader->OpenMask(selection, 1);
  ASSERT_TRUE(opened.ok()) << opened.status();
  std::string mask(opened->bytes, '#'), text(5, '#'), length(4, '#');
  ASSERT_TRUE(reader->ReadMask(selection, 1, std::as_writable_bytes(std::span(mask))).ok());
  std::byte* const rows[] = {reinterpret_cast<std::byte*>(text.data()),
                             reinterpret_cast<std::byte*>(length.data()), nullptr};
  ASSERT_EQ(*reader->ReadFields(selection, rows), base::Fault::kNone);
  EXPECT_EQ(mask + "|" + text, "a mask|hello");

  ASSERT_TRUE(reader->Open(1).ok());
  EXPECT_EQ(reader->OpenMask(selection, 1)->fault, base::Fault::kMissing);
}

TEST_F(TarFieldsTest, SamplesWithoutAnImageAreRows) {
  folder_.Write("x.tar", TarFile("a.txt", "hello") + TarFile("b.txt", "you"));
  const auto dataset = Open();
  ASSERT_EQ(dataset->storage(), Storage::kRows);
  EXPECT_THAT(dataset->Select({}).status().message(),
              AllOf(HasSubstr("no image"), HasSubstr("available: txt")));
  const Selection selection =
      *dataset->Select(std::vector<FieldRequest>{{.name = "txt", .most = 5}});
  std::string values(10, '#'), lengths(8, '#');
  const std::vector<std::byte*> blocks = {reinterpret_cast<std::byte*>(values.data()),
                                          reinterpret_cast<std::byte*>(lengths.data())};

  ASSERT_TRUE(dataset->CopyRows(selection, std::vector<uint64_t>{1, 0}, blocks).ok());

  EXPECT_EQ(values, std::string("you\0\0hello", 10));
  EXPECT_EQ(lengths, std::string("\3\0\0\0\5\0\0\0", 8));
}

// ---- Paths. ----

TEST_F(TarTest, APathMeansShardsByItsNameByBracesOrByWhatTheFolderHolds) {
  folder_.Write("shards/a.tar", "");
  folder_.Write("classes/cat/a.jpg", "");
  folder_.Write("classes/a.tar", "");

  for (const std::string path :
       {"/x/a.tar", "/x/a.TAR", "/x/a.tar.gz", "/x/a.tgz", "/x/a-{0..3}.tar"})
    EXPECT_TRUE(IsTarPath(path)) << path;
  EXPECT_TRUE(IsTarPath(folder_.At("shards")));
  for (const std::string& path :
       {std::string("/x/a.jpg"), std::string("/x.tar.d/a"), folder_.At("classes")})
    EXPECT_FALSE(IsTarPath(path)) << path;
}

TEST_F(TarTest, TheIdentityChangesWithAShardAndWithWhatIsAskedFor) {
  folder_.Write("x.tar", TarSampleOf("a", "image", 1));
  ShardOptions options;
  options.spec.shards = {folder_.At("x.tar")};
  const ShardsIdentity before = *IdentityOfShards(options, kTarSuffix);
  EXPECT_EQ(IdentityOfShards(options, kTarSuffix)->files.stamp, before.files.stamp);

  folder_.Write("x.tar", TarSampleOf("a", "longer image", 1));
  EXPECT_NE(IdentityOfShards(options, kTarSuffix)->files.stamp, before.files.stamp);
  EXPECT_EQ(IdentityOfShards(options, kTarSuffix)->key, before.key);

  options.spec.image = "png";
  EXPECT_NE(IdentityOfShards(options, kTarSuffix)->key, before.key);
}

TEST_F(TarTest, AShardOfAWindowIsAsLongAsTheLongest) {
  const std::string two = TarSampleOf("a", "image", 1) + TarSampleOf("b", "image", 2);
  folder_.Write("x-0.tar", two + TarSampleOf("c", "image", 3) + TarEnd());
  folder_.Write("x-1.tar", two + TarEnd());
  asked_.shards = {folder_.At("x-{0..1}.tar")};

  EXPECT_EQ(Open()->shard_samples(), 3u);
}

}  // namespace
}  // namespace penstock::source
