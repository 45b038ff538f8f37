#include "common/telemetry/timestamp.h"

#include <cstdint>

namespace penstock::telemetry {
namespace {

// Writes a number with leading zeros, and what follows it; returns the end.
char* Append(char* at, uint64_t number, int digits, char after) {
  for (int i = digits - 1; i >= 0; --i, number /= 10) at[i] = static_cast<char>('0' + number % 10);
  at[digits] = after;
  return at + digits + 1;
}

}  // namespace

Timestamp Timestamp::Now() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return Timestamp(now);
}

// The date by the algorithm civil_from_days (https://howardhinnant.github.io/date_algorithms.html),
// because gmtime_r is not safe in signal handlers.
Timestamp::Timestamp(const timespec& since_1970) {
  const auto seconds = static_cast<uint64_t>(since_1970.tv_sec);
  const uint64_t days = seconds / 86'400 + 719'468;  // since 0000-03-01
  const uint64_t era = days / 146'097, day_of_era = days % 146'097;
  const uint64_t year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const uint64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const uint64_t month_from_march = (5 * day_of_year + 2) / 153;
  const uint64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  char* at = Append(text_, year_of_era + era * 400 + (month <= 2 ? 1 : 0), 4, '-');
  at = Append(at, month, 2, '-');
  at = Append(at, day_of_year - (153 * month_from_march + 2) / 5 + 1, 2, 'T');
  at = Append(at, seconds / 3'600 % 24, 2, ':');
  at = Append(at, seconds / 60 % 60, 2, ':');
  at = Append(at, seconds % 60, 2, '.');
  at = Append(at, static_cast<uint64_t>(since_1970.tv_nsec) / 1'000'000, 3, 'Z');
  *at = '\0';
}

}  // namespace penstock::telemetry
