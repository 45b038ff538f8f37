// What scripts use: YAML, -w, wait and version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "client/ctl/scripting/version.h"
#include "client/ctl/scripting/wait.h"
#include "client/ctl/scripting/watch.h"
#include "client/ctl/scripting/yaml.h"

namespace penstock::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// What a YAML reader makes of a document, with the types that YAML's core schema gives.
nlohmann::json Read(const YAML::Node& node) {
  if (node.IsNull()) return nullptr;
  if (node.IsSequence()) {
    nlohmann::json list = nlohmann::json::array();
    for (const YAML::Node& item : node) list.push_back(Read(item));
    return list;
  }
  if (node.IsMap()) {
    nlohmann::json map = nlohmann::json::object();
    for (const auto& member : node) map[member.first.as<std::string>()] = Read(member.second);
    return map;
  }
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true" || text == "false") return text == "true";
  const nlohmann::json number = nlohmann::json::parse(text, nullptr, false);
  return number.is_number() ? number : nlohmann::json(text);
}

TEST(YamlTest, AReaderGetsWhatTheJsonSays) {
  const char* const kJson = R"({
    "name": "imagenet", "path": "/data/a b: #c", "empty": "", "tilde": "~", "no": "no", "dash": "- x",
    "number": "123", "real": "1e3", "count": 5, "share": 0.25, "negative": -7, "flag": true,
    "nothing": null, "list": [], "map": {}, "quote": "say \"hi\"\\ \n next", "accent": "caf\u00e9 \u2028",
    "nested": {"rows": [{"a": 1, "b": [1, [2, 3], {"c": "d"}]}, {"a": {}, "e": []}], "Off": "Off"},
    "a key: with #": 1, "control": "\u0007\u001b[31m"
  })";

  const std::string yaml = ToYaml(kJson);

  EXPECT_EQ(Read(YAML::Load(yaml)), nlohmann::json::parse(kJson)) << yaml;
}

TEST(YamlTest, ItIsInBlockStyleAndPlainWhereItCanBe) {
  EXPECT_EQ(ToYaml(R"({"a": "b", "list": [{"x": "1", "z": true}, 2], "map": {"z": []}})"),
            "a: b\nlist:\n- x: \"1\"\n  z: true\n- 2\nmap:\n  z: []\n");
  EXPECT_EQ(ToYaml("[]"), "[]\n");
}

TEST(WatchTest, OnlyChangesArePrinted) {
  const std::vector<std::string> answers = {"a\n", "a\n", "b\n", "b\n", "a\n"};
  for (const auto& [output, wanted] : {std::pair{Output::kTable, "a\n\nb\n\na\n"},
                                       {Output::kJson, "a\nb\na\n"},
                                       {Output::kYaml, "a\n---\nb\n---\na\n"}}) {
    size_t asked = 0;
    std::ostringstream out;

    const auto code = PrintChanges([&] { return absl::StatusOr<std::string>(answers[asked++]); },
                                   output, out, [&] { return asked < answers.size(); });

    EXPECT_EQ(*code, 0);
    EXPECT_EQ(out.str(), wanted);
  }
}

TEST(WatchTest, ADaemonThatGoesEndsItWithItsWords) {
  std::ostringstream out;
  int asked = 0;

  const auto code = PrintChanges(
      [&]() -> absl::StatusOr<std::string> {
        if (++asked == 1) return "a\n";
        return absl::UnavailableError("it is gone");
      },
      Output::kTable, out, [] { return true; });

  EXPECT_EQ(code.status(), absl::UnavailableError("it is gone"));
  EXPECT_EQ(out.str(), "a\n");
}

v1::GetStatusResponse Serving() {
  v1::GetStatusResponse status;
  status.set_serving(true);
  return status;
}

// A daemon that comes up: nobody, then one that is not ready, then one that serves.
class WaitTest : public ::testing::Test {
 protected:
  absl::Status Wait(std::vector<absl::StatusOr<v1::GetStatusResponse>> answers,
                    base::Duration timeout = std::chrono::seconds(30)) {
    const auto ask = [&](base::Duration left) {
      left_.push_back(left);
      return answers[std::min(asked_++, answers.size() - 1)];
    };
    return WaitUntilReady(ask, timeout, clock_, [&] { clock_.Advance(std::chrono::seconds(1)); });
  }

  base::ManualClock clock_;
  size_t asked_ = 0;
  std::vector<base::Duration> left_;  // that each question was given
};

TEST_F(WaitTest, ItEndsOnceTheDaemonServes) {
  v1::GetStatusResponse starting;

  EXPECT_TRUE(Wait({absl::NotFoundError("nobody"), starting, Serving()}).ok());
  EXPECT_EQ(asked_, 3u);
}

TEST_F(WaitTest, OnTimeOutItSaysWhatWasMissingLast) {
  v1::GetStatusResponse draining = Serving();
  draining.set_draining(true);
  draining.set_reason("it is draining");

  const absl::Status none = Wait({absl::NotFoundError("no daemon at /a.sock")});
  EXPECT_TRUE(absl::IsDeadlineExceeded(none));
  EXPECT_THAT(std::string(none.message()), AllOf(HasSubstr("30 s"), HasSubstr("/a.sock")));
  EXPECT_EQ(asked_, 31u);
  EXPECT_THAT(std::string(Wait({draining}, base::Duration{}).message()), HasSubstr("it drains"));
}

TEST_F(WaitTest, NoQuestionIsGivenMoreTimeThanIsLeft) {
  Wait({absl::NotFoundError("nobody")}, std::chrono::seconds(2)).IgnoreError();

  EXPECT_THAT(left_, ::testing::ElementsAre(std::chrono::seconds(2), std::chrono::seconds(1),
                                            std::chrono::milliseconds(200)));
}

TEST_F(WaitTest, ARefusalIsNotWaitedFor) {
  EXPECT_TRUE(absl::IsPermissionDenied(Wait({absl::PermissionDeniedError("not you")})));
  EXPECT_EQ(asked_, 1u);
}

TEST(VersionTest, BothAreShownAndADifferenceIsSaid) {
  v1::GetStatusResponse other;
  other.set_version("9.9.9");
  other.set_protocol_version(7);

  EXPECT_THAT(
      ShowVersions(other, Output::kTable),
      AllOf(HasSubstr("penstockctl "), HasSubstr("9.9.9 (protocol 7)"), HasSubstr("they differ")));
  EXPECT_THAT(ShowVersions(absl::NotFoundError(""), Output::kTable), Not(HasSubstr("differ")));
  const auto json = nlohmann::json::parse(ShowVersions(other, Output::kJson));
  EXPECT_EQ(json["server"]["version"], "9.9.9");
  EXPECT_EQ(json["server"]["protocol"], 7);
  EXPECT_TRUE(json["client"].contains("version"));
  EXPECT_THAT(ShowVersions(other, Output::kYaml), HasSubstr("server:\n  version: \"9.9.9\"\n"));
}

}  // namespace
}  // namespace penstock::ctl
