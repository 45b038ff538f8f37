#include "server/status/http_connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace penstock::status {
namespace {

bool WouldBlock() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

HttpConnection::HttpConnection(posix::Fd socket, Limits limits, base::TimePoint now)
    : socket_(std::move(socket)), limits_(limits), deadline_(now + limits.request_within) {}

void HttpConnection::Proceed(base::TimePoint now) {
  if (state_ == State::kReading) Read(now);
  if (state_ == State::kWriting) Write(now);
  if (state_ == State::kLeaving) Drain();
}

void HttpConnection::Read(base::TimePoint now) {
  char bytes[4096];
  while (state_ == State::kReading) {
    const size_t headroom = limits_.request_bytes - received_.size();
    const ssize_t got = ::recv(socket_.get(), bytes, std::min(headroom, sizeof(bytes)), 0);
    if (got < 0 && WouldBlock()) return;
    if (got <= 0) {
      state_ = State::kDone;
      return;
    }
    received_.append(bytes, static_cast<size_t>(got));
    request_ = Judge(received_, limits_.request_bytes);
    if (request_.verdict == HttpVerdict::kIncomplete) continue;
    state_ = State::kAsked;
    deadline_ = now + limits_.answer_within;
  }
}

void HttpConnection::Answer(HttpPage page, base::TimePoint now) {
  const bool has_body = request_.verdict == HttpVerdict::kPage && page.body != nullptr;
  if (request_.verdict == HttpVerdict::kPage)
    request_.verdict = has_body ? page.verdict : HttpVerdict::kNotFound;
  body_ = has_body ? std::move(page.body)
                   : std::make_shared<const std::string>(Explanation(request_.verdict));
  head_ = ResponseHead(request_.verdict, body_->size(), has_body ? page.content : HttpContent{});
  if (request_.head_only) body_ = std::make_shared<const std::string>();
  received_ = {};
  state_ = State::kWriting;
  deadline_ = now + limits_.send_within +
              std::chrono::seconds(body_->size() / limits_.sent_bytes_per_second);
  Proceed(now);
}

void HttpConnection::Write(base::TimePoint now) {
  while (written_ < head_.size() + body_->size()) {
    const size_t of_head = std::min(written_, head_.size());
    const size_t of_body = written_ - of_head;
    iovec parts[2] = {{.iov_base = head_.data() + of_head, .iov_len = head_.size() - of_head},
                      {.iov_base = const_cast<char*>(body_->data()) + of_body,  // not modified
                       .iov_len = body_->size() - of_body}};
    msghdr message = {};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && WouldBlock()) return;
    if (sent <= 0) {
      state_ = State::kDone;
      return;
    }
    written_ += static_cast<size_t>(sent);
  }
  body_.reset();
  ::shutdown(socket_.get(), SHUT_WR);
  state_ = State::kLeaving;
  deadline_ = now + limits_.leave_within;
}

// Discards what the peer still sends: closing with unread bytes would reset the connection, and the
// response with it.
void HttpConnection::Drain() {
  char bytes[4096];
  for (int i = 0; i < 4; ++i) {
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof(bytes), 0);
    if (got < 0 && WouldBlock()) return;
    if (got <= 0) {
      state_ = State::kDone;
      return;
    }
  }
}

bool HttpConnection::Expire(base::TimePoint now) {
  if (now < deadline_) return false;
  state_ = State::kDone;
  return true;
}

}  // namespace penstock::status
