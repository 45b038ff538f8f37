#include "client/python/src/gil.h"

#include <unistd.h>

namespace penstock::python {

thread_local WithoutGil* WithoutGil::innermost_ = nullptr;

void StopThread() {
  for (;;) ::pause();
}

}  // namespace penstock::python
