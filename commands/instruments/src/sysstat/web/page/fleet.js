// The page of many hosts: a row each, as the server makes them. Its stream brings what has changed, and this puts it into the table; which
// hosts, in which order and which are one row is the server's affair. A host's own page is in app.js.
"use strict";

const fleet = { columns: [], rows: new Map(), order: [], head: [], left: 0, only: "", each: false, column: null, falls: true, typing: 0, turn: 0 };

// ---- Where the page is: all hosts, or one of them by its name. Numbers are of one run of the viewer: the next gives them to other hosts.

// So often the list is read for a host that is not in it: those of a fleet need a moment to be found.
const LOOKS_MAX = 3;

async function followPlace() {
  if (!state.isFleet) return;
  if (state.held) hold();
  const turn = leaveStream();
  const wanted = new URLSearchParams(location.hash.slice(1));
  const name = wanted.get("host");
  if (name === null) {
    watchFleet();
    return;
  }
  for (let look = 1; look <= LOOKS_MAX; look += 1) {
    const hosts = await listHosts();
    if (turn !== fleet.turn) return;
    if (!hosts) {
      say("no connection", true);
      setTimeout(() => turn === fleet.turn && start(), 2000);
      return;
    }
    const named = hosts.filter((one) => one.name === name);
    // Two hosts may have one name: the number tells them apart, where it is of this run.
    const host = named.find((one) => String(one.id) === wanted.get("number")) || named[0];
    if (host) {
      setText(byId("host"), name);
      watchHost("/api/fleet/" + host.id);
      return;
    }
    showMissing(name, look < LOOKS_MAX ? `looking for ${name}` : `${name} is no host of this viewer`);
    if (look < LOOKS_MAX) await new Promise((resolve) => setTimeout(resolve, 2000));
    if (turn !== fleet.turn) return;
  }
}

