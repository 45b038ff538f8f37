#include "server/doorway/closers.h"

#include <memory>
#include <optional>
#include <utility>

#include "common/posix/foreign_fd.h"

namespace penstock::doorway {
namespace {

constexpr size_t kAtOnce = 4;  // per user

}  // namespace

bool Closers::MayReceive(uint32_t user) {
  const auto found = threads_.find(user);
  if (found == threads_.end()) return true;
  found->second.Sweep();
  if (found->second.count() > 0) return found->second.CanStart();
  threads_.erase(found);
  return true;
}

void Closers::CloseAll(Files files) {
  const posix::LingerLimit limit;
  files.clear();
}

void Closers::Close(uint32_t user, Files files) {
  const auto doomed = std::make_shared<Files>(std::move(files));
  auto thread = posix::LooseThreads::Start([this, doomed] { close_(std::move(*doomed)); });
  if (!thread) return;  // the system has no thread left: they are closed here after all
  threads_.try_emplace(user, kAtOnce).first->second.Leave(*std::move(thread));
}

}  // namespace penstock::doorway
