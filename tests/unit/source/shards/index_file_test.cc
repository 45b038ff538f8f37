// The file format of shards' indexes: what is written is read, and nothing else is believed.
#include "server/source/shards/index_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "server/indexer/wire/checks.h"
#include "server/source/files/checked_header.h"

namespace penstock::source {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kVersions = {"0123456789abcdef", "0123456789abcdef-3"};
constexpr char kPath[] = "/data/x.tar";
constexpr uint64_t kShardBytes = 16 << 10;

// Two samples of an image and an array each, and one of an image alone.
ScannedShard SomeShard() {
  ScannedShard shard;
  shard.samples = {{.place = 0, .label = 3}, {.place = 2, .label = -1}, {.place = 4}};
  shard.extensions = {{.name = "jpg", .kind = 1, .first_sample = 0},
                      {.name = "npy", .first_sample = 0, .array = 1}};
  const ArrayShape array = {
      .type = static_cast<uint32_t>(base::DType::kUInt8), .dimensions = 1, .sides = {10}};
  for (uint32_t i = 0; i < 5; ++i)
    shard.members.push_back({.block = 2 * i + 1,
                             .bytes = i % 2 == 1 ? 138u : 100u,
                             .extension = i % 2,
                             .array_header = i % 2 == 1 ? 128u : 0u});
  shard.arrays = {array};
  shard.array_of_member = {0, 1, 0, 1, 0};
  shard.images = 3;
  shard.labeled = 2;
  shard.digest = 77;
  shard.example = absl::StrCat(kPath, "#key");
  return shard;
}

IndexTopic SomeTopic() {
  return {.kind = IndexedKind::kTar, .roles = ToTarRoles("", ""), .shard_bytes = kShardBytes};
}

std::string SomeFile() { return WriteIndexFile(SomeShard(), SomeTopic(), kVersions, kPath); }

absl::StatusOr<ScannedShard> Read(const std::string& file, const IndexTopic& topic = SomeTopic(),
                                  const std::string& version = "0123456789abcdef-3") {
  return ReadIndexFile(std::as_bytes(std::span(file)), topic,
                       {.version = version, .path = "s3://bucket/x.tar"});
}

std::string RefusalOf(const std::string& file, const IndexTopic& topic = SomeTopic(),
                      const std::string& version = "0123456789abcdef-3") {
  return std::string(Read(file, topic, version).status().message());
}

template <typename Record>
bool AreSame(const std::vector<Record>& one, const std::vector<Record>& other) {
  return one.size() == other.size() &&
         std::memcmp(one.data(), other.data(), one.size() * sizeof(Record)) == 0;
}

TEST(IndexFileTest, WhatIsWrittenIsReadUnderThePathOfTheShardThatItLiesBeside) {
  const ScannedShard written = SomeShard();

  const auto read = Read(SomeFile());

  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(AreSame(read->samples, written.samples));
  EXPECT_TRUE(AreSame(read->members, written.members));
  EXPECT_TRUE(AreSame(read->arrays, written.arrays));
  EXPECT_EQ(read->array_of_member, written.array_of_member);
  EXPECT_EQ(read->images, 3u);
  EXPECT_EQ(read->labeled, 2u);
  EXPECT_EQ(read->digest, 77u);
  EXPECT_EQ(read->example, "s3://bucket/x.tar#key");
  ASSERT_EQ(read->extensions.size(), 2u);
  EXPECT_EQ(read->extensions[1].name, "npy");
  EXPECT_EQ(read->extensions[1].array, 1u);
  EXPECT_TRUE(indexer::CheckIndexed(*read, SomeTopic()).ok());
}

TEST(IndexFileTest, TheSameShardHasTheSameBytes) { EXPECT_EQ(SomeFile(), SomeFile()); }

TEST(IndexFileTest, AnIndexOfAnotherVersionIsRefusedWithBothVersions) {
  EXPECT_TRUE(Read(SomeFile(), SomeTopic(), "0123456789abcdef").ok());

  const std::string refusal = RefusalOf(SomeFile(), SomeTopic(), "fedc");

  EXPECT_THAT(refusal, HasSubstr("of another version"));
  EXPECT_THAT(refusal, HasSubstr("'0123456789abcdef', '0123456789abcdef-3', and this one is "));
  EXPECT_THAT(refusal, HasSubstr("'fedc'"));
  EXPECT_FALSE(Read(SomeFile(), SomeTopic(), "").ok()) << "nobody knows which version it is";
}

TEST(IndexFileTest, AnIndexOfAnotherSizeKindOrRoleIsRefused) {
  IndexTopic topic = SomeTopic();
  topic.shard_bytes += 512;
  EXPECT_THAT(RefusalOf(SomeFile(), topic), HasSubstr("with 16384 bytes, and this one has 16896"));
  topic = SomeTopic();
  topic.kind = IndexedKind::kRecords;
  EXPECT_THAT(RefusalOf(SomeFile(), topic), HasSubstr("another kind"));
  topic = SomeTopic();
  topic.roles = ToTarRoles("png", "");
  EXPECT_THAT(RefusalOf(SomeFile(), topic),
              HasSubstr("made for 'image= label=cls', wanted 'image=png label=cls'"));
}

TEST(IndexFileTest, AnotherVersionOfTheFormatIsRefused) {
  std::string file = SomeFile();
  file[8] = 2;
  EXPECT_THAT(RefusalOf(file), HasSubstr("version 2, wanted 1"));
}

TEST(IndexFileTest, RolesAreEqualIfTheyMeanTheSame) {
  EXPECT_EQ(ToTarRoles("PNG", "Cls"), ToTarRoles("png", ""));
  EXPECT_NE(ToTarRoles("", "none"), ToTarRoles("", ""));
  EXPECT_EQ(ToRecordRoles("", ""), ToRecordRoles("image/encoded", "image/class/label"));
  EXPECT_NE(ToRecordRoles("", "none"), ToRecordRoles("", ""));
}

TEST(IndexFileTest, AFileWithAnyByteChangedOrMissingIsRefused) {
  const std::string file = SomeFile();
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    EXPECT_FALSE(Read(damaged).ok()) << "byte " << i;
    EXPECT_FALSE(Read(file.substr(0, i)).ok()) << "the first " << i;
  }
  EXPECT_FALSE(Read(file + "x").ok());
  EXPECT_THAT(RefusalOf("v1.2 5\njpg 512 100 a.jpg\n"), HasSubstr("ends within its header"));
}

