
// ---- Tables, and the small pictures of workers and pool ----

const DELIVERIES = {DELIVERY_HOST: "host", DELIVERY_PINNED: "pinned", DELIVERY_DEVICE: "GPU"};

// How urgent a state is.
function stateLook(state) {
  if (/^source stalled|^stopped/.test(state)) return "bad";
  if (/^restarting|^starting|^cannot/.test(state)) return "slow";
  return /^(running|decoding|copying|making)/.test(state) ? "busy" : "";
}
const dot = (look) => `dot ${look}`;

// What a full answer leaves out, in words.
const more = (omitted, noun) => n(omitted) > 0 ? `${plural(omitted, `more ${noun}`)} not shown here; penstockctl has all of them.` : "";

const SESSIONS = [
  {title: "Session", lead: true, order: (s) => n(s.session_id), text: (s) => s.name || `Session ${s.session_id}`},
  {title: "Dataset", order: (s) => s.dataset, text: (s) => s.dataset, wide: true},
  {title: "User", number: true, order: (s) => n(s.user_id), text: (s) => s.user_id},
  {title: "PID", number: true, order: (s) => n(s.pid), text: (s) => n(s.pid) || "–"},
  {title: "Rank", number: true, order: (s) => n(s.rank), text: (s) => `${s.rank} of ${s.world_size}`},
  {title: "Epoch", number: true, order: (s) => n(s.epoch), text: (s) => count(s.epoch)},
  {title: "Batches/s", number: true, order: (s) => s.rate ?? -1, text: (s) => rate(s.rate)},
  {title: "Samples/s", number: true, order: (s) => (s.rate ?? -1) * s.batch_size,
   text: (s) => rate(s.rate === null ? null : s.rate * s.batch_size)},
  {title: "Waiting", number: true, order: (s) => n(s.starved), text: (s) => percent(s.starved),
   look: (s) => n(s.starved) >= 0.05 ? "warn-text" : ""},
  {title: "Ready", number: true, order: (s) => n(s.announced) - n(s.taken),
   text: (s) => `${Math.max(0, n(s.announced) - n(s.taken))} of ${s.window}`},
  {title: "Delivery", order: (s) => s.delivery, text: (s) => DELIVERIES[s.delivery] ?? "–"},
  {title: "State", order: (s) => s.state, text: (s) => s.state.split(":")[0], look: (s) => dot(stateLook(s.state)), wide: true},
];
const WORKERS = [
  {title: "Worker", lead: true, text: (w) => `Worker ${w.index}`},
  {title: "User", number: true, text: (w) => w.user_id ?? "–"},
  {title: "Samples/s", number: true, text: (w) => rate(w.rate)},
  {title: "Restarts", number: true, text: (w) => count(w.restarts)},
  {title: "State", text: (w) => w.state, look: (w) => dot(stateLook(w.state)), wide: true},
];
const PYTHON_WORKERS = [
  {title: "Python worker", lead: true, text: (w) => `${w.place}${n(w.pid) ? `, PID ${w.pid}` : ""}`},
  {title: "Dataset", text: (w) => w.dataset, wide: true},
  {title: "Batches/s", number: true, text: (w) => rate(w.rate)},
  {title: "State", text: (w) => w.state, look: (w) => dot(stateLook(w.state)), wide: true},
];
const GPUS = [
  {title: "GPU", lead: true, text: (g) => g.name || "GPU"},
  {title: "UUID", text: (g) => g.uuid, wide: true},
  {title: "Sessions", number: true, text: (g) => count(g.sessions)},
  {title: "Memory", number: true, text: (g) => `${bytes(g.slab_bytes)} of ${bytes(g.slab_bytes_max)}`},
  {title: "Ahead", number: true, text: (g) => plural(g.batches_ahead, "batch").replace("batchs", "batches")},
  {title: "Copied", number: true, text: (g) => `${bytes(g.copied_bytes_per_second)}/s`},
  {title: "State", text: (g) => g.state, look: (g) => dot(g.state === "serving" ? "good" : "bad"), wide: true},
];
const DATASETS = [
  {title: "Dataset", lead: true, order: (d) => d.name, text: (d) => d.name},
  {title: "Kind", order: (d) => d.kind, text: (d) => d.kind},
  {title: "Samples", number: true, order: (d) => n(d.samples), text: (d) => count(d.samples)},
  {title: "Classes", number: true, order: (d) => n(d.classes), text: (d) => n(d.classes) ? count(d.classes) : "–"},
  {title: "Bad", number: true, order: (d) => n(d.quarantined), text: (d) => count(d.quarantined),
   look: (d) => n(d.quarantined) > 0 ? "warn-text" : ""},
];
const BAD_SAMPLES = [
  {title: "Sample", lead: true, text: (b) => count(b.sample)},
  {title: "Dataset", text: (b) => b.dataset},
  {title: "Reason", text: (b) => b.reason},
  {title: "Since", text: (b) => day(n(b.time_unix_ms))},
  {title: "Treatment", text: (b) => b.quarantined ? "left out" : b.decoded_by_workers ? "decoded by workers" : "replaced"},
  {title: "Path", text: (b) => b.path, wide: true},
];
const PICTURES = [...BAD_SAMPLES, {title: "Picture", wide: true, draw: drawPicture}];
const USERS = [
  {title: "User", lead: true, text: (u) => u.others ? "all others" : `User ${u.user_id}`},
  {title: "Sessions", number: true, text: (u) => count(u.sessions)},
  {title: "Workers", number: true, text: (u) => count(u.workers)},
  {title: "Pool", number: true, text: (u) => bytes(u.pool_bytes)},
  {title: "Samples", number: true, text: (u) => count(u.samples_decoded)},
  {title: "Worker CPU", number: true, text: (u) => age(n(u.worker_cpu_seconds))},
];

