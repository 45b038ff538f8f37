// penstock-indexer finds in files what the parsers find in the calling thread, and says the same of
// files that are no good.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "server/indexer/indexers.h"
#include "server/indexer/wire/annotations.h"
#include "server/indexer/wire/results.h"
#include "server/source/parse/directly.h"
#include "tests/support/files/array_maker.h"
#include "tests/support/files/idx_maker.h"
#include "tests/support/files/little_endian.h"
#include "tests/support/files/record_maker.h"
#include "tests/support/files/tar_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/unit/indexer/answer_in_memory.h"

namespace penstock::indexer {
namespace {

using source::ForeignFile;
using ::testing::HasSubstr;

// A file of the test, open.
struct File {
  File(const testing::TempFolder& folder, const std::string& name, const std::string& bytes)
      : path(folder.At(name)), size(bytes.size()) {
    folder.Write(name, bytes);
    fd = posix::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  ForeignFile foreign() const { return {.fd = fd, .path = path, .bytes = size}; }

  std::string path;
  uint64_t size;
  posix::Fd fd;
};

// Its bytes, as those of a file in an object store.
class FileBytes final : public source::ByteSource {
 public:
  explicit FileBytes(const File& file) : file_(file) {}
  absl::Status Read(uint64_t offset, std::span<std::byte> into) const override {
    return source::ReadExactly(file_.fd, file_.path, offset, into);
  }

 private:
  const File& file_;
};

ForeignFile Remote(const File& file, const FileBytes& bytes) {
  static const posix::Fd none;
  return {.fd = none, .path = file.path, .bytes = file.size, .remote = &bytes};
}

// All that a scan says, or its error.
std::string Text(const absl::StatusOr<source::ScannedShard>& scanned) {
  if (!scanned.ok()) return scanned.status().ToString();
  AnswerInMemory answer;
  EXPECT_TRUE(PutScanned(answer, *scanned).ok());
  return answer.bytes();
}

std::string Text(const absl::StatusOr<source::Annotations>& found) {
  if (!found.ok()) return found.status().ToString();
  AnswerInMemory answer;
  EXPECT_TRUE(PutAnnotations(answer, *found).ok());
  return answer.bytes();
}

class ParsingTest : public ::testing::Test {
 protected:
  File Make(const std::string& name, const std::string& bytes) { return {folder_, name, bytes}; }

  // Both say the same; returns it.
  std::string Tar(const File& shard, const File* index = nullptr,
                  const source::TarWanted& wanted = {}) {
    const ForeignFile file = shard.foreign();
    const ForeignFile beside = index == nullptr ? file : index->foreign();
    const ForeignFile* second = index == nullptr ? nullptr : &beside;
    const std::string here = Text(direct_->ScanTar(file, second, wanted, {}));
    const FileBytes bytes(shard);
    EXPECT_EQ(Text(there_->ScanTar(file, second, wanted, {})), here);
    EXPECT_EQ(Text(there_->ScanTar(Remote(shard, bytes), second, wanted, {})), here);
    return here;
  }
  std::string Records(const File& file) {
    const source::RecordRoles roles = source::RecordRoles::Of("", "");
    const std::string here = Text(direct_->ScanRecords(file.foreign(), roles, {}));
    const FileBytes bytes(file);
    EXPECT_EQ(Text(there_->ScanRecords(file.foreign(), roles, {})), here);
    EXPECT_EQ(Text(there_->ScanRecords(Remote(file, bytes), roles, {})), here);
    return here;
  }

