// What is shown of everything at once.
#include <chrono>
#include <utility>
#include <vector>

#include "server/app/operator/page_report.h"
#include "server/app/operator/status_reports.h"
#include "server/app/service/service.h"

namespace penstock::app {

v1::WatchStatusResponse Service::Look(feed::Engine& engine, const Opener& viewer,
                                      base::TimePoint now) const {
  v1::WatchStatusResponse all;
  *all.mutable_status() = StatusOf(engine, viewer, now);
  *all.mutable_sessions() = std::move(*ReportSessions(engine, viewer).mutable_sessions());
  v1::ListWorkersResponse workers = ReportWorkers(engine, viewer, now);
  *all.mutable_workers() = std::move(*workers.mutable_workers());
  *all.mutable_python_workers() = std::move(*workers.mutable_python_workers());
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  all.set_time_unix_ms(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  return all;
}

bool Service::AskForPage(PageDetail detail,
                         std::function<void(std::shared_ptr<const v1::StatusPage>)> done) {
  return runner_.Post(
      [this, detail, done = std::move(done)](feed::Engine& engine, base::TimePoint now) {
        const Opener viewer = {.is_operator = true};
        auto page = std::make_shared<v1::StatusPage>();  // shared by the executor and who asked
        v1::WatchStatusResponse all = Look(engine, viewer, now);
        page->set_full(true);
        page->set_time_unix_ms(all.time_unix_ms());
        *page->mutable_status() = std::move(*all.mutable_status());
        *page->mutable_sessions() = std::move(*all.mutable_sessions());
        *page->mutable_workers() = std::move(*all.mutable_workers());
        *page->mutable_python_workers() = std::move(*all.mutable_python_workers());
        const std::vector<DatasetView> datasets = catalog_.List(viewer);
        AddDatasets(datasets, *page);
        if (detail == PageDetail::kPictures) AddPictures(datasets, *page);
        reply_executor_.Do([page, detail, done] {
          LimitPage(*page);
          if (detail == PageDetail::kSummary) HideDetails(*page);
          done(page);
        });
      });
}

bool Service::AskForBadSample(const status::BadSampleName& name, BadSamplePictures::Done done) {
  return runner_.Post([this, name, done = std::move(done)](feed::Engine&, base::TimePoint) {
    done(FindBadSample(catalog_.List(Opener{.is_operator = true}), name));
  });
}

}  // namespace penstock::app
