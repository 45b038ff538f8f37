
// ---- Asks the daemon every two seconds while the page is visible, and shows the answers ----

const EVERY = 2000, PATIENCE = 5000, KEPT = 6;

const shown = {
  page: null,     // the newest answer
  earlier: [],    // some before it, of the same start, oldest first
  failed: 0,      // since when there is no answer
  feed: null,     // the fingerprint and user that were chosen
  restarted: 0,   // when it was noticed
};
const tables = new Tables();
const hour = new Hour(at("hour"), at("hour-note"), at("hour-said"));

async function ask(path) {
  const answer = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(PATIENCE)});
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

// Per second, between the oldest and the newest state that are kept; null before there are two.
function rates(kind, key) {
  const [list, name, counter] = {
    sessions: ["sessions", (s) => s.session_id, "taken"],
    workers: ["workers", (w) => w.index, "samples_decoded"],
    python: ["python_workers", (w, i) => `${w.host_pid}.${w.place}.${i}`, "batches"],
  }[kind];
  const find = (page) => page[list].find((each, i) => String(name(each, i)) === String(key));
  const before = shown.earlier.find(find), now = find(shown.page);
  return perSecond(before, before && find(before), now, counter);
}

function perSecond(earlier, before, now, counter) {
  const seconds = earlier ? (n(shown.page.time_unix_ms) - n(earlier.time_unix_ms)) / 1000 : 0;
  return seconds > 0 && before && now ? Math.max(0, n(now[counter]) - n(before[counter])) / seconds : null;
}

const nameOf = (feed) => `${feed.fingerprint}.${feed.user_id}`;
const worstFirst = (feeds) => [...feeds].sort((a, b) => n(b.sessions > 0) - n(a.sessions > 0) || n(b.starved) - n(a.starved));

// ---- Parts of the page ----

// The verdict on the feed that waits most: what is slow, and below it the rest and the dataset.
function showVerdict(page) {
  const feeds = worstFirst(page.status.feeds.filter((feed) => n(feed.sessions) > 0)), worst = feeds[0];
  const [what, ...rest] = worst ? worst.verdict.split(": ")
    : [page.status.serving ? "Nobody trains at the moment" : "The daemon does not serve"];
  say(at("verdict"), capital(what));
  const whose = worst ? `${worst.dataset}, user ${worst.user_id}` : "";
  const which = feeds.length > 1 ? `, waits most of ${plural(feeds.length, "feed")}` : "";
  say(at("verdict-note"), [rest.length ? `${capital(rest.join(": "))}.` : "", whose && `${whose}${which}.`].filter(Boolean).join(" "));
}

function figure(list, title, value, unit = "") {
  const entry = [...list.children].find((each) => each.dataset.title === title) ?? put(list, "div", {"data-title": title});
  if (entry.childElementCount === 0) {
    put(entry, "dt", {}, title);
    const text = put(entry, "dd");
    put(text, "span"), put(text, "small");
  }
  say(entry.querySelector("span"), value);
  say(entry.querySelector("small"), unit && ` ${unit}`);
}

function showFigures(page) {
  const {status, sessions} = page, list = at("figures"), oldest = shown.earlier[0];
  const waits = sessions.filter((session) => !/^(finished|ended)/.test(session.state)).map((session) => n(session.starved));
  const mean = waits.length ? waits.reduce((sum, each) => sum + each, 0) / waits.length : null;
  figure(list, "Samples a second", rate(perSecond(oldest, oldest?.status, status, "samples_decoded")));
  figure(list, "Trainers waiting", mean === null ? "–" : percent(mean), mean === null ? "" : "of the time");
  figure(list, "Sessions", count(status.sessions), plural(status.feeds.length, "feed"));
  figure(list, "Pool reserved", percent(n(status.pool.reserved_bytes) / Math.max(1, n(status.pool.max_bytes))),
    `of ${bytes(status.pool.max_bytes)}`);
}