class Tables {
  constructor() {
    this.sessions = new DataTable(at("sessions-table"), SESSIONS, "No session is open.");
    this.workers = new DataTable(at("workers-table"), WORKERS, "None.");
    this.python = new DataTable(at("python-table"), PYTHON_WORKERS, "");
    this.gpus = new DataTable(at("gpus-table"), GPUS, "");
    this.datasets = new DataTable(at("datasets-table"), DATASETS, "No dataset is open.");
    this.bad = null;
    this.users = new DataTable(at("users-table"), USERS, "Nobody has had a session since the start.");
  }
  // `rates`: batches or samples per second, by kind and key.
  show(page, rates) {
    const keyed = (list, key, kind = null) => list.map((each, i) =>
      ({...each, key: String(key(each, i)), rate: kind && rates(kind, key(each, i))}));
    const {omitted} = page;
    this.sessions.show(keyed(page.sessions, (s) => s.session_id, "sessions"),
                       `${more(omitted.sessions, "session")} ${more(omitted.feeds, "feed")}`.trim());
    this.workers.show(keyed(page.workers, (w) => w.index, "workers"), more(omitted.workers, "worker"));
    this.python.show(keyed(page.python_workers, (w, i) => `${w.host_pid}.${w.place}.${i}`, "python"),
                     more(omitted.python_workers, "Python worker"));
    this.gpus.show(keyed(page.status.gpus, (g) => g.uuid));
    this.datasets.show(keyed(page.datasets, (d, i) => `${d.name}.${i}`), more(omitted.datasets, "dataset"));
    this.showBad(page, keyed(page.quarantine, (b) => `${b.dataset}.${b.sample}`));
    this.users.show(keyed(page.status.users, (u) => u.others ? "others" : u.user_id), more(omitted.users, "user"));
    at("gpus").hidden = page.status.gpus.length === 0;
    this.notes(page);
    drawWorkers(page);
    drawPool(page.status.pool);
    drawStalls(page);
  }
  // After a restart there may be pictures, or none any more.
  showBad(page, rows) {
    const columns = page.pictures ? PICTURES : BAD_SAMPLES;
    if (this.bad?.columns !== columns) {
      at("bad-table").replaceChildren();
      this.bad = new DataTable(at("bad-table"), columns, "");
    }
    this.bad.show(rows.map((row, i) => ({...row, pictured: page.pictures && page.quarantine_pictures[i]})));
  }
  notes(page) {
    const total = n(page.quarantine_total), left = total - page.quarantine.length;
    const hidden = "server.status_page is “summary”, so paths and reasons are not shown here; penstockctl quarantine has them.";
    at("bad").hidden = total === 0;
    say(at("bad-note"), !page.full ? `${plural(total, "bad sample")} in the open datasets. ${capital(hidden)}`
      : left > 0 ? `The first ${count(page.quarantine.length)} of ${count(total)}.` : "");
  }
}

