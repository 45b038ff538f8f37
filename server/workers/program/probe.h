// penstock-worker as a probe: it enters the workers' sandbox, and reports what it can still do.
#pragma once

namespace penstock::workers {

// Writes its findings into the inherited ProbePage. Returns the exit code: 0 if it could try
// everything, 2 if not, with a message on standard error or in the page.
int RunProbe();

}  // namespace penstock::workers
