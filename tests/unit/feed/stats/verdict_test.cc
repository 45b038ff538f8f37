#include "server/feed/stats/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace penstock::feed {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kWorkers = FillPath::kWorkers;
constexpr auto kRowCopiers = FillPath::kRowCopiers;
constexpr auto kPython = FillPath::kPython;

struct Case {
  const char* what;
  FlowFigures seen;
  Bottleneck bottleneck;
  uint32_t more_workers;
  const char* words;
};

const Case kTable[] = {
    {"a session that was just opened",
     {.starved = 1, .workers = 4, .workers_busy = 1},
     Bottleneck::kUnknown,
     0,
     "too little happened to tell"},
    {"a trainer that always finds a batch",
     {.has_data = true, .starved = 0, .workers = 4, .workers_busy = 0.6},
     Bottleneck::kTrainer,
     0,
     "the trainer is the bottleneck"},
    {"a trainer that hardly ever waits, however busy the workers",
     {.has_data = true, .starved = 0.01, .workers = 4, .workers_busy = 1},
     Bottleneck::kTrainer,
     0,
     "the trainer is the bottleneck"},
    {"busy for half of the time: it wants twice as much",
     {.has_data = true, .starved = 0.5, .workers = 4, .workers_busy = 0.99},
     Bottleneck::kDecoding,
     4,
     "decoding is the bottleneck: 4 more workers would hide it"},
    {"a quarter missing: 3 ∕ 0.75 = 4",
     {.has_data = true, .starved = 0.25, .workers = 3, .workers_busy = 0.9},
     Bottleneck::kDecoding,
     1,
     "decoding is the bottleneck: 1 more worker would hide it"},
    {"part of a worker is a worker",
     {.has_data = true, .starved = 0.3, .workers = 3, .workers_busy = 0.9},
     Bottleneck::kDecoding,
     2,
     "decoding is the bottleneck: 2 more workers would hide it"},
    {"asleep all the time: how fast it would be is not known",
     {.has_data = true, .starved = 1, .workers = 2, .workers_busy = 1},
     Bottleneck::kDecoding,
     18,
     "decoding is the bottleneck: at least 18 more workers would hide it"},
    {"busy workers on fewer cores than it takes",
     {.has_data = true, .starved = 0.5, .workers = 4, .workers_busy = 0.99, .cores = 6},
     Bottleneck::kDecoding,
     4,
     "2 more workers would help, as many as there are cores (6)"},
    {"busy workers on each core",
     {.has_data = true, .starved = 0.5, .workers = 4, .workers_busy = 0.99, .cores = 4},
     Bottleneck::kDecoding,
     4,
     "the workers are 99 % busy, and there are no more than 4 cores"},
    {"more workers than cores",
     {.has_data = true, .starved = 1, .workers = 8, .workers_busy = 1, .cores = 1},
     Bottleneck::kDecoding,
     72,
     "there are no more than 1 core; smaller"},
    {"Python workers that cannot keep up",
     {.has_data = true,
      .fill_path = kPython,
      .starved = 0.5,
      .workers = 4,
      .workers_busy = 0.95,
      .making = {.ready = 4},
      .cores = 16},
     Bottleneck::kMaking,
     4,
     "making batches in Python is the bottleneck: its 4 workers are 95 % busy; 4 more workers "
     "(num_workers) would hide it"},
    {"… on fewer cores than it takes",
     {.has_data = true,
      .fill_path = kPython,
      .starved = 0.5,
      .workers = 4,
      .workers_busy = 0.95,
      .making = {.ready = 4},
      .cores = 6},
     Bottleneck::kMaking,
     2,
     "2 more workers (num_workers) would help, as many as there are cores (6)"},
    {"… with a worker on each core",
     {.has_data = true,
      .fill_path = kPython,
      .starved = 0.5,
      .workers = 4,
      .workers_busy = 0.95,
      .making = {.ready = 4},
      .cores = 4},
     Bottleneck::kMaking,
     0,
     "its 4 workers are 95 % busy, and there are no more than 4 cores; cheaper samples would help"},
    {"Python workers that have not started yet",
     {.has_data = true, .fill_path = kPython, .starved = 1, .workers = 2},
     Bottleneck::kMaking,
     0,
     "making batches in Python is the bottleneck: its workers are only starting"},
    {"a trainer that has not forked the host, before its first batch",
     {.fill_path = kPython, .starved = 1, .workers = 2, .making = {.has_host = false}},
     Bottleneck::kMaking,
     0,
     "waiting for the host of the dataset to be forked by its trainer"},
    {"a host that is gone while nobody waits for it",
     {.has_data = true, .fill_path = kPython, .workers = 2, .making = {.has_host = false}},
     Bottleneck::kTrainer,
     0,
     "the trainer is the bottleneck"},
    {"idle Python workers and a full window, although the trainer waited a little",
     {.has_data = true,
      .fill_path = kPython,
      .starved = 0.05,
      .workers = 2,
      .workers_busy = 0.3,
      .making = {.ready = 2, .occupancy = 0.95},
      .cores = 2},
     Bottleneck::kTrainer,
     0,
     "the trainer is the bottleneck"},
    {"idle Python workers and a window that runs dry",
     {.has_data = true,
      .fill_path = kPython,
      .starved = 0.4,
      .workers = 2,
      .workers_busy = 0.3,
      .making = {.ready = 2, .occupancy = 0.2},
      .cores = 2},
     Bottleneck::kWindow,
     0,
     "batches come too late although its 2 workers are 30 % busy: a larger window "
     "(prefetch_factor)"},
    {"readers wait while workers idle",
     {.has_data = true, .starved = 0.4, .workers = 2, .workers_busy = 0.12, .readers_busy = 0.95},
     Bottleneck::kReading,
     0,
     "readers wait for the storage 95 % of the time while workers are 12 %"},
    {"readers that wait for an object store",
     {.has_data = true,
      .starved = 0.4,
      .workers = 2,
      .workers_busy = 0.12,
      .readers_busy = 0.95,
      .store = StoreFlow{.bytes_per_second = 3.14e9, .under_way = 412.3}},
     Bottleneck::kStore,
     0,
     "the store is the bottleneck: 3.1 GB/s, 412 requests under way"},
    {"a store that gives little",
     {.has_data = true,
      .fill_path = kRowCopiers,
      .starved = 0.4,
      .readers_busy = 0.95,
      .store = StoreFlow{.bytes_per_second = 20.04e6, .under_way = 1}},
     Bottleneck::kStore,
     0,
     "the store is the bottleneck: 20.0 MB/s, 1 request under way"},
    {"nobody is busy, but the store is asked",
     {.has_data = true,
      .starved = 0.4,
      .workers = 2,
      .workers_busy = 0.1,
      .readers_busy = 0.1,
      .store = StoreFlow{.bytes_per_second = 3e6, .under_way = 64}},
     Bottleneck::kStore,
     0,
     "the store is the bottleneck: 3.0 MB/s, 64 requests under way"},
    {"nobody is busy, and the store is hardly asked",
     {.has_data = true,
      .starved = 0.4,
      .workers = 2,
      .workers_busy = 0.1,
      .readers_busy = 0.1,
      .store = StoreFlow{.bytes_per_second = 3e6, .under_way = 0.1}},
     Bottleneck::kWindow,
     0,
     "a larger window would let the daemon work ahead"},
    {"a store that is fast enough",
     {.has_data = true,
      .starved = 0.5,
      .workers = 4,
      .workers_busy = 0.99,
      .readers_busy = 0.7,
      .store = StoreFlow{.bytes_per_second = 1e9, .under_way = 100}},
     Bottleneck::kDecoding,
     4,
     "decoding is the bottleneck: 4 more workers would hide it"},
    {"both are busy, readers more so",
     {.has_data = true, .starved = 0.4, .workers = 2, .workers_busy = 0.7, .readers_busy = 0.9},
     Bottleneck::kReading,
     0,
     "reading is the bottleneck"},
    {"rows that are stored as they are given",
     {.has_data = true,
      .fill_path = kRowCopiers,
      .starved = 0.4,
      .workers_busy = 1,
      .readers_busy = 0.9},
     Bottleneck::kReading,
     0,
     "more source.carriers"},
    {"copies lag behind full batches",
     {.has_data = true, .starved = 0.4, .copying = 0.3, .workers = 2, .workers_busy = 0.9},
     Bottleneck::kCopying,
     0,
     "copying to the GPU is the bottleneck: full batches waited for it "
     "during 75 %"},
    {"nobody is busy",
     {.has_data = true, .fill_path = kWorkers, .starved = 0.4, .workers = 2, .workers_busy = 0.3},
     Bottleneck::kWindow,
     0,
     "a larger window"},
    {"no carrier is busy either",
     {.has_data = true,
      .fill_path = kRowCopiers,
      .starved = 0.4,
      .workers = 2,
      .workers_busy = 0.3},
     Bottleneck::kWindow,
     0,
     "a larger window"},
};

