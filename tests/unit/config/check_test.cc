// Invalid values, the defaults, the example, and the private daemon's configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "common/base/units.h"
#include "server/app/config/config.h"
#include "server/app/config/config_yaml.h"
#include "tests/support/files/temp_folder.h"
#include "tests/unit/config/refusal.h"

namespace penstock::app {
namespace {

using base::kGiB;
using base::kKiB;
using base::kMiB;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Impossible {
  std::string key, value, wanted;
};

void PrintTo(const Impossible& value, std::ostream* out) {
  *out << value.key << ": " << value.value;
}

class ConfigValuesTest : public ::testing::TestWithParam<Impossible> {};

TEST_P(ConfigValuesTest, AnImpossibleValueIsRefusedWithLineGotAndWanted) {
  const std::string section = GetParam().key.substr(0, GetParam().key.find('.'));
  const std::string key = GetParam().key.substr(section.size() + 1);

  const std::string refusal =
      Refusal("# first line\n" + section + ":\n  " + key + ": " + GetParam().value + "\n");

  EXPECT_THAT(refusal, StartsWith("p.yaml:3: " + GetParam().key + ": got "));
  EXPECT_THAT(refusal, HasSubstr("wanted " + GetParam().wanted));
}

const Impossible kImpossible[] = {
    {"server.socket", "penstock.sock", "an absolute path"},
    {"server.socket", "\"\"", "an absolute path"},
    {"server.socket", "/run/../etc/x", "an absolute path without '..'"},
    {"server.socket", "/run/penstock/", "a file's path"},
    {"server.socket", "/" + std::string(100, 'x'), "at most 100"},
    {"server.group", "two words", "1 to 128 of"},
    {"server.group", "-g", "1 to 128 of"},
    {"server.state_dir", "var", "an absolute path"},
    {"server.max_sessions", "0", "1 to 4096"},
    {"server.max_sessions", "4097", "1 to 4096"},
    {"server.max_connections", "0", "1 to 65536"},
    {"server.max_connections", "65537", "1 to 65536"},
    {"server.exit_when_idle", "25h", "0ms to 24h"},
    {"server.drain_for", "25h", "0ms to 24h"},
    {"server.bad_sample_pictures", "true", "false, because server.status_page is not full"},
    {"server.admin_socket", "/run/penstock/admin.sock", "a path outside of /run/penstock/"},
    {"server.admin_socket", "/run/x/../admin/admin.sock", "an absolute path without '..'"},
    {"server.admin_socket", "admin.sock", "an absolute path"},
    {"server.health_address", "localhost:7741", "a numeric address and a port"},
    {"server.health_address", "127.0.0.1", "a numeric address and a port"},
    {"workers.max_cores", "0%", "more than 0%, at most 100%"},
    {"workers.max_cores", "101%", "a share from 0% to 100%"},
    {"limits.max_sessions_per_user", "0", "1 to 4096"},
    {"limits.max_pool_per_user", "0%", "more than 0%"},
    {"limits.max_workers_per_user", "0%", "more than 0%"},
    {"server.metrics_address", "localhost:9477", "a numeric address and a port"},
    {"server.metrics_address", "127.0.0.1:0", "a numeric address and a port"},
    {"pool.max", "0B", "16.0 MiB to"},
    {"pool.max", "16777215B", "16.0 MiB to"},
    {"pool.max", "65TiB", "16.0 MiB to 64.0 TiB"},
    {"pool.preallocate", "5GiB", "0 B to 4.0 GiB"},
    {"pool.segment", "1MiB", "2.0 MiB to"},
    {"pool.segment", "5GiB", "2.0 MiB to 4.0 GiB"},
    {"gpu.max", "1025GiB", "0 B to 1.0 TiB"},
    {"gpu.depth", "0", "1 to 16"},
    {"gpu.depth", "17", "1 to 16"},
    {"workers.count", "1025", "0 to 1024"},
    {"workers.program", "penstock-worker", "an absolute path"},
    {"workers.start_timeout", "99ms", "100ms to 10m"},
    {"workers.start_timeout", "11m", "100ms to 10m"},
    {"workers.sample_timeout", "0s", "10ms to 1h"},
    {"workers.sample_timeout", "61m", "10ms to 1h"},
    {"workers.memory", "1MiB", "64.0 MiB to"},
    {"workers.max_restarts", "0", "1 to 10000"},
    {"workers.max_restarts", "10001", "1 to 10000"},
    {"workers.restart_window", "999ms", "1s to 24h"},
    {"workers.backoff_first", "0s", "1ms to 10s"},
    {"workers.backoff_first", "11s", "1ms to 10s"},
    {"workers.backoff_longest", "61m", "1ms to 1h"},
    {"source.retry_for", "25h", "0ms to 24h"},
    {"source.index_threads", "0", "1 to 256"},
    {"source.index_threads", "257", "1 to 256"},
    {"source.max_open", "0", "1 to 65536"},
    {"limits.max_sample", "1B", "1.0 KiB to 1.0 GiB"},
    {"limits.max_sample", "2GiB", "1.0 KiB to 1.0 GiB"},
    {"limits.max_pixels", "0", "1 to 4294967295"},
    {"limits.max_pixels", "4294967296", "1 to 4294967295"},
    {"limits.max_scans", "0", "1 to 100000"},
    {"limits.max_scans", "100001", "1 to 100000"},
};

INSTANTIATE_TEST_SUITE_P(Every, ConfigValuesTest, ::testing::ValuesIn(kImpossible));

TEST(ConfigCheckTest, ValuesThatOnlyTogetherAreImpossibleAreRefused) {
  EXPECT_THAT(Refusal("pool:\n  max: 1GiB\n  preallocate: 2GiB\n"),
              StartsWith("p.yaml:3: pool.preallocate: got 2.0 GiB, wanted 0 B to 1.0 GiB"));
  EXPECT_THAT(Refusal("workers:\n  backoff_longest: 50ms\n"),
              StartsWith("p.yaml:1: workers.backoff_first: got 100ms, wanted 1ms to 50ms"));
}

TEST(ConfigCheckTest, RootsMustBeAbsolute) {
  EXPECT_THAT(Refusal("source:\n  roots:\n    - /a\n    - b\n"),
              StartsWith("p.yaml:4: source.roots[1]: got 'b'"));
  EXPECT_THAT(Refusal("source: {roots: [/a/../b]}"), HasSubstr("without '..'"));
}

TEST(ConfigCheckTest, DatasetsNeedANameAndOneKind) {
  EXPECT_THAT(Refusal("datasets:\n  - folder: /a\n"),
              StartsWith("p.yaml:2: datasets[0].name: got nothing, wanted 1 to 128"));
  EXPECT_THAT(Refusal("datasets:\n  - name: a\n"),
              StartsWith("p.yaml:2: datasets[0]: got no kind of dataset, wanted exactly one of"));
  EXPECT_THAT(Refusal("datasets:\n  - {name: a, folder: a}\n"), HasSubstr("got 'a', wanted"));
  EXPECT_THAT(
      Refusal("datasets:\n  - {name: a, folder: /a, synthetic: {}}\n"),
      StartsWith("p.yaml:2: datasets[0]: got 2 kinds, wanted exactly one of folder, idx, "));
  EXPECT_THAT(Refusal("datasets:\n  -\n"), HasSubstr("datasets[0].name: got nothing"));
}

TEST(ConfigCheckTest, TheFilesOfAnIdxPairAreAbsolutePaths) {
  EXPECT_THAT(Refusal("datasets:\n  - name: a\n    idx:\n      images: /a\n"),
              StartsWith("p.yaml:3: datasets[0].idx.labels: got nothing, wanted an absolute path"));
  EXPECT_THAT(Refusal("datasets: [{name: a, idx: {images: b, labels: /c}}]"),
              HasSubstr("idx.images: got 'b'"));
}

TEST(ConfigCheckTest, ArraysHaveNamesAndAbsolutePaths) {
  EXPECT_THAT(
      Refusal("datasets:\n  - name: a\n    npy:\n      arrays:\n        - {file: b.npy}\n"),
      StartsWith("p.yaml:5: datasets[0].npy.arrays[0].file: got 'b.npy', wanted an absolute"));
  EXPECT_THAT(Refusal("datasets: [{name: a, npy: {}}]"),
              HasSubstr("wanted at least one, got none"));
  EXPECT_THAT(
      Refusal("datasets: [{name: a, npy: {arrays: [{name: x, file: /x}, {name: x, file: /y}]}}]"),
      HasSubstr("got the name 'x' twice"));
  EXPECT_EQ(Refusal("datasets: [{name: a, npy: {arrays: [{file: /x.npy}]}}]"), "not refused");
}

TEST(ConfigCheckTest, TokensHaveFilesALengthAndWordsThatAreKnown) {
  const auto tokens = [](const std::string& keys) {
    return Refusal("datasets:\n  - name: a\n    tokens: {" + keys + "}\n");
  };

  EXPECT_THAT(
      tokens("files: [a], length: 8"),
      StartsWith("p.yaml:3: datasets[0].tokens.files[0]: got 'a', wanted an absolute path"));
  EXPECT_THAT(tokens("length: 8"), HasSubstr("tokens files: wanted at least one"));
  EXPECT_THAT(
      tokens("files: [/a]"),
      StartsWith("p.yaml:3: datasets[0].tokens: tokens length: wanted 1 to 16777216, got 0"));
  EXPECT_THAT(tokens("files: [/a], length: 8, dtype: u2"), HasSubstr("got 'u2' as a dtype"));
  EXPECT_THAT(tokens("files: [/a], length: 8, dtype: float32"), HasSubstr("got float32"));
  EXPECT_THAT(tokens("files: [/a], length: 8, format: tar"), HasSubstr("got 'tar' as a format"));
  EXPECT_THAT(tokens("files: [/a], length: 8, documents: yes"),
              HasSubstr("documents: got 'yes', wanted true or false"));
  EXPECT_EQ(tokens("files: [/a], length: 8, dtype: int32, format: llm.c"), "not refused");
}

TEST(ConfigCheckTest, ShardsAreAbsolutePathsAndAtLeastOne) {
  EXPECT_THAT(Refusal("datasets: [{name: a, tar: {image: png}}]"),
              HasSubstr("tar.shards: got 0, wanted 1 to 10000"));
  EXPECT_THAT(Refusal("datasets: [{name: a, tar: {shards: [/a.tar, 'b-{0..3}.tar']}}]"),
              HasSubstr("tar.shards[1]: got 'b-{0..3}.tar'"));
  EXPECT_THAT(Refusal("datasets: [{name: a, tfrecord: {shards: [b]}}]"),
              HasSubstr("tfrecord.shards[0]: got 'b'"));
}

TEST(ConfigCheckTest, ATextNamesAListAFolderOrCifarsFiles) {
  EXPECT_THAT(
      Refusal("datasets: [{name: a, text: 'tokens:/a.bin,length=1'}]"),
      HasSubstr("datasets[0].text: got 'tokens:/a.bin,length=1', wanted a text that begins"));
  EXPECT_THAT(Refusal("datasets: [{name: a, text: 'list:a.csv'}]"),
              HasSubstr("'a.csv' is no absolute path"));
  EXPECT_THAT(Refusal("datasets: [{name: a, text: 'folder:/a,label=b'}]"), HasSubstr("0 groups"));
  EXPECT_THAT(Refusal("datasets: [{name: a, folder: /a, text: 'cifar:/a'}]"), HasSubstr("2 kinds"));
}

TEST(ConfigCheckTest, ATextMayNameAnnotatedImages) {
  EXPECT_THAT(Refusal("datasets: [{name: a, text: 'coco:images=/a'}]"),
              HasSubstr("annotations= is missing"));
  EXPECT_THAT(Refusal("datasets: [{name: a, text: 'pairs:images=/a,masks=b'}]"),
              HasSubstr("'masks=b' is no absolute path"));
  EXPECT_THAT(Refusal("datasets: [{name: a, text: 'voc:/a'}]"), HasSubstr("split= is missing"));
  EXPECT_THAT(Refusal("datasets: [{name: a, text: 'yolo:/a'}]"), HasSubstr("not understood"));
}

TEST(ConfigCheckTest, ASyntheticDatasetsNumbersHaveLimits) {
  EXPECT_THAT(Refusal("datasets:\n  - name: a\n    synthetic:\n      samples: 0\n"),
              StartsWith("p.yaml:4: datasets[0].synthetic.samples: got 0, wanted 1 to"));
  EXPECT_THAT(Refusal("datasets: [{name: a, synthetic: {channels: 17}}]"),
              HasSubstr("channels: got 17"));
}

TEST(ConfigCheckTest, DatasetNamesAreSpelledLikeFileNames) {
  for (const std::string name : {"\"\"", "a/b", "/a", ".a", "..", "-a", "a b", "é", "a:b", "a@b"})
    EXPECT_THAT(Refusal("datasets: [{name: " + name + ", folder: /a}]"),
                HasSubstr("datasets[0].name: got"))
        << name;
  EXPECT_THAT(Refusal("datasets: [{name: " + std::string(129, 'a') + ", folder: /a}]"),
              HasSubstr("1 to 128"));
  EXPECT_THAT(Refusal("datasets: [{name: a, folder: /a, groups: [g, 'x y']}]"),
              HasSubstr("datasets[0].groups[1]: got 'x y'"));
}

TEST(ConfigCheckTest, TwoDatasetsOfOneNameAreRefused) {
  EXPECT_THAT(Refusal("datasets:\n  - {name: a, folder: /a}\n  - {name: b, folder: /b}\n"
                      "  - {name: a, folder: /c}\n"),
              StartsWith("p.yaml:4: datasets[2].name: got 'a', wanted a unique name: "
                         "datasets[0] has the same"));
}

TEST(ConfigCheckTest, TooManyDatasetsAreRefused) {
  std::string text = "datasets:\n";
  for (int i = 0; i <= 10'000; ++i) absl::StrAppend(&text, "- {name: d", i, ", folder: /d}\n");

  EXPECT_THAT(Refusal(text), HasSubstr("datasets: got 10001, wanted at most 10000"));
}

TEST(ConfigCheckTest, TheLimitsThemselvesAreAllowed) {
  const auto config = ParseConfig(
      "server: {max_sessions: 4096, exit_when_idle: 24h, group: '', state_dir: ''}\n"
      "pool: {max: 16MiB, preallocate: 16MiB, segment: 16MiB}\n"
      "workers: {count: 1024, start_timeout: 100ms, sample_timeout: 1h, max_restarts: 1}\n"
      "source: {retry_for: 0s, index_threads: 256}\n"
      "limits: {max_sample: 1GiB, max_quarantined: 0%, max_quarantined_minimum: 0}\n",
      "p.yaml");

  EXPECT_TRUE(config.ok()) << config.status();
}

TEST(ConfigCheckTest, ASmallPoolTakesItsSegmentsAlong) {
  const auto config = ParseConfig("pool: {max: 16MiB}", "p.yaml");

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->pool().segment_bytes(), 16 * kMiB);
}

TEST(ConfigCheckTest, TheDefaultsAreThoseThatTheReferenceNames) {
  const config::v1::Config config = DefaultConfig();

  EXPECT_EQ(config.server().socket(), "/run/penstock/penstock.sock");
  EXPECT_EQ(config.server().group(), "penstock");
  EXPECT_EQ(config.server().exit_when_idle_ms(), 0u);
  EXPECT_EQ(config.pool().max_bytes(), 4 * kGiB);
  EXPECT_EQ(config.workers().count(), 0u);
  EXPECT_EQ(config.workers().sample_timeout_ms(), 30'000u);
  EXPECT_EQ(config.source().retry_for_ms(), 60'000u);
  EXPECT_EQ(config.limits().max_sample_bytes(), 16 * kMiB);
  EXPECT_EQ(config.limits().max_pixels(), 100'000'000u);
  EXPECT_EQ(config.limits().max_scans(), 100u);
  EXPECT_EQ(config.limits().max_quarantined_share(), 0.001);
  EXPECT_EQ(config.limits().max_quarantined_minimum(), 10u);
  EXPECT_EQ(config.log().level(), config::v1::Log::LEVEL_INFO);
}

class ConfigFileTest : public ::testing::Test {
 protected:
  penstock::testing::TempFolder temp_;
};

TEST_F(ConfigFileTest, AMissingOrUnreadableFileIsNamed) {
  const auto missing = LoadConfig(temp_.At("no.yaml")).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr(temp_.At("no.yaml")));

  temp_.Write("secret.yaml", "log: {}");
  ASSERT_EQ(::chmod(temp_.At("secret.yaml").c_str(), 0), 0);
  const penstock::testing::WithoutPrivileges nobody;
  EXPECT_TRUE(absl::IsPermissionDenied(LoadConfig(temp_.At("secret.yaml")).status()));
}

TEST_F(ConfigFileTest, AFolderIsNoConfiguration) { EXPECT_FALSE(LoadConfig(temp_.path()).ok()); }

TEST_F(ConfigFileTest, AFileThatIsTooLargeIsRefused) {
  temp_.Write("large.yaml", std::string((4 << 20) + 1, '#'));

  EXPECT_THAT(std::string(LoadConfig(temp_.At("large.yaml")).status().message()),
              HasSubstr("more than 4 MiB"));
}

TEST_F(ConfigFileTest, ErrorsNameTheFile) {
  temp_.Write("p.yaml", "log:\n  level: loud\n");

  EXPECT_THAT(std::string(LoadConfig(temp_.At("p.yaml")).status().message()),
              StartsWith(temp_.At("p.yaml") + ":2: log.level: got 'loud'"));
}

TEST_F(ConfigFileTest, AFileIsReadWhole) {
  temp_.Write("p.yaml", "log:\n  level: debug");

  const auto config = LoadConfig(temp_.At("p.yaml"));

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->config.log().level(), config::v1::Log::LEVEL_DEBUG);
}

TEST(ConfigExampleTest, TheExampleIsTheDefaultsAndADatasetOfEachKind) {
  const auto file = LoadConfig(PENSTOCK_EXAMPLE_CONFIG);

  ASSERT_TRUE(file.ok()) << file.status();
  config::v1::Config config = file->config;
  EXPECT_GE(config.datasets_size(), 5);
  config.clear_datasets();
  config.mutable_stores()->clear_places();
  EXPECT_EQ(config.DebugString(), DefaultConfig().DebugString());
}

TEST(ConfigExampleTest, TheExampleHasEveryKey) {
  std::ostringstream text;
  text << std::ifstream(PENSTOCK_EXAMPLE_CONFIG).rdbuf();
  const auto check = [&](const auto& self, const google::protobuf::Descriptor& type) -> void {
    for (int i = 0; i < type.field_count(); ++i) {
      EXPECT_THAT(text.str(), HasSubstr(KeyOf(*type.field(i)) + ":"));
      if (type.field(i)->message_type() != nullptr) self(self, *type.field(i)->message_type());
    }
  };

  check(check, *config::v1::Config::descriptor());
}

// A machine with these resources available.
posix::Machine Left(uint32_t cores, uint64_t bytes) {
  return {.affinity_cores = cores, .quota_cores = {}, .available_bytes = bytes, .cgroup_bytes = {}};
}

TEST(PrivateConfigTest, WithoutMemoryForAPoolItIsRefused) {
  const auto status = PrivateConfig("/run/user/7/penstock", Left(4, 63 * kMiB)).status();

  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("63.0 MiB"), HasSubstr("at least 64.0 MiB")));
}

