#include <cstddef>
#include <string>

#include "server/status/metric_groups.h"

namespace penstock::status {
namespace {

double ToNumber(uint64_t count) { return static_cast<double>(count); }

void StoreRequests(const StoreFacts& stores, Families& out) {
  out.Counter("store_requests_total", "Requests sent to object stores.", ToNumber(stores.requests));
  out.Counter("store_read_bytes_total", "Bytes of answers that object stores gave.",
              ToNumber(stores.bytes));
  out.Gauge("store_requests_under_way", "Requests that wait for object stores now.",
            ToNumber(stores.under_way));
  out.Gauge("store_requests_window",
            "Requests to object stores that may be under way at once; grows while more bring more.",
            ToNumber(stores.window));
  out.Counter(
      "store_window_halvings_total",
      "Times that the number of requests to object stores under way at once was halved, because a "
      "store asked to slow down.",
      ToNumber(stores.halvings));
  Family& retries =
      out.Begin(MetricType::kCounter, "store_retries_total",
                "Answers of object stores after which a request was sent again, by reason.");
  for (size_t i = 0; i < kStoreRetries.size(); ++i)
    retries.samples.push_back(
        {{{"reason", std::string(kStoreRetries[i])}}, ToNumber(stores.retries[i])});
  out.Counter("store_hedges_total",
              "Requests to object stores sent a second time because the first took unusually long.",
              ToNumber(stores.hedges));
  out.Counter("store_hedges_first_total",
              "Second requests to object stores whose answer was complete before the first one's.",
              ToNumber(stores.hedges_first));
  Family& answers =
      out.Begin(MetricType::kHistogram, "store_answer_seconds",
                "Time from a request for bytes of an object store to the end of its answer.");
  for (const auto& [seconds, count] : stores.answers_within)
    answers.samples.push_back({{{"le", ToLimitText(seconds)}}, ToNumber(count), "_bucket"});
  answers.samples.push_back({{{"le", "+Inf"}}, ToNumber(stores.answers), "_bucket"});
  answers.samples.push_back({{}, stores.answer_seconds, "_sum"});
  answers.samples.push_back({{}, ToNumber(stores.answers), "_count"});
}

void StoreIndexes(const StoreFacts& stores, Families& out) {
  Family& indexes = out.Begin(MetricType::kCounter, "store_index_files_total",
                              "Indexes looked for beside shards when datasets were indexed, by "
                              "result; a refused one is of another version, or damaged.");
  indexes.samples.push_back({{{"result", "used"}}, ToNumber(stores.indexes_used)});
  indexes.samples.push_back({{{"result", "refused"}}, ToNumber(stores.indexes_refused)});
  indexes.samples.push_back({{{"result", "absent"}}, ToNumber(stores.indexes_absent)});
}

void StorePieces(const StoreFacts& stores, Families& out) {
  out.Counter("store_pieces_expected_total", "Pieces of objects that were fetched ahead.",
              ToNumber(stores.expected));
  out.Counter("store_pieces_found_total",
              "Reads of objects that found a piece that was fetched ahead.",
              ToNumber(stores.found));
  out.Counter("store_pieces_refused_total",
              "Pieces of objects that were not fetched ahead, for want of memory.",
              ToNumber(stores.refused));
  out.Gauge("store_pieces_waiting",
            "Pieces of objects that wait until a request for them may begin.",
            ToNumber(stores.waiting));
  out.Counter("store_pieces_joined_total",
              "Pieces of objects that came with a neighbour's request.", ToNumber(stores.joined));
  out.Counter("store_part_requests_total", "Requests for parts of large pieces of objects.",
              ToNumber(stores.parts));
  out.Gauge("store_held_bytes", "Memory of pieces of objects that are fetched and not yet read.",
            ToNumber(stores.held_bytes));
  out.Gauge("store_held_max_bytes",
            "Limit of the memory of pieces of objects that are fetched and not yet read.",
            ToNumber(stores.held_max_bytes));
}

void StoreCache(const StoreFacts& stores, Families& out) {
  out.Gauge("store_cache_bytes", "Bytes of objects in the cache folder.",
            ToNumber(stores.cache_bytes));
  out.Gauge("store_cache_max_bytes", "Limit of the bytes of objects in the cache folder.",
            ToNumber(stores.cache_max_bytes));
  out.Counter("store_cache_hits_total", "Reads of pieces of objects that the cache folder had.",
              ToNumber(stores.cache_found));
  out.Counter("store_cache_kept_total", "Pieces of objects written to the cache folder.",
              ToNumber(stores.cache_kept));
  out.Counter("store_cache_refused_total",
              "Pieces of objects not written to the cache folder: it or its disk is full, or "
              "writing failed.",
              ToNumber(stores.cache_refused));
  out.Counter("store_cache_damaged_total",
              "Damaged pieces of objects in the cache folder, which were fetched again.",
              ToNumber(stores.cache_damaged));
  out.Counter("store_cache_removed_total", "Objects removed from the cache folder to make room.",
              ToNumber(stores.cache_removed));
  out.Counter("store_cache_evicted_total",
              "Pieces of objects removed from the cache folder for others that are needed sooner.",
              ToNumber(stores.cache_evicted));
  out.Counter("store_cache_failed_total", "Files that the cache folder could not take at all.",
              ToNumber(stores.cache_failed));
}

}  // namespace

void Stores(const StoreFacts& stores, Families& out) {
  StoreRequests(stores, out);
  StoreIndexes(stores, out);
  StorePieces(stores, out);
  if (stores.has_cache) StoreCache(stores, out);
}

}  // namespace penstock::status
