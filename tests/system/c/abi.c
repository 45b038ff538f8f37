// What programs in C are compiled with and must not change: this file compiles only if each struct
// has its size, each member its offset, and each constant its number. Members are appended; then
// the size changes here, and kFirstSize (client/src/c/boundary.h) keeps the old one.
#include <penstock/c.h>

#define JOIN(a, b) a##b
#define NAME(line) JOIN(check_on_line_, line)
#define CHECK(condition) typedef char NAME(__LINE__)[(condition) ? 1 : -1]
#define SIZE(type, bytes) CHECK(sizeof(type) == (bytes))
#define AT(type, member, offset) CHECK(offsetof(type, member) == (offset))
#define IS(constant, number) CHECK((constant) == (number))

SIZE(penstock_error, 1024);
AT(penstock_error, code, 0);
AT(penstock_error, message, 4);

SIZE(penstock_client_options, 48);
AT(penstock_client_options, struct_size, 0);
AT(penstock_client_options, address, 8);
AT(penstock_client_options, name, 16);
AT(penstock_client_options, start_private, 24);
AT(penstock_client_options, only_private, 28);
AT(penstock_client_options, interrupted, 32);
AT(penstock_client_options, interrupted_argument, 40);

SIZE(penstock_state, 48);
AT(penstock_state, struct_size, 0);
AT(penstock_state, epoch, 8);
AT(penstock_state, consumed, 16);
AT(penstock_state, seed, 24);
AT(penstock_state, fingerprint, 32);
AT(penstock_state, quarantine_version, 40);

SIZE(penstock_field_request, 16);
AT(penstock_field_request, name, 0);
AT(penstock_field_request, max_length, 8);
AT(penstock_field_request, as_stored, 12);

SIZE(penstock_session_options, 248);
AT(penstock_session_options, struct_size, 0);
AT(penstock_session_options, dataset, 8);
AT(penstock_session_options, name, 16);
AT(penstock_session_options, device, 24);
AT(penstock_session_options, batch_size, 32);
AT(penstock_session_options, order, 36);
AT(penstock_session_options, seed, 40);
AT(penstock_session_options, given, 48);
AT(penstock_session_options, given_count, 56);
AT(penstock_session_options, given_rank, 64);
AT(penstock_session_options, given_ranks, 68);
AT(penstock_session_options, shard_samples, 72);
AT(penstock_session_options, window_shards, 80);
AT(penstock_session_options, remainder, 84);
AT(penstock_session_options, range_first, 88);
AT(penstock_session_options, range_count, 96);
AT(penstock_session_options, epochs, 104);
AT(penstock_session_options, rank, 112);
AT(penstock_session_options, world_size, 116);
AT(penstock_session_options, state, 120);
AT(penstock_session_options, window, 128);
AT(penstock_session_options, fail_on_bad_sample, 132);
AT(penstock_session_options, fields, 136);
AT(penstock_session_options, field_count, 144);
AT(penstock_session_options, decode, 152);
AT(penstock_session_options, height, 156);
AT(penstock_session_options, width, 160);
AT(penstock_session_options, resize, 164);
AT(penstock_session_options, scale_min, 168);
AT(penstock_session_options, scale_max, 176);
AT(penstock_session_options, ratio_min, 184);
AT(penstock_session_options, ratio_max, 192);
AT(penstock_session_options, flip_probability, 200);
AT(penstock_session_options, interpolation, 208);
AT(penstock_session_options, canvas, 212);
AT(penstock_session_options, gray, 216);
AT(penstock_session_options, apply_exif_orientation, 220);
AT(penstock_session_options, delivery, 224);
AT(penstock_session_options, handle, 228);
AT(penstock_session_options, device_depth, 232);
AT(penstock_session_options, reserved, 236);
AT(penstock_session_options, open_timeout_ms, 240);

SIZE(penstock_finish, 40);
AT(penstock_finish, struct_size, 0);
AT(penstock_finish, type, 8);
AT(penstock_finish, layout, 12);
AT(penstock_finish, mean, 16);
AT(penstock_finish, stddev, 28);

SIZE(penstock_tensor_into, 32);
AT(penstock_tensor_into, tensor, 0);
AT(penstock_tensor_into, type, 4);
AT(penstock_tensor_into, data, 8);
AT(penstock_tensor_into, bytes, 16);
AT(penstock_tensor_into, lengths, 24);

