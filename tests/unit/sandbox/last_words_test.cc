#include "common/sandbox/last_words.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "common/sandbox/sandbox.h"

namespace penstock::sandbox {
namespace {

class LastWordsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kIsInstrumented) GTEST_SKIP() << "sanitizers report on standard error";
    words_ = LastWords::Make().value();
    child_ = words_.ForChild()->fd;
  }
  void Write(const std::string& text) {
    EXPECT_EQ(::write(child_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  LastWords words_;
  int child_ = -1;
};

TEST_F(LastWordsTest, AreOneLineOfPrintableCharacters) {
  Write("no cat\nlevel=info\033[1m\377\n\n");
  words_.CloseWritingEnd();

  EXPECT_EQ(words_.Take(), "no cat|level=info?[1m?");
  EXPECT_EQ(words_.Take(), "") << "they are taken once";
}

TEST_F(LastWordsTest, NeitherEndEverWaits) {
  while (::write(child_, "flood", 5) == 5) continue;

  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(words_.Take().size(), 1024u);
}

TEST_F(LastWordsTest, WhileItIsSilentThereAreNone) { EXPECT_EQ(words_.Take(), ""); }

TEST(NoLastWordsTest, WithoutAPipeTheChildKeepsOurStandardError) {
  EXPECT_FALSE(LastWords().ForChild().has_value());
  EXPECT_EQ(LastWords().Take(), "");
}

}  // namespace
}  // namespace penstock::sandbox
