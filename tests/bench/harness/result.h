// The results of a suite. Plain values.
#pragma once

#include <string>
#include <vector>

namespace penstock::bench {

enum class Better { kHigher, kLower };

// A figure and its reference from the same run, both medians of alternating runs.
struct Comparison {
  std::string name = {};     // the figure: "1 worker"
  std::string against = {};  // the reference: "bare libjpeg-turbo"
  std::string unit = {};     // of both
  Better better = Better::kHigher;
  double figure = 0;
  double reference = 0;
  double goal_ratio = 0;  // 0: none

  // Share of the reference that the figure reaches: 1 is equal, more is better.
  double Ratio() const {
    return better == Better::kHigher ? figure / reference : reference / figure;
  }
  bool Reached() const { return Ratio() >= goal_ratio; }
};

// A number without a reference.
struct Fact {
  static constexpr double kNoLimit = -1;

  std::string name = {};
  double value = 0;
  std::string unit = {};
  double at_most = kNoLimit;  // the goal

  bool Reached() const { return at_most == kNoLimit || value <= at_most; }
};

struct Result {
  std::string suite;
  std::string data;  // the data that it ran on
  int rounds = 0;    // alternating rounds behind each median
  std::vector<Comparison> comparisons = {};
  std::vector<Fact> facts = {};
  std::vector<std::string> notes = {};  // what was left out, and why
};

// The machine that the figures depend on.
struct Machine {
  unsigned cores = 1;  // usable by this process
  std::string simd;    // the decoder's variant
  double load = 0;     // load average of the last minute, at the start of the suite
};

Machine ThisMachine();

}  // namespace penstock::bench
