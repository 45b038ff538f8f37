// The C API: sessions, and what takes batches from them.
#include <utility>

#include "client/src/c/boundary.h"
#include "client/src/c/handles.h"
#include "client/src/c/options.h"
#include "client/src/core/convert.h"

namespace {

using penstock::Code;
using penstock::Result;
using penstock::Status;
using penstock::c::CopyText;
using penstock::c::Guarded;
using penstock::c::Missing;
using penstock::c::WriteStruct;

penstock_session_info FromSession(const penstock::Session& session, size_t tensors) {
  const penstock::Shape shape = session.shape();
  return {.struct_size = sizeof(penstock_session_info),
          .samples = session.samples(),
          .batches_in_epoch = session.batches_in_epoch(),
          .classes = session.classes(),
          .tensors = static_cast<uint32_t>(tensors),
          .rows = shape.rows,
          .height = shape.height,
          .width = shape.width,
          .channels = shape.channels,
          .delivery = static_cast<int32_t>(session.delivery()),
          .handle = static_cast<int32_t>(session.handle()),
          .device = session.device(),
          .labeled = session.labeled()};
}

penstock_session_stats FromStats(const penstock::SessionStats& stats) {
  penstock_session_stats c{};
  c.batches = stats.batches;
  c.batches_ready = stats.batches_ready;
  c.waited_seconds = stats.waited_seconds;
  c.busy_seconds = stats.busy_seconds;
  c.batches_ahead = stats.batches_ahead;
  c.samples_decoded = stats.samples_decoded;
  c.samples_replaced = stats.samples_replaced;
  c.workers_busy = stats.workers_busy;
  c.samples_per_second = stats.samples_per_second;
  c.daemon_answered = stats.daemon_answered;
  CopyText(stats.verdict, c.verdict, sizeof c.verdict);
  return c;
}

// Both ways to take a batch: `take` calls Session::Next.
template <typename Take>
int32_t TakeBatch(penstock_session* session, int64_t timeout_ms, penstock_batch** batch,
                  penstock_error* error, Take take) {
  return Guarded(error, [&]() -> Status {
    if (batch == nullptr) return Missing("batch");
    *batch = nullptr;
    if (session == nullptr) return Missing("session");
    if (IsForeign(*session)) return penstock::client::ForkedStatus();
    Result<std::chrono::milliseconds> timeout = penstock::c::ToTimeout(timeout_ms);
    if (!timeout) return timeout.status();
    Result<penstock::Batch> taken = take(session->session, *timeout);
    if (!taken) return taken.status();
    *batch = new penstock_batch{std::move(*taken)};
    return {};
  });
}

}  // namespace

int32_t penstock_open(penstock_client* client, const penstock_session_options* options,
                      penstock_session** session, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (session == nullptr) return Missing("session");
    *session = nullptr;
    if (client == nullptr) return Missing("client");
    Result<penstock::SessionOptions> wanted = penstock::c::ToSessionOptions(options);
    if (!wanted) return wanted.status();
    Result<penstock::Session> opened = client->client.Open(*wanted);
    if (!opened) return opened.status();
    std::vector<penstock::Field> tensors = opened->tensors();
    *session = new penstock_session{.session = std::move(*opened), .tensors = std::move(tensors)};
    return {};
  });
}

int32_t penstock_session_get(const penstock_session* session, penstock_session_info* info,
                             penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (session == nullptr) return Missing("session");
    if (IsForeign(*session)) return penstock::client::ForkedStatus();
    return WriteStruct("penstock_session_info",
                       FromSession(session->session, session->tensors.size()), info);
  });
}

int32_t penstock_session_tensor(const penstock_session* session, uint32_t tensor,
                                penstock_tensor_info* info, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (session == nullptr) return Missing("session");
    if (IsForeign(*session)) return penstock::client::ForkedStatus();
    if (tensor >= session->tensors.size())
      return {Code::kInvalidArgument, "the session has no tensor " + std::to_string(tensor)};
    return WriteStruct("penstock_tensor_info", penstock::c::FromField(session->tensors[tensor]),
                       info);
  });
}

int32_t penstock_session_state(const penstock_session* session, penstock_state* state,
                               penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (session == nullptr) return Missing("session");
    if (IsForeign(*session)) return penstock::client::ForkedStatus();
    return WriteStruct("penstock_state", penstock::c::FromState(session->session.state()), state);
  });
}

int32_t penstock_session_stats_now(penstock_session* session, penstock_session_stats* stats,
                                   penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (session == nullptr) return Missing("session");
    if (IsForeign(*session)) return penstock::client::ForkedStatus();
    return WriteStruct("penstock_session_stats", FromStats(session->session.Stats()), stats);
  });
}

int32_t penstock_delivery_reason(const penstock_session* session, char* text, size_t bytes,
                                 penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (session == nullptr) return Missing("session");
    if (IsForeign(*session)) return penstock::client::ForkedStatus();
    if (text == nullptr) return Missing("text");
    if (bytes == 0) return {Code::kInvalidArgument, "bytes is 0; the text's end needs one"};
    CopyText(session->session.delivery_reason(), text, bytes);
    return {};
  });
}

void penstock_close(penstock_session* session) { delete session; }

int32_t penstock_state_to_text(const penstock_state* state, char* text, size_t bytes,
                               penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (text == nullptr) return Missing("text");
    Result<penstock::State> value = penstock::c::ToState(state);
    if (!value) return value.status();
    const std::string line = value->ToString();
    if (line.size() >= bytes) {
      return {Code::kInvalidArgument, "the text needs " + std::to_string(line.size() + 1) +
                                          " bytes, got " + std::to_string(bytes)};
    }
    CopyText(line, text, bytes);
    return {};
  });
}

int32_t penstock_state_from_text(const char* text, penstock_state* state, penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (text == nullptr) return Missing("text");
    Result<penstock::State> value = penstock::State::FromString(text);
    if (!value) return value.status();
    return WriteStruct("penstock_state", penstock::c::FromState(*value), state);
  });
}

int32_t penstock_next(penstock_session* session, int64_t timeout_ms, penstock_batch** batch,
                      penstock_error* error) {
  return TakeBatch(session, timeout_ms, batch, error,
                   [](penstock::Session& from, auto timeout) { return from.Next(timeout); });
}

int32_t penstock_next_on_stream(penstock_session* session, void* stream, int64_t timeout_ms,
                                penstock_batch** batch, penstock_error* error) {
  return TakeBatch(session, timeout_ms, batch, error, [&](penstock::Session& from, auto timeout) {
    return from.Next(stream, timeout);
  });
}

int32_t penstock_wait_ready(penstock_session* session, int64_t timeout_ms, int32_t* ready,
                            penstock_error* error) {
  return Guarded(error, [&]() -> Status {
    if (session == nullptr) return Missing("session");
    if (IsForeign(*session)) return penstock::client::ForkedStatus();
    if (ready == nullptr) return Missing("ready");
    Result<std::chrono::milliseconds> timeout = penstock::c::ToTimeout(timeout_ms);
    if (!timeout) return timeout.status();
    Result<bool> is_ready = session->session.WaitReady(*timeout);
    if (!is_ready) return is_ready.status();
    *ready = *is_ready ? 1 : 0;
    return {};
  });
}
