#include "server/feed/stats/trace_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <set>

namespace penstock::feed {
namespace {

using google::protobuf::ListValue;
using google::protobuf::Struct;
using std::chrono::microseconds;
using ::testing::ElementsAre;

constexpr base::TimePoint kTraceStart{std::chrono::hours(1)};
constexpr size_t kPiece = 64 << 10;
constexpr SlotFill kTracedFill{.slot = 3, .generation = 7};
base::TimePoint AtMicrosecond(int us) { return kTraceStart + microseconds(us); }

TraceRows TracedRow(uint64_t sample, int begin) {
  return {.feed = 1,
          .fill = kTracedFill,
          .sample = sample,
          .worker = 2,
          .given = AtMicrosecond(begin),
          .read_begin = AtMicrosecond(begin + 1),
          .read_end = AtMicrosecond(begin + 3),
          .decode_begin = AtMicrosecond(begin + 4),
          .ended = AtMicrosecond(begin + 9)};
}

// One batch of two samples, which one session receives on its GPU.
Trace OneBatch() {
  TraceLog log(kTraceStart);
  log.NameFeed(1, "flowers");
  log.NameSession(5, "resnet");
  log.Add(TracedRow(11, 0));
  log.Add(TracedRow(12, 5));
  log.Add(TraceFill{.feed = 1,
                    .fill = kTracedFill,
                    .epoch = 4,
                    .first = 8,
                    .begun = AtMicrosecond(0),
                    .ended = AtMicrosecond(14)});
  log.Add(TraceBatch{.session = 5,
                     .device = true,
                     .batch = {.sequence = 9,
                               .fill = kTracedFill,
                               .epoch = 4,
                               .full = AtMicrosecond(20),
                               .ready = AtMicrosecond(30),
                               .taken = AtMicrosecond(40),
                               .released = AtMicrosecond(50)}});
  return log.End(AtMicrosecond(100));
}

struct Written {
  Struct all;
  std::vector<size_t> pieces;

  explicit Written(Trace trace) {
    TraceText text(std::move(trace));
    std::string json;
    for (std::string piece = text.Next(kPiece); !piece.empty(); piece = text.Next(kPiece)) {
      pieces.push_back(piece.size());
      json += piece;
    }
    const auto parsed = google::protobuf::util::JsonStringToMessage(json, &all);
    EXPECT_TRUE(parsed.ok()) << parsed.ToString() << "\n" << json.substr(0, 4000);
  }

