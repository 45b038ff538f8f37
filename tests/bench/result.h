// What a suite found. Plain values.
#pragma once

#include <string>
#include <vector>

namespace penstock::bench {

enum class Better { kHigher, kLower };

// A figure beside what it is measured against in the same run, both medians of alternating runs.
struct Comparison {
  std::string name;     // what was measured: "1 worker"
  std::string against;  // what with: "bare libjpeg-turbo"
  std::string unit;     // of both
  Better better = Better::kHigher;
  double figure = 0;
  double reference = 0;
  double goal_ratio = 0;  // 0: none

  // What the figure reaches of the reference: 1 is as good, more is better.
  double Ratio() const {
    return better == Better::kHigher ? figure / reference : reference / figure;
  }
  bool Reached() const { return Ratio() >= goal_ratio; }
};

// A number that is compared with nothing.
struct Fact {
  static constexpr double kNoLimit = -1;

  std::string name;
  double value = 0;
  std::string unit;
  double at_most = kNoLimit;  // the goal

  bool Reached() const { return at_most == kNoLimit || value <= at_most; }
};

struct Result {
  std::string suite;
  std::string data;  // what it ran on
  int rounds = 0;    // of alternating runs, that the medians are of
  std::vector<Comparison> comparisons;
  std::vector<Fact> facts;
  std::vector<std::string> notes;  // what was left out, and why
};

// What the figures depend on.
struct Machine {
  unsigned cores = 1;  // that this process may use
  std::string simd;    // the decoder's variant
  double load = 0;     // of the last minute, when the suite began
};

Machine ThisMachine();

}  // namespace penstock::bench
