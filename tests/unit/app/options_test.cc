#include "server/app/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/units.h"
#include "server/app/config/config.h"

namespace penstock::app {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

posix::Machine WithCores(uint32_t cores) {
  return {.affinity_cores = cores,
          .quota_cores = {},
          .available_bytes = 64ull << 30,
          .cgroup_bytes = {}};
}

const posix::Machine kMachine = WithCores(8);

TEST(OptionsTest, AGroupThatDoesNotExistIsNamed) {
  config::v1::Config config = DefaultConfig();
  config.add_datasets()->add_groups("no-such-group");

  const absl::Status status = CatalogOptions(config, Paths::kNamed).status();

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("datasets[0].groups[0]"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("'no-such-group'"));
}

TEST(OptionsTest, WhateverTheLargestFileTheWorkersInputIsWholePages) {
  config::v1::Config config = DefaultConfig();
  for (uint64_t bytes : {base::kKiB, 1001 * base::kKiB, base::kMiB + 1, base::kGiB}) {
    config.mutable_limits()->set_max_sample_bytes(bytes);

    const feed::Engine::Options options = EngineOptions(config, kMachine);

    EXPECT_TRUE(workers::Validate(options.workers).ok()) << workers::Validate(options.workers);
    EXPECT_GE(options.workers.arena_bytes, 2 * bytes);
  }
}

TEST(OptionsTest, EverythingThatIsConfiguredReachesItsPart) {
  const absl::StatusOr<config::v1::Config> config = ParseConfig(R"(
server: {max_sessions: 3, state_dir: /var/state}
pool: {max: 1GiB, preallocate: 256MiB, segment: 32MiB}
workers:
  count: 5
  program: /opt/worker
  start_timeout: 1s
  sample_timeout: 2s
  memory: 128MiB
  max_restarts: 6
  restart_window: 7s
  backoff_first: 8ms
  backoff_longest: 9ms
source:
  {retry_for: 10s, roots: [/a, /b], index_threads: 11, max_open: 12, carriers: 5, max_unpacked: 6MiB}
limits: {max_sample: 13MiB, max_pixels: 14, max_quarantined: 15%, max_quarantined_minimum: 16,
         max_order_samples: 17, max_orders_per_user: 18, max_order_memory: 19MiB}
datasets:
  - {name: one, folder: /a/one, groups: [root, "4711"]}
  - {name: two, idx: {images: /a/i, labels: /a/l}}
  - {name: three, synthetic: {samples: 9, height: 8, classes: 7}}
  - {name: four, tar: {shards: ['/a/t-{0..3}.tar', /b], image: png, label: none}}
  - {name: five, tfrecord: {shards: [/a/t-00000-of-00001], image: jpeg}}
  - {name: six, text: 'list:/a/x.csv,label=1'}
  - {name: seven, text: 'voc:/a/VOC2012,set=Main,split=train'}
)",
                                                                "p.yaml");
  ASSERT_TRUE(config.ok()) << config.status();

  const feed::Engine::Options engine = EngineOptions(*config, kMachine);
  const Catalog::Options catalog = CatalogOptions(*config, Paths::kNamed).value();
  const GivenOrders::Options orders = GivenOrdersOptions(*config);