function showFeeds(page) {
  const feeds = page.status.feeds.filter((feed) => n(feed.sessions) > 0).slice(0, 12), place = at("feeds");
  const chosen = feeds.find((feed) => nameOf(feed) === shown.feed) ?? worstFirst(feeds)[0] ?? null;
  const buttons = feeds.length > 1 ? feeds : [];
  while (place.childElementCount > buttons.length) place.lastChild.remove();
  buttons.forEach((feed, i) => {
    const button = place.children[i] ?? put(place, "button", {type: "button"});
    button.onclick = () => { shown.feed = nameOf(feed); showFeeds(shown.page); };
    button.setAttribute("aria-pressed", String(feed === chosen));
    say(button, `${feed.dataset} ${short(feed.fingerprint)}`);
  });
  const same = (other) => other.status.feeds.find((feed) => chosen && nameOf(feed) === nameOf(chosen));
  const earlier = shown.earlier.find(same);
  drawFlow(at("flow"), chosen, chosen && meanStages(chosen.stages, earlier && same(earlier).stages), page);
}

function showState(page) {
  const {status} = page, away = shown.failed > 0;
  const [look, words] = away ? ["bad", "No answer"] : status.draining ? ["slow", "Draining"]
    : status.serving ? ["good", "Serving"] : ["bad", "Not serving"];
  say(at("state"), words);
  style(at("state"), `state ${look}`);
  say(at("about"), `${status.version}, up ${age(n(status.uptime_ms) / 1000)}`);
  document.title = `${words} · Penstock ${location.host}`;
}

function notices(page) {
  const list = [];
  if (shown.failed) list.push(["alarm", `No answer since ${clock(shown.failed, true)}.${page ? " The figures are from then." : ""}`]);
  if (page === null) return list;
  const {status} = page;
  if (n(page.age_ms) > 3000) list.push(["alarm", `The daemon's main loop has not answered since ${clock(n(page.time_unix_ms), true)}. The figures are from then.`]);
  if (status.draining) list.push(["warn", `Draining: no session can be opened, and each ends with its epoch. ${plural(status.sessions, "session")} left.`]);
  else if (!status.serving && status.reason) list.push(["alarm", `Not serving: ${status.reason}.`]);
  if (shown.restarted && Date.now() - shown.restarted < 600e3) list.push(["news", `The daemon started again at ${clock(n(page.started_unix_ms), true)}. Its counters and the last hour began anew.`]);
  if (status.state_directory) list.push(["warn", `State directory: ${status.state_directory}.`]);
  if (/^off|^none/.test(status.sandbox)) list.push(["warn", `Workers are not in a sandbox: ${status.sandbox}.`]);
  return list;
}

function showNotices(page) {
  const place = at("notices"), list = notices(page);
  while (place.childElementCount > list.length) place.lastChild.remove();
  list.forEach(([kind, text], i) => {
    const notice = place.children[i] ?? put(place, "p");
    style(notice, `notice ${kind}`);
    say(notice, text);
  });
}

function show() {
  const {page} = shown;
  showNotices(page);
  if (page === null) return say(at("state"), "No answer");
  showState(page);
  showVerdict(page);
  showFigures(page);
  showFeeds(page);
  hour.draw(n(page.time_unix_ms));
  tables.show(page, rates);
  say(at("footnote"), `As of ${clock(n(page.time_unix_ms), true)}, every ${EVERY / 1000} seconds.`);
}

// ---- Asking ----

async function take(page) {
  const again = shown.page !== null && page.started_unix_ms !== shown.page.started_unix_ms;
  if (again) shown.earlier = [], shown.restarted = Date.now(), hour.begin();
  else if (shown.page !== null && page.time_unix_ms !== shown.page.time_unix_ms) shown.earlier.push(shown.page);
  shown.earlier = shown.earlier.slice(-KEPT);
  const first = shown.page === null;
  shown.page = page;
  if (!first && !again && !hour.add(page.recent)) return;
  const history = await ask("/history.json");
  hour.begin();
  hour.add(history);
}

let timer = 0;
async function next() {
  clearTimeout(timer);
  if (document.hidden) return;
  const soon = shown.page === null ? EVERY / 2 : EVERY;
  try {
    await take(await ask("/status.json"));
    shown.failed = 0;
  } catch {
    shown.failed ||= Date.now();
  }
  show();
  clearTimeout(timer);
  timer = setTimeout(next, soon);
}

document.addEventListener("visibilitychange", next);
addEventListener("resize", () => shown.page && (showFeeds(shown.page), hour.draw(n(shown.page.time_unix_ms))));
at("node").textContent = plain(location.host);
next();
