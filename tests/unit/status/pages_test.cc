#include "server/status/page/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/status/page/page_files.h"

namespace penstock::status {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

// The test decides how the runner answers.
class PagesTest : public ::testing::Test {
 protected:
  enum class Runner { kAnswers, kIsStuck, kTakesNothing };

  void Make(base::Duration fresh = seconds(0)) {
    pages_.emplace(Pages::Sources{.page = [this](auto done) { return AnswerPage(std::move(done)); },
                                  .snapshot =
                                      [this](auto done) {
                                        ++snapshots_;
                                        done(Snapshot{.feeds = 1});
                                        return true;
                                      },
                                  .draining = [] { return false; },
                                  .started_unix_ms = 17},
                   Pages::Options{.patience = milliseconds(5), .fresh = fresh});
  }
  bool AnswerPage(const std::function<void(Pages::Page)>& done) {
    ++asked_;
    if (runner_ == Runner::kTakesNothing) return false;
    if (runner_ == Runner::kIsStuck) return true;
    v1::StatusPage page;
    page.set_time_unix_ms(1234567890123);
    page.mutable_status()->set_version(version_);
    done(std::make_shared<const v1::StatusPage>(page));
    return true;
  }

  Runner runner_ = Runner::kAnswers;
  int asked_ = 0, snapshots_ = 0;
  std::string version_ = "1.2.3";
  std::optional<Pages> pages_;
};

TEST_F(PagesTest, StatusHasEveryFieldUnderItsNameInTheProto) {
  Make();

  const std::string text = *pages_->StatusJson();

  EXPECT_THAT(text, HasSubstr("\"time_unix_ms\":\"1234567890123\""));
  EXPECT_THAT(text, HasSubstr("\"started_unix_ms\":\"17\""));
  EXPECT_THAT(text, HasSubstr("\"version\":\"1.2.3\""));
  EXPECT_THAT(text, HasSubstr("\"samples_decoded\":\"0\""));
  EXPECT_THAT(text, HasSubstr("\"sessions\":[]"));
}

TEST_F(PagesTest, BeforeAnythingWasAnsweredThereIsNoStatus) {
  runner_ = Runner::kTakesNothing;
  Make();
  EXPECT_EQ(pages_->StatusJson(), nullptr);

  runner_ = Runner::kIsStuck;
  EXPECT_EQ(pages_->StatusJson(), nullptr);
}

TEST_F(PagesTest, AStuckRunnersLastAnswerIsServedWithItsAge) {
  Make();
  EXPECT_THAT(*pages_->StatusJson(), HasSubstr("\"age_ms\":\"0\""));
  runner_ = Runner::kIsStuck;

  const std::string text = *pages_->StatusJson();

  EXPECT_THAT(text, HasSubstr("\"version\":\"1.2.3\""));
  EXPECT_THAT(text, Not(HasSubstr("\"age_ms\":\"0\"")));
}

TEST_F(PagesTest, AnAnswerIsReusedForAWhile) {
  Make(std::chrono::hours(1));
  for (int i = 0; i < 100; ++i) pages_->StatusJson();

  EXPECT_EQ(asked_, 1);
}

TEST_F(PagesTest, TheHistoryGrowsByOneRecordInFiveSeconds) {
  Make();
  const base::TimePoint begun = base::Now();
  for (int tick = 0; tick < 50; ++tick) pages_->Tick(begun + milliseconds(200 * tick));  // 9.8 s

  EXPECT_EQ(snapshots_, 2);
  EXPECT_THAT(*pages_->HistoryJson(), HasSubstr("\"interval_ms\":5000,\"max_records\":720"));
  EXPECT_THAT(*pages_->HistoryJson(), HasSubstr("\"stalls\":[0]"));
  EXPECT_THAT(*pages_->StatusJson(), HasSubstr("\"stalls\":[0]"));
}

TEST_F(PagesTest, BytesThatAreNoUtf8DoNotSpoilTheJson) {
  version_ = "a\xff\xc3(b";
  Make();

  const std::string text = *pages_->StatusJson();

  EXPECT_THAT(text, HasSubstr("\"version\":\"a"));
  for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x0a);
  EXPECT_THAT(text, Not(HasSubstr("\xff")));
}

TEST(PageFilesTest, ThePageHasOneStyleAndOneScriptAndAsksNobodyElse) {
  const PageFiles files = ReadPageFiles();
  const std::string html(files.html), style(files.style), script(files.script);

  EXPECT_THAT(html, ::testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(style, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(script, HasSubstr("\"/status.json\""));
  EXPECT_EQ(html.find("<script"), html.rfind("<script"));
  EXPECT_EQ(html.find("<style"), html.rfind("<style"));
  EXPECT_THAT(html, Not(HasSubstr("https:")));
  EXPECT_THAT(html, Not(HasSubstr("src=")));
  EXPECT_THAT(html, Not(HasSubstr("@PAGE")));
  EXPECT_THAT(script, Not(HasSubstr("innerHTML")));
  EXPECT_LT(html.size(), 100'000u);
}

}  // namespace
}  // namespace penstock::status
