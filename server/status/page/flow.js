
// ---- The way of a batch: storage, decoding, pool, copy, trainer, and which of them is slow ----

const SLOW_AT = {
  BOTTLENECK_READING: "read", BOTTLENECK_STORE: "read", BOTTLENECK_SOURCE: "read",
  BOTTLENECK_DECODING: "decode", BOTTLENECK_MAKING: "decode", BOTTLENECK_WINDOW: "pool",
  BOTTLENECK_COPYING: "copy", BOTTLENECK_TRAINER: "trainer",
};
const MARKS = {
  BOTTLENECK_SOURCE: ["is-bad", "stalled"], BOTTLENECK_TRAINER: ["is-pace", "sets the pace"],
  BOTTLENECK_WINDOW: ["is-slow", "window too small"],
};

// Mean seconds of each stage, between two states of a feed; since it was opened, without an earlier one.
function meanStages(now, before) {
  const mean = (items, time) => {
    const done = n(now[items]) - n(before?.[items]);
    return done > 0 ? Math.max(0, n(now[time]) - n(before?.[time])) / done : null;
  };
  return {
    read: mean("samples", "read_seconds"), queue: mean("samples", "queue_seconds"),
    decode: mean("samples", "decode_seconds"), assemble: mean("batches", "assemble_seconds"),
    copy: mean("copies", "copy_seconds"), consumer: mean("waits", "consumer_seconds"),
  };
}

// What the picture shows at each station.
function stations(feed, means, page) {
  const dataset = page.datasets.find((each) => each.name === feed.dataset);
  const made = dataset?.kind === "python";
  const workers = page.status.workers_running;
  const copies = n(feed.stages.copies) > 0;
  const decodes = n(feed.stages.decode_seconds) > 0;
  const stored = page.status.stores != null && feed.bottleneck === "BOTTLENECK_STORE";
  const all = [
    {key: "read", name: stored ? "Store" : "Storage", value: duration(means.read), unit: "to read a sample",
     detail: made ? "read in Python" : "", used: !made && n(feed.stages.samples) > 0},
    {key: "decode", name: made ? "Python" : "Decode", value: duration(made ? means.assemble : means.decode),
     unit: made ? "to make a batch" : "a sample",
     detail: made ? plural(page.status.python?.workers, "worker") : plural(workers, "worker"),
     used: made || decodes},
    {key: "pool", name: "Pool", value: percent(feed.occupancy), unit: "of the windows ready",
     detail: means.assemble === null ? "" : `a batch fills in ${duration(means.assemble)}`, used: true,
     level: Math.min(1, n(feed.occupancy))},
    {key: "copy", name: "Copy", value: copies ? duration(means.copy) : "–", unit: copies ? "to copy a batch" : "not needed",
     detail: copies ? "to the GPU" : "", used: copies},
    {key: "trainer", name: n(feed.sessions) === 1 ? "Trainer" : "Trainers", value: percent(feed.starved), unit: "of the time waiting",
     detail: means.consumer === null ? "" : `takes a ready batch after ${duration(means.consumer)}`, used: true},
  ];
  const [look, mark] = MARKS[feed.bottleneck] ?? ["is-slow", "slowest"];
  for (const station of all)
    if (station.key === SLOW_AT[feed.bottleneck]) Object.assign(station, {look, mark, used: true});
  return all;
}

function drawStation(svg, station, {x, y, width, height, text, anchor}) {
  const group = put(svg, "g", {class: `${station.look ?? ""} ${station.used ? "" : "unused"}`});
  put(group, "rect", {class: "station", x, y, width, height, rx: 6});
  if (station.level !== undefined) {
    const full = (height - 4) * station.level;
    put(group, "rect", {class: "level", x: x + 2, y: y + height - 2 - full, width: width - 4, height: full, rx: 4});
  }
  const middle = {"text-anchor": "middle", x: x + width / 2};
  put(group, "text", {class: "name", ...middle, y: y + height / 2 + 5}, station.name);
  const side = {"text-anchor": anchor, x: text.x};
  put(group, "text", {class: "value", ...side, y: text.y}, station.value);
  put(group, "text", {class: "soft", ...side, y: text.y + 18}, station.unit);
  put(group, "text", {class: "soft", ...side, y: text.y + 34}, station.detail);
  if (station.mark && anchor === "middle") {
    put(group, "path", {class: "mark", d: `M${x + width / 2 - 5} ${y - 12}h10l-5 6z`});
    put(group, "text", {class: "mark", ...middle, y: y - 18}, station.mark);
  } else if (station.mark) {
    put(group, "text", {class: "mark", "text-anchor": "end", x: text.right, y: text.y}, station.mark);
  }
}

function drawAcross(svg, all, width) {
  const step = width / all.length, box = Math.min(128, step - 28), height = 56, top = 34;
  const pipe = top + height / 2;
  svg.setAttribute("viewBox", `0 0 ${width} ${top + height + 76}`);
  put(svg, "rect", {class: "pipe", x: step / 2, y: pipe - 6, width: step * (all.length - 1), height: 12});
  all.forEach((station, i) => {
    const middle = step * (i + 0.5);
    drawStation(svg, station, {x: middle - box / 2, y: top, width: box, height, anchor: "middle",
                               text: {x: middle, y: top + height + 30}});
  });
}

function drawDown(svg, all, width) {
  const step = 92, box = 104, height = 52;
  svg.setAttribute("viewBox", `0 0 ${width} ${step * all.length - 28}`);
  put(svg, "rect", {class: "pipe", x: box / 2 - 6, y: height / 2, width: 12, height: step * (all.length - 1)});
  all.forEach((station, i) => {
    drawStation(svg, station, {x: 1, y: i * step + 1, width: box, height, anchor: "start",
                               text: {x: box + 20, y: i * step + 19, right: width - 1}});
  });
}

function drawFlow(place, feed, means, page) {
  place.replaceChildren();
  if (feed === null) return put(place, "p", {class: "none"}, "No feed is open.");
  const all = stations(feed, means, page);
  const slow = all.find((station) => station.mark);
  const svg = put(place, "svg", {role: "img", "aria-label":
    all.filter((each) => each.used).map((each) => `${each.name}: ${each.value} ${each.unit}`).join(", ") +
    (slow ? `. ${slow.name}: ${slow.mark}.` : ".")});
  const width = Math.max(280, Math.round(place.clientWidth));
  (width >= 620 ? drawAcross : drawDown)(svg, all, width);
}
