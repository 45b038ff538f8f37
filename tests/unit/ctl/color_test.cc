#include "client/ctl/color.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ctl/check_views.h"
#include "client/ctl/top_view.h"
#include "client/ctl/views.h"

namespace penstock::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Screen kTerminal = {.terminal = true, .no_color = "", .kind = "xterm-256color"};

TEST(ColorTest, NoColorOfAnyTextMeansNoneOnAnyTerminal) {
  for (const char* text : {"1", "0", "no", "false", " "}) {
    Screen screen = kTerminal;
    screen.no_color = text;
    EXPECT_EQ(ChooseColors(ColorChoice::kAuto, screen), Colors::kNo) << text;
  }
  EXPECT_EQ(ChooseColors(ColorChoice::kAuto, kTerminal), Colors::kYes)
      << "empty is as good as unset";
}

TEST(ColorTest, WhatIsNoTerminalOrADumbOneHasNone) {
  for (const Screen& screen : {Screen{.terminal = false, .no_color = "", .kind = "xterm"},
                               Screen{.terminal = true, .no_color = "", .kind = "dumb"},
                               Screen{.terminal = true, .no_color = "", .kind = ""}})
    EXPECT_EQ(ChooseColors(ColorChoice::kAuto, screen), Colors::kNo);
}

TEST(ColorTest, TheCommandLineGoesBeforeTheSurroundings) {
  const Screen none = {.terminal = false, .no_color = "1", .kind = ""};

  EXPECT_EQ(ChooseColors(ColorChoice::kAlways, none), Colors::kYes);
  EXPECT_EQ(ChooseColors(ColorChoice::kNever, kTerminal), Colors::kNo);
}

TEST(ColorTest, WithoutColoursNoTextChanges) {
  v1::WatchStatusResponse now;
  now.mutable_status()->set_version("1");
  now.add_workers();
  const std::string top = ShowTop(now, now, {});
  const std::string check = Show({{Grade::kProblem, "memory", "none", "buy some"}});

  EXPECT_EQ(PaintStates(top, Colors::kNo), top);
  EXPECT_EQ(PaintGrades(check, Colors::kNo), check);
  EXPECT_THAT(top + check, Not(HasSubstr("\x1b")));
}

TEST(ColorTest, GradesAreColouredAndWhatWasFoundIsNot) {
  const std::string text = PaintGrades(Show({{Grade::kOk, "a", "warning  problem", ""},
                                             {Grade::kWarning, "b", "slow", "faster"},
                                             {Grade::kProblem, "c", "no", "yes"}}),
                                       Colors::kYes);

  EXPECT_THAT(text, HasSubstr("\x1b[32mok\x1b[0m       a     warning  problem\n"));
  EXPECT_THAT(text, HasSubstr("\x1b[33mwarning\x1b[0m  b     slow\n"));
  EXPECT_THAT(text, HasSubstr("\x1b[31mproblem\x1b[0m  c     no\n"));
  EXPECT_THAT(text, HasSubstr("\x1b[1mRESULT   WHAT  FOUND\x1b[0m\n"));
}

TEST(ColorTest, ADaemonThatDoesNotServeStandsOutInStatusAndTop) {
  v1::WatchStatusResponse now;
  now.mutable_status()->set_reason("GPU lost");

  EXPECT_THAT(PaintStates(ShowTop(now, now, {}), Colors::kYes),
              HasSubstr("\x1b[31mNOT SERVING\x1b[0m (GPU lost)"));
  EXPECT_THAT(PaintStates(Show(now.status()), Colors::kYes),
              HasSubstr("\x1b[31mNOT SERVING\x1b[0m: GPU lost"));
  now.mutable_status()->set_draining(true);
  EXPECT_THAT(PaintStates(ShowTop(now, now, {}), Colors::kYes),
              HasSubstr("\x1b[33mdraining\x1b[0m"));
}

TEST(ColorTest, TitlesAreBoldAndTheirRowsAreNot) {
  v1::ListWorkersResponse workers;
  workers.add_workers()->set_state("idle");

  const std::string text = PaintStates(Show(workers), Colors::kYes);

  EXPECT_TRUE(text.starts_with("\x1b[1mWORKER  PID")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\x1b'), 2);
}

}  // namespace
}  // namespace penstock::ctl
