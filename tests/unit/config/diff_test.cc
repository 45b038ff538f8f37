#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/app/config/config.h"
#include "server/app/config/config_diff.h"

namespace penstock::app {
namespace {

using ::testing::IsEmpty;

std::vector<ConfigChange> Changes(const std::string& before, const std::string& after) {
  return Compare(*ParseConfig(before, "a.yaml"), *ParseConfig(after, "b.yaml"));
}

TEST(ConfigDiffTest, EqualConfigurationsDifferInNothingHoweverTheyAreWritten) {
  EXPECT_THAT(Changes("{}", "pool: {max: 4096MiB}\nlog: {level: info}\n"), IsEmpty());
}

struct Case {
  std::string before, after, words;
  bool needs_restart;
};

TEST(ConfigDiffTest, EachChangeIsSaidAsPeopleWriteItAndWhetherItNeedsARestart) {
  const Case cases[] = {
      {"{}", "log: {level: debug}", "log.level: info, now debug", false},
      {"{}", "log: {format: json}", "log.format: text, now json", true},
      {"{}", "pool: {max: 8GiB}", "pool.max: 4.0 GiB, now 8.0 GiB", true},
      {"{}", "server: {drain_for: 5m}", "server.drain_for: 30s, now 5m", false},
      {"{}", "server: {group: ''}", "server.group: penstock, now \"\"", true},
      {"{}", "limits: {max_quarantined: 1%}", "limits.max_quarantined: 0.1%, now 1%", false},
      {"{}", "limits: {max_pixels: 7}", "limits.max_pixels: 100000000, now 7", true},
      {"{}", "source: {roots: [/a, /b]}", "source.roots: [], now [/a, /b]", true},
      {"{}", "workers: {auto: true}", "workers.auto: false, now true", true},
      {"{}", "stores: {places: [{url: 's3://one/'}, {url: 'gs://two/'}]}",
       "stores.places: [], now [s3://one/, gs://two/]", false},
      {"{}", "stores: {ca: /ca}", "stores.ca: \"\", now /ca", true},
      {"{}", "datasets: [{name: x, folder: /x}]", "datasets: [], now [x]", false},
      {"datasets: [{name: x, folder: /x}]", "datasets: [{name: x, folder: /y}]",
       "datasets[x].folder: /x, now /y", false},
      {"datasets: [{name: x, folder: /x}, {name: y, folder: /y, groups: [a]}]",
       "datasets: [{name: x, folder: /x}, {name: y, folder: /y, groups: [a, b]}]",
       "datasets[y].groups: [a], now [a, b]", false},
      {"datasets: [{name: x, synthetic: {samples: 5}}]",
       "datasets: [{name: x, synthetic: {samples: 6}}]",
       "datasets[x].synthetic: {samples: 5}, now {samples: 6}", false},
      {"stores: {places: [{url: 's3://one/'}]}",
       "stores: {places: [{url: 's3://one/', region: eu-1}]}",
       "stores.places[s3://one/].region: \"\", now eu-1", false},
  };
  for (const Case& each : cases) {
    const std::vector<ConfigChange> changes = Changes(each.before, each.after);
    ASSERT_EQ(changes.size(), 1u) << each.words;
    EXPECT_EQ(changes[0].ToString(), each.words);
    EXPECT_EQ(changes[0].needs_restart, each.needs_restart) << each.words;
  }
}

}  // namespace
}  // namespace penstock::app
