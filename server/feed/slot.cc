#include "server/feed/slot.h"

namespace penstock::feed {

RowTask Slot::GiveFresh() {
  RowTask task;
  task.user = key.user;
  task.feed = key.feed;
  task.slot = id;
  task.generation = generation;
  task.row = rows.GiveFresh();
  task.epoch = key.position.epoch;
  task.index = (key.position.first % samples + task.row) % samples;
  return task;
}

}  // namespace penstock::feed
