#!/bin/sh
# tsan_choice_test.sh PROGRAM...: fails if a program calls gRPC or Abseil's synchronisation. Those
# libraries aren't built with ThreadSanitizer here, so it would report false races.
set -eu
[ $# -ge 1 ] || { echo "no program has the label tsan"; exit 1; }
failed=0
for program; do
  calls=$(nm -C -D --undefined-only "$program" |
    grep -oE '(grpc|absl::[a-z_0-9]*::?(Mutex|CondVar|Notification|BlockingCounter|Barrier))\b.*' || true)
  if [ -n "$calls" ]; then
    echo "$program has the label tsan and calls:"
    echo "$calls" | head -n 5
    failed=1
  fi
done
exit $failed