TEST(PrivateConfigTest, ADirectoryThatCannotHoldASocketIsRefused) {
  const std::string far = "/" + std::string(120, 'x');

  EXPECT_THAT(std::string(PrivateConfig(far, Left(4, kGiB)).status().message()),
              StartsWith("a private daemon: server.socket: got 135 bytes"));
  EXPECT_FALSE(PrivateConfig("relative", Left(4, kGiB)).ok());
}

TEST(PrivateConfigTest, ItIsTheUsersAloneAndTakesAnyPathAndEndsWhenAlone) {
  const auto config = PrivateConfig("/run/user/7/penstock", Left(16, 8 * kGiB + 3));

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server().socket(), "/run/user/7/penstock/penstock.sock");
  EXPECT_EQ(config->server().state_dir(), "/run/user/7/penstock/state");
  EXPECT_EQ(config->server().group(), "");
  EXPECT_THAT(config->source().roots(), ::testing::ElementsAre("/"));
  EXPECT_EQ(IdleLimit(*config), std::chrono::seconds(10));
}

TEST(PrivateConfigTest, ItTakesAQuarterOfTheMemoryAndWorkersByDemand) {
  const auto large = PrivateConfig("/p", Left(16, 8 * kGiB));
  const auto small = PrivateConfig("/p", Left(1, 64 * kMiB));

  ASSERT_TRUE(large.ok() && small.ok());
  EXPECT_EQ(large->pool().max_bytes(), 2 * kGiB);
  EXPECT_TRUE(large->workers().auto_());
  EXPECT_EQ(WorkerCount(*large, Left(16, 8 * kGiB)), 4u);
  EXPECT_EQ(MostWorkers(*large, Left(16, 8 * kGiB)), 16u);
  EXPECT_EQ(small->pool().max_bytes(), 16 * kMiB);
  EXPECT_EQ(small->pool().segment_bytes(), 16 * kMiB);
  EXPECT_EQ(small->workers().count(), 1u);
}

TEST(PrivateConfigTest, OnThisMachineItIsValid) {
  const auto config = PrivateConfig("/tmp/penstock-test");

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_GE(config->workers().count(), 1u);
}

TEST(WorkerCountTest, ZeroMeansTheCoresLessOneAndAtLeastOne) {
  config::v1::Config config = DefaultConfig();

  EXPECT_EQ(WorkerCount(config, Left(1, kGiB)), 1u);
  EXPECT_EQ(WorkerCount(config, Left(2, kGiB)), 1u);
  EXPECT_EQ(WorkerCount(config, Left(16, kGiB)), 15u);
  config.mutable_workers()->set_count(40);
  EXPECT_EQ(WorkerCount(config, Left(16, kGiB)), 40u);
}

}  // namespace
}  // namespace penstock::app