  EXPECT_EQ(orders.max_samples, 17u);
  EXPECT_EQ(orders.max_per_user, 18u);
  EXPECT_EQ(orders.max_bytes, 19 * base::kMiB);
  EXPECT_EQ(engine.admission.max_sessions, 3u);
  EXPECT_EQ(engine.pool.max_bytes, base::kGiB);
  EXPECT_EQ(engine.pool.preallocate_bytes, 256 * base::kMiB);
  EXPECT_EQ(engine.pool.segment_bytes, 32 * base::kMiB);
  EXPECT_EQ(engine.workers.count, 5u);
  EXPECT_EQ(engine.workers.program, "/opt/worker");
  EXPECT_EQ(engine.workers.start_timeout, milliseconds(1000));
  EXPECT_EQ(engine.workers.sample_timeout, milliseconds(2000));
  EXPECT_EQ(engine.workers.memory_bytes, 128 * base::kMiB);
  EXPECT_EQ(engine.workers.budget.restarts, 6u);
  EXPECT_EQ(engine.workers.budget.window, milliseconds(7000));
  EXPECT_EQ(engine.workers.back_off.first, milliseconds(8));
  EXPECT_EQ(engine.workers.back_off.longest, milliseconds(9));
  EXPECT_EQ(engine.retry_for, milliseconds(10'000));
  EXPECT_EQ(engine.workers.limits.max_bytes, 13 * base::kMiB);
  EXPECT_EQ(engine.workers.limits.max_pixels, 14u);
  EXPECT_EQ(catalog.state_dir, "/var/state");
  EXPECT_THAT(catalog.roots, ::testing::ElementsAre("/a", "/b"));
  EXPECT_EQ(catalog.index_threads, 11);
  EXPECT_EQ(catalog.max_datasets, 12u);
  EXPECT_DOUBLE_EQ(catalog.offer.faults.max_quarantined_share, 0.15);
  EXPECT_EQ(catalog.offer.faults.max_quarantined_minimum, 16u);
  EXPECT_EQ(engine.row_copiers.count, 5u);
  EXPECT_EQ(catalog.max_unpacked_bytes, 6 * base::kMiB);
  ASSERT_EQ(catalog.offer.datasets.size(), 7u);
  EXPECT_EQ(catalog.offer.datasets[0].name, "one");
  EXPECT_EQ(catalog.offer.datasets[0].path, "/a/one");
  EXPECT_THAT(catalog.offer.datasets[0].groups, ::testing::ElementsAre(0, 4711));
  EXPECT_EQ(catalog.offer.datasets[1].path, "/a/i");
  EXPECT_EQ(catalog.offer.datasets[1].idx->labels, "/a/l");
  EXPECT_EQ(catalog.offer.datasets[2].synthetic,
            (source::SyntheticSpec{.samples = 9, .shape = {8, 224, 3}, .classes = 7}));
  EXPECT_EQ(catalog.offer.datasets[3].path, "/a/t-{0..3}.tar, /b image=png label=none");
  EXPECT_THAT(catalog.offer.datasets[3].tar->shards,
              ::testing::ElementsAre("/a/t-{0..3}.tar", "/b"));
  EXPECT_EQ(catalog.offer.datasets[3].tar->image, "png");
  EXPECT_EQ(catalog.offer.datasets[3].tar->label, "none");
  EXPECT_EQ(catalog.offer.datasets[4].path, "/a/t-00000-of-00001 image=jpeg");
  EXPECT_EQ(catalog.offer.datasets[4].tfrecord->image, "jpeg");
  EXPECT_EQ(catalog.offer.datasets[5].name, "six");
  EXPECT_EQ(catalog.offer.datasets[5].list->file, "/a/x.csv");
  EXPECT_EQ(catalog.offer.datasets[5].path, "list:/a/x.csv,label=1");
  EXPECT_EQ(catalog.offer.datasets[6].name, "seven");
  EXPECT_TRUE(catalog.offer.datasets[6].annotated.has_value());
  EXPECT_EQ(catalog.offer.datasets[6].path, "voc:/a/VOC2012,split=train");
  EXPECT_FALSE(catalog.any_path);
}

TEST(OptionsTest, WithoutANumberThereIsAWorkerForEachCoreButOne) {
  EXPECT_EQ(EngineOptions(DefaultConfig(), kMachine).workers.count, 7u);
}

TEST(OptionsTest, TheThreadsThatFillBatchesAreThoseOfTheTableOfThreads) {
  config::v1::Config config = DefaultConfig();
  config.mutable_workers()->set_count(5);
  const size_t readers_and_copiers = 5 + 2, keepers = 2, disk_keepers_and_writer = 8 + 1;
  EXPECT_EQ(FillingThreads(config, kMachine), readers_and_copiers);

  config.mutable_cache()->set_memory_bytes(base::kGiB);
  EXPECT_EQ(FillingThreads(config, kMachine), readers_and_copiers + keepers);

  config.mutable_cache()->set_memory_bytes(0);
  config.mutable_cache()->set_folder("/cache");
  EXPECT_EQ(FillingThreads(config, kMachine),
            readers_and_copiers + keepers + disk_keepers_and_writer);
}

TEST(OptionsTest, WithoutANumberThereIsARowCopierForEachFourCores) {
  EXPECT_EQ(EngineOptions(DefaultConfig(), WithCores(1)).row_copiers.count, 1u);
  EXPECT_EQ(EngineOptions(DefaultConfig(), WithCores(8)).row_copiers.count, 2u);
  EXPECT_EQ(EngineOptions(DefaultConfig(), WithCores(256)).row_copiers.count, 8u);
}

TEST(OptionsTest, TheSandboxIsOnOrOffForWorkersAndIndexersAlike) {
  config::v1::Config config = DefaultConfig();
  EXPECT_EQ(EngineOptions(config, kMachine).workers.sandbox, workers::SandboxMode::kOn);
  EXPECT_EQ(ToIndexers(config, kMachine).sandboxed, indexer::Sandboxed::kYes);

  config.mutable_workers()->set_sandbox(config::v1::Workers::SANDBOX_OFF);
  EXPECT_EQ(EngineOptions(config, kMachine).workers.sandbox, workers::SandboxMode::kOff);
  EXPECT_EQ(ToIndexers(config, kMachine).sandboxed, indexer::Sandboxed::kNo);
  EXPECT_EQ(ToIndexers(config, kMachine).cores, 8u);
}

TEST(OptionsTest, APrivateDaemonTakesAnyPath) {
  EXPECT_TRUE(CatalogOptions(DefaultConfig(), Paths::kAny)->any_path);
}

}  // namespace
}  // namespace penstock::app
