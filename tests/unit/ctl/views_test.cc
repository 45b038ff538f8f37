#include "client/ctl/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::ctl {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ViewsTest, NothingToListIsSaidInWords) {
  EXPECT_EQ(Show(v1::ListSessionsResponse()), "no session is open\n");
  EXPECT_EQ(Show(v1::ListWorkersResponse()), "no worker is running\n");
  EXPECT_EQ(Show(v1::ListDatasetsResponse()), "no dataset is configured or open\n");
  EXPECT_EQ(Show(v1::ListQuarantineResponse()), "there are no bad samples\n");
}

TEST(ViewsTest, DatasetsWhoseBadSamplesAreNotKnownAreNamed) {
  v1::ListQuarantineResponse list;
  list.set_not_open_total(2);
  list.add_not_open("flowers");
  list.add_not_open("trees");
  EXPECT_EQ(Show(list),
            "there are no bad samples\nbad samples are unknown of datasets that are not open: "
            "flowers, trees\n");

  list.set_not_open_total(101);
  EXPECT_THAT(Show(list), EndsWith("flowers, trees, …\n"));

  list.add_entries()->set_dataset("birds");
  EXPECT_THAT(Show(list), EndsWith("flowers, trees, …\n"));
}

TEST(ViewsTest, ADaemonThatDoesNotServeSaysSoLoudlyAndWhy) {
  v1::GetStatusResponse status;
  status.set_reason("workers keep dying");

  EXPECT_THAT(Show(status), HasSubstr("is NOT SERVING: workers keep dying\n"));
}

TEST(ViewsTest, AStateDirectoryInTroubleIsAWarning) {
  v1::GetStatusResponse status;
  status.set_serving(true);
  EXPECT_THAT(Show(status), Not(HasSubstr("WARNING")));

  status.set_state_directory("the state directory has not answered for 7 s");

  EXPECT_THAT(Show(status),
              HasSubstr("  WARNING   the state directory has not answered for 7 s\n"));
}

TEST(ViewsTest, WhatShutsTheWorkersInIsSaidAndThatNothingDoes) {
  v1::GetStatusResponse status;
  EXPECT_THAT(Show(status), Not(HasSubstr("sandbox")));  // as from an older daemon

  status.set_sandbox("seccomp and landlock");
  EXPECT_THAT(Show(status), HasSubstr("  sandbox   seccomp and landlock\n"));
  status.set_sandbox("off");
  EXPECT_THAT(Show(status),
              HasSubstr("  sandbox   off: decoders and parsers have the daemon's rights\n"));
}

TEST(ViewsTest, AWorkerThatItsSandboxKilledIsAWarning) {
  v1::GetStatusResponse status;
  EXPECT_THAT(Show(status), Not(HasSubstr("WARNING")));

  status.set_forbidden_calls(1);

  EXPECT_THAT(Show(status), HasSubstr("  WARNING   the sandbox killed 1 process over files"));
}

TEST(ViewsTest, CountersThatCannotBeDoNotBecomeHugeNumbers) {
  v1::ListSessionsResponse sessions;
  sessions.add_sessions()->set_taken(5);  // announced is 0

  EXPECT_THAT(Show(sessions), Not(HasSubstr("18,446")));
}

