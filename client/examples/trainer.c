// The trainer of trainer.cc in C99: cc trainer.c $(pkg-config --cflags --libs penstock)
#include <penstock/c.h>
#include <stdio.h>
#include <stdlib.h>

static penstock_error error;

static void check(int32_t code) {
  if (code == PENSTOCK_OK) return;
  fprintf(stderr, "penstock: %s: %s\n", penstock_code_name(code), error.message);
  exit(1);
}

int main(int argc, char** argv) {
  static float images[32 * 3 * 224 * 224];
  penstock_client_options connect = {.struct_size = sizeof connect, .start_private = 1};
  penstock_session_options open = {.struct_size = sizeof open, .batch_size = 32, .epochs = 1};
  penstock_finish finish = {sizeof finish, .mean = {0.5f, 0.5f, 0.5f}, .stddev = {0.2f, 0.2f, 0.2f}};
  penstock_client* client;
  penstock_session* session;
  penstock_batch* batch;
  if (argc != 2) return 2;
  open.dataset = argv[1];
  check(penstock_connect(&connect, &client, &error));
  check(penstock_open(client, &open, &session, &error));
  while (penstock_next(session, PENSTOCK_DEFAULT_TIMEOUT, &batch, &error) == PENSTOCK_OK) {
    penstock_batch_info info = {.struct_size = sizeof info};
    check(penstock_finish_into(batch, &finish, images, sizeof images, &error));
    check(penstock_batch_get(batch, &info, &error));
    printf("step %d: %u images, first label %d\n", (int)info.step, info.rows, (int)info.labels[0]);
    penstock_release(batch);
  }
  if (error.code != PENSTOCK_END_OF_EPOCH) check(error.code);
  penstock_close(session);
  penstock_disconnect(client);
}