TEST(VerdictTest, WhoWaitsForWhomFollowsFromTheFigures) {
  for (const Case& row : kTable) {
    SCOPED_TRACE(row.what);
    const FlowVerdict verdict = Judge(row.seen);

    EXPECT_EQ(verdict.bottleneck, row.bottleneck);
    EXPECT_EQ(verdict.more_workers, row.more_workers);
    EXPECT_THAT(verdict.words, HasSubstr(row.words));
  }
}

TEST(VerdictTest, NoVerdictAdvisesMoreWorkersThanThereAreCores) {
  const double shares[] = {0.0, 0.1, 0.5, 0.9, 1.0};
  for (const FillPath path : {kWorkers, kPython}) {
    for (const double starved : shares) {
      for (const double busy : shares) {
        for (const double readers : shares) {
          for (const uint32_t workers : {1u, 3u, 4u, 9u}) {
            const std::string words = Judge({.has_data = true,
                                             .fill_path = path,
                                             .starved = starved,
                                             .workers = workers,
                                             .workers_busy = busy,
                                             .readers_busy = readers,
                                             .making = {.ready = workers},
                                             .cores = 4,
                                             .wanted_by_all = 7})
                                          .words;
            if (workers >= 4) {
              EXPECT_THAT(words, Not(HasSubstr("more worker")));
            } else if (words.find("more worker") != std::string::npos) {
              EXPECT_THAT(words, AnyOf(HasSubstr(absl::StrCat(4 - workers, " more worker")),
                                       HasSubstr("or more workers, whose readers"),
                                       HasSubstr("1 more worker"), HasSubstr("2 more workers")));
            }
          }
        }
      }
    }
  }
}

TEST(VerdictTest, FeedsThatShareTheWorkersAdviseOneNumber) {
  const FlowFigures half = {
      .has_data = true, .starved = 0.5, .workers = 4, .workers_busy = 0.99, .cores = 64};
  FlowFigures quarter = half, served = half;
  quarter.starved = 0.2;
  served.starved = 0;

  const std::vector<FlowVerdict> verdicts = JudgeTogether({quarter, served, half});

  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_EQ(verdicts[0].words, "decoding is the bottleneck: 4 more workers would hide it");
  EXPECT_EQ(verdicts[1].words, "the trainer is the bottleneck");
  EXPECT_EQ(verdicts[2].words, verdicts[0].words);
}

TEST(VerdictTest, AStalledSourceIsSaidWhateverElseIsSo) {
  const FlowVerdict verdict = Judge({.starved = 0,
                                     .stalled = std::chrono::seconds(12),
                                     .stalled_reason = "/data/7.jpg: Input/output error"});

  EXPECT_EQ(verdict.bottleneck, Bottleneck::kSource);
  EXPECT_EQ(verdict.words, "the source is stalled: for 12 s, /data/7.jpg: Input/output error");
}

}  // namespace
}  // namespace penstock::feed
