// Serves files of several kinds in one dataset through a real daemon. Each row equals the
// decoder's, in colour and gray, unrotated and rotated. All files are named .jpg, whatever their
// kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "server/decode/decoder.h"
#include "tests/support/files/jpeg_maker.h"
#include "tests/support/files/png_maker.h"
#include "tests/support/files/temp_folder.h"
#include "tests/support/programs/daemon_process.h"
#include "tests/support/programs/trainer.h"

namespace penstock::testing {
namespace {

using File = std::vector<std::byte>;

constexpr uint64_t kSeed = 7;
constexpr uint32_t kSide = 32;  // as in SmallRows

// A TIFF directory with one entry: the image is displayed rotated clockwise.
File Clockwise() {
  File block;
  for (const int byte : std::vector<int>{'M',  'M', 0, '*', 0, 0, 0, 8, 0, 1, 1,
                                         0x12, 0,   3, 0,   0, 0, 1, 0, 6, 0, 0}) {
    block.push_back(static_cast<std::byte>(byte));
  }
  return block;
}

std::vector<File> Files() {
  const decode::PngHeader plain{61, 47, 8, decode::PngHeader::kRgb};
  const decode::PngHeader palette{61, 47, 4, decode::PngHeader::kPalette, true};
  return {MakeJpeg(90, 70, {.horizontal = 2, .vertical = 2}),
          MakeJpeg(90, 70, {.components = 4, .ycck = true}),
          MakePng(palette, MakePngSamples(palette)),
          WithPngChunk(MakePng(plain, MakePngSamples(plain)), "eXIf", Clockwise())};
}

class KindsTest : public ::testing::Test {
 protected:
  KindsTest() {
    for (size_t i = 0; i < files_.size(); ++i) {
      const File& file = files_[i];
      folder_.Write("class/" + std::to_string(i) + ".jpg",
                    std::string(reinterpret_cast<const char*>(file.data()), file.size()));
    }
  }

  // Decodes the row in this process, as the session's options say.
  std::vector<std::byte> Row(const SessionOptions& options, uint64_t sample) const {
    decode::Spec spec;
    spec.height = spec.width = kSide;
    spec.flip_probability = options.flip_probability;
    if (options.color == Color::kGray) spec.color = decode::Color::kGray;
    if (options.apply_exif_orientation) spec.exif = decode::Exif::kApply;
    std::vector<std::byte> row(RowBytes(spec));
    decode::Decoder decoder{decode::SampleLimits()};
    EXPECT_EQ(decoder.DecodeRow(files_[sample], spec, {kSeed, 0, sample}, row), base::Fault::kNone);
    return row;
  }

  void ExpectRows(SessionOptions options) {
    Client client = Client::Connect({.address = daemon_.address()}).OrDie();
    options.batch_size = static_cast<uint32_t>(files_.size());
    options.seed = kSeed;
    Session session = client.Open(options).OrDie();
    const Batch batch = session.Next().OrDie();
    EXPECT_EQ(batch.shape().channels, options.color == Color::kGray ? 1u : 3u);
    const auto images = std::as_bytes(batch.images());
    const size_t row_bytes = size_t{kSide} * kSide * batch.shape().channels;
    ASSERT_EQ(images.size(), files_.size() * row_bytes);
    for (uint32_t i = 0; i < batch.rows(); ++i) {
      const std::vector<std::byte> wanted = Row(options, batch.sample_ids()[i]);
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), images.begin() + i * row_bytes))
          << "sample " << batch.sample_ids()[i];
    }
    EXPECT_EQ(*session.Quarantined(), 0u);
  }

  const std::vector<File> files_ = Files();
  TempFolder folder_;
  DaemonProcess daemon_{{.workers = 1}};
  const SessionOptions small_ = SmallRows(folder_.path(), 1);
};

TEST_F(KindsTest, AreFedInColorAsTheyAreStored) { ExpectRows(small_); }

TEST_F(KindsTest, AreFedGrayAndTurnedWhereASessionAsksForIt) {
  SessionOptions options = small_;
  options.color = Color::kGray;
  ExpectRows(options);
  options.apply_exif_orientation = true;
  ExpectRows(options);
  options.color = Color::kRgb;
  ExpectRows(options);
}

TEST_F(KindsTest, AGrayBatchIsFinishedWithOneMean) {
  Client client = Client::Connect({.address = daemon_.address()}).OrDie();
  SessionOptions options = small_;
  options.color = Color::kGray;
  Session session = client.Open(options).OrDie();
  const Batch batch = session.Next().OrDie();
  const Finish finish = {.mean = {0.5f}, .stddev = {0.25f}};
  std::vector<float> pixels(size_t{kSide} * kSide);

  ASSERT_TRUE(batch.FinishInto(finish, pixels.data(), 4 * pixels.size()).ok());

  for (size_t i = 0; i < pixels.size(); ++i) {
    ASSERT_NEAR(pixels[i], (batch.images()[i] / 255.0f - 0.5f) / 0.25f, 1e-5f);
  }
}

}  // namespace
}  // namespace penstock::testing
