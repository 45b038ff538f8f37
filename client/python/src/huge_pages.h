// Asks for huge pages for a batch's memory. Fresh memory is mapped page by page as it is written,
// which with 4 KiB pages takes longer than the writing. NumPy asks for huge pages for large arrays;
// torch does not.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace penstock::python {

// For memory that is about to be written completely. Does nothing for small memory or on a kernel
// without huge pages.
inline void PreferHugePages(void* memory, size_t bytes) {
  constexpr uintptr_t kHugePage = 2 << 20;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (begin + bytes) / kHugePage * kHugePage;
  if (first < end) (void)::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace penstock::python