SIZE(penstock_into, 48);
AT(penstock_into, struct_size, 0);
AT(penstock_into, images, 8);
AT(penstock_into, image_bytes, 16);
AT(penstock_into, labels, 24);
AT(penstock_into, tensors, 32);
AT(penstock_into, tensor_count, 40);

SIZE(penstock_tensor_info, 40);
AT(penstock_tensor_info, struct_size, 0);
AT(penstock_tensor_info, name, 8);
AT(penstock_tensor_info, shape, 16);
AT(penstock_tensor_info, rank, 24);
AT(penstock_tensor_info, type, 28);
AT(penstock_tensor_info, variable, 32);
AT(penstock_tensor_info, element_bytes, 36);

SIZE(penstock_dataset_info, 72);
AT(penstock_dataset_info, struct_size, 0);
AT(penstock_dataset_info, kind, 8);
AT(penstock_dataset_info, samples, 16);
AT(penstock_dataset_info, first_sample, 24);
AT(penstock_dataset_info, epoch_samples, 32);
AT(penstock_dataset_info, classes, 40);
AT(penstock_dataset_info, fields, 44);
AT(penstock_dataset_info, height, 48);
AT(penstock_dataset_info, width, 52);
AT(penstock_dataset_info, channels, 56);
AT(penstock_dataset_info, decoded, 60);
AT(penstock_dataset_info, labeled, 64);
AT(penstock_dataset_info, reserved, 68);

SIZE(penstock_session_info, 64);
AT(penstock_session_info, struct_size, 0);
AT(penstock_session_info, samples, 8);
AT(penstock_session_info, batches_in_epoch, 16);
AT(penstock_session_info, classes, 24);
AT(penstock_session_info, tensors, 28);
AT(penstock_session_info, rows, 32);
AT(penstock_session_info, height, 36);
AT(penstock_session_info, width, 40);
AT(penstock_session_info, channels, 44);
AT(penstock_session_info, delivery, 48);
AT(penstock_session_info, handle, 52);
AT(penstock_session_info, device, 56);
AT(penstock_session_info, labeled, 60);

SIZE(penstock_batch_info, 96);
AT(penstock_batch_info, struct_size, 0);
AT(penstock_batch_info, epoch, 8);
AT(penstock_batch_info, step, 16);
AT(penstock_batch_info, first, 24);
AT(penstock_batch_info, rows, 32);
AT(penstock_batch_info, valid_rows, 36);
AT(penstock_batch_info, height, 40);
AT(penstock_batch_info, width, 44);
AT(penstock_batch_info, channels, 48);
AT(penstock_batch_info, last_of_epoch, 52);
AT(penstock_batch_info, on_device, 56);
AT(penstock_batch_info, synthetic, 60);
AT(penstock_batch_info, images, 64);
AT(penstock_batch_info, image_bytes, 72);
AT(penstock_batch_info, labels, 80);
AT(penstock_batch_info, sample_ids, 88);

SIZE(penstock_tensor_view, 40);
AT(penstock_tensor_view, struct_size, 0);
AT(penstock_tensor_view, data, 8);
AT(penstock_tensor_view, row_stride, 16);
AT(penstock_tensor_view, lengths, 24);
AT(penstock_tensor_view, rows, 32);
AT(penstock_tensor_view, reserved, 36);

SIZE(penstock_session_stats, 592);
AT(penstock_session_stats, struct_size, 0);
AT(penstock_session_stats, batches, 8);
AT(penstock_session_stats, batches_ready, 16);
AT(penstock_session_stats, waited_seconds, 24);
AT(penstock_session_stats, busy_seconds, 32);
AT(penstock_session_stats, batches_ahead, 40);
AT(penstock_session_stats, samples_decoded, 48);
AT(penstock_session_stats, samples_replaced, 56);
AT(penstock_session_stats, workers_busy, 64);
AT(penstock_session_stats, samples_per_second, 72);
AT(penstock_session_stats, daemon_answered, 80);
AT(penstock_session_stats, verdict, 84);

