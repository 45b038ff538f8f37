// Wrong input: invalid YAML, unknown and repeated keys, values of the wrong type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>

#include "server/app/config/config.h"
#include "server/app/config/config_yaml.h"
#include "tests/unit/config/refusal.h"

namespace penstock::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ConfigYamlTest, WhatIsNoYamlIsRefusedWithItsLine) {
  EXPECT_THAT(Refusal("pool:\n  max: [1GiB\n"), StartsWith("p.yaml:3: this is not valid YAML: "));
  EXPECT_THAT(Refusal("pool:\n\tmax: 1GiB\n"), StartsWith("p.yaml:2: this is not valid YAML: "));
  EXPECT_THAT(Refusal("server: {socket: /a\n"), HasSubstr("this is not valid YAML"));
  EXPECT_THAT(Refusal("server:\n  socket: '/unfinished\n"), HasSubstr("without blanks"));
  EXPECT_THAT(Refusal("server: *nobody\n"), StartsWith("p.yaml:1: this is not valid YAML: "));
}

TEST(ConfigYamlTest, DeepNestingIsRefusedNotACrash) {
  EXPECT_THAT(Refusal("server: " + std::string(200'000, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(Refusal(std::string(200'000, '{')), HasSubstr("nested too deeply"));
}

TEST(ConfigYamlTest, BytesThatAreNoTextAreRefused) {
  std::string noise;
  for (int i = 0; i < 256; ++i) noise.push_back(static_cast<char>(i));

  EXPECT_NE(Refusal(noise), "not refused");
  EXPECT_NE(Refusal(std::string("\0\0\0\0", 4)), "not refused");
}

TEST(ConfigYamlTest, TheWholeMustBeAMapOfKnownSections) {
  EXPECT_THAT(Refusal("just words"),
              AllOf(StartsWith("p.yaml:1: got 'just words', wanted keys and values. Known here: "),
                    HasSubstr("server, pool, workers, source, limits, log, datasets")));
  EXPECT_THAT(Refusal("- server\n"),
              StartsWith("p.yaml:1: got a list, wanted keys and values. Known here: "));
}

TEST(ConfigYamlTest, ASecondDocumentIsRefused) {
  EXPECT_THAT(Refusal("log:\n  level: info\n---\nlog:\n  level: debug\n"),
              HasSubstr("got a second document"));
}

// The parser's message quotes the byte that it does not understand.
TEST(ConfigYamlTest, ARefusalIsOneLineWhateverByteIsWrong) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string wrong(1, static_cast<char>(byte));
    for (const std::string& text : {"a: \"\\" + wrong + "\"\n", "a: {b\t" + wrong + "\nc: d}\n"})
      EXPECT_THAT(Refusal(text), ::testing::Not(::testing::ContainsRegex("[\n\r\t]"))) << byte;
  }
}

// The YAML parser returns an endless sequence of documents for this text.
TEST(ConfigYamlTest, ATextThatTheParserNeverGetsThroughIsRefused) {
  EXPECT_NE(Refusal("\n, *a~\nc:"), "not refused");
}

TEST(ConfigYamlTest, AnUnknownKeyIsRefusedWithTheNearestOneAndAllKnown) {
  EXPECT_THAT(Refusal("log:\n  level: info\nserver:\n  sokcet: /a\n"),
              AllOf(StartsWith("p.yaml:4: server.sokcet: unknown key; did you mean 'socket'?"),
                    HasSubstr("Known here: socket, group, state_dir")));
  EXPECT_THAT(Refusal("sever: {}\n"), HasSubstr("did you mean 'server'?"));
  EXPECT_THAT(Refusal("datasets:\n  - name: a\n    path: /a\n"),
              StartsWith("p.yaml:3: datasets[0].path: unknown key"));
}

TEST(ConfigYamlTest, AKeyFarFromAllIsRefusedWithoutAGuess) {
  const std::string refusal = Refusal("pool:\n  colour: red\n");

  EXPECT_THAT(refusal, StartsWith("p.yaml:2: pool.colour: unknown key. Known here: max, "));
}

TEST(ConfigYamlTest, AFieldsNameWithItsUnitIsNoKeyButLeadsToIt) {
  EXPECT_THAT(Refusal("pool: {max_bytes: 1GiB}"), HasSubstr("did you mean 'max'?"));
  EXPECT_THAT(Refusal("source: {retry_for_ms: 10s}"), HasSubstr("did you mean 'retry_for'?"));
}

