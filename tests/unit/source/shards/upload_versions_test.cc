// The ETags of uploads, beside those that Python's hashlib computes.
#include "server/source/shards/upload_versions.h"

#include <gmock/gmock.h>

namespace penstock::source {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::SizeIs;

// `step`: how many bytes are added at a time.
std::vector<std::string> EtagsOf(const std::string& content, size_t step) {
  UploadVersions versions = *UploadVersions::Make(content.size());
  const auto bytes = std::as_bytes(std::span(content));
  for (size_t at = 0; at < bytes.size(); at += step)
    versions.Add(bytes.subspan(at, std::min(step, bytes.size() - at)));
  return versions.Finish();
}

std::string Numbers(size_t count) {
  std::string cycle, text;
  for (int i = 0; i < 251; ++i) cycle.push_back(static_cast<char>(i));
  while (text.size() < count) text += cycle;
  text.resize(count);
  return text;
}

TEST(UploadVersionsTest, ASmallFileIsOnePart) {
  EXPECT_THAT(EtagsOf("abc", 2), ElementsAre("900150983cd24fb0d6963f7d28e17f72",
                                             "af5da9f45af7a300e3aded972f8ff687-1"));
  EXPECT_THAT(EtagsOf("", 1), ElementsAre("d41d8cd98f00b204e9800998ecf8427e",
                                          "59adb24ef3cdbe0297f05b395827453f-1"));
}

TEST(UploadVersionsTest, PartsOfEachSizeAreHashedByThemselves) {
  const std::string content = Numbers(12 << 20);

  for (const size_t step : {size_t{1'000'003}, content.size()})
    EXPECT_THAT(
        EtagsOf(content, step),
        ElementsAre("0678042110afa53b12c87ef1e06d2654", "7df28755d1a6cc911533a3b50170cf7d-3",
                    "a85b9e7ccf4dabf1c2eb720289ce0045-2", "e4da835ca1ab0c5b330e000dde238944-2",
                    "a14ca8a25b17ce8974991f61dab38705-1"));
}

TEST(UploadVersionsTest, AFileThatFillsItsPartsHasNoEmptyOne) {
  const auto etags = EtagsOf(Numbers(10 << 20), 1 << 20);
  EXPECT_THAT(etags, Contains("1e4f501cf04fe65dfa57940273a0cecf-2"));
  EXPECT_THAT(etags, SizeIs(4)) << "one, 5, 8 and 10 MiB";
}

}  // namespace
}  // namespace penstock::source