IS(PENSTOCK_OK, 0);
IS(PENSTOCK_INVALID_ARGUMENT, 1);
IS(PENSTOCK_NOT_FOUND, 2);
IS(PENSTOCK_PERMISSION_DENIED, 3);
IS(PENSTOCK_FAILED_PRECONDITION, 4);
IS(PENSTOCK_RESOURCE_EXHAUSTED, 5);
IS(PENSTOCK_DEADLINE_EXCEEDED, 6);
IS(PENSTOCK_UNAVAILABLE, 7);
IS(PENSTOCK_DATA_LOSS, 8);
IS(PENSTOCK_END_OF_EPOCH, 9);
IS(PENSTOCK_END_OF_DATA, 10);
IS(PENSTOCK_INTERNAL, 11);
IS(PENSTOCK_CANCELLED, 12);
IS(PENSTOCK_BOOL, 1);
IS(PENSTOCK_UINT8, 2);
IS(PENSTOCK_INT8, 3);
IS(PENSTOCK_UINT16, 4);
IS(PENSTOCK_INT16, 5);
IS(PENSTOCK_UINT32, 6);
IS(PENSTOCK_INT32, 7);
IS(PENSTOCK_UINT64, 8);
IS(PENSTOCK_INT64, 9);
IS(PENSTOCK_FLOAT16, 10);
IS(PENSTOCK_BFLOAT16, 11);
IS(PENSTOCK_FLOAT32, 12);
IS(PENSTOCK_FLOAT64, 13);
IS(PENSTOCK_SHUFFLED, 0);
IS(PENSTOCK_SEQUENTIAL, 1);
IS(PENSTOCK_GIVEN, 2);
IS(PENSTOCK_SHUFFLED_IN_WINDOWS, 3);
IS(PENSTOCK_REMAINDER_DEFAULT, 0);
IS(PENSTOCK_DROP, 1);
IS(PENSTOCK_PAD_BATCH, 2);
IS(PENSTOCK_PARTIAL, 3);
IS(PENSTOCK_PAD_RANKS, 4);
IS(PENSTOCK_DECODE_DEFAULT, 0);
IS(PENSTOCK_RANDOM_RESIZED_CROP, 1);
IS(PENSTOCK_CENTER_CROP, 2);
IS(PENSTOCK_WHOLE_IMAGE, 3);
IS(PENSTOCK_INTERPOLATION_DEFAULT, 0);
IS(PENSTOCK_NEAREST, 1);
IS(PENSTOCK_BILINEAR, 2);
IS(PENSTOCK_BICUBIC, 3);
IS(PENSTOCK_LANCZOS, 4);
IS(PENSTOCK_NCHW, 0);
IS(PENSTOCK_NHWC, 1);
IS(PENSTOCK_DELIVERY_AUTO, 0);
IS(PENSTOCK_DELIVERY_DEVICE, 1);
IS(PENSTOCK_DELIVERY_PINNED, 2);
IS(PENSTOCK_DELIVERY_HOST, 3);
IS(PENSTOCK_HANDLE_AUTO, 0);
IS(PENSTOCK_HANDLE_IPC, 1);
IS(PENSTOCK_HANDLE_VMM, 2);
IS(PENSTOCK_DEFAULT_TIMEOUT, -1);

// The types of all functions, which a changed parameter would contradict.
static int32_t (*const kConnect)(const penstock_client_options*, penstock_client**,
                                 penstock_error*) = penstock_connect;
static int32_t (*const kDescribe)(penstock_client*, const char*, penstock_dataset**,
                                  penstock_error*) = penstock_describe;
static int32_t (*const kDatasetGet)(const penstock_dataset*, penstock_dataset_info*,
                                    penstock_error*) = penstock_dataset_get;
static int32_t (*const kDatasetField)(const penstock_dataset*, uint32_t, penstock_tensor_info*,
                                      penstock_error*) = penstock_dataset_field;
static const char* (*const kDatasetClass)(const penstock_dataset*,
                                          uint32_t) = penstock_dataset_class;
static int32_t (*const kOpen)(penstock_client*, const penstock_session_options*, penstock_session**,
                              penstock_error*) = penstock_open;
static int32_t (*const kSessionGet)(const penstock_session*, penstock_session_info*,
                                    penstock_error*) = penstock_session_get;
static int32_t (*const kSessionTensor)(const penstock_session*, uint32_t, penstock_tensor_info*,
                                       penstock_error*) = penstock_session_tensor;
static int32_t (*const kSessionState)(const penstock_session*, penstock_state*,
                                      penstock_error*) = penstock_session_state;
static int32_t (*const kStats)(penstock_session*, penstock_session_stats*,
                               penstock_error*) = penstock_session_stats_now;
static int32_t (*const kReason)(const penstock_session*, char*, size_t,
                                penstock_error*) = penstock_delivery_reason;