TEST(ConfigYamlTest, MergeKeysAndKeysThatAreNoNamesAreRefused) {
  EXPECT_THAT(Refusal("log: &l {level: info}\nserver:\n  <<: *l\n"), HasSubstr("unknown key"));
  EXPECT_THAT(Refusal("? [server]\n: {}\n"), HasSubstr("got a list as a key, wanted a name"));
  EXPECT_THAT(Refusal("~: {}\n"), HasSubstr("as a key, wanted a name"));
}

TEST(ConfigYamlTest, ARepeatedKeyIsRefusedWithBothLines) {
  EXPECT_THAT(Refusal("pool:\n  max: 1GiB\n  segment: 2MiB\n  max: 1GiB\n"),
              StartsWith("p.yaml:4: pool.max: got this key twice, first in line 2"));
  EXPECT_THAT(Refusal("pool: {}\nlog: {}\npool: {}\n"),
              StartsWith("p.yaml:3: pool: got this key twice, first in line 1"));
  EXPECT_THAT(Refusal("datasets: [{name: a, name: b}]"),
              HasSubstr("datasets[0].name: got this key twice"));
}

struct Wrong {
  std::string key, value, wanted;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.key << ": " << wrong.value; }

class ConfigTypesTest : public ::testing::TestWithParam<Wrong> {};

TEST_P(ConfigTypesTest, AWrongTypeIsRefusedWithLineGotAndWanted) {
  const std::string section = GetParam().key.substr(0, GetParam().key.find('.'));
  const std::string key = GetParam().key.substr(section.size() + 1);

  const std::string refusal =
      Refusal("\n" + section + ":\n  " + key + ": " + GetParam().value + "\n");

  EXPECT_THAT(refusal, StartsWith("p.yaml:3: " + GetParam().key + ": got "));
  EXPECT_THAT(refusal, HasSubstr("wanted " + GetParam().wanted));
}

std::vector<Wrong> EveryWrongType() {
  std::vector<Wrong> wrong;
  const auto add = [&](const std::string& key, const std::string& wanted,
                       const std::vector<std::string>& values) {
    for (const std::string& value : values) wrong.push_back({key, value, wanted});
  };
  add("pool.max", "a size",
      {"4", "4GB", "4 GiB", "-1GiB", "1.5GiB", "GiB", "0x4GiB", "99999999999TiB",
       "18446744073709551616B", "[4GiB]", "{a: 4GiB}", "~", "\"\"", "many", "4gib", "'4GiB'"});
  add("source.retry_for", "a time",
      {"60", "60 s", "-60s", "1.5s", "1d", "10us", "9223372036854775808s", "[60s]", "{s: 60}",
       "null", "'60s'", "forever"});
  add("workers.count", "a whole number from 0 to 4294967295",
      {"-1", "1.0", "1e3", "0x10", "4294967296", "auto", "[1]", "{n: 1}", "~", "'1'", "+1", "yes"});
  add("limits.max_pixels", "a whole number from 0 to 18446744073709551615",
      {"18446744073709551616", "-1", "100MP", "1e8"});
  add("limits.max_quarantined", "a share from 0% to 100%",
      {"0.1", "1", "100.1%", "-1%", ".%", "1e-3%", "nan%", "inf%", "0x1%", "[1%]", "1 %", "1.2.3%",
       "'1%'"});
  add("server.socket", "one line of text",
      {"[/a]", "{a: b}", "~", "\"/a\\nb\"", "\"/a\\0\"", "\"/a \"", "\" /a\""});
  add("log.level", "one of debug, info, warning, error",
      {"loud", "INFO", "2", "unspecified", "level_info", "[info]", "~"});
  add("source.roots", "a list", {"/data", "{a: /data}", "\"\""});
  return wrong;
}

INSTANTIATE_TEST_SUITE_P(EveryType, ConfigTypesTest, ::testing::ValuesIn(EveryWrongType()));

TEST(ConfigYamlTest, SectionsAndListsMustBeWhatTheyAre) {
  for (const char* section : {"server", "pool", "workers", "source", "limits", "log"}) {
    EXPECT_THAT(Refusal(std::string(section) + ": 3"), HasSubstr("wanted keys and values"));
    EXPECT_THAT(Refusal(std::string(section) + ": [3]"),
                HasSubstr("wanted keys and values. Known here: "));
  }
  EXPECT_THAT(Refusal("datasets: {name: a}"), HasSubstr("got a map, wanted a list"));
  EXPECT_THAT(Refusal("datasets: [a]"), HasSubstr("datasets[0]: got 'a', wanted keys and values."));
  EXPECT_THAT(Refusal("source:\n  roots:\n    - /a\n    - [b]\n"),
              StartsWith("p.yaml:4: source.roots[1]: got a list, wanted one line of text"));
}