// All hosts; nothing if there is no answer.
async function listHosts() {
  try {
    const answer = await fetch("/api/fleet", { cache: "no-store" });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

function showMissing(name, text) {
  byId("main").hidden = true;
  byId("fleet").hidden = true;
  byId("back").hidden = false;
  document.title = name + " - mh sysstat";
  setText(byId("host"), name);
  byId("facts").replaceChildren();
  setText(byId("clock"), "");
  say(text, true);
}

// Ends the stream, and whatever still waits to begin another one.
function leaveStream() {
  if (state.source) state.source.close();
  state.source = null;
  fleet.turn += 1;
  return fleet.turn;
}

function watchFleet() {
  byId("main").hidden = true;
  byId("fleet").hidden = false;
  byId("back").hidden = true;
  setText(byId("host"), "mh sysstat");
  Object.assign(fleet, { rows: new Map(), order: [] });
  const query = new URLSearchParams();
  if (fleet.only) query.set("only", fleet.only);
  if (fleet.each) query.set("each", "1");
  if (fleet.column !== null) query.set("column", String(fleet.column));
  if (!fleet.falls) query.set("rises", "1");
  // The server decodes %20 and not the plus sign of forms.
  watch("/api/fleet/events?" + query.toString().replaceAll("+", "%20"), receiveFleet);
}

function receiveFleet(news) {
  for (const row of news.rows || []) fleet.rows.set(row[0], row);
  for (const name of ["columns", "order", "head", "left"]) {
    if (news[name] !== undefined) fleet[name] = news[name];
  }
  const shown = new Set(fleet.order);
  for (const key of fleet.rows.keys()) {
    if (!shown.has(key)) fleet.rows.delete(key);
  }
  drawFleet();
}

// ---- The table

function drawFleet() {
  if (state.held || byId("fleet").hidden || !fleet.columns.length) return;
  drawFleetHeader();
  const table = byId("fleet-rows");
  if (!table.tHead) fleetHead(table);
  markOrder(table);
  const rows = fleet.order.map((key) => fleet.rows.get(key)).filter(Boolean);
  const body = table.tBodies[0] || table.appendChild(element("tbody"));
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((row, at) => drawFleetRow(body.rows[at] || fleetLine(body), row));
  const rest = fleet.left ? `${fleet.left} more hosts are not shown: filter them, or order them by a column` : "";
  setText(byId("fleet-rest"), rows.length ? rest : fleet.only ? "no host has that in its name" : "no host has answered yet");
}

function drawFleetHeader() {
  document.title = fleet.head.map(([text]) => text).join("  ") + " - mh sysstat";
  const [hosts, ...states] = fleet.head;
  setText(byId("host"), hosts ? hosts[0] : "mh sysstat");
  byId("facts").replaceChildren(...states.map(([text, name]) => element("span", name, text)));
  setText(byId("clock"), clock(Date.now(), true));
}

function fleetHead(table) {
  const row = table.createTHead().insertRow();
  const worst = headCell(row, "host", "the worst first", null);
  worst.className = "text";
  headCell(row, "state", "", undefined).className = "text";
  fleet.columns.forEach(([name, title, isFew], at) => {
    headCell(row, name, title, at).className = isFew ? "" : "wide";
  });
  headCell(row, "verdict", "", undefined).className = "text";
}

// `column` is what a click orders by: null is the server's own order, undefined none.
function headCell(row, name, title, column) {
  const cell = element("th");
  cell.scope = "col";
  if (title) cell.title = title;
  if (column === undefined) {
    cell.textContent = name;
  } else {
    const button = element("button", "", name);
    button.type = "button";
    button.dataset.column = String(column);
    button.addEventListener("click", () => orderFleetBy(column));
    cell.append(button);
  }
  row.append(cell);
  return cell;
}

function markOrder(table) {
  for (const button of table.tHead.querySelectorAll("button")) {
    const isOrder = button.dataset.column === String(fleet.column);
    const name = button.dataset.name || (button.dataset.name = button.textContent);
    if (isOrder) button.parentElement.setAttribute("aria-sort", fleet.falls ? "descending" : "ascending");
    else button.parentElement.removeAttribute("aria-sort");
    const arrow = fleet.column === null ? "" : fleet.falls ? " \u2193" : " \u2191";
    setText(button, isOrder ? name + arrow : name);
  }
}

function fleetLine(body) {
  const line = body.insertRow();
  const name = line.insertCell();
  const open = element("button", "open");
  open.type = "button";
  name.className = "text name";
  name.append(open);
  line.insertCell().className = "text";
  for (let at = 0; at <= fleet.columns.length; at += 1) line.insertCell();
  line.addEventListener("click", () => openRow(line.dataset.key));
  return line;
}

function drawFleetRow(line, [key, name, word, wordClass, text, figures]) {
  line.dataset.key = String(key);
  const put = (cell, shown, className) => {
    setText(cell, shown);
    if (cell.className !== className) cell.className = className;
  };
  setText(line.cells[0].firstElementChild, name);
  line.cells[0].title = name;
  put(line.cells[1], word, "text " + wordClass);
  fleet.columns.forEach(([, , isFew], at) => {
    const figure = figures.length ? figures[at] : "";
    const [shown, className] = Array.isArray(figure) ? figure : [figure, ""];
    put(line.cells[at + 2], shown, [isFew ? "" : "wide", className].filter(Boolean).join(" "));
  });
  const last = line.cells[fleet.columns.length + 2];
  put(last, text, typeof key === "string" ? "text said dim" : "text said");
  last.title = text;
}

// ---- What a user does

function openRow(key) {
  const row = /^\d+$/.test(key) ? fleet.rows.get(Number(key)) : null;
  if (!row) {
    unfold();
    return;
  }
  const isOne = Array.from(fleet.rows.values()).filter((other) => other[1] === row[1]).length === 1;
  location.hash = "host=" + encodeURIComponent(row[1]) + (isOne ? "" : "&number=" + key);
}

function unfold() {
  fleet.each = !fleet.each;
  byId("each").setAttribute("aria-pressed", String(fleet.each));
  watchFleet();
}

function orderFleetBy(column) {
  fleet.falls = fleet.column !== column || column === null || !fleet.falls;
  fleet.column = column;
  watchFleet();
}

byId("each").addEventListener("click", unfold);
byId("fleet-filter").addEventListener("input", (event) => {
  clearTimeout(fleet.typing);
  fleet.typing = setTimeout(() => {
    fleet.only = event.target.value.trim();
    watchFleet();
  }, 150);
});
