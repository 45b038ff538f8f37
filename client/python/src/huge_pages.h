// Fresh memory for a batch is mapped page by page as it is written, which on 4 KiB pages costs more
// than the writing. NumPy asks for huge pages for its large arrays; torch does not.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace penstock::python {

// Of memory that is about to be written whole. Small memory, and kernels without huge pages, stay
// as they are.
inline void PreferHugePages(void* memory, size_t bytes) {
  constexpr uintptr_t kHugePage = 2 << 20;
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t end = (begin + bytes) / kHugePage * kHugePage;
  if (first < end) (void)::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

}  // namespace penstock::python
