
// ---- The last hour: four curves over one axis of time ----

const MINUTE = 60e3, HOUR = 60 * MINUTE;
const CURVES = [
  {title: "Samples a second", list: "samples_per_second", text: rate},
  {title: "Trainers waiting", list: "starved", text: percent, most: 1, look: "wait"},
  {title: "Workers busy", list: "workers_busy", text: percent, most: 1},
  {title: "Windows ready", list: "occupancy", text: percent, most: 1},
];

class Hour {
  constructor(place, note, said) {
    Object.assign(this, {place, note, said, records: [], started: 0, interval: 5000, cursor: null});
    place.addEventListener("pointermove", (event) => this.point(event.clientX));
    place.addEventListener("pointerleave", () => this.select(null));
    place.addEventListener("blur", () => this.select(null));
    place.addEventListener("keydown", (event) => this.key(event));
  }
  // Adds what is newer than the newest record. Returns whether something between them is missing.
  add(history) {
    this.started = n(history.started_unix_ms);
    this.interval = n(history.interval_ms) || 5000;
    const known = this.records.at(-1)?.time ?? 0;
    const times = history.time_unix_ms.map(n);
    const fresh = times.map((time, i) => ({time, i})).filter(({time}) => time > known);
    for (const {time, i} of fresh) {
      const record = {time, stalls: n(history.stalls[i]), draining: history.draining[i] === true};
      for (const curve of CURVES) record[curve.list] = n(history[curve.list][i]);
      this.records.push(record);
    }
    if (this.records.length > n(history.max_records)) this.records.splice(0, this.records.length - n(history.max_records));
    return known > 0 && fresh.length === times.length && times.length > 0;
  }
  begin() { this.records = []; }
  // `now`: the daemon's clock.
  draw(now) {
    this.now = now;
    this.span = Math.min(HOUR, Math.max(5 * MINUTE, 1.02 * (now - this.started)));  // a young daemon's is shorter
    const width = Math.max(280, Math.round(this.place.clientWidth));
    const wide = width >= 620, left = wide ? 168 : 0, right = wide ? 44 : 0;
    const high = wide ? 56 : 60, gap = wide ? 18 : 34, above = wide ? 6 : 24;
    this.area = {left, width: width - left - right};
    this.place.replaceChildren();
    const svg = put(this.place, "svg", {role: "img", "aria-label": this.summary()});
    const bottom = above + CURVES.length * (high + gap) - gap;
    svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 24}`);
    this.bands(svg, above, bottom);
    this.values = CURVES.map((curve, i) => this.curve(svg, curve, {top: above + i * (high + gap), high, wide}));
    this.times(svg, bottom, wide);
    this.line = put(svg, "line", {class: "cursor", y1: above, y2: bottom, visibility: "hidden"});
    say(this.note, this.words());
    if (this.cursor !== null) this.select(this.cursor);
  }
  words() {
    const shown = this.shown(), words = [];
    if (this.started > this.now - HOUR)
      words.push(`Since ${clock(this.started, true)}, when the daemon started; it keeps no history across a restart.`);
    if (shown.some((record) => record.stalls > 0)) words.push("Red: a source was stalled.");
    if (shown.some((record) => record.draining)) words.push("Grey: draining.");
    return words.join(" ");
  }
  x(time) { return this.area.left + this.area.width * (1 - (this.now - time) / this.span); }
  shown() { return this.records.filter((record) => record.time > this.now - this.span); }
  bands(svg, top, bottom) {
    const {left} = this.area, start = Math.min(this.x(this.now), this.x(this.started));
    if (start > left) put(svg, "rect", {class: "before", x: left, y: top, width: start - left, height: bottom - top});
    for (const record of this.shown()) {
      const kind = record.stalls > 0 ? "stall" : record.draining ? "drain" : null;
      const from = Math.max(left, this.x(record.time - this.interval));
      if (kind) put(svg, "rect", {class: kind, x: from, y: top, width: Math.max(1, this.x(record.time) - from), height: bottom - top});
    }
  }
  // Returns the element of its value.
  curve(svg, curve, {top, high, wide}) {
    const {left, width} = this.area, shown = this.shown();
    const most = curve.most ?? roundUp(Math.max(1, ...shown.map((record) => record[curve.list])));
    const y = (value) => top + high * (1 - Math.min(value, most) / most);
    put(svg, "line", {class: "rule", x1: left, x2: left + width, y1: top + high, y2: top + high});
    for (const part of this.parts(shown)) {
      const points = part.map((record) => `${this.x(record.time).toFixed(1)} ${y(record[curve.list]).toFixed(1)}`);
      const first = this.x(part[0].time).toFixed(1), last = this.x(part.at(-1).time).toFixed(1);
      put(svg, "path", {class: `under ${curve.look ?? ""}`, d: `M${first} ${top + high}L${points.join("L")}L${last} ${top + high}Z`});
      put(svg, "path", {class: `curve ${curve.look ?? ""}`, d: `M${points.join("L")}`});
    }
    if (wide) put(svg, "text", {class: "soft", x: left + width + 8, y: top + 9}, curve.text(most));
    put(svg, "text", wide ? {class: "soft", x: 0, y: top + 14} : {class: "soft", x: 0, y: top - 8}, curve.title);
    return put(svg, "text", wide ? {class: "value", x: 0, y: top + 36}
      : {x: width, y: top - 8, "text-anchor": "end"}, this.latest(curve));
  }
  latest(curve) {
    const last = this.records.at(-1);
    return last === undefined ? "–" : curve.text(last[curve.list]);
  }
  // Stretches without a gap: while the main loop does not answer, nothing is recorded.
  parts(records) {
    const parts = [];
    records.forEach((record, i) => {
      if (i === 0 || record.time - records[i - 1].time > 3 * this.interval) parts.push([]);
      parts.at(-1).push(record);
    });
    return parts;
  }
  times(svg, bottom, wide) {
    const step = MINUTE * [1, 2, 5, 10, 20].find((minutes) => this.span / MINUTE / minutes <= (wide ? 7 : 4));
    for (let time = Math.ceil((this.now - this.span) / step) * step; time <= this.now; time += step) {
      const x = this.x(time), edge = x < this.area.left + 18 ? "start" : x > this.area.left + this.area.width - 18 ? "end" : "middle";
      put(svg, "line", {class: "rule", x1: x, x2: x, y1: bottom, y2: bottom + 5});
      put(svg, "text", {class: "soft", x, y: bottom + 20, "text-anchor": edge}, clock(time));
    }
  }
  summary() {
    return `Over the last hour. Now: ${CURVES.map((curve) => `${curve.title.toLowerCase()} ${this.latest(curve)}`).join(", ")}.`;
  }
  point(clientX) {
    const box = this.place.getBoundingClientRect();
    const time = this.now - this.span * (1 - (clientX - box.left - this.area.left) / this.area.width);
    const near = this.shown().reduce((best, record) =>
      best === null || Math.abs(record.time - time) < Math.abs(best.time - time) ? record : best, null);
    this.select(near && Math.abs(near.time - time) < this.span / 60 ? near.time : null);
  }
  key(event) {
    const shown = this.shown(), place = shown.findIndex((record) => record.time === this.cursor);
    const from = place < 0 ? shown.length : place;
    const to = {ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from - 60, PageDown: from + 60,
                Home: 0, End: shown.length - 1}[event.key];
    if (event.key === "Escape") return this.select(null);
    if (to === undefined || shown.length === 0) return;
    event.preventDefault();
    const record = shown[Math.min(shown.length - 1, Math.max(0, to))];
    this.select(record.time);
    say(this.said, `${clock(record.time, true)}: ${CURVES.map((curve) => `${curve.title} ${curve.text(record[curve.list])}`).join(", ")}`);
  }
  // Shows the values at this record's time instead of the newest.
  select(time) {
    const record = time === null ? undefined : this.records.find((each) => each.time === time);
    this.cursor = record?.time ?? null;
    CURVES.forEach((curve, i) => say(this.values[i], record ? `${curve.text(record[curve.list])}  ${clock(record.time, true)}` : this.latest(curve)));
    this.line.setAttribute("visibility", record ? "visible" : "hidden");
    if (record) for (const end of ["x1", "x2"]) this.line.setAttribute(end, this.x(record.time).toFixed(1));
  }
}

// 734 → 800: the top of an axis.
function roundUp(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => value <= step * unit + 1e-9) * unit;
}