TEST(ViewsTest, AStatusIsReadAtAGlance) {
  v1::GetStatusResponse status;
  status.set_version("0.1.0");
  status.set_protocol_version(1);
  status.set_pid(4711);
  status.set_serving(true);
  status.set_uptime_ms(11'520'000);
  status.set_workers(8);
  status.set_workers_running(7);
  status.set_worker_restarts(1);
  status.set_sessions(2);
  status.set_samples_decoded(1'234'567);
  status.add_deliveries("host");
  status.mutable_pool()->set_max_bytes(4ull << 30);
  status.mutable_pool()->set_segment_bytes(1ull << 30);
  status.mutable_pool()->set_segments(1);
  status.mutable_pool()->set_slots(10);
  status.mutable_pool()->set_slots_held(3);
  status.mutable_pool()->set_slots_cached(2);
  v1::FeedStatus& feed = *status.add_feeds();
  feed.set_fingerprint(0xfeed);
  feed.set_dataset("flowers");
  feed.set_user_id(4'000'000'000);  // nobody's
  feed.set_batches_decoded(100);
  feed.set_batches_announced(790);

  EXPECT_EQ(Show(status),
            "penstockd 0.1.0 (protocol 1, pid 4711) is serving\n"
            "  up        3 h 12 m\n"
            "  delivers  to host\n"
            "  workers   7 of 8 running, 1 restart\n"
            "  sessions  2\n"
            "  pool      1.0 GiB of 4.0 GiB in 1 segment; 0 B reserved; 10 slots: 3 held, "
            "2 cached, 5 free\n"
            "  samples   1,234,567 decoded, 0 quarantined\n"
            "\n"
            "FEED              DATASET  USER        SESSIONS  BATCHES  DELIVERED  READERS  SAMPLES"
            "  REPLACED\n"
            "000000000000feed  flowers  4000000000         0      100        790      7.9        0"
            "         0\n");
}

TEST(ViewsTest, WorkersAsleepAndConnectionsThatWereCutOffAreSaidWhereThereAreAny) {
  v1::GetStatusResponse status;
  status.set_workers(8);
  EXPECT_THAT(Show(status), Not(HasSubstr("asleep")));
  EXPECT_THAT(Show(status), Not(HasSubstr("cut off")));

  status.set_workers_asleep(2);
  status.set_connections_cut_off(1);
  EXPECT_THAT(Show(status), HasSubstr("of 8 running, 2 more asleep, 0 restarts\n"));
  EXPECT_THAT(Show(status), HasSubstr("  cut off   1 connection because of what"));
}

TEST(ViewsTest, StoresAreALineIfAnyWereRead) {
  v1::GetStatusResponse status;
  EXPECT_THAT(Show(status), Not(HasSubstr("stores")));
  v1::StoreStatus& stores = *status.mutable_stores();
  stores.set_bytes_per_second(412'300'000);
  stores.set_under_way(128);
  stores.set_requests(9000);
  stores.set_read_bytes(uint64_t{3} << 30);
  stores.set_retries(12);
  stores.set_hedges(7);
  EXPECT_THAT(
      Show(status),
      HasSubstr("  stores    412.3 MB/s, 128 requests under way   3.0 GiB in 9,000 requests, "
                "12 sent again, 7 hedged\n"));
  v1::StoreCacheStatus& cache = *stores.mutable_cache();
  cache.set_bytes(uint64_t{1} << 30);
  cache.set_bytes_max(uint64_t{500} << 30);
  cache.set_hits(31);
  cache.set_refused(4);
  EXPECT_THAT(Show(status),
              HasSubstr("   cache: 1.0 GiB of 500.0 GiB kept, 31 hits, 4 not kept\n"));
}

TEST(ViewsTest, EachUserIsARowWithWhatItUses) {
  v1::GetStatusResponse status;
  v1::UserStatus& user = *status.add_users();
  user.set_user_id(4'000'000'000);
  user.set_sessions(2);
  user.set_pool_bytes(64 << 20);
  user.set_pool_reserved_bytes(32 << 20);
  user.set_batches_announced(7);
  user.set_samples_decoded(1000);
  user.set_worker_cpu_seconds(1.25);
  user.set_workers(3);
  status.add_users()->set_others(true);

  EXPECT_THAT(
      Show(status),
      EndsWith(
          "\n"
          "USER        SESSIONS      POOL  POOL RESERVED  WORKERS  BATCHES  SAMPLES  WORKER CPU\n"
          "4000000000         2  64.0 MiB       32.0 MiB        3        7    1,000       1.2 s\n"
          "(others)           0       0 B            0 B        0        0        0       0.0 "
          "s\n"));
}

TEST(ViewsTest, OfEachFeedThatHasTrainersItIsSaidWhoWaitsForWhom) {
  v1::GetStatusResponse status;
  v1::FeedStatus& busy = *status.add_feeds();
  busy.set_dataset("flowers");
  busy.set_sessions(1);
  busy.set_starved(0.25);
  busy.set_verdict("decoding is the bottleneck: 1 more worker would hide it");
  v1::FeedStatus& fed = *status.add_feeds();
  fed.set_dataset("trees\n");
  fed.set_sessions(2);
  fed.set_verdict("the trainer is the bottleneck");
  v1::FeedStatus& left = *status.add_feeds();
  left.set_dataset("birds");
  left.set_verdict("too little happened to tell");

  EXPECT_THAT(Show(status),
              EndsWith("\n\n"
                       "flowers of root: decoding is the bottleneck: 1 more worker would hide it "
                       "(its trainers wait 25 % of the time)\n"
                       "trees? of root: the trainer is the bottleneck\n"));
}

TEST(ViewsTest, ASessionsRowSaysWhoHowFarAndWhatItWaitsFor) {
  v1::ListSessionsResponse sessions;
  v1::SessionStatus& session = *sessions.add_sessions();
  session.set_session_id(3);
  session.set_name("resnet");
  session.set_dataset("flowers");
  session.set_user_id(4'000'000'000);
  session.set_rank(1);
  session.set_world_size(2);
  session.set_batch_size(32);
  session.set_announced(9);
  session.set_taken(7);
  session.set_released(6);
  session.set_order("shuffled, samples 0 to 99");
  session.set_state("waiting for the trainer");

  EXPECT_EQ(
      Show(sessions),
      "ID  NAME    DATASET  USER        PID  RANK  BATCH  WINDOW  EPOCH  CONSUMED  READY  HELD"
      "  DELIVERY  ORDER                      STATE                    DELIVERY REASON\n"
      " 3  resnet  flowers  4000000000    -   1/2     32       0      0         0      2     1"
      "  host      shuffled, samples 0 to 99  waiting for the trainer  -\n");
}

TEST(ViewsTest, ASessionOnAGpuSaysWhichByWhatHandleAndWhy) {
  v1::ListSessionsResponse sessions;
  v1::SessionStatus& session = *sessions.add_sessions();
  session.set_delivery(v1::DELIVERY_DEVICE);
  session.set_handle_kind(v1::HANDLE_KIND_VMM);
  session.set_gpu("GPU-8f1c");
  session.set_device_depth(3);
  session.set_on_device(2);
  session.set_delivery_reason("equal PIDs");

  EXPECT_THAT(Show(sessions), HasSubstr("device by descriptor, 2 of 3 batches there, on GPU-8f1c"));
  EXPECT_THAT(Show(sessions), HasSubstr("equal PIDs"));
}

TEST(ViewsTest, ASessionWhoseGpuDecodesSaysHowMuch) {
  v1::ListSessionsResponse sessions;
  v1::SessionStatus& session = *sessions.add_sessions();
  session.set_delivery(v1::DELIVERY_PINNED);
  EXPECT_THAT(Show(sessions), Not(HasSubstr("decodes")));
  session.set_gpu_share(0.4);
  EXPECT_THAT(Show(sessions), HasSubstr("pinned; its GPU decodes 40 %"));
}

TEST(ViewsTest, EachGpuHasARowAndOneThatCannotBeUsedSaysWhy) {
  v1::GetStatusResponse status;
  v1::GpuStatus& used = *status.add_gpus();
  used.set_uuid("GPU-1");
  used.set_name("NVIDIA H200");
  used.set_state("serving");
  used.set_sessions(8);
  used.set_slabs(1);
  used.set_slab_bytes(122u << 20);
  used.set_slab_bytes_max(2ull << 30);
  used.set_context_bytes(525u << 20);
  used.set_copies(1000);
  used.set_copied_bytes_per_second(50ull << 30);
  v1::GpuStatus& refused = *status.add_gpus();
  refused.set_uuid("GPU-2");
  refused.set_state("no GPU is visible");

  const std::string text = Show(status);

  EXPECT_THAT(text, HasSubstr("GPU-1  NVIDIA H200         8  1: 122.0 MiB of 2.0 GiB"));
  EXPECT_THAT(text, HasSubstr("525.0 MiB"));
  EXPECT_THAT(text, HasSubstr("50.0 GiB"));
  EXPECT_THAT(text, HasSubstr("no GPU is visible"));
}

TEST(ViewsTest, ARefusedSampleSaysWhyAndWhatBecameOfIt) {
  v1::ListQuarantineResponse list;
  v1::QuarantineEntry& entry = *list.add_entries();
  entry.set_dataset("flowers");
  entry.set_sample(12);
  entry.set_path("/data/flowers/a.jpg");
  entry.set_reason("truncated");

  const std::string text = Show(list);

  EXPECT_THAT(text, HasSubstr("flowers      12  truncated  replaced  1970-01-01"));
  EXPECT_THAT(text, HasSubstr("/data/flowers/a.jpg"));
}

TEST(ViewsTest, ASampleThatAGpuFailedOnIsSaidToBeDecodedByWorkers) {
  v1::ListQuarantineResponse list;
  v1::QuarantineEntry& entry = *list.add_entries();
  entry.set_reason("the GPU's decoder failed on it");
  entry.set_decoded_by_workers(true);

  EXPECT_THAT(Show(list), HasSubstr("the GPU's decoder failed on it  decoded by workers"));
}

TEST(ViewsTest, ADatasetWithoutAnIndexSaysSo) {
  v1::ListDatasetsResponse datasets;
  datasets.add_datasets()->set_name("flowers");

  EXPECT_THAT(Show(datasets), HasSubstr("not indexed"));
}

TEST(JsonTest, HashesAreHexadecimalWhateverATextSays) {
  v1::GetStatusResponse status;
  v1::FeedStatus& feed = *status.add_feeds();
  feed.set_fingerprint(0xfeedfacecafebeefull);
  feed.set_dataset("\"fingerprint\": \"7\", \"digest\": \"x");

  const std::string json = Json(status);

  EXPECT_THAT(json, HasSubstr("\"fingerprint\": \"feedfacecafebeef\""));
  EXPECT_THAT(json, HasSubstr(R"("dataset": "\"fingerprint\": \"7\", \"digest\": \"x")"));
}

TEST(JsonTest, EveryFieldIsThereUnderItsNameInTheContract) {
  const std::string json = Json(v1::GetStatusResponse());

  EXPECT_THAT(json, HasSubstr("\"protocol_version\": 0"));
  EXPECT_THAT(json, HasSubstr("\"serving\": false"));
  EXPECT_EQ(json.back(), '\n');
}

TEST(PythonWorkersViewTest, EachIsALineWithItsMemoryAndItsLastEnd) {
  v1::ListWorkersResponse workers;
  v1::PythonWorkerStatus& worker = *workers.add_python_workers();
  worker.set_place(3);
  worker.set_pid(4242);
  worker.set_host_pid(4200);
  worker.set_batches(17);
  worker.set_restarts(1);
  worker.set_resident_bytes(uint64_t{300} << 20);
  worker.set_state("making");
  worker.set_dataset("python:id=ab,samples=9");
  worker.set_last_end("killed by signal 11 (Segmentation fault)");

  const std::string alone = Show(workers);
  workers.add_workers()->set_state("idle");
  const std::string both = Show(workers);

  for (const std::string& text : {alone, both})
    for (const char* part : {"PYTHON WORKER", "4242", "4200", "17", "300.0 MiB", "making",
                             "python:id=ab,samples=9", "killed by signal 11"})
      EXPECT_THAT(text, ::testing::HasSubstr(part));
  EXPECT_THAT(both, ::testing::HasSubstr("READING"));
}

}  // namespace
}  // namespace penstock::ctl
