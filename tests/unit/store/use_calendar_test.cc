// Who makes room: beside Belady's rule, which knows every use that will come.
#include "server/store/cache/use_calendar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "server/plan/plan.h"

namespace penstock::store {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kEpochs = 5, kSamples = 5000;

// The samples that a node with one of so many ranks reads, one after another.
std::vector<uint64_t> Shuffled(uint64_t seed, uint64_t ranks = 1, uint64_t epochs = kEpochs) {
  std::vector<uint64_t> reads;
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const plan::Permutation order(kSamples, seed, epoch);
    for (uint64_t i = 0; i < kSamples; i += ranks) reads.push_back(order(i));
  }
  return reads;
}

// Hits of a cache that keeps what came first.
uint64_t HitsOfStaying(const std::vector<uint64_t>& reads, uint64_t room) {
  std::set<uint64_t> held;
  uint64_t hits = 0;
  for (const uint64_t sample : reads) {
    hits += held.contains(sample);
    if (held.size() < room) held.insert(sample);
  }
  return hits;
}

// When each read's sample is read next; kNeverUsed: not at all.
std::vector<uint64_t> NextReads(const std::vector<uint64_t>& reads) {
  std::vector<uint64_t> next(reads.size(), kNeverUsed);
  std::map<uint64_t, uint64_t> later;
  for (size_t i = reads.size(); i-- > 0;) {
    if (const auto found = later.find(reads[i]); found != later.end()) next[i] = found->second;
    later[reads[i]] = i;
  }
  return next;
}

// Hits of a cache that always holds what is read soonest, and need not keep what it reads.
uint64_t HitsOfBelady(const std::vector<uint64_t>& reads, uint64_t room,
                      const std::vector<uint64_t>& bytes) {
  const std::vector<uint64_t> next = NextReads(reads);
  std::map<uint64_t, uint64_t> held;                     // sample to its next read
  std::set<std::pair<uint64_t, uint64_t>> by_next_read;  // with the sample
  uint64_t hits = 0, used = 0;
  for (size_t i = 0; i < reads.size(); ++i) {
    const uint64_t sample = reads[i];
    if (const auto found = held.find(sample); found != held.end()) {
      ++hits;
      by_next_read.erase({found->second, sample});
    } else {
      used += bytes[sample];
    }
    held[sample] = next[i];
    by_next_read.insert({next[i], sample});
    while (used > room) {
      const uint64_t last = by_next_read.rbegin()->second;
      by_next_read.erase(std::prev(by_next_read.end()));
      held.erase(last);
      used -= bytes[last];
    }
  }
  return hits;
}

// Hits of a cache that asks the calendar.
uint64_t HitsOfCalendar(const std::vector<uint64_t>& reads, uint64_t room,
                        const std::vector<uint64_t>& bytes) {
  const std::vector<uint64_t> next = NextReads(reads);
  std::map<uint64_t, uint64_t> held;
  UseCalendar calendar;
  uint64_t hits = 0, used = 0;
  const auto look = [&](const UseCalendar::Entry& entry, uint64_t day) {
    const auto found = held.find(entry.offset);
    const bool counts = found != held.end() && UseCalendar::DayOf(found->second) == day;
    return UseCalendar::Found{.bytes = bytes[entry.offset], .counts = counts};
  };
  for (size_t i = 0; i < reads.size(); ++i) {
    const uint64_t sample = reads[i];
    bool is_held = held.contains(sample);
    hits += is_held;
    if (!is_held && used + bytes[sample] > room)
      for (const UseCalendar::Entry& entry :
           calendar.Take(used + bytes[sample] - room, next[i], 0, look)) {
        held.erase(entry.offset);
        used -= bytes[entry.offset];
      }
    if (!is_held && used + bytes[sample] <= room) {
      is_held = true;
      used += bytes[sample];
    }
    if (!is_held) continue;
    held[sample] = next[i];
    calendar.Add(next[i], {.object = 0, .offset = sample});
  }
  EXPECT_LE(used, room);
  return hits;
}