static int32_t (*const kToText)(const penstock_state*, char*, size_t,
                                penstock_error*) = penstock_state_to_text;
static int32_t (*const kFromText)(const char*, penstock_state*,
                                  penstock_error*) = penstock_state_from_text;
static int32_t (*const kNext)(penstock_session*, int64_t, penstock_batch**,
                              penstock_error*) = penstock_next;
static int32_t (*const kNextOnStream)(penstock_session*, void*, int64_t, penstock_batch**,
                                      penstock_error*) = penstock_next_on_stream;
static int32_t (*const kNextInto)(penstock_session*, const penstock_finish*, const penstock_into*,
                                  void*, int64_t, penstock_batch_info*,
                                  penstock_error*) = penstock_next_into;
static int32_t (*const kWaitReady)(penstock_session*, int64_t, int32_t*,
                                   penstock_error*) = penstock_wait_ready;
static int32_t (*const kBatchGet)(const penstock_batch*, penstock_batch_info*,
                                  penstock_error*) = penstock_batch_get;
static int32_t (*const kBatchTensor)(const penstock_batch*, uint32_t, penstock_tensor_view*,
                                     penstock_error*) = penstock_batch_tensor;
static int32_t (*const kBatchDevice)(const penstock_batch*, const uint8_t**, const int64_t**,
                                     penstock_error*) = penstock_batch_device;
static int32_t (*const kCopyImages)(const penstock_batch*, void*, size_t,
                                    penstock_error*) = penstock_copy_images;
static size_t (*const kFinishedBytes)(const penstock_batch*,
                                      const penstock_finish*) = penstock_finished_bytes;
static int32_t (*const kFinishInto)(const penstock_batch*, const penstock_finish*, void*, size_t,
                                    penstock_error*) = penstock_finish_into;
static int32_t (*const kFinishOnStream)(penstock_batch*, const penstock_finish*,
                                        const penstock_into*, void*,
                                        penstock_error*) = penstock_finish_on_stream;
static int32_t (*const kReleaseOnStream)(penstock_batch*, void*,
                                         penstock_error*) = penstock_release_on_stream;
static const char* (*const kCodeName)(int32_t) = penstock_code_name;
static const char* (*const kAddress)(const penstock_client*) = penstock_address;
static const char* (*const kVersion)(void) = penstock_version;
static void (*const kEnds[])() = {(void (*)())penstock_disconnect, (void (*)())penstock_close,
                                  (void (*)())penstock_dataset_free, (void (*)())penstock_release};

// NULL is an argument like any other: a refusal, or nothing to do.
int main(void) {
  penstock_error error;
  const int32_t refused[] = {
      kConnect(0, 0, &error),         kDescribe(0, 0, 0, &error),     kDatasetGet(0, 0, &error),
      kDatasetField(0, 0, 0, &error), kOpen(0, 0, 0, &error),         kSessionGet(0, 0, &error),
      kSessionTensor(0, 0, 0, 0),     kSessionState(0, 0, &error),    kStats(0, 0, &error),
      kReason(0, 0, 0, &error),       kToText(0, 0, 0, &error),       kFromText(0, 0, &error),
      kNext(0, 0, 0, &error),         kNextOnStream(0, 0, 0, 0, 0),   kBatchGet(0, 0, &error),
      kWaitReady(0, 0, 0, &error),    kNextInto(0, 0, 0, 0, 0, 0, 0), kBatchDevice(0, 0, 0, 0),
      kBatchTensor(0, 0, 0, &error),  kFinishOnStream(0, 0, 0, 0, 0), kCopyImages(0, 0, 0, 0),
      kFinishInto(0, 0, 0, 0, 0),     kReleaseOnStream(0, 0, &error),
  };
  size_t i;
  for (i = 0; i < sizeof refused / sizeof *refused; ++i) {
    if (refused[i] != PENSTOCK_INVALID_ARGUMENT) return (int)i + 1;
  }
  if (error.code != PENSTOCK_INVALID_ARGUMENT || error.message[0] == '\0') return 100;
  for (i = 0; i < sizeof kEnds / sizeof *kEnds; ++i) ((void (*)(void*))kEnds[i])(0);
  if (kFinishedBytes(0, 0) != 0 || kDatasetClass(0, 0) != 0 || kAddress(0)[0] != '\0') return 101;
  return kVersion()[0] == '\0' || kCodeName(PENSTOCK_END_OF_EPOCH)[0] != 'e' ? 102 : 0;
}
