// What operators see of Python workers.
#include <algorithm>
#include <chrono>

#include "common/posix/process.h"
#include "server/app/operator/status_reports.h"

namespace penstock::app {
namespace {

uint64_t MillisecondsOf(base::Duration duration) {
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return static_cast<uint64_t>(std::max<int64_t>(time, 0));
}

std::string WordsFor(const pyworkers::PyWorkerView& worker) {
  switch (worker.state) {
    case pyworkers::PlaceState::kEmpty:
      return "waiting to start again";
    case pyworkers::PlaceState::kAsked:
    case pyworkers::PlaceState::kEntered:
      return "starting";
    case pyworkers::PlaceState::kReady:
      return worker.in_hand ? "making" : "idle";
    case pyworkers::PlaceState::kDead:
      return "ended";
  }
  return "";
}

}  // namespace

v1::PythonMakersStatus ReportPythonMakers(const feed::MakersView& makers) {
  v1::PythonMakersStatus status;
  status.set_hosts(makers.hosts);
  status.set_workers(static_cast<uint32_t>(std::count_if(
      makers.workers.begin(), makers.workers.end(),
      [](const auto& worker) { return worker.state == pyworkers::PlaceState::kReady; })));
  status.set_workers_busy(makers.busy);
  status.set_batches(makers.totals.made);
  status.set_raised(makers.totals.raised);
  status.set_deaths(makers.totals.deaths);
  status.set_granted_bytes(makers.granted_bytes);
  return status;
}

v1::PythonWorkerStatus ReportPythonWorker(const pyworkers::PyWorkerView& view,
                                          base::TimePoint now) {
  v1::PythonWorkerStatus worker;
  worker.set_dataset(view.dataset);
  worker.set_host_pid(view.host_pid);
  worker.set_place(view.place);
  worker.set_pid(view.pid);
  worker.set_state(WordsFor(view));
  worker.set_batches(view.batches);
  worker.set_restarts(view.starts > 0 ? view.starts - 1 : 0);
  if (view.in_hand) worker.set_in_hand_ms(MillisecondsOf(now - view.in_hand->since));
  worker.set_last_end(view.last_death);
  return worker;
}

void AddMemory(v1::ListWorkersResponse& workers) {
  for (v1::PythonWorkerStatus& worker : *workers.mutable_python_workers())
    if (worker.pid() > 0)
      worker.set_resident_bytes(posix::ResidentBytesOf(worker.pid()).value_or(0));
}

}  // namespace penstock::app
