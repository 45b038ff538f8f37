#include "client/ctl/progress.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/table.h"

namespace penstock::ctl {
namespace {

constexpr uint64_t kBarCells = 30;
constexpr uint64_t kSlider = 5;  // cells of the block that moves to and fro if the total is unknown
constexpr char kEraseLine[] = "\r\x1b[K";
constexpr double kLeastSeconds = 0.5;  // before that, a rate says nothing
constexpr base::Duration kBarEvery = std::chrono::milliseconds(100);
constexpr base::Duration kLineEvery = std::chrono::seconds(5);

std::string Cells(uint64_t from, uint64_t to) {
  return absl::StrCat("[", std::string(from, ' '), std::string(to - from, '='),
                      std::string(kBarCells - to, ' '), "]");
}

}  // namespace

std::string Progress::Update(uint64_t files_seen, base::TimePoint now) {
  const bool bar = style_ == Style::kBar;
  if (last_.has_value() && now - *last_ < (bar ? kBarEvery : kLineEvery)) return "";
  last_ = now;
  if (bar) return absl::StrCat(kEraseLine, Bar(files_seen, now), " ", Words(files_seen, now));
  return absl::StrCat(Words(files_seen, now), "\n");
}

std::string Progress::End() const {
  return style_ == Style::kBar && last_.has_value() ? kEraseLine : "";
}

std::string Progress::Words(uint64_t files_seen, base::TimePoint now) const {
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string words = absl::StrCat(Count(files_seen), " ", what_);
  if (seconds >= kLeastSeconds) {
    const auto rate = static_cast<uint64_t>(static_cast<double>(files_seen) / seconds);
    absl::StrAppend(&words, ", ", Count(rate), " ", what_, "/s");
  }
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - start_);
  return absl::StrCat(words, ", ", Age(static_cast<uint64_t>(elapsed.count())));
}

std::string Progress::Bar(uint64_t files_seen, base::TimePoint now) const {
  if (expected_ > 0) {
    const uint64_t seen = std::min(files_seen, expected_);
    const auto share = static_cast<double>(seen) / static_cast<double>(expected_);
    return absl::StrFormat("%s %3d %%", Cells(0, static_cast<uint64_t>(share * kBarCells)),
                           static_cast<int>(share * 100));
  }
  const uint64_t way = kBarCells - kSlider;
  const uint64_t step = static_cast<uint64_t>((now - start_) / kBarEvery) % (2 * way);
  const uint64_t at = step < way ? step : 2 * way - step;
  return Cells(at, at + kSlider);
}

}  // namespace penstock::ctl