function drawWorkers(page) {
  const counts = new Map();
  const strip = at("workers-strip");
  while (strip.childElementCount > page.workers.length) strip.lastChild.remove();
  page.workers.forEach((worker, i) => {
    const words = worker.state.split(/ for |:/)[0];
    counts.set(words, (counts.get(words) ?? 0) + 1);
    const cell = strip.children[i] ?? put(strip, "i");
    style(cell, stateLook(worker.state));
    cell.title = plain(`Worker ${worker.index}: ${worker.state}`);
  });
  const text = [...counts].map(([words, number]) => `${number} ${words}`).join(", ");
  strip.setAttribute("aria-label", plain(text));
  const {status} = page, python = status.python;
  say(at("workers-note"), `${capital(text || "none")}${status.workers_policy ? `; ${status.workers_policy}` : ""}` +
    `${n(status.workers_asleep) ? `; ${status.workers_asleep} asleep` : ""}. ${plural(status.worker_restarts, "restart")}.` +
    (python ? ` Python: ${plural(python.workers, "worker")} of ${plural(python.hosts, "host")}, ${percent(python.workers_busy)} busy.` : ""));
}

function drawPool(pool) {
  const held = n(pool.slots_held), cached = n(pool.slots_cached), free = Math.max(0, n(pool.slots) - held - cached);
  const bar = at("pool-bar");
  for (const [i, [kind, slots]] of [["held", held], ["cached", cached], ["free", free]].entries()) {
    const part = bar.children[i] ?? put(bar, "i", {class: kind});
    part.style.flexGrow = String(slots);
    part.hidden = slots === 0 && n(pool.slots) > 0;
    if (n(pool.slots) === 0) part.style.flexGrow = kind === "free" ? "1" : "0";
  }
  const slots = `${plural(held, "slot")} held, ${count(cached)} cached, ${count(free)} free`;
  bar.setAttribute("aria-label", slots);
  say(at("pool-note"), `${slots}. ${bytes(pool.reserved_bytes)} reserved of ${bytes(pool.max_bytes)}; ` +
    `${bytes(pool.segment_bytes)} allocated in ${plural(pool.segments, "segment")}.`);
}

// Those who wait for the same are one entry.
function findStalls(page) {
  const stalls = new Map();
  const add = (who, name, why) => {
    const entry = stalls.get(`${who} ${why}`) ?? {who, names: [], why};
    entry.names.push(name);
    stalls.set(`${who} ${why}`, entry);
  };
  for (const {name, session_id: id, dataset, state} of page.sessions)
    if (state.startsWith("source stalled")) add(`for ${dataset}`, name || `Session ${id}`, state);
  for (const {index, state, reading} of page.workers)
    if (state.startsWith("source stalled")) add("", index, [state, reading].filter(Boolean).join(": "));
  return [...stalls.values()].map(({who, names, why}) => [
    who ? `${names.length === 1 ? `${names[0]} waits` : `${plural(names.length, "session")} wait`} ${who}`
      : `${names.length === 1 ? "Worker" : "Workers"} ${names.join(", ")}`, capital(why)]);
}

function drawStalls(page) {
  const stalls = findStalls(page), list = at("stalls");
  while (list.childElementCount > Math.max(1, stalls.length)) list.lastChild.remove();
  (stalls.length ? stalls : [["Nothing is stalled.", ""]]).forEach(([text, detail], i) => {
    const item = list.children[i] ?? put(list, "li");
    if (item.childElementCount === 0) put(item, "span"), put(item, "small");
    say(item.children[0], text);
    style(item.children[0], stalls.length ? "dot bad" : "none");
    say(item.children[1], detail);
  });
}