// Without `groups` everyone may open a dataset, so a list whose entries are all comments is an
// error.
TEST(ConfigYamlTest, AListWithNothingBehindItsKeyIsRefused) {
  EXPECT_THAT(Refusal("datasets:\n  - name: a\n    folder: /a\n    groups:\n    # - vision\n"),
              StartsWith("p.yaml:4: datasets[0].groups: got nothing, wanted a list"));
  EXPECT_THAT(Refusal("source: {roots: ~}"), HasSubstr("source.roots: got nothing, wanted a list"));
  EXPECT_THAT(Refusal("server: {admins: }"),
              HasSubstr("server.admins: got nothing, wanted a list"));
  EXPECT_THAT(Refusal("stores: {places: }"),
              HasSubstr("stores.places: got nothing, wanted a list"));
  EXPECT_THAT(Refusal("datasets:\n  - {name: a, tar: {shards: null}}\n"),
              HasSubstr("datasets[0].tar.shards: got nothing, wanted a list"));
}

TEST(ConfigYamlTest, ALongValueIsShownCutOff) {
  EXPECT_LT(Refusal("log: {level: " + std::string(5000, 'x') + "}").size(), 200u);
}

TEST(ConfigYamlTest, AKeyOfManyLinesIsShownInOne) {
  EXPECT_THAT(Refusal("\"a\\nb\": 1"), StartsWith("p.yaml:1: a\\nb: unknown key"));
}

TEST(ConfigYamlTest, NoTwoFieldsOfASectionHaveOneKey) {
  const auto check = [](const auto& self, const google::protobuf::Descriptor& type) -> void {
    std::set<std::string> keys;
    for (int i = 0; i < type.field_count(); ++i) {
      EXPECT_TRUE(keys.insert(KeyOf(*type.field(i))).second) << type.field(i)->full_name();
      if (type.field(i)->message_type() != nullptr) self(self, *type.field(i)->message_type());
    }
  };

  check(check, *config::v1::Config::descriptor());
}

TEST(ConfigYamlTest, NothingAndOnlyCommentsAndEmptySectionsAreTheDefaults) {
  for (const char* text : {"", "\n\n", "# nothing\n", "---\n", "{}", "~", "pool:\n  # max: 1GiB\n",
                           "datasets:\nlog:\nsource: {}\n"}) {
    const auto config = ParseConfig(text, "p.yaml");
    ASSERT_TRUE(config.ok()) << text << ": " << config.status();
    EXPECT_EQ(config->SerializeAsString(), DefaultConfig().SerializeAsString()) << text;
  }
}

TEST(ConfigYamlTest, EveryKindOfValueArrivesInItsUnit) {
  const auto config = ParseConfig(R"(
server: {socket: "/run/x y/é.sock", group: 1000, max_sessions: 64, exit_when_idle: 1m}
pool: {max: 8GiB, preallocate: 1GiB, segment: 4096KiB}
workers: {count: 7, sample_timeout: 250ms, memory: 67108864B}
source: {retry_for: 2h, roots: [/a, '/b c']}
limits: {max_quarantined: 2.5%, max_pixels: 007}
log: {level: warning}
datasets:
  - {name: 2012, folder: /d/one, groups: [g1, g2]}
  - name: two
    folder: /d/two
)",
                                  "p.yaml");

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server().socket(), "/run/x y/é.sock");
  EXPECT_EQ(config->server().group(), "1000");
  EXPECT_EQ(config->server().max_sessions(), 64u);
  EXPECT_EQ(config->server().exit_when_idle_ms(), 60'000u);
  EXPECT_EQ(config->pool().max_bytes(), uint64_t{8} << 30);
  EXPECT_EQ(config->pool().preallocate_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(config->pool().segment_bytes(), uint64_t{4} << 20);
  EXPECT_EQ(config->workers().count(), 7u);
  EXPECT_EQ(config->workers().sample_timeout_ms(), 250u);
  EXPECT_EQ(config->workers().memory_bytes(), uint64_t{64} << 20);
  EXPECT_EQ(config->source().retry_for_ms(), 7'200'000u);
  EXPECT_THAT(config->source().roots(), ::testing::ElementsAre("/a", "/b c"));
  EXPECT_DOUBLE_EQ(config->limits().max_quarantined_share(), 0.025);
  EXPECT_EQ(config->limits().max_pixels(), 7u);
  EXPECT_EQ(config->log().level(), config::v1::Log::LEVEL_WARNING);
  ASSERT_EQ(config->datasets_size(), 2);
  EXPECT_EQ(config->datasets(0).name(), "2012");
  EXPECT_THAT(config->datasets(0).groups(), ::testing::ElementsAre("g1", "g2"));
  EXPECT_EQ(config->datasets(1).folder(), "/d/two");
}

}  // namespace
}  // namespace penstock::app
