#include "server/store/cache/use_calendar.h"

#include <utility>

namespace penstock::store {

void UseCalendar::TakeFrom(std::map<uint64_t, std::vector<Entry>>::iterator day, uint64_t bytes,
                           const Look& look, std::vector<std::pair<uint64_t, Entry>>& taken,
                           uint64_t& freed) {
  std::vector<Entry>& entries = day->second;
  while (!entries.empty() && freed < bytes) {
    const Entry entry = entries.back();
    entries.pop_back();
    const Found found = look(entry, day->first);
    if (!found.counts) continue;
    freed += found.bytes;
    taken.emplace_back(day->first, entry);
  }
}

std::vector<UseCalendar::Entry> UseCalendar::Take(uint64_t bytes, UseTime next_use, UseTime overdue,
                                                  const Look& look) {
  std::vector<std::pair<uint64_t, Entry>> taken;
  uint64_t freed = 0;
  while (freed < bytes && !days_.empty() && days_.begin()->first < DayOf(overdue)) {
    TakeFrom(days_.begin(), bytes, look, taken, freed);
    if (days_.begin()->second.empty()) days_.erase(days_.begin());
  }
  while (freed < bytes && !days_.empty() && days_.rbegin()->first > DayOf(next_use)) {
    TakeFrom(std::prev(days_.end()), bytes, look, taken, freed);
    if (days_.rbegin()->second.empty()) days_.erase(std::prev(days_.end()));
  }
  std::vector<Entry> entries;
  for (const auto& [day, entry] : taken) {
    if (freed >= bytes)
      entries.push_back(entry);
    else
      days_[day].push_back(entry);
  }
  return entries;
}

}  // namespace penstock::store