void ExpectNearBelady(const std::vector<uint64_t>& reads, uint64_t room,
                      const std::vector<uint64_t>& bytes) {
  const uint64_t best = HitsOfBelady(reads, room, bytes);
  const uint64_t hits = HitsOfCalendar(reads, room, bytes);
  ASSERT_GT(best, 0u);
  const double part = static_cast<double>(hits) / static_cast<double>(best);
  ::testing::Test::RecordProperty("part_of_belady", std::to_string(part));
  EXPECT_GE(part, 0.99) << hits << " of " << best;
}

TEST(UseCalendarTest, OfASetTwiceAsLargeAsTheCacheItHasTheHitsOfBeladysRule) {
  const std::vector<uint64_t> reads = Shuffled(7), alike(kSamples, 1);
  ExpectNearBelady(reads, kSamples / 2, alike);
  // No more can be had: what is read in an epoch for the first time must have been kept over its
  // beginning. So for one feed, whatever came first may as well stay.
  EXPECT_EQ(HitsOfBelady(reads, kSamples / 2, alike), kSamples / 2 * (kEpochs - 1));
  EXPECT_EQ(HitsOfStaying(reads, kSamples / 2), kSamples / 2 * (kEpochs - 1));
}

TEST(UseCalendarTest, OnANodeWithFewRanksItHasManyMoreThanIfWhatCameFirstStays) {
  const std::vector<uint64_t> reads = Shuffled(7, 4, 20), alike(kSamples, 1);
  ExpectNearBelady(reads, kSamples / 8, alike);
  EXPECT_GT(HitsOfCalendar(reads, kSamples / 8, alike), 2 * HitsOfStaying(reads, kSamples / 8));
}

TEST(UseCalendarTest, AlsoForPiecesOfManySizesAndOtherRooms) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> bytes(kSamples);
  uint64_t all = 0;
  for (uint64_t& each : bytes) all += each = 50 + random() % 200;
  for (const uint64_t part : {2u, 3u, 10u}) ExpectNearBelady(Shuffled(part), all / part, bytes);
}

TEST(UseCalendarTest, AlsoForTwoFeedsOfOneSet) {
  const std::vector<uint64_t> one = Shuffled(1), other = Shuffled(2);
  std::vector<uint64_t> both;
  for (size_t i = 0; i < one.size(); ++i) both.insert(both.end(), {one[i], other[i]});
  ExpectNearBelady(both, kSamples / 2, std::vector<uint64_t>(kSamples, 1));
}

// All entries count, and free one byte.
UseCalendar::Found Counts(const UseCalendar::Entry&, uint64_t) { return {1, true}; }

TEST(UseCalendarTest, WhatIsNeededSoonerStays) {
  UseCalendar calendar;
  calendar.Add(1000, {.object = 1, .offset = 5});
  calendar.Add(2000, {.object = 1, .offset = 6});

  EXPECT_THAT(calendar.Take(1, 3000, 0, Counts), IsEmpty());
  EXPECT_THAT(calendar.Take(2, 1500, 0, Counts), IsEmpty()) << "one alone is too little";
  const auto taken = calendar.Take(1, 1500, 0, Counts);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].offset, 6u);
  EXPECT_THAT(calendar.Take(1, 1500, 0, Counts), IsEmpty()) << "it was taken";
  EXPECT_THAT(calendar.Take(1, 100, 0, Counts), SizeIs(1));
}

TEST(UseCalendarTest, WhatNobodyCameForGoesFirst) {
  UseCalendar calendar;
  calendar.Add(1000, {.object = 1, .offset = 5});
  calendar.Add(9000, {.object = 1, .offset = 6});

  const auto taken = calendar.Take(1, 5000, 2000, Counts);

  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].offset, 5u);
}

TEST(UseCalendarTest, EntriesThatNoLongerCountAreDropped) {
  UseCalendar calendar;
  for (uint64_t i = 0; i < 100; ++i) calendar.Add(5000, {.object = 1, .offset = i});
  int asked = 0;
  const auto gone = [&](const UseCalendar::Entry&, uint64_t) {
    ++asked;
    return UseCalendar::Found{};
  };
  EXPECT_THAT(calendar.Take(1, 0, 0, gone), IsEmpty());
  EXPECT_THAT(calendar.Take(1, 0, 0, gone), IsEmpty());
  EXPECT_EQ(asked, 100);
}

}  // namespace
}  // namespace penstock::store