  testing::TempFolder folder_;
  std::shared_ptr<Indexers> indexers_ =
      std::make_shared<Indexers>(Indexers::Options{.program = PENSTOCK_INDEXER});
  std::shared_ptr<source::Parsers> there_ = indexers_->NewParsers();
  std::shared_ptr<source::Parsers> direct_ = source::DirectParsers();
};

std::string NpyOf(const std::string& shape, const std::string& data) {
  return testing::Npy("<u2", shape, data);
}

TEST_F(ParsingTest, TarShards) {
  const std::string bytes = testing::TarFile("a.jpg", "image") + testing::TarFile("a.cls", "3") +
                            testing::TarFile("a.npy", NpyOf("(2,)", "1234")) +
                            testing::TarFile("b.jpg", "other") + testing::TarFile("b.cls", "4") +
                            testing::TarFile("b.npy", NpyOf("(1,)", "12")) + testing::TarEnd();
  const File shard = Make("x.tar", bytes);
  EXPECT_THAT(Tar(shard), HasSubstr("jpg"));
  EXPECT_THAT(Tar(shard, nullptr, {.image = "npy", .label = "none"}), HasSubstr("npy"));
  const File index = Make("x.idx", "v1.2 1\nnonsense\n");
  EXPECT_THAT(Tar(shard, &index), HasSubstr("the index beside a shard is ignored"));
  EXPECT_THAT(Tar(Make("cut.tar", bytes.substr(0, 700))), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Tar(Make("odd.tar", std::string(2048, 'x'))), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Tar(Make("packed.tar", testing::Gzip(bytes))), HasSubstr("compressed"));
  EXPECT_EQ(there_->TarKey(shard.foreign(), 0, 512).value(), "a");
  EXPECT_EQ(there_->TarKey(shard.foreign(), 0, 1024).status(),
            direct_->TarKey(shard.foreign(), 0, 1024).status());
}

// More than the window holds: the answer comes in several pieces.
TEST_F(ParsingTest, ShardsWithManySamplesAndTheCountOfThemSoFar) {
  std::string bytes;
  constexpr int kSamples = 30'000;
  for (int i = 0; i < kSamples; ++i) bytes += testing::TarFile(std::to_string(i) + ".txt", "x");
  const File shard = Make("big.tar", bytes + testing::TarEnd());
  uint64_t found = 0;
  const auto scanned = there_->ScanTar(shard.foreign(), nullptr, {},
                                       {.found = [&](uint64_t more) { found += more; }});
  ASSERT_TRUE(scanned.ok()) << scanned.status();
  EXPECT_EQ(scanned->samples.size(), static_cast<size_t>(kSamples));
  EXPECT_GT(found, kSamples / 2u);
  EXPECT_LE(found, static_cast<uint64_t>(kSamples));
  EXPECT_EQ(Text(scanned), Text(direct_->ScanTar(shard.foreign(), nullptr, {}, {})));
}

TEST_F(ParsingTest, Records) {
  const std::string bytes = testing::ImageRecord("image", 3) + testing::ImageRecord("other", 4);
  EXPECT_THAT(Records(Make("x.tfrecord", bytes)), HasSubstr("image/encoded"));
  EXPECT_THAT(Records(Make("cut.tfrecord", bytes.substr(0, 40))), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(Records(Make("odd.tfrecord", std::string(100, 'x'))), HasSubstr("INVALID_ARGUMENT"));
  Records(Make("empty.tfrecord", ""));
}

TEST_F(ParsingTest, ArraysAndTokens) {
  const File array = Make("x.npy", NpyOf("(2, 1)", "1234"));
  const auto header = there_->ReadNpy(array.foreign());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_THAT(header->shape, ::testing::ElementsAre(2, 1));
  const File odd = Make("odd.npy", "\x93NUMPY");
  EXPECT_EQ(there_->ReadNpy(odd.foreign()).status(), direct_->ReadNpy(odd.foreign()).status());
  EXPECT_TRUE(absl::IsInvalidArgument(there_->ReadNpy(odd.foreign()).status()));

  const File raw = Make("x.bin", std::string(20, 'x'));
  const auto tokens =
      there_->ReadTokens(raw.foreign(), source::TokenFormat::kAuto, base::DType::kUInt32);
  ASSERT_TRUE(tokens.ok()) << tokens.status();
  EXPECT_EQ(tokens->format, source::TokenFormat::kRaw);
  EXPECT_EQ(tokens->extent.tokens, 5u);
}

TEST_F(ParsingTest, Annotations) {
  const std::string good =
      R"({"annotations": [{"id": 1, "image_id": 4, "category_id": 3, "bbox": [1, 2, 3, 4]}],
          "images": [{"id": 4, "file_name": "a.jpg"}], "categories": [{"id": 3, "name": "cat"}]})";
  for (const std::string& json : {good, good.substr(0, 60), std::string()}) {
    const File file = Make("a.json", json);
    const source::CocoSpec spec = {.annotations = file.path, .images = "/d", .contiguous = true};
    const std::string here = Text(direct_->ReadCoco(file.foreign(), spec, {}));
    EXPECT_EQ(Text(there_->ReadCoco(file.foreign(), spec, {})), here);
    EXPECT_THAT(here, HasSubstr(json == good ? "cat" : "INVALID_ARGUMENT"));
  }
}

TEST_F(ParsingTest, NotesOfManyImages) {
  const std::string xml =
      "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax>"
      "<ymax>4</ymax></bndbox></object></annotation>";
  for (const auto& [format, good] : {std::pair(source::NoteFormat::kYolo, std::string("0 0 0 1 1")),
                                     std::pair(source::NoteFormat::kVoc, xml)})
    for (const std::string& text : {good, good.substr(0, good.size() - 2)}) {
      source::NoteBatchWriter batch("dog\ncat");
      batch.Add("/n/a", good);
      batch.Add("/n/b", text);
      const File file = Make("batch", batch.Finish());
      const std::string here = Text(direct_->ReadNotes(file.foreign(), 2, format));
      EXPECT_EQ(Text(there_->ReadNotes(file.foreign(), 2, format)), here);
      EXPECT_EQ(here.find("INVALID_ARGUMENT: /n/b:1:") == 0, text != good) << here;
    }
}

TEST_F(ParsingTest, Names) {
  const File lines = Make("x.txt", "a\nb\n"), yaml = Make("x.yaml", "names: [a, b]\n");
  EXPECT_EQ(there_->ReadNames(lines.foreign(), source::NamesFormat::kLines)->rows.size(), 2u);
  EXPECT_EQ(there_->ReadNames(yaml.foreign(), source::NamesFormat::kYaml)->rows.size(), 2u);
  EXPECT_EQ(there_->ReadNames(lines.foreign(), source::NamesFormat::kYaml).status(),
            direct_->ReadNames(lines.foreign(), source::NamesFormat::kYaml).status());
}

TEST_F(ParsingTest, ListsWhoseLinesAreShort) {
  std::string pairs;
  for (int i = 0; i < 5000; ++i) pairs += std::to_string(i) + ",7\n";
  for (const std::string& text : {pairs, std::string("a\nb\nc")}) {
    const File file = Make("x.csv", text);
    const source::ListSpec spec = {
        .file = file.path, .root = "/d", .path = "0", .header = source::ListHeader::kNo};
    const auto there = there_->ReadList(file.foreign(), spec, {});
    ASSERT_TRUE(there.ok()) << there.status();
    EXPECT_EQ(there->rows.size(), direct_->ReadList(file.foreign(), spec, {})->rows.size());
  }
}

TEST_F(ParsingTest, AnErrorInAnIndexOfMegatronIsTheSame) {
  const File bin = Make("x.bin", std::string(20, 'x')), index = Make("x.idx", "MMIDIDX");
  const absl::Status refused = there_->ReadMegatron(index.foreign(), bin.foreign()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_EQ(refused, direct_->ReadMegatron(index.foreign(), bin.foreign()).status());
}

TEST_F(ParsingTest, CompressedItemsAreUnpackedPieceByPiece) {
  const std::string plain = testing::IdxImages(2000, 28, 28);
  const File packed = Make("images.gz", testing::Gzip(plain));
  auto content = there_->ReadIdx(packed.foreign(), source::IdxRole::kImages);
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(content->header.items(), 2000u);
  ASSERT_NE(content->items, nullptr);
  std::string items(2000 * 28 * 28 + 1, '\0');
  const auto got = content->items->Read(std::as_writable_bytes(std::span(items)));
  ASSERT_TRUE(got.ok()) << got.status();
  items.resize(*got);
  EXPECT_EQ(items, plain.substr(16));

  std::string broken = testing::Gzip(plain);
  broken.resize(broken.size() / 2);
  const File cut = Make("cut.gz", broken);
  auto half = there_->ReadIdx(cut.foreign(), source::IdxRole::kImages);
  ASSERT_TRUE(half.ok()) << half.status();
  std::string into(2000 * 28 * 28, '\0');
  const auto failed = half->items->Read(std::as_writable_bytes(std::span(into)));
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("damaged"));
  EXPECT_TRUE(absl::IsDataLoss(failed.status()));

  const File simple = Make("images", plain);
  EXPECT_EQ(there_->ReadIdx(simple.foreign(), source::IdxRole::kImages)->items, nullptr);
}

}  // namespace
}  // namespace penstock::indexer
