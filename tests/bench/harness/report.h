// Prints a result for people and for programs. Pure.
#pragma once

#include <string>

#include "tests/bench/harness/result.h"

namespace penstock::bench {

// A few lines of text.
std::string ToText(const Result& result, const Machine& machine);

// The same as one JSON object on one line: suite, data, rounds, cores, simd, load; comparisons with
// name, against, unit, figure, reference, ratio and, where there is a goal, goal_ratio and reached;
// facts with name, value, unit and, where there is a goal, at_most and reached; notes.
std::string ToJson(const Result& result, const Machine& machine);

}  // namespace penstock::bench
