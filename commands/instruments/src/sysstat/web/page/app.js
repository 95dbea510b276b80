// The page of mh sysstat: one stream of events, figures as text, charts by uPlot. Names come from outside, so all of them go through
// textContent. No state is kept but what is on the screen.
"use strict";

const POINTS_MAX = 600;
const PROCESSES_MAX = 200;

const byId = (id) => document.getElementById(id);
const state = { frame: null, columns: [], points: [], held: false, order: "core", falls: true, only: "", source: null, path: "" };

// ---- Numbers

function percent(share) {
  const value = share * 100;
  if (value > 0 && value < 0.05) return "0.0";
  return value >= 99.95 ? value.toFixed(0) : value.toFixed(1);
}

function cores(value) {
  const share = value * 100;
  if (share < 0.0005) return "0";
  if (share < 9.9995) return share.toFixed(3);
  if (share < 99.995) return share.toFixed(2);
  return share < 999.95 ? share.toFixed(1) : share.toFixed(0);
}

function size(bytes) {
  if (bytes === null || bytes === undefined) return "-";
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < 5) {
    value /= 1024;
    unit += 1;
  }
  return (unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)) + ["", "K", "M", "G", "T", "P"][unit];
}

function count(value) {
  if (value === null || value === undefined) return "-";
  if (value >= 1e6) return (value / 1e6).toFixed(1) + "M";
  if (value >= 1e4) return (value / 1e3).toFixed(0) + "k";
  return value >= 10 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

function millions(value) {
  if (value === null || value === undefined) return "-";
  const of = value / 1e6;
  if (of === 0) return "0";
  return of < 0.05 ? "0.0" : of >= 100 ? of.toFixed(0) : of.toFixed(1);
}

function age(seconds) {
  if (seconds === null || seconds === undefined) return "-";
  const units = [["d", 86400], ["h", 3600], ["m", 60]];
  for (let at = 0; at < units.length; at += 1) {
    const [name, length] = units[at];
    if (seconds >= length) {
      const [nextName, nextLength] = units[at + 1] || ["s", 1];
      const rest = Math.floor((seconds % length) / nextLength);
      return Math.floor(seconds / length) + name + (rest ? rest + nextName : "");
    }
  }
  return Math.floor(seconds) + "s";
}

function latency(seconds) {
  if (seconds === null || seconds === undefined) return "-";
  if (seconds >= 1) return seconds.toFixed(1) + "s";
  return seconds >= 0.01 ? (seconds * 1e3).toFixed(0) + "ms" : (seconds * 1e3).toFixed(1) + "ms";
}

// A figure that stands out by its limit, else by how far it is from what is usual: `far` is the mark, colour alone is not seen by everybody.
const marked = (text, className, far) => [(far || "") + text, className || (far ? "unusual" : "")];
const level = (value, warn, bad) => (value >= bad ? "bad" : value >= warn ? "warn" : "");
const twoDigits = (value) => String(value).padStart(2, "0");

function clock(milliseconds, withSeconds) {
  const at = new Date(milliseconds);
  const minutes = twoDigits(at.getHours()) + ":" + twoDigits(at.getMinutes());
  return withSeconds ? minutes + ":" + twoDigits(at.getSeconds()) : minutes;
}

// ---- Elements

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Words and figures in a row; a figure that is notable has a class, and one whose name says too little a title.
function line(id, parts) {
  const nodes = [];
  for (const part of parts) {
    if (!part) continue;
    const [name, value, className, title] = part;
    const figure = element("span", "figure");
    if (title) figure.title = title;
    if (name) figure.append(element("span", "dim", name + " "));
    figure.append(element("span", className || "", value));
    nodes.push(figure, document.createTextNode(" "));
  }
  byId(id).replaceChildren(...nodes);
}

// Rows of a table; those that are there are used again, so that nothing flickers.
function fill(table, columns, rows) {
  if (!table.tHead) head(table, columns);
  const body = table.tBodies[0] || table.appendChild(element("tbody"));
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((row, at) => {
    const line = body.rows[at] || body.insertRow();
    columns.forEach((column, place) => {
      const cell = line.cells[place] || line.insertCell();
      const [text, className] = Array.isArray(row[place]) ? row[place] : [row[place], ""];
      setText(cell, text);
      const wanted = [column.class || "", className].filter(Boolean).join(" ");
      if (cell.className !== wanted) cell.className = wanted;
      if (column.class && column.class.includes("text") && cell.title !== text) cell.title = text;
    });
  });
}

function head(table, columns) {
  const row = table.createTHead().insertRow();
  for (const column of columns) {
    const cell = element("th", column.class || "");
    cell.scope = "col";
    if (column.order) {
      const button = element("button", "", column.name);
      button.type = "button";
      button.dataset.order = column.order;
      button.addEventListener("click", () => sortBy(column.order));
      cell.append(button);
    } else {
      cell.textContent = column.name;
    }
    row.append(cell);
  }
}

// ---- Bands

function drawHeader(frame) {
  document.title = (frame.verdicts.length ? frame.verdicts[0].word + " - " : "") + state.host;
  const facts = [
    frame.up_s ? "up " + age(frame.up_s) : "", frame.cpus ? frame.cpus + " cpu" : "", size(frame.memory.total),
    "linux " + state.kernel.split(".").slice(0, 2).join("."),
    frame.self_share !== null ? "self " + percent(frame.self_share) + " % " + size(frame.self_bytes) : "",
  ];
  setText(byId("host"), state.host);
  setText(byId("facts"), facts.filter(Boolean).join("  "));
  const at = byId("clock");
  setText(at, clock(frame.time_ns / 1e6, true));
  at.dateTime = new Date(frame.time_ns / 1e6).toISOString();
}

function drawVerdicts(frame) {
  const box = byId("verdicts");
  const found = frame.verdicts;
  const text = JSON.stringify(found) + (frame.interval_s === null);
  if (box.dataset.shown === text) return;
  box.dataset.shown = text;
  box.className = found.some((one) => one.is_bad) ? "holds" : found.length ? "slows" : "";
  const lines = found.map((one) => {
    const made = element("p");
    const help = element("span", "help", "what helps: " + one.advice);
    made.append(element("b", one.is_bad ? "bad" : "warn", one.word), document.createTextNode(one.text), help);
    return made;
  });
  if (!lines.length) {
    const made = element("p");
    const rest = frame.interval_s === null ? "the first figures come with the next look" : "nothing is held back";
    made.append(element("b", "good", "ok"), document.createTextNode(rest));
    lines.push(made);
  }
  box.replaceChildren(...lines);
}

function drawCpu(frame) {
  const cpu = frame.cpu;
  if (cpu.busy === null) return;
  const runnable = cpu.runnable || 0;
  const [limits, far] = [frame.limits, frame.far];
  line("cpu", [
    ["", ...marked(percent(cpu.busy) + " %", level(cpu.busy, 0.8, 0.95), far.busy)],
    ...["usr", "sys", "irq", "st", "io"].map((name) => [name, ...marked(percent(cpu.parts[name]), "", far[name])]),
    ["run queue", ...marked(count(runnable), level(runnable / (frame.cpus || 1), 1.01, 2), far.runnable)],
    frame.psi.cpu === null ? null : ["psi", ...marked(percent(frame.psi.cpu), level(frame.psi.cpu, 0.2, 0.5), far.psi_cpu)],
    ["switches", ...marked(count(cpu.switches) + "/s", "", far.switches)], ["forks", count(cpu.forks) + "/s"],
    ["load", cpu.load.map((value) => value.toFixed(2)).join(" ")],
    cpu.busiest_thread === null ? null : ["busiest thread", percent(cpu.busiest_thread) + " %", level(cpu.busiest_thread, 0.9, 2)],
    limits.cpus !== null && limits.cpus < frame.cpus ? ["limit", limits.cpus.toFixed(1) + " cpu"] : null,
    limits.throttled ? ["throttled", limits.throttled + " of " + limits.periods, "bad"] : null,
  ]);
  drawCpuMap(cpu.each);
}

// A cell for each CPU, in rows of 8, 16, 32 or 64, so that a place is found again.
function drawCpuMap(each) {
  const map = byId("cpu-map");
  const small = each.length > 32;
  const columns = each.length <= 32 ? 8 : each.length <= 256 ? 32 : 64;
  const [wide, high, gap] = small ? [14, 14, 2] : [44, 24, 3];
  const rows = Math.ceil(each.length / columns);
  const width = Math.min(each.length, columns) * (wide + gap);
  map.setAttribute("viewBox", `0 0 ${width} ${rows * (high + gap)}`);
  map.setAttribute("width", width);
  const cells = each.flatMap(([name, share], at) => {
    const x = (at % columns) * (wide + gap);
    const y = Math.floor(at / columns) * (high + gap);
    const step = share < 0.005 ? 0 : share < 0.25 ? 1 : share < 0.5 ? 2 : share < 0.8 ? 3 : share < 0.97 ? 4 : 5;
    const cell = shape("rect", { x, y, width: wide, height: high, rx: 2, class: "cell-" + step });
    cell.append(shape("title", {}, `${name} ${percent(share)} %`));
    if (small) return [cell];
    const text = shape("text", { x: x + wide / 2, y: y + 16, "text-anchor": "middle", class: step >= 3 ? "on" : "" }, (share * 100).toFixed(0));
    return [cell, text];
  });
  map.replaceChildren(...cells);
}

// What is free falls as what is used rises.
const less = (far) => ({ "^": "v", v: "^" })[far] || "";

function drawMemory(frame) {
  const memory = frame.memory;
  const short = 1 - memory.available / Math.max(memory.total, 1);
  const more = [["shared", memory.shared], ["slab", memory.slab], ["huge", memory.huge], ["arc", memory.arc]];
  const full = frame.psi.memory_full;
  const swapped = (memory.swapped_in || 0) + (memory.swapped_out || 0);
  line("memory", [
    ["used", size(memory.used) + " of " + size(memory.total), "", "all but what is free for use"], ["app", size(memory.app)], ["file", size(memory.cache)],
    ...more.filter(([, bytes]) => bytes >= memory.total / 200).map(([name, bytes]) => [name, size(bytes)]),
    ["free for use", ...marked(size(memory.available), level(short, 0.9, 0.97), less(frame.far.memory))],
    full === null ? null : ["psi", ...marked(percent(frame.psi.memory) + "/" + percent(full), level(full, 0.02, 0.1), frame.far.psi_memory)],
    ["swap", memory.swap_total ? size(memory.swap_used) + " of " + size(memory.swap_total) : "none"],
    swapped ? ["swapped in", size(memory.swapped_in) + "/s out " + size(memory.swapped_out) + "/s", "warn"] : null,
    ["dirty", size(memory.dirty)], ["faults", ...marked(count(memory.faults) + "/s", "", frame.far.faults)],
    ["major", ...marked(count(memory.faults_major) + "/s", level(memory.faults_major || 0, 100, 1000), frame.far.faults_major)],
    frame.limits.memory === null ? null : ["limit", size(frame.limits.memory) + " (" + size(frame.limits.headroom) + " left)"],
    memory.oom_kills ? ["oom", String(memory.oom_kills), "bad"] : null,
  ]);
  drawMemoryBar(memory);
}

function drawMemoryBar(memory) {
  const bar = byId("memory-bar");
  // The bar shows what memory holds: cache stands in it, too, though it is not counted as used.
  const other = Math.max(0, memory.total - memory.free - memory.app - memory.cache - memory.slab);
  const parts = [["app", memory.app], ["cache", memory.cache], ["kernel", memory.slab], ["other", other]];
  bar.setAttribute("viewBox", "0 0 1000 14");
  bar.setAttribute("preserveAspectRatio", "none");
  bar.setAttribute("height", "14");
  let x = 0;
  const shapes = [shape("rect", { x: 0, y: 0, width: 1000, height: 14, class: "part-free" })];
  for (const [name, bytes] of parts) {
    const width = Math.max(0, Math.min(1000 - x, (bytes / Math.max(memory.total, 1)) * 1000));
    const part = shape("rect", { x, y: 0, width, height: 14, class: "part-" + name });
    part.append(shape("title", {}, `${name} ${size(bytes)}`));
    shapes.push(part);
    x += width;
  }
  bar.replaceChildren(...shapes);
}

const NAMED = { name: "", class: "text name" };
const DISK_COLUMNS = [NAMED, ..."util %,r/s,w/s,rMB/s,wMB/s,await,queue".split(",").map((name) => ({ name }))];
const NET_COLUMNS = [NAMED, ..."rx Mb/s,tx Mb/s,packets/s,lost/s,link".split(",").map((name) => ({ name }))];
const FS_COLUMNS = [NAMED, ..."used %,free,size,full in".split(",").map((name) => ({ name }))];
const GROUP_COLUMNS = [NAMED, ..."cpu,of limit %,memory,limit,throttled".split(",").map((name) => ({ name }))];

// What rests is counted, not listed: nothing falls off silently.
function rowsAndRest(all, isShown, most, row, columns) {
  const moving = all.rows.filter(isShown);
  const rows = moving.slice(0, most).map(row);
  const left = all.count - rows.length;
  if (!all.count) rows.push([["none", "dim"], ...Array(columns - 1).fill("")]);
  if (left > 0) rows.push([[`${rows.length ? "+" : ""}${left} ${moving.length > most ? "more" : "at rest"}`, "dim"], ...Array(columns - 1).fill("")]);
  return rows;
}

function drawDisks(frame) {
  const row = (disk) => [
    disk.name, marked(percent(disk.busy), level(disk.busy, 0.7, 0.95), disk.far[0]), marked(count(disk.reads), "", disk.far[1]), count(disk.writes),
    marked(millions(disk.read), "", disk.far[2]), millions(disk.written),
    marked(latency(disk.await_s), level(disk.await_s || 0, 0.02, 0.1), disk.far[3]), marked((disk.queue || 0).toFixed(1), "", disk.far[4]),
  ];
  const moves = (disk) => disk.busy > 0 || disk.reads + disk.writes > 0 || disk.far.some(Boolean);
  fill(byId("disks"), DISK_COLUMNS, rowsAndRest(frame.disks, moves, 12, row, DISK_COLUMNS.length));
}

function drawNetwork(frame) {
  const row = (one) => [
    one.name, marked(millions(one.received * 8), "", one.far[0]), marked(millions(one.sent * 8), "", one.far[1]), count(one.packets), [count(one.lost), level(one.lost, 1, 10)],
    one.speed_mbit === null ? "-" : String(one.speed_mbit),
  ];
  const rows = rowsAndRest(frame.network, (one) => one.received + one.sent > 0 || one.far.some(Boolean), 12, row, NET_COLUMNS.length);
  fill(byId("network"), NET_COLUMNS, rows);
  const tcp = frame.tcp;
  line("tcp", [
    ["tcp", count(tcp.established)], ["sent again", ...marked(percent(tcp.again) + " %", level(tcp.again, 0.005, 0.02), frame.far.again)],
    ["sockets", count(tcp.sockets)], tcp.refused ? ["refused", String(tcp.refused), "bad"] : null,
  ]);
}

function drawFileSystems(frame) {
  const row = (one) => one.is_silent
    ? [one.name, ["silent", "bad"], "-", "-", "-"]
    : [one.name, marked(percent(one.used), level(one.used, 0.9, 0.98), one.far), size(one.free), size(one.size), [age(one.full_s), one.full_s === null ? "" : "warn"]];
  fill(byId("file-systems"), FS_COLUMNS, rowsAndRest(frame.file_systems, () => true, 12, row, FS_COLUMNS.length));
}

function drawGroups(frame) {
  const row = (group) => {
    const of = group.limit ? group.cores / group.limit : null;
    return [
      group.name, marked(group.cores.toFixed(2), "", group.far[0]), of === null ? "-" : [percent(of), level(of, 0.8, 0.95)],
      marked(size(group.memory), "", group.far[1]),
      size(group.memory_limit), group.throttled ? [String(group.throttled), "bad"] : "-",
    ];
  };
  fill(byId("groups"), GROUP_COLUMNS, rowsAndRest(frame.groups, () => true, 12, row, GROUP_COLUMNS.length));
}

// ---- Processes

// Places in a process's list of figures.
const PLACES = { pid: 0, user: 1, core: 2, error: 3, wait: 4, rss: 5, io: 6, age: 7, command: 8 };
const PROCESS_COLUMNS = [
  { name: "pid", order: "pid" }, { name: "user", order: "user", class: "text wide" }, { name: "%core", order: "core" },
  { name: "\u00b1" }, { name: "wait%", order: "wait", class: "wide" }, { name: "rss", order: "rss" },
  { name: "MB/s", order: "io", class: "wide" }, { name: "age", order: "age", class: "wide" },
  { name: "command", order: "command", class: "text command" },
];

function sortBy(order) {
  const isText = order === "user" || order === "command" || order === "pid";
  state.falls = state.order === order ? !state.falls : !isText;
  state.order = order;
  drawProcesses(state.frame);
}

function chosenProcesses(all) {
  const only = state.only.toLowerCase();
  const [user, command] = [PLACES.user, PLACES.command];
  const has = (one) => one[command].toLowerCase().includes(only) || one[user].toLowerCase().includes(only) || String(one[0]).includes(only);
  const chosen = only ? all.filter(has) : all.slice();
  const place = PLACES[state.order];
  const compare = (one, other) => {
    const [a, b] = [one[place], other[place]];
    if (a === b) return one[0] - other[0];
    // What is not known stands last whichever way.
    if (a === null || b === null) return a === null ? 1 : -1;
    return (a < b ? -1 : 1) * (state.falls ? -1 : 1);
  };
  return chosen.sort(compare);
}

function processRow(one) {
  const isBusy = one[2] >= 0.000005;
  return [
    String(one[0]), one[1], marked(cores(one[2]), level(one[2], 0.9, Infinity), one[9]), isBusy ? (one[3] * 100).toFixed(1) : "",
    one[4] === null ? "-" : [percent(one[4]), level(one[4], 0.2, 1)], marked(size(one[5]), "", one[10]), millions(one[6]), age(one[7]), one[8],
  ];
}

function drawProcesses(frame) {
  if (!frame) return;
  const table = byId("processes");
  const chosen = chosenProcesses(frame.processes);
  fill(table, PROCESS_COLUMNS, chosen.slice(0, PROCESSES_MAX).map(processRow));
  for (const button of table.tHead.querySelectorAll("button")) {
    const isOrder = button.dataset.order === state.order;
    const cell = button.parentElement;
    if (isOrder) cell.setAttribute("aria-sort", state.falls ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
    setText(button, button.dataset.name || (button.dataset.name = button.textContent));
    if (isOrder) setText(button, button.dataset.name + (state.falls ? " \u2193" : " \u2191"));
  }
  const rest = frame.rest;
  const shown = state.only ? `, ${chosen.length} with "${state.only}"` : "";
  setText(byId("process-count"), `${rest.processes}, ${rest.running} run${shown}`);
  const lines = [];
  if (chosen.length > PROCESSES_MAX) lines.push(`${chosen.length - PROCESSES_MAX} more are not shown: filter them`);
  if (rest.processes > rest.sent && rest.sent > 0) lines.push(`${rest.processes - rest.sent} that were neither busy nor large are not sent`);
  const used = rest.unlisted_cores ? ` used ${cores(rest.unlisted_cores)} %` : "";
  if (rest.ended || rest.unlisted_cores > 0.02) lines.push(`${rest.is_contained ? "processes outside of this container, and " : ""}${rest.ended} ended or came and went${used}: ${rest.ended_names.join(", ")}`.replace(/: $/, ""));
  setText(byId("rest"), lines.join("; "));
}

// ---- Charts

const charts = [];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const at = (name) => state.columns.indexOf(name);
const column = (name, factor) => () => state.points.map((point) => point[at(name)] * factor);
const sum = (names, factor) => () => state.points.map((point) => names.reduce((all, name) => all + point[at(name)], 0) * factor);

const CHARTS = [
  { id: "chart-cpu", top: 100, lines: [
    ["busy", sum(["usr", "sys", "irq"], 100), "--c1", true], ["usr", column("usr", 100), "--c5"], ["sys", column("sys", 100), "--c2"],
    ["st", column("st", 100), "--c4"], ["io", column("io", 100), "--c3"]] },
  { id: "chart-memory", lines: [
    ["used", column("used", 1 / 2 ** 30), "--c1", true], ["app", column("app", 1 / 2 ** 30), "--c2"],
    ["file", column("cache", 1 / 2 ** 30), "--c5"], ["free for use", column("available", 1 / 2 ** 30), "--c3"]] },
  { id: "chart-disk", lines: [["read", column("read", 1e-6), "--c1", true], ["written", column("written", 1e-6), "--c2"]] },
  { id: "chart-net", lines: [["rx", column("received", 8e-6), "--c1", true], ["tx", column("sent", 8e-6), "--c2"]] },
  { id: "chart-psi", lines: [
    ["cpu", column("psi_cpu", 100), "--c1", true], ["memory", column("psi_memory", 100), "--c4"], ["io", column("psi_io", 100), "--c3"]] },
];

function chartData(chart) {
  return [state.points.map((point) => point[at("time_s")]), ...chart.lines.map(([, values]) => values())];
}

function makeChart(chart) {
  const place = byId(chart.id);
  const axis = { stroke: () => colour("--dim"), grid: { stroke: () => colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  // Without a cursor the newest.
  const newest = (plot, value, line) => (value === null || value === undefined ? plot.data[line][plot.data[line].length - 1] : value);
  const figure = (plot, value, line) => {
    const shown = newest(plot, value, line);
    return shown === undefined ? "-" : shown >= 100 ? shown.toFixed(0) : shown.toFixed(1);
  };
  const options = {
    width: Math.max(200, place.clientWidth), height: 130, padding: [8, 8, 0, 0], cursor: { sync: { key: "time" }, drag: { x: false, y: false } },
    scales: { y: { range: (plot, least, most) => [0, chart.top || Math.max(most || 0, 1)] } },
    axes: [
      { ...axis, space: 60, size: 24, values: (plot, ticks) => ticks.map((tick) => clock(tick * 1000, false)), incrs: [60, 120, 300, 600, 900, 1800, 3600] },
      { ...axis, size: 38, space: 28, values: (plot, ticks) => ticks.map((tick) => (tick >= 1000 ? tick / 1000 + "k" : String(tick))) },
    ],
    series: [
      { label: "at", value: (plot, value) => clock(newest(plot, value, 0) * 1000, true) },
      ...chart.lines.map(([label, , name, isFilled]) => ({
        label, value: figure, width: 1.5, points: { show: false }, stroke: () => colour(name),
        fill: isFilled ? () => colour(name) + "2e" : undefined,
      })),
    ],
  };
  return { chart, place, plot: new uPlot(options, chartData(chart), place) };
}

function drawCharts() {
  if (!state.columns.length) return;
  if (!charts.length) {
    charts.push(...CHARTS.map(makeChart));
    const fit = new ResizeObserver(() => charts.forEach(({ plot, place }) => {
      if (place.clientWidth > 0 && place.clientWidth !== plot.width) plot.setSize({ width: place.clientWidth, height: 130 });
    }));
    charts.forEach(({ place }) => fit.observe(place));
    return;
  }
  charts.forEach(({ chart, plot }) => plot.setData(chartData(chart)));
}

// ---- Events

function draw() {
  const frame = state.frame;
  if (!frame || state.held) return;
  [drawHeader, drawVerdicts, drawCpu, drawMemory, drawDisks, drawNetwork, drawFileSystems, drawGroups, drawProcesses].forEach((each) => each(frame));
  drawCharts();
}

function receive(news) {
  [state.host, state.kernel] = [news.host.name, news.host.kernel];
  if (news.standing) say(news.standing.slice(0, 3).filter((text, at) => at !== 1 && text).join(": "), news.standing[1] === "bad");
  else say("live", false);
  if (news.columns) {
    state.columns = news.columns;
    state.points = [];
  }
  const last = state.points.length ? state.points[state.points.length - 1][0] : 0;
  state.points.push(...news.points.filter((point) => point[0] > last));
  state.points.splice(0, Math.max(0, state.points.length - POINTS_MAX));
  if (state.held) {
    state.next = news.frame;
    return;
  }
  state.frame = news.frame;
  draw();
}

function say(text, isLost) {
  setText(byId("state"), text);
  byId("state").className = isLost ? "lost" : "";
  byId("state").title = text;
}

function hold() {
  state.held = !state.held;
  const button = byId("hold");
  button.setAttribute("aria-pressed", String(state.held));
  setText(button, state.held ? "held: go on" : "hold");
  if (!state.held) {
    state.frame = state.next || state.frame;
    draw();
    drawFleet();
  }
}

// One stream at a time: a browser has few connections to a server.
function watch(path, take) {
  if (state.source) state.source.close();
  const source = new EventSource(path);
  state.source = source;
  source.onopen = () => say("live", false);
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.onerror = () => {
    say("no connection: figures are old", true);
    // The browser comes back by itself unless it was refused.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => source === state.source && start(), 2000);
  };
}

function watchHost(path) {
  byId("main").hidden = false;
  byId("fleet").hidden = true;
  byId("back").hidden = !state.isFleet;
  Object.assign(state, { frame: null, next: undefined, columns: [], points: [] });
  // Until this host has a frame, nothing of the one before stands below its name.
  byId("cpu").replaceChildren();
  byId("cpu-map").replaceChildren();
  document.querySelectorAll("#main tbody").forEach((rows) => rows.replaceChildren());
  watch(path + "/events", receive);
}

async function start() {
  let answer;
  try {
    answer = await fetch("/api/site", { cache: "no-store" });
  } catch {
    say("no connection", true);
    setTimeout(start, 2000);
    return;
  }
  byId("login").hidden = answer.ok;
  if (!answer.ok) {
    byId("main").hidden = true;
    byId("fleet").hidden = true;
    say(answer.status === 401 ? "not logged in" : "refused", true);
    return;
  }
  state.isFleet = (await answer.json()).is_fleet;
  if (state.isFleet) {
    followPlace();
    return;
  }
  const hosts = await (await fetch("/api/hosts", { cache: "no-store" })).json();
  watchHost("/api/hosts/" + hosts[0].path);
}

async function logIn(token) {
  const answer = await fetch("/api/login", { method: "POST", body: token.trim() });
  if (!answer.ok) setText(byId("login-text"), "This token is wrong or of an earlier run. Give the one that mh sysstat printed:");
  return answer.ok;
}

async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname);
    await logIn(token).catch(() => false);
  }
  await start();
}

byId("hold").addEventListener("click", hold);
byId("filter").addEventListener("input", (event) => {
  state.only = event.target.value.trim();
  drawProcesses(state.frame);
});
byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await logIn(byId("token").value)) start();
});
document.addEventListener("keydown", (event) => {
  const isTyped = /^(INPUT|SELECT|BUTTON)$/.test(event.target.tagName);
  if (event.key === "Escape" && event.target.type === "search") event.target.blur();
  if (isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === " ") hold();
  else if (event.key === "/") byId(byId("fleet").hidden ? "filter" : "fleet-filter").focus();
  else if (event.key === "+" && !byId("fleet").hidden) unfold();
  else if (event.key === "Escape" && !byId("back").hidden) location.hash = "";
  else return;
  event.preventDefault();
});
matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => charts.forEach(({ plot }) => plot.redraw(false)));
window.addEventListener("hashchange", () => (location.hash.includes("token=") ? begin() : followPlace()));
// The other script stands behind this one.
document.addEventListener("DOMContentLoaded", begin);
