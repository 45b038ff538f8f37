#include "server/feed/core/slot.h"

namespace penstock::feed {

RowTask Slot::GiveFresh() {
  RowTask task;
  task.user = key.user;
  task.feed = key.feed;
  task.slot = id;
  task.generation = generation;
  const RowLedger::Run run = rows.GiveFresh(filling.run);
  task.row = run.first;
  task.rows = run.count;
  task.rewrites = run.first + run.count <= completed;
  task.epoch = key.position.epoch;
  task.index = key.position.first + task.row;
  return task;
}

}  // namespace penstock::feed
