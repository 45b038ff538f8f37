#include "client/ctl/help/topics.h"

#include <algorithm>

namespace penstock::ctl {
namespace {

constexpr HelpOption kWatch = {
    "-w, --watch",
    "print the answer again whenever it changes, looked at every 2 s; on a terminal, "
    "over each other until q"};
constexpr char kOwnOnly[] =
    "Operators see everything; other users see their own sessions and feeds, and the datasets that "
    "they may open.";
constexpr char kNeedsOperator[] =
    "Needs an operator: root, the daemon's own user, or a user in server.admins, through the "
    "operators' socket.";

}  // namespace

const std::vector<HelpTopic>& HelpTopics() {
  static const std::vector<HelpTopic> topics = {
      {.name = "status",
       .summary = "state of the daemon, its pool and its feeds",
       .usage = {"status [-w]"},
       .paragraphs =
           {"Says whether the daemon serves, how full its pool is, what each feed and each "
            "user has, and for each feed in use who waits for whom.",
            kOwnOnly},
       .options = {kWatch},
       .examples = {{"penstockctl status", "look once"},
                    {"penstockctl -o json status | jq .pool", "the pool, for a program"}}},
      {.name = "sessions",
       .summary = "trainers: the progress of each, and what it waits for",
       .usage = {"sessions [-w]"},
       .paragraphs =
           {"A row for each session: its trainer, its position, its batches that are ready "
            "and held, how batches are delivered, and the reason for that.",
            kOwnOnly},
       .options = {kWatch},
       .examples = {{"penstockctl -w sessions", "follow them"},
                    {"penstockctl -o json sessions | jq '.sessions[].state'",
                     "their states, for a program"}}},
      {.name = "workers",
       .summary = "decoding processes, and their number",
       .usage = {"workers [-w]", "workers --set N"},
       .paragraphs = {"A row for each worker: the user that it serves, what it reads, and for how "
                      "long. Processes that make batches of Python datasets have a table of their "
                      "own.",
                      "--set changes the number until the daemon restarts, and needs an operator."},
       .options = {kWatch, {"--set N", "number of decoding processes, 1 to 1024"}},
       .examples = {{"penstockctl workers", "look at them"},
                    {"penstockctl workers --set 6", "have six until the next start"}}},
      {.name = "datasets",
       .summary = "available datasets, and whether they are indexed",
       .usage = {"datasets [-w]"},
       .paragraphs =
           {"A row for each configured or open dataset: its kind, its samples and classes, "
            "the digest of its index in hexadecimal, and its path.",
            kOwnOnly},
       .options = {kWatch},
       .examples = {{"penstockctl datasets", "look at them"},
                    {"penstockctl -o yaml datasets", "all that is known of them"}}},
      {.name = "top",
       .summary = "the whole daemon, live, on one screen",
       .usage = {"top", "top --all NODES"},
       .paragraphs =
           {"Shows feeds, sessions, workers and GPUs with their rates. Keys: q quits, s "
            "changes the order of the sessions. Fits any width: what does not fit is left "
            "out by columns, the least important first.",
            "If standard output is not a terminal, prints plain text once, with rates over "
            "one second.",
            "With --all, shows a row for each daemon of a list. A name stands for all of its "
            "addresses, so a headless Service of Kubernetes stands for all of its pods."},
       .options = {{"--all NODES", "a list like node1:7070,node2:7070"}},
       .examples = {{"penstockctl top", "watch this machine"},
                    {"penstockctl top --all penstock.training.svc:7070 --tls ~/penstock-tls",
                     "watch all nodes"}}},
      {.name = "trace",
       .summary = "write a timeline of samples and batches",
       .usage = {"trace -o FILE [--seconds N]"},
       .paragraphs = {"Records what the daemon does for some seconds, for ui.perfetto.dev, which "
                      "shows each batch in read, decode, slot, copy and trainer."},
       .options = {{"-o FILE", "where it is written; -: standard output"},
                   {"--seconds N", "duration in seconds, 0.1 to 60 (default 5)"}},
       .examples = {{"penstockctl trace -o trace.json", "record five seconds"},
                    {"penstockctl trace -o - --seconds 1 | gzip > trace.json.gz", "record one"}}},
      {.name = "index",
       .summary = "build or check a dataset's index before trainers need it",
       .usage = {"index DATASET", "index --export SHARDS... [--to FOLDER]"},
       .paragraphs =
           {"Without this, the first session of a dataset waits for its index.",
            "With --export, writes an index of each tar or TFRecord shard beside it: SHARD.idx. "
            "Put into an object store beside the shards, it saves daemons from reading them all "
            "to index them. It is for one version of its shard, and no other is believed."},
       .options = {{"--export", "write indexes of shards: files, folders, URLs or datasets"},
                   {"--to FOLDER", "where they are written; needed for URLs"}},
       .examples = {{"penstockctl index imagenet", "index a configured dataset"},
                    {"penstockctl index --export s3://bucket/train/ --to indexes",
                     "write the indexes of a folder of shards in a store"}}},
      {.name = "digest",
       .summary = "print the SHA-256 of a dataset's content, to keep with a checkpoint",
       .usage = {"digest DATASET"},
       .paragraphs =
           {"Prints it as sha256sum does. It equals what content_digest() returns in a "
            "trainer. The daemon reads every byte for it, once while the dataset is open."},
       .examples = {{"penstockctl digest imagenet >> checkpoint.sha256", "keep it"}}},
      {.name = "fetch",
       .summary = "fill the cache with a dataset of an object store",
       .usage = {"fetch DATASET"},
       .paragraphs =
           {"Fetches all that the samples of a dataset have, by name or URL, so that the "
            "first epoch reads nothing from the store. Goes on where an interrupted fetch "
            "ended. If the cache has no room for all of it, what fits stays there, and the "
            "exit code is 1.",
            "A URL is fetched by your private daemon, as a loader reads it; it is started if "
            "it does not run, and needs PENSTOCK_STORE_CACHE and PENSTOCK_STORE_CACHE_MAX in "
            "its environment."},
       .examples = {{"penstockctl fetch imagenet", "fetch a configured dataset"},
                    {"penstockctl fetch s3://bucket/shards/", "fetch by URL"}}},
      {.name = "cache",
       .summary = "what is kept of object stores on this machine",
       .usage = {"cache list [FOLDER]", "cache verify [FOLDER]", "cache clear [FOLDER]",
                 "cache warm DATASET"},
       .paragraphs =
           {"list says what is kept of which object. verify reads all of it and reports "
            "what is not as it was written; then the exit code is 1. clear removes all of "
            "it, unless a daemon uses it. FOLDER is by default that of PENSTOCK_STORE_CACHE. "
            "None of these needs a daemon.",
            "warm is the same as fetch."},
       .examples = {{"penstockctl cache list", "what is there"},
                    {"penstockctl cache verify /var/cache/penstock", "look for damage"}}},
      {.name = "quarantine",
       .summary = "samples that could not be used, with the reason",
       .usage = {"quarantine list [DATASET] [-w]", "quarantine clear DATASET"},
       .paragraphs =
           {"list says what the daemon does with each: replaced by another sample each time, "
            "quarantined (not tried again), or decoded by workers because a trainer's GPU "
            "could not.",
            "clear lets new sessions try the samples again, and needs an operator."},
       .options = {kWatch},
       .examples = {{"penstockctl quarantine list imagenet", "look at a dataset's"},
                    {"penstockctl quarantine clear imagenet", "after the files were repaired"}}},
      {.name = "drain",
       .summary = "refuse new sessions, wait until trainers have finished their epochs",
       .usage = {"drain [--deadline TIME]", "drain --cancel"},
       .paragraphs =
           {"Names the sessions that are left when the deadline comes; the daemon continues "
            "to drain.",
            kNeedsOperator},
       .options = {{"--deadline TIME",
                    "stop waiting after a time like 30s or 10m (default: a day)"},
                   {"--cancel", "serve again"}},
       .examples = {{"penstockctl drain --deadline 30m && systemctl restart penstockd",
                     "restart between epochs"},
                    {"penstockctl drain --cancel", "change your mind"}}},
      {.name = "reload",
       .summary = "read the configuration again: datasets, limits, log level",
       .usage = {"reload"},
       .paragraphs =
           {"Prints what changed. If a key cannot change without a restart, names each such "
            "key, and nothing changes.",
            kNeedsOperator},
       .examples = {{"penstockctl reload", "after a change of /etc/penstock/penstock.yaml"}}},
      {.name = "check",
       .summary = "list what would keep this machine from serving, with remedies",
       .usage = {"check [--config FILE]"},
       .paragraphs =
           {"Looks at cores, cgroup limits, memory, huge pages, NUMA, limits on files, GPUs "
            "and their driver; if a daemon answers, also at its socket, namespaces, version "
            "and datasets. Needs no daemon. The exit code is 1 if there is a problem."},
       .options = {{"--config FILE", "also check this configuration of the daemon"}},
       .examples = {{"penstockctl check --config /etc/penstock/penstock.yaml",
                     "before the daemon is started"}}},
      {.name = "wait",
       .summary = "wait until the daemon serves",
       .usage = {"wait [--for=ready] [--timeout TIME]"},
       .paragraphs =
           {"Returns as soon as sessions can be opened. There need not be a daemon yet. If "
            "the time runs out, says what was missing last, and the exit code is 1."},
       .options = {{"--for ready", "what is waited for (default, and the only one)"},
                   {"--timeout TIME", "how long, like 30s or 10m (default 30s)"}},
       .examples = {{"systemctl start penstockd && penstockctl wait --for=ready", "start and wait"},
                    {"penstockctl wait --timeout 5m && python train.py", "in a job's script"}}},
      {.name = "version",
       .summary = "versions of penstockctl and of the daemon",
       .usage = {"version"},
       .paragraphs =
           {"Says so if they differ. If no daemon answers, the exit code is 1; 'penstockctl "
            "--version' needs none."},
       .examples = {{"penstockctl -o json version | jq -r .server.version", "the daemon's"}}},
      {.name = "completion",
       .summary = "print the completion script for a shell",
       .usage = {"completion bash", "completion zsh", "completion fish"},
       .paragraphs =
           {"Packages install these scripts. They complete commands, options and the names "
            "of the daemon's datasets."},
       .examples = {{". <(penstockctl completion bash)", "for this shell"}}},
      {.name = "help",
       .summary = "list commands and options, or explain one command",
       .usage = {"help [COMMAND]"},
       .paragraphs =
           {"'penstockctl COMMAND --help' prints the same. With -o man, prints the manual "
            "page penstockctl-COMMAND(1), which has the same text."},
       .examples = {{"penstockctl help drain", "explain a command"}}},
  };
  return topics;
}

const HelpTopic* FindHelpTopic(absl::string_view name) {
  const std::vector<HelpTopic>& topics = HelpTopics();
  const auto found = std::find_if(topics.begin(), topics.end(),
                                  [&](const HelpTopic& topic) { return topic.name == name; });
  return found == topics.end() ? nullptr : &*found;
}

}  // namespace penstock::ctl
