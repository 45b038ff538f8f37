#include "server/source/tar/tar_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/source/tar/tar_walk.h"
#include "tests/support/files/tar_maker.h"

namespace penstock::source {
namespace {

using penstock::testing::PaxHeader;
using penstock::testing::PaxRecord;
using penstock::testing::TarEnd;
using penstock::testing::TarEntry;
using penstock::testing::TarFile;
using penstock::testing::TarHeaderBytes;
using penstock::testing::TarLongNamed;
using penstock::testing::TarPadded;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Walked {
  std::vector<std::string> members;  // "name=data"
  absl::Status status;
};

Walked Walk(const std::string& shard) {
  Walked walked;
  TarWalk walk("/x.tar", shard.size());
  while (!walk.done()) {
    const auto range = walk.wants();
    EXPECT_LE(range.offset + range.bytes, shard.size());
    auto member = walk.Take(std::as_bytes(std::span(shard)).subspan(range.offset, range.bytes));
    walked.status = member.status();
    if (!member.ok()) break;
    if (*member)
      walked.members.push_back((*member)->name + "=" +
                               shard.substr((*member)->offset, (*member)->bytes));
  }
  return walked;
}

// ---- Refusals. ----

struct Refused {
  std::string name, shard;
  std::vector<std::string> words;
};

class TarRefusalTest : public ::testing::TestWithParam<Refused> {};

TEST_P(TarRefusalTest, IsRefusedInWordsWithShardPlaceAndRemedy) {
  const Walked walked = Walk(GetParam().shard);

  EXPECT_TRUE(absl::IsInvalidArgument(walked.status)) << walked.status;
  EXPECT_THAT(walked.status.message(), HasSubstr("'/x.tar' at byte "));
  for (const std::string& word : GetParam().words)
    EXPECT_THAT(walked.status.message(), HasSubstr(word));
}

std::string Damaged(std::string shard, size_t at) {
  shard[at] ^= 1;
  return shard;
}

const std::string kOne = TarFile("a.txt", "one");

const Refused kRefused[] = {
    {"Nothing", "", {"byte 0", "end of the file", "copy"}},
    {"NoTar", std::string(2000, 'x'), {"byte 0", "checksum", "not a tar file"}},
    {"AWrongChecksum", Damaged(kOne, 3), {"byte 0", "checksum"}},
    {"AWrongChecksumBehindAMember", kOne + Damaged(kOne, 3), {"byte 1024", "checksum", "damaged"}},
    {"AHeaderCutOff", kOne + kOne.substr(0, 100), {"byte 1024", "truncated", "100"}},
    {"DataCutOff", kOne + kOne.substr(0, 514), {"byte 1024", "truncated", "'a.txt' has 3 bytes"}},
    {"PaddingCutOff", kOne + kOne.substr(0, 515), {"byte 1024", "truncated", "padding of 'a.txt'"}},
    {"PaddingCutOffByAByte", kOne + kOne.substr(0, 1023), {"byte 1024", "truncated", "padding"}},
    {"ASizeThatIsNoNumber", TarHeaderBytes({.name = "a", .size = "x2"}), {"size of 'a'"}},
    {"ANegativeSize",
     TarHeaderBytes({.name = "a", .size = std::string(12, '\xFF')}),
     {"size of 'a'"}},
    {"ASizeOf95Bits",
     TarHeaderBytes({.name = "a", .size = '\x80' + std::string(11, '\x7F')}),
     {"size of 'a'"}},
    {"ASizeBeyondTheShard",
     TarHeaderBytes({.name = "a", .size = '\x80' + std::string(3, '\0') + std::string(8, '\x7F')}),
     {"truncated"}},
    {"ANameThatClimbs", TarFile("a/../../b.txt", "x"), {"'a/../../b.txt'", "'..'", "again"}},
    {"AnAbsoluteName", TarFile("/etc/b.txt", "x"), {"'/etc/b.txt'", "absolute"}},
    {"ANameThatClimbsByAnExtendedHeader",
     PaxHeader(PaxRecord("path", "../b.txt")) + TarFile("b.txt", "x"),
     {"'../b.txt'", "'..'"}},
    {"AHardLink", TarHeaderBytes({.name = "a.jpg", .type = '1'}), {"link", "--hard-dereference"}},
    {"ASymbolicLink", TarHeaderBytes({.name = "a.jpg", .type = '2'}), {"link", "--dereference"}},
    {"ASparseFile", TarHeaderBytes({.name = "a.jpg", .type = 'S'}), {"sparse"}},
    {"APaxSparseFile",
     PaxHeader(PaxRecord("GNU.sparse.major", "1")) + TarFile("a.jpg", "x"),
     {"sparse"}},
    {"ARecordThatIsNone", PaxHeader("12 path\n") + kOne, {"extended header", "byte 0"}},
    {"ARecordLongerThanItsHeader", PaxHeader("99 path=a\n") + kOne, {"extended header"}},
    {"ARecordOfNoLength", PaxHeader("0 path=a\n") + kOne, {"extended header"}},
    {"ASizeRecordThatIsNone", PaxHeader(PaxRecord("size", "-3")) + kOne, {"size '-3'"}},
    {"AnEndBehindAnExtendedHeader",
     PaxHeader(PaxRecord("path", "b.txt")) + TarEnd(),
     {"byte 1024", "extended header"}},
    {"ANoteThatIsTooLong",
     TarHeaderBytes({.name = "x", .bytes = 2 << 20, .type = 'L'}) + std::string(2 << 20, 'x'),
     {"at most 1048576"}},
    {"AMemberBehindTheEnd", std::string(512, '\0') + kOne, {"byte 512", "follows"}},
};

INSTANTIATE_TEST_SUITE_P(Tar, TarRefusalTest, ::testing::ValuesIn(kRefused),
                         [](const auto& info) { return info.param.name; });

// ---- Members. ----

TEST(TarWalkTest, FilesAreFoundWithTheirDataInTheOrderOfTheShard) {
  const Walked walked = Walk(TarFile("b.jpg", std::string(513, 'x')) + TarFile("b.cls", "7") +
                             TarFile("empty.txt", "") + TarEnd());

  ASSERT_TRUE(walked.status.ok()) << walked.status;
  EXPECT_THAT(walked.members,
              ElementsAre("b.jpg=" + std::string(513, 'x'), "b.cls=7", "empty.txt="));
}

TEST(TarWalkTest, AShardMayEndWithOneBlockOfZerosOrWithoutAny) {
  for (const std::string& shard : {kOne, kOne + std::string(512, '\0'),
                                   kOne + std::string(700, '\0'), kOne + TarEnd() + "whatever"}) {
    const Walked walked = Walk(shard);
    EXPECT_TRUE(walked.status.ok()) << walked.status;
    EXPECT_THAT(walked.members, ElementsAre("a.txt=one"));
  }
}

// The header has only the first 100 bytes of a long name, and its last one may be a slash.
TEST(TarWalkTest, ALongNameThatIsCutOffAfterASlashIsAFile) {
  const std::string folder = std::string(99, 'd') + "/";
  ASSERT_EQ(folder.size(), 100u);
  for (const char type : {'0', '\0', '7'}) {
    const TarEntry cut = {.name = folder, .bytes = 3, .type = type};
    const Walked walked = Walk(
        TarLongNamed(folder + "a.jpg", "one") + PaxHeader(PaxRecord("path", folder + "b.jpg")) +
        TarHeaderBytes(cut) + TarPadded("two") + PaxHeader(PaxRecord("path", folder + "sub/")) +
        TarHeaderBytes({.name = folder, .type = type}) + TarEnd());
    ASSERT_TRUE(walked.status.ok()) << walked.status;
    EXPECT_THAT(walked.members, ElementsAre(folder + "a.jpg=one", folder + "b.jpg=two"));
  }
}

// GNU tar writes both for a link with a long name; a damaged type may leave them before a file.
TEST(TarWalkTest, ALongLinkDoesNotUseUpTheNameBeforeIt) {
  const std::string name = std::string(120, 'd') + "/a.jpg", gnu("ustar  \0", 8);
  const auto note = [&](char type) {
    return TarHeaderBytes({.name = "././@LongLink", .bytes = 121, .type = type, .magic = gnu}) +
           TarPadded(std::string(120, 'x'));
  };

  const Walked walked =
      Walk(TarHeaderBytes(
               {.name = "././@LongLink", .bytes = name.size() + 1, .type = 'L', .magic = gnu}) +
           TarPadded(name + '\0') + note('K') + TarFile("d", "one") + TarEnd());

  ASSERT_TRUE(walked.status.ok()) << walked.status;
  EXPECT_THAT(walked.members, ElementsAre(name + "=one"));
}

TEST(TarWalkTest, LongNamesComeFromAPrefixAGnuNoteOrAnExtendedHeader) {
  const std::string folder(120, 'd'), name = folder + "/a.txt";
  const TarEntry split = {.name = "a.txt", .bytes = 3, .prefix = folder};

  const Walked walked = Walk(TarHeaderBytes(split) + TarPadded("one") + TarLongNamed(name, "two") +
                             PaxHeader(PaxRecord("mtime", "1.5") + PaxRecord("path", name)) +
                             TarFile("a", "three") + kOne);

  ASSERT_TRUE(walked.status.ok()) << walked.status;
  EXPECT_THAT(walked.members,
              ElementsAre(name + "=one", name + "=two", name + "=three", "a.txt=one"));
}

TEST(TarWalkTest, APrefixThatIsNotPosixsIsNone) {
  const TarEntry gnu = {
      .name = "a.txt", .magic = std::string("ustar  \0", 8), .prefix = "13371337133"};

  EXPECT_THAT(Walk(TarHeaderBytes(gnu)).members, ElementsAre("a.txt="));
}

TEST(TarWalkTest, SizesComeInOctalInBase256OrFromAnExtendedHeader) {
  const std::string large = '\x80' + std::string(9, '\0') + std::string("\x02\x01");
  const std::string data(513, 'x');

  const Walked walked = Walk(TarHeaderBytes({.name = "b", .size = large}) + TarPadded(data) +
                             TarHeaderBytes({.name = "o", .size = "      1001 "}) +
                             TarPadded(data) + PaxHeader(PaxRecord("size", "513")) +
                             TarHeaderBytes({.name = "p", .bytes = 0}) + TarPadded(data) + kOne);

  ASSERT_TRUE(walked.status.ok()) << walked.status;
  EXPECT_THAT(walked.members, ElementsAre("b=" + data, "o=" + data, "p=" + data, "a.txt=one"));
}

TEST(TarWalkTest, AGlobalHeaderHoldsForAllBehindItUnlessTheMembersOwnSaysOtherwise) {
  const Walked walked = Walk(kOne + PaxHeader(PaxRecord("path", "all.txt"), 'g') + kOne +
                             PaxHeader(PaxRecord("path", "own.txt")) + kOne + kOne);

  EXPECT_THAT(walked.members,
              ElementsAre("a.txt=one", "all.txt=one", "own.txt=one", "all.txt=one"));
}

TEST(TarWalkTest, FoldersDevicesAndLabelsArePassedOver) {
  const Walked walked = Walk(TarHeaderBytes({.name = "folder/", .type = '5'}) +
                             TarHeaderBytes({.name = "old/", .type = '\0'}) +
                             TarHeaderBytes({.name = "pipe", .bytes = 700, .type = '6'}) +
                             TarHeaderBytes({.name = "volume", .type = 'V'}) +
                             TarHeaderBytes({.name = "listing", .bytes = 700, .type = 'D'}) +
                             std::string(1024, 'x') + kOne);

  ASSERT_TRUE(walked.status.ok()) << walked.status;
  EXPECT_THAT(walked.members, ElementsAre("a.txt=one"));
}

TEST(TarWalkTest, MayBeginAtAnyHeader) {
  const std::string shard = kOne + TarFile("b.txt", "two");
  TarWalk walk("/x.tar", shard.size(), 1024);

  const auto range = walk.wants();
  const auto member = walk.Take(std::as_bytes(std::span(shard)).subspan(1024, range.bytes));

  ASSERT_TRUE(member.ok() && *member);
  EXPECT_EQ((*member)->name, "b.txt");
  EXPECT_EQ((*member)->offset, 1536u);
}

TEST(CompressionTest, IsToldByTheFirstBytes) {
  const auto of = [](const std::string& text) {
    return CompressionOf(std::as_bytes(std::span(text)));
  };
  EXPECT_EQ(of("\x1F\x8B\x08"), "gzip");
  EXPECT_EQ(of("\x28\xB5\x2F\xFD rest"), "zstd");
  EXPECT_EQ(of("BZh9"), "bzip2");
  EXPECT_EQ(of("\x28\xB5"), "");
  EXPECT_EQ(of(kOne), "");
  EXPECT_EQ(of(""), "");
}

}  // namespace
}  // namespace penstock::source