  std::vector<Struct> Events(const std::string& phase, const std::string& name = "") const {
    std::vector<Struct> found;
    for (const auto& event : all.fields().at("traceEvents").list_value().values()) {
      const auto& fields = event.struct_value().fields();
      if (fields.at("ph").string_value() != phase) continue;
      if (name.empty() || fields.at("name").string_value() == name)
        found.push_back(event.struct_value());
    }
    return found;
  }
};

double Number(const Struct& event, const std::string& key) {
  return event.fields().at(key).number_value();
}
std::string Argument(const Struct& event, const std::string& key) {
  return event.fields().at("args").struct_value().fields().at(key).string_value();
}

// ---- Small and large traces, and text that needs escaping. ----

TEST(TraceTextTest, ATraceInWhichNothingHappenedIsADocument) {
  const Written written(TraceLog(kTraceStart).End(AtMicrosecond(1)));

  EXPECT_EQ(written.pieces.size(), 1u);
  EXPECT_TRUE(written.Events("X").empty());
}

TEST(TraceTextTest, NamesThatAreNoPlainTextAreStillADocument) {
  Trace trace = OneBatch();
  trace.feeds[1] = "a \"quoted\\ name\n\x01 \xff";
  trace.sessions[5] = std::string(100'000, '"');

  const Written written(std::move(trace));

  EXPECT_EQ(written.Events("X", "sample").size(), 2u);
}

TEST(TraceTextTest, ASessionNamesTheDistributedTraceInWhichItWasOpened) {
  Trace trace = OneBatch();
  trace.contexts[5] = "trace_id=4bf9 parent_id=00f0";

  const Written written(std::move(trace));

  const std::vector<Struct> labels = written.Events("M", "process_labels");
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_EQ(Number(labels[0], "pid"), 100'005);
  EXPECT_EQ(Argument(labels[0], "labels"), "trace_id=4bf9 parent_id=00f0");
}

TEST(TraceTextTest, WhatDoesNotFitIsCountedAndSaid) {
  TraceLog log(kTraceStart, 2);
  for (uint64_t sample = 0; sample < 5; ++sample) log.Add(TracedRow(sample, 0));

  const Trace trace = log.End(AtMicrosecond(100));

  EXPECT_EQ(trace.dropped, 3u);
  EXPECT_EQ(TraceText(trace).dropped(), 3u);
  EXPECT_EQ(Number(Written(trace).all.fields().at("otherData").struct_value(), "dropped"), 3);
}

TEST(TraceTextTest, ALongTextComesInPiecesOfNoMoreThanWasSaid) {
  TraceLog log(kTraceStart);
  for (uint64_t sample = 0; sample < 1000; ++sample)
    log.Add(TracedRow(sample, static_cast<int>(sample) * 3));

  const Written written(log.End(AtMicrosecond(10'000)));

  EXPECT_GT(written.pieces.size(), 5u);
  for (const size_t piece : written.pieces) EXPECT_LE(piece, kPiece);
  EXPECT_EQ(written.Events("X", "decode").size(), 1000u);
}

TEST(TraceTextTest, ABatchThatIsStillHeldAtTheEndLastsUntilThen) {
  Trace trace = OneBatch();
  trace.batches[0].batch.taken = trace.batches[0].batch.released = {};

  const Written written(std::move(trace));

  EXPECT_EQ(Number(written.Events("X", "batch").at(0), "dur"), 80);
  EXPECT_EQ(Number(written.Events("X", "ready").at(0), "dur"), 70);
  EXPECT_TRUE(written.Events("X", "held").empty());
}

// ---- Following a batch. ----

TEST(TraceTextTest, ABatchHasOneNameFromItsSamplesToItsTrainer) {
  const Written written(OneBatch());

  std::set<std::string> names;
  for (const char* event : {"sample", "fill", "batch"})
    for (const Struct& each : written.Events("X", event)) names.insert(Argument(each, "batch"));

  EXPECT_THAT(names, ElementsAre("3.7"));
  EXPECT_EQ(Argument(written.Events("X", "sample").at(0), "feed"), "flowers");
}

TEST(TraceTextTest, AnArrowLeadsFromItsLastSampleThroughSlotAndCopyToItsTrainer) {
  const Written written(OneBatch());

  ASSERT_EQ(written.Events("s").size(), 1u);
  EXPECT_EQ(written.Events("t").size(), 3u);
  ASSERT_EQ(written.Events("f").size(), 1u);
  const Struct from = written.Events("s").at(0), to = written.Events("f").at(0);
  EXPECT_EQ(from.fields().at("id").string_value(), to.fields().at("id").string_value());
  EXPECT_GT(Number(from, "ts"), 9);  // sample 12 is decoded from 9 to 14
  EXPECT_LT(Number(from, "ts"), 14);
  EXPECT_GT(Number(to, "ts"), 40);  // it is held from 40 to 50
  EXPECT_LT(Number(to, "ts"), 50);
}

TEST(TraceTextTest, ASamplesPartsAreWithinItAndFollowEachOther) {
  const Written written(OneBatch());

  const Struct sample = written.Events("X", "sample").at(0);
  const Struct read = written.Events("X", "read").at(0);
  const Struct decode = written.Events("X", "decode").at(0);

  EXPECT_EQ(Number(sample, "ts"), 0);
  EXPECT_EQ(Number(sample, "dur"), 9);
  EXPECT_EQ(Number(read, "ts"), 1);
  EXPECT_EQ(Number(read, "dur"), 2);
  EXPECT_EQ(Number(decode, "ts"), 4);
  EXPECT_EQ(Number(decode, "dur"), 5);
}

TEST(TraceTextTest, WhatIsAtOnceIsOnTracksOfItsOwn) {
  TraceLog log(kTraceStart);
  log.Add(TracedRow(1, 0));
  log.Add(TracedRow(2, 5));
  log.Add(TracedRow(3, 9));  // when sample 1 ends

  const Written written(log.End(AtMicrosecond(100)));

  std::vector<double> tracks;
  for (const Struct& each : written.Events("X", "sample")) tracks.push_back(Number(each, "tid"));
  EXPECT_THAT(tracks, ElementsAre(0, 1, 0));
}

TEST(TraceTextTest, TheEarliestEventIsTheBeginEvenWhereItWasBeforeTheTrace) {
  Trace trace = OneBatch();
  trace.begun = AtMicrosecond(10);

  EXPECT_EQ(Number(Written(std::move(trace)).Events("X", "fill").at(0), "ts"), 0);
}

}  // namespace
}  // namespace penstock::feed
