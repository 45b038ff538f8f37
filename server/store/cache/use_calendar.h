// Which of the pieces that are kept goes first if another one needs room: the one that will be
// needed last (Belady, "A study of replacement algorithms for a virtual-storage computer", 1966).
// Pure.
//
// Times are numbers that grow, as whoever plans the uses counts them. They are rounded to days of
// kDay, so an order within a day is none; with an epoch of thousands that costs nothing that can be
// measured.
//
// Entries are cheap (16 bytes) and are not removed when a piece goes, or gets another time: whoever
// asks says which ones still count.
// **Thread safety**: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace penstock::store {

// When a piece will be needed next.
using UseTime = uint64_t;
inline constexpr UseTime kUnknownUse = 0;  // nobody has said; such pieces are in no calendar
inline constexpr UseTime kNeverUsed = UINT64_MAX;

class UseCalendar {
 public:
  static constexpr uint64_t kDay = 16;

  struct Entry {
    uint32_t object = 0;
    uint64_t offset = 0;
  };
  struct Found {
    uint64_t bytes = 0;  // that its removal frees
    bool counts = false;
  };
  // What an entry for that day stands for, if the piece is still kept and needed on that day.
  using Look = std::function<Found(const Entry& entry, uint64_t day)>;

  static uint64_t DayOf(UseTime time) { return time / kDay; }

  void Add(UseTime next_use, const Entry& entry) { days_[DayOf(next_use)].push_back(entry); }
  // Pieces that free at least `bytes`, each needed later than `next_use`, or needed long before
  // `overdue`, so that nobody can be waiting for it. Their entries are removed. Empty: there are
  // not enough of them, and all stay.
  std::vector<Entry> Take(uint64_t bytes, UseTime next_use, UseTime overdue, const Look& look);

 private:
  // Takes from the day until enough is free; entries that do not count are dropped.
  void TakeFrom(std::map<uint64_t, std::vector<Entry>>::iterator day, uint64_t bytes,
                const Look& look, std::vector<std::pair<uint64_t, Entry>>& taken, uint64_t& freed);

  std::map<uint64_t, std::vector<Entry>> days_;
};

}  // namespace penstock::store
