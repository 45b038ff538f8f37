#include "server/rpc/access/access.h"

#include <algorithm>
#include <iterator>

namespace penstock::rpc {
namespace {

#define PENSTOCK_FEED "penstock.v1.FeedService."
#define PENSTOCK_ADMIN "penstock.v1.AdminService."

constexpr bool kAction = true, kLook = false;

constexpr AccessRule kRules[] = {
    {PENSTOCK_FEED "GetVersion", Who::kAnyone, Touches::kNothing},
    {PENSTOCK_FEED "DescribeDataset", Who::kTicketHolder, Touches::kDataset},
    {PENSTOCK_FEED "DescribeSamples", Who::kTicketHolder, Touches::kDataset},
    {PENSTOCK_FEED "SendOrder", Who::kTicketHolder, Touches::kNothing},
    {PENSTOCK_FEED "OpenSession", Who::kTicketHolder, Touches::kDataset},
    {PENSTOCK_FEED "ListSlabs", Who::kTicketHolder, Touches::kSession},
    {PENSTOCK_FEED "GetProgress", Who::kTicketHolder, Touches::kSession},
    {PENSTOCK_FEED "ReportUndecodable", Who::kTicketHolder, Touches::kSession},
    {PENSTOCK_FEED "CloseSession", Who::kTicketHolder, Touches::kSession},

    {PENSTOCK_ADMIN "GetStatus", Who::kAnyone, Touches::kView, kLook, Reach::kAlsoOverTls},
    {PENSTOCK_ADMIN "ListSessions", Who::kAnyone, Touches::kView, kLook, Reach::kAlsoOverTls},
    {PENSTOCK_ADMIN "ListWorkers", Who::kAnyone, Touches::kView, kLook, Reach::kAlsoOverTls},
    {PENSTOCK_ADMIN "ListDatasets", Who::kAnyone, Touches::kView, kLook, Reach::kAlsoOverTls},
    {PENSTOCK_ADMIN "WatchStatus", Who::kAnyone, Touches::kView, kLook, Reach::kAlsoOverTls},
    {PENSTOCK_ADMIN "GetTrace", Who::kAnyone, Touches::kView, kAction},
    {PENSTOCK_ADMIN "IndexDataset", Who::kAnyone, Touches::kDataset, kAction},
    {PENSTOCK_ADMIN "DigestDataset", Who::kAnyone, Touches::kDataset, kAction},
    {PENSTOCK_ADMIN "ListQuarantine", Who::kAnyone, Touches::kDataset, kLook, Reach::kAlsoOverTls},
    {PENSTOCK_ADMIN "ClearQuarantine", Who::kOperator, Touches::kDataset, kAction},
    {PENSTOCK_ADMIN "SetWorkers", Who::kOperator, Touches::kDaemon, kAction},
    {PENSTOCK_ADMIN "Drain", Who::kOperator, Touches::kDaemon, kAction},
    {PENSTOCK_ADMIN "Reload", Who::kOperator, Touches::kDaemon, kAction},

    {"grpc.health.v1.Health.Check", Who::kAnyone, Touches::kNothing, kLook, Reach::kAlsoOverTls},
    {"grpc.health.v1.Health.Watch", Who::kAnyone, Touches::kNothing, kLook, Reach::kAlsoOverTls},
    {"grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo", Who::kAnyone,
     Touches::kNothing, kLook, Reach::kAlsoOverTls},
};

}  // namespace

std::span<const AccessRule> AccessRules() { return kRules; }

const AccessRule* FindRule(absl::string_view method) {
  const auto found = std::find_if(std::begin(kRules), std::end(kRules),
                                  [&](const AccessRule& rule) { return rule.method == method; });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace penstock::rpc
