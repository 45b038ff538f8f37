#include "server/status/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

namespace penstock::status {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Unpack(const std::string& packed) {
  std::string text(1 << 20, '\0');
  z_stream stream = {};
  EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  ::inflateEnd(&stream);
  return text;
}

// The test decides how the runner answers.
class CollectorTest : public ::testing::Test {
 protected:
  enum class Runner { kAnswers, kIsStuck, kTakesNothing };

  std::unique_ptr<Collector> Make(base::Duration patience, base::Duration fresh) {
    return std::make_unique<Collector>(
        Collector::Sources{.ask =
                               [this](Collector::Done done) {
                                 ++asked_;
                                 if (runner_ == Runner::kTakesNothing) return false;
                                 if (runner_ == Runner::kIsStuck) {
                                   waiting_ = std::move(done);
                                 } else {
                                   done({.feeds = feeds_});
                                 }
                                 return true;
                               },
                           .facts = [] { return Facts{.version = "1.2.3"}; }},
        Collector::Options{.patience = patience, .fresh = fresh});
  }

  Runner runner_ = Runner::kAnswers;
  int asked_ = 0;
  uint32_t feeds_ = 3;
  Collector::Done waiting_;
};

TEST_F(CollectorTest, WhileTheRunnerIsStuckThePageHasWhatNeedsNoRunner) {
  runner_ = Runner::kIsStuck;
  const auto collector = Make(milliseconds(5), seconds(0));

  const std::string page = *collector->Page({});

  EXPECT_THAT(page, HasSubstr("penstock_build_info{version=\"1.2.3\""));
  EXPECT_THAT(page, Not(HasSubstr("penstock_feeds ")));
}

TEST_F(CollectorTest, WhileTheRunnerIsStuckItIsAskedAndWaitedForOnce) {
  runner_ = Runner::kIsStuck;
  const auto collector = Make(milliseconds(30), seconds(0));
  collector->Page({});

  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) collector->Page({});

  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(2));  // 100 waits would take 3 s
  EXPECT_EQ(asked_, 1);
}

TEST_F(CollectorTest, WhatTheRunnerSaidLastIsShownWithItsAge) {
  const auto collector = Make(milliseconds(30), seconds(0));
  collector->Page({});
  runner_ = Runner::kIsStuck;

  const std::string page = *collector->Page({});

  EXPECT_THAT(page, HasSubstr("penstock_feeds 3\n"));
  const size_t at = page.find("\npenstock_snapshot_age_seconds ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::stod(page.substr(at + 31)), 0.03);
}

TEST_F(CollectorTest, AnAnswerThatComesLateIsShownTheNextTime) {
  runner_ = Runner::kIsStuck;
  const auto collector = Make(milliseconds(5), seconds(0));
  collector->Page({});

  waiting_({.feeds = 9});
  runner_ = Runner::kTakesNothing;

  EXPECT_THAT(*collector->Page({}), HasSubstr("penstock_feeds 9\n"));
}

TEST_F(CollectorTest, AnAnswerThatComesAfterTheEndHurtsNobody) {
  runner_ = Runner::kIsStuck;
  auto collector = Make(milliseconds(5), seconds(0));
  collector->Page({});

  collector.reset();

  waiting_({.feeds = 9});
}

TEST_F(CollectorTest, ARunnerThatTakesNoQuestionIsNotWaitedForAndAskedAgain) {
  runner_ = Runner::kTakesNothing;
  const auto collector = Make(seconds(60), seconds(0));

  collector->Page({});
  collector->Page({});

  EXPECT_EQ(asked_, 2);
}

TEST_F(CollectorTest, AFloodOfScrapesIsOnePage) {
  const auto collector = Make(seconds(1), seconds(60));

  const auto page = collector->Page({.answered = 1});
  feeds_ = 4;

  for (int i = 0; i < 1000; ++i) EXPECT_EQ(collector->Page({.answered = 2}), page);
  EXPECT_EQ(asked_, 1);
}

TEST_F(CollectorTest, AnOldPageIsMadeAnew) {
  const auto collector = Make(seconds(1), seconds(0));
  collector->Page({});
  feeds_ = 4;

  EXPECT_THAT(*collector->Page({}), HasSubstr("penstock_feeds 4\n"));
}

TEST_F(CollectorTest, FormsOfOnePageHaveTheSameFiguresAndCostOneQuestion) {
  const auto collector = Make(milliseconds(30), seconds(60));

  const std::string plain = *collector->Page({});
  const std::string open = *collector->Page({}, {.open_metrics = true});
  const std::string packed = *collector->Page({}, {.gzip = true});

  EXPECT_EQ(asked_, 1);
  EXPECT_THAT(open, ::testing::EndsWith("# EOF\n"));
  EXPECT_EQ(Unpack(packed), plain);
  EXPECT_LT(packed.size(), plain.size() / 2);
  EXPECT_EQ(collector->Page({}, {.gzip = true}), collector->Page({}, {.gzip = true}));
}

}  // namespace
}  // namespace penstock::status
