// The interface between the checks and the kernels: the arguments of a launch, by value. Includes
// no CUDA header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "client/finish/choice.h"
#include "client/finish/coefficients.h"
#include "client/finish/synthetic.h"

namespace penstock::finish {

struct Job {
  const uint8_t* rows = nullptr;  // null: make `synthetic` rows
  std::byte* into = nullptr;
  const int64_t* labels = nullptr;
  int64_t* labels_into = nullptr;
  uint64_t label_count = 0;
  uint64_t pixels = 0;  // in a row
  uint64_t elements = 0;
  uint32_t channels = 0;
  Choice choice;
  Synthetic synthetic;
  CoefficientTable coefficients;
};

// Enqueues one launch. Returns a cudaError_t; 0 is success.
int Launch(const Job& job, Type type, Layout layout, Division division, void* stream);

}  // namespace penstock::finish
