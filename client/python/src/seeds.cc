#include "client/python/src/seeds.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "common/base/philox.h"

namespace nb = nanobind;

namespace penstock::python {
namespace {

constexpr uint32_t kTwisterWords = 624;
constexpr int kSkipped = 16;  // words of SFC64, until the seed has spread

// As numpy.random.SFC64.
class Sfc64 {
 public:
  Sfc64(uint64_t low, uint64_t high) : a_(low), b_(high) {}
  uint64_t operator()() {
    const uint64_t word = a_ + b_ + counter_++;
    a_ = b_ ^ (b_ >> 11);
    b_ = c_ + (c_ << 3);
    c_ = std::rotl(c_, 24) + word;
    return word;
  }

 private:
  uint64_t a_, b_, c_ = 0x9E3779B97F4A7C15, counter_ = 1;
};

// A Mersenne Twister's state; `words` need not be aligned to eight bytes.
void WriteState(Sfc64& source, uint32_t* words) {
  for (uint32_t at = 0; at < kTwisterWords; at += 2) {
    const uint64_t pair = source();
    std::memcpy(words + at, &pair, sizeof(pair));
  }
}

// Where the generators of this interpreter keep their states; generators.py finds and checks the
// addresses.
class SampleStates {
 public:
  SampleStates(uint64_t seed, uintptr_t python, uintptr_t numpy, uintptr_t normal)
      : seed_(seed),
        python_(reinterpret_cast<uint32_t*>(python)),
        numpy_(reinterpret_cast<uint32_t*>(numpy)),
        has_normal_(reinterpret_cast<int32_t*>(normal)) {}

  uint64_t Write(uint64_t epoch, uint64_t number, uint32_t operation) {
    const base::PhiloxWords words =
        base::Philox4x32({static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32),
                          static_cast<uint32_t>(epoch), operation},
                         seed_);
    const uint64_t high = words[2] | uint64_t{words[3]} << 32;
    Sfc64 source(words[0] | uint64_t{words[1]} << 32, high);
    for (int skipped = 0; skipped < kSkipped; ++skipped) source();
    python_[0] = kTwisterWords;  // the place in the state: all words are used up
    WriteState(source, python_ + 1);
    WriteState(source, numpy_);
    numpy_[kTwisterWords] = kTwisterWords;
    *has_normal_ = 0;
    return high;
  }

 private:
  uint64_t seed_;
  uint32_t* python_;
  uint32_t* numpy_;
  int32_t* has_normal_;
};

}  // namespace

void BindSeeds(nb::module_& module) {
  nb::class_<SampleStates>(module, "SampleStates",
                           "Writes states of a sample into the generators of `random` and NumPy.")
      .def(nb::init<uint64_t, uintptr_t, uintptr_t, uintptr_t>(), nb::arg("seed"),
           nb::arg("python"), nb::arg("numpy"), nb::arg("normal"),
           "The seed, and the addresses of both states and of NumPy's mark that half of a pair of "
           "normal variates is kept.")
      .def("write", &SampleStates::Write, nb::arg("epoch"), nb::arg("number"), nb::arg("operation"),
           "The upper 64 of the 128 bits that the states were made of.");
}

}  // namespace penstock::python