// Damage with a checksum that fits, as by someone who means it.
TEST(IndexFileTest, AForgedFileIsRefusedOrSomethingThatTheShardCanHold) {
  const std::string file = SomeFile();
  std::minstd_rand random(5);
  int refused = 0, read_well = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string forged = file;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes)
      forged[8 + random() % (forged.size() - 8)] = static_cast<char>(random());
    IndexFileHeader header;
    std::memcpy(&header, forged.data(), sizeof header);
    header.version = kIndexFileVersion;
    WriteChecked(header, std::as_writable_bytes(std::span(forged)));
    const auto read = Read(forged);
    const bool is_good = read.ok() && indexer::CheckIndexed(*read, SomeTopic()).ok();
    ++(is_good ? read_well : refused);
    if (!is_good) continue;
    ShardsToBuild build = {.identity = 1, .paths = {"x"}, .shards = {*read}};
    (void)BuildShardManifest(std::move(build));  // does not read or write outside of anything
  }
  EXPECT_GT(refused, 1'000);
  EXPECT_GT(read_well, 100) << "labels and digests may be anything";
}

TEST(IndexFileTest, TheLargestFileThatIsReadGrowsWithItsShard) {
  EXPECT_EQ(MostIndexFileBytes(0), uint64_t{1} << 20);
  EXPECT_EQ(MostIndexFileBytes(uint64_t{5} << 20), uint64_t{6} << 20);
  EXPECT_EQ(MostIndexFileBytes(UINT64_MAX), uint64_t{64} << 20);
}

}  // namespace
}  // namespace penstock::source
