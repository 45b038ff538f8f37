// Tests that nvJPEG reads from a header what our own walk reads, whatever is in the header: it
// writes as many pixels as it reads there, and rows' places are made for what the walk says.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "client/gpu_decode/chunks.h"
#include "client/gpu_decode/decode_device.h"
#include "client/gpu_decode/nvjpeg_handle.h"
#include "common/jpeg/header_walk.h"
#include "tests/gpu/decode/decoding.h"

namespace penstock::gpu_decode {
namespace {

using File = std::vector<std::byte>;

// Changes of headers: a byte that says something is written, put in, taken out, or a part repeated.
class Changes {
 public:
  explicit Changes(uint32_t seed) : random_(seed) {}

  size_t Below(size_t limit) { return random_() % limit; }

  void Make(File& file, size_t header_bytes) {
    constexpr uint8_t kTelling[] = {0xFF, 0xC0, 0xC4, 0xDB, 0xDD, 0xDA, 0xE0,
                                    0xEE, 0,    1,    2,    3,    0x11, 0x22};
    const auto at = file.begin() + static_cast<ptrdiff_t>(Below(header_bytes));
    switch (Below(5)) {
      case 0:
        *at = static_cast<std::byte>(random_());
        break;
      case 1:
        *at = std::byte{kTelling[Below(std::size(kTelling))]};
        break;
      case 2:
        file.insert(at, static_cast<std::byte>(random_()));
        break;
      case 3:
        file.erase(at);
        break;
      default:
        const File part(at, at + static_cast<ptrdiff_t>(Below(80)));
        file.insert(file.begin() + static_cast<ptrdiff_t>(Below(header_bytes)), part.begin(),
                    part.end());
    }
  }

 private:
  std::mt19937 random_;
};

class HeadersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = NoEngines(); !reason.empty()) GTEST_SKIP() << reason;
    stream_ = cuda::Stream::Make().value();
    device_ = MakeCudaDevice(stream_->get(), {}).value();
    const RowMakerOptions options = TestOptions(stream_->get());
    memory_.emplace(*device_, options.nvjpeg_bytes);
    const NvjpegLibrary library = NvjpegLibrary::Load(options.nvjpeg_path).value();
    handle_.emplace(library, options, *memory_);
    ASSERT_TRUE(handle_->Start().ok());
    ASSERT_EQ(handle_->calls().create_bitstream(handle_->get(), &bitstream_), nvjpeg::kSuccess);
  }
  ~HeadersTest() override {
    if (bitstream_ != nullptr) handle_->calls().destroy_bitstream(bitstream_);
  }
  bool Parse(const File& file) {
    return handle_->calls().parse_header(handle_->get(), ToNvjpeg(file), file.size(), bitstream_) ==
           nvjpeg::kSuccess;
  }
  ImageSize Size() const {
    ImageSize size;
    EXPECT_EQ(handle_->calls().frame_dimensions(bitstream_, &size.width, &size.height),
              nvjpeg::kSuccess);
    return size;
  }

  std::optional<cuda::Stream> stream_;
  std::unique_ptr<DecodeDevice> device_;
  std::optional<NvjpegMemory> memory_;
  std::optional<NvjpegHandle> handle_;
  nvjpeg::Bitstream bitstream_ = nullptr;
};

TEST_F(HeadersTest, NvjpegReadsTheSizesThatOurWalkReads) {
  constexpr int kRounds = 500'000;
  constexpr size_t kEnough = 4096;  // of a file: its header, and some of its scan
  Changes changes(1);
  const std::vector<testing::Photograph> photographs = testing::LoadPhotographs(50);
  int taken = 0;
  for (int round = 0; round < kRounds; ++round) {
    File file = photographs[changes.Below(photographs.size())].file;
    const auto before = jpeg::WalkHeader(file);
    if (!before || before->bytes + 100 > kEnough || file.size() < kEnough) continue;
    file.resize(kEnough);
    for (size_t count = 1 + changes.Below(4); count > 0; --count)
      changes.Make(file, before->bytes - count);
    const auto walk = jpeg::WalkHeader(file);
    if (!walk || jpeg::JudgeForEngines(walk->facts) != jpeg::EngineVerdict::kTaken) continue;
    ++taken;
    ASSERT_TRUE(Parse(file)) << round;
    const ImageSize size = Size();
    ASSERT_EQ(size.width, walk->facts.width) << round;
    ASSERT_EQ(size.height, walk->facts.height) << round;
  }
  EXPECT_GT(taken, kRounds / 100);
}

}  // namespace
}  // namespace penstock::gpu_decode
