// What the C API refuses, in words, and what it does with structs of other versions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/system/c/c_fixture.h"

namespace penstock::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(CApiTest, OptionsThatWouldBeIgnoredAreRefused) {
  penstock_session_options options = CRows(photographs_);
  options.decode = PENSTOCK_DECODE_DEFAULT;
  EXPECT_THAT(Refused(options), HasSubstr("height and width need `decode`"));
  options = CRows(photographs_);
  options.resize = 40;
  EXPECT_THAT(Refused(options), HasSubstr("PENSTOCK_CENTER_CROP"));
  options = CRows(photographs_);
  options.given_count = 3;
  EXPECT_THAT(Refused(options), HasSubstr("PENSTOCK_GIVEN"));
  options = CRows(photographs_);
  options.order = 17;
  EXPECT_THAT(Refused(options), HasSubstr("order: got 17, expected 0 to 3"));
  options = CRows(photographs_);
  options.dataset = nullptr;
  EXPECT_THAT(Refused(options), HasSubstr("dataset is NULL"));
  options = CRows(photographs_);
  options.open_timeout_ms = -5;
  EXPECT_THAT(Refused(options), HasSubstr("open_timeout_ms: got -5"));
}

TEST_F(CApiTest, WhatTheDaemonRefusesArrivesWithItsCodeAndText) {
  penstock_session_options options = CRows(photographs_);
  options.dataset = "no-such-dataset";
  penstock_session* session = nullptr;

  EXPECT_EQ(penstock_open(client_, &options, &session, &error_), PENSTOCK_NOT_FOUND);

  EXPECT_EQ(error_.code, PENSTOCK_NOT_FOUND);
  EXPECT_THAT(error_.message, HasSubstr("no-such-dataset"));
  EXPECT_EQ(penstock_open(client_, &options, &session, nullptr), PENSTOCK_NOT_FOUND);
}

// A program that was compiled against a later header: its structs are longer.
struct LaterOptions {
  penstock_session_options known;
  uint64_t added;
};

TEST_F(CApiTest, AStructOfALaterVersionIsTakenUnlessItSaysWhatIsNotKnown) {
  LaterOptions later{CRows(photographs_), 0};
  later.known.struct_size = sizeof later;
  penstock_session* session = Open(later.known);
  EXPECT_NE(session, nullptr);
  penstock_close(session);

  later.added = 1;
  EXPECT_THAT(Refused(later.known), AllOf(HasSubstr("older than the program's header"),
                                          HasSubstr(std::to_string(sizeof later.known))));
}

TEST_F(CApiTest, AStructThatIsFilledIsNeverWrittenBeyondItsSize) {
  struct {
    penstock_state known;
    uint64_t added;
    uint64_t beyond;
  } later{{}, 5, 0xAA};
  later.known.struct_size = sizeof later.known + sizeof later.added;
  const char line[] = "epoch=1 consumed=2 seed=3 fingerprint=0000000000000004 quarantine_version=5";

  ASSERT_EQ(penstock_state_from_text(line, &later.known, &error_), PENSTOCK_OK) << error_.message;

  EXPECT_EQ(later.known.struct_size, sizeof later.known + sizeof later.added);
  EXPECT_EQ(later.known.quarantine_version, 5u);
  EXPECT_EQ(later.added, 0u);
  EXPECT_EQ(later.beyond, 0xAAu);
  for (const size_t size : {size_t{0}, sizeof later.known - 1, size_t{1} << 40}) {
    later.known.struct_size = size;
    EXPECT_EQ(penstock_state_from_text(line, &later.known, &error_), PENSTOCK_INVALID_ARGUMENT);
    EXPECT_THAT(error_.message, HasSubstr("set it to sizeof(penstock_state)"));
  }
}

TEST_F(CApiTest, AMessageThatIsTooLongIsCutAtTheEndOfACharacter) {
  std::string name;
  for (int i = 0; i < 700; ++i) name += "ü";
  penstock_session_options options = CRows(name);
  penstock_session* session = nullptr;

  EXPECT_NE(penstock_open(client_, &options, &session, &error_), PENSTOCK_OK);

  const std::string said = error_.message;
  EXPECT_LT(said.size(), sizeof error_.message);
  const auto last = static_cast<unsigned char>(said.back());
  EXPECT_TRUE(last < 0x80 || (said.size() >= 2 && last == 0xBC)) << said;
}

}  // namespace
}  // namespace penstock::testing
