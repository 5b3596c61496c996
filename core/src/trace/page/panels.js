// Below the timeline: times of ranks, the critical path by rank and kind, who sends to whom, collectives, slowest calls.

const byId = (id) => document.getElementById(id);

// Columns of a table: of words, or of numbers.
const words = (...titles) => titles.map((title) => ({ title, type: "" }));
const numbers = (...titles) => titles.map((title) => ({ title, type: "number" }));
const wide = (title) => [{ title, type: "wide" }];

// A row leads to its call or its rank in the timeline where it names one.
function table(columns, rows) {
  const cell = (tag, column, html) => `<${tag} class="${column.type}">${html}</${tag}>`;
  const attributes = ({ event, rank }) => {
    if (event !== undefined) return ` class="leads" tabindex="0" data-event="${event}"`;
    return rank !== undefined ? ` class="leads" tabindex="0" data-rank="${rank}"` : "";
  };
  const line = (row) => `<tr${attributes(row)}>${columns.map((c, i) => cell("td", c, row.cells[i])).join("")}</tr>`;
  const head = columns.map((c) => cell("th", c, c.title)).join("");
  return `<table><thead><tr>${head}</tr></thead><tbody>${rows.map(line).join("")}</tbody></table>`;
}

const rankCell = (r) => `${r} <span class="note">${escapeHtml(meta.ranks[r].full)}</span>`;

// A bar of [kind, ns], of which the whole is as long as the column.
function parts(list, whole) {
  const part = ([kind, ns]) => `<span class="${kind}" style="width:${(100 * ns) / whole}%"></span>`;
  const label = list.map(([kind, ns]) => `${kind} ${shareText(ns, whole)}`).join();
  return `<div class="parts" role="img" aria-label="${label}">${list.map(part).join("")}</div>`;
}
const keys = (list) => {
  const key = ([kind, name]) => `<span><i class="swatch ${kind}"></i>${name}</span>`;
  return `<div class="keys">${list.map(key).join("")}</div>`;
};

function showTimes() {
  const whole = Math.max(1, meta.duration);
  const row = (t, r) => {
    const transferring = t.inCalls - t.waiting, { dropped } = meta.ranks[r];
    const missing = dropped
      ? ` <span class="note" title="calls that found no room: raise DCGN_TRACE_EVENTS">(+${dropped})</span>` : "";
    const shares = [["computing", t.computing], ["transferring", transferring], ["waiting", t.waiting]];
    return { rank: r, cells: [rankCell(r) + missing, parts(shares, whole), ...shares.map(([, ns]) => shareText(ns, whole))] };
  };
  byId("times").innerHTML =
    keys([
      ["computing", "computing, or not in a call"], ["transferring", "in calls, transferring"],
      ["waiting", "in calls, waiting for another rank"],
    ]) +
    table([...words("rank"), ...wide(""), ...numbers("computing", "transferring", "waiting")], times.map(row));
}

function showPath() {
  const order = [0, 2, 1], names = ["computing", "calls", "transferring"];  // as they are shown; by path.kind
  const ofRank = new Map(), all = [0, 0, 0];
  for (let s = 0; s < meta.steps; ++s) {
    const r = path.rank[s], ns = path.end[s] - path.begin[s];
    if (!ofRank.has(r)) ofRank.set(r, [0, 0, 0]);
    ofRank.get(r)[path.kind[s]] += ns;
    all[path.kind[s]] += ns;
  }
  const sum = ([a, b, c]) => a + b + c, whole = sum(all);
  if (whole === 0) {
    byId("path").innerHTML = '<p class="note">There are no calls.</p>';
    return;
  }
  const row = (name, sums, rank) => ({
    rank,
    cells: [
      name, parts(order.map((kind) => [names[kind], sums[kind]]), whole),
      ...order.map((kind) => shareText(sums[kind], whole)), timeText(sum(sums)),
    ],
  });
  const sorted = [...ofRank].sort(([, a], [, b]) => sum(b) - sum(a));
  byId("path").innerHTML =
    keys([
      ["computing", "computing"], ["transferring", "transferring, once the other had come"],
      ["calls", "calls that waited for nobody"],
    ]) +
    table(
      [...words("rank"), ...wide("share of the path"), ...numbers("computing", "transferring", "calls", "time")],
      [row("<b>all</b>", all), ...sorted.map(([r, sums]) => row(rankCell(r), sums, r))]);
}

// Rows send, columns receive. The darker, the more.
const matrix = { canvas: byId("matrix"), cell: 0, left: 0, top: 0 };
function showMatrix(over) {
  const unit = document.querySelector('input[name="unit"]:checked').value, column = unit === "bytes" ? 3 : 2;
  const textOf = (value) => (unit === "bytes" ? bytesText(value) : `${value} message${value === 1 ? "" : "s"}`);
  if (meta.flows.length === 0) {
    matrix.canvas.hidden = true;
    byId("matrix-cell").textContent = "no messages but those of collectives";
    return;
  }
  const width = matrix.canvas.parentElement.clientWidth - 350;
  matrix.left = matrix.top = 46;
  const room = (Math.min(Math.max(width, 200), 400) - matrix.left) / ranks;
  matrix.cell = room >= 4 ? Math.min(52, Math.floor(room)) : room;
  const size = matrix.cell * ranks, scale = 98;
  matrix.canvas.style.width = matrix.left + Math.max(size + 8, 90) + scale + "px";
  const c = fit(matrix.canvas, matrix.left + Math.max(size + 8, 90) + scale, matrix.top + Math.max(size, 100) + 4);
  const most = Math.max(...meta.flows.map((flow) => flow[column]));
  // A small share is to be seen, too.
  const strength = (value) => 0.1 + 0.9 * Math.sqrt(value / most);
  c.fillStyle = colours.row;
  c.fillRect(matrix.left, matrix.top, size, size);
  const font = getComputedStyle(document.body).fontFamily;
  c.textAlign = "center";
  c.textBaseline = "middle";
  for (const flow of meta.flows) {
    const x = matrix.left + flow[1] * matrix.cell, y = matrix.top + flow[0] * matrix.cell, inset = matrix.cell > 5 ? 1 : 0;
    c.fillStyle = `rgba(${colours.heat}, ${strength(flow[column])})`;
    c.fillRect(x + inset, y + inset, Math.max(1, matrix.cell - 2 * inset), Math.max(1, matrix.cell - 2 * inset));
  }
  c.font = "11px " + font;
  c.fillStyle = colours.soft;
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((n) => n * matrix.cell >= (ranks > 99 ? 26 : 18)) ?? 1000;
  for (let r = 0; r < ranks; r += every) {
    const middle = matrix.cell / 2 + r * matrix.cell;
    c.fillText(r, matrix.left + middle, matrix.top - 9);
    c.textAlign = "right";
    c.fillText(r, matrix.left - 6, matrix.top + middle);
    c.textAlign = "center";
  }
  c.font = "12px " + font;
  c.textAlign = "left";
  c.fillText("to rank", matrix.left, 12);
  c.save();
  c.translate(10, matrix.top);
  c.rotate(-Math.PI / 2);
  c.textAlign = "right";
  c.fillText("from rank", 0, 0);
  c.restore();
  // The scale.
  const x = matrix.left + Math.max(size + 8, 90) + 14, high = 84;
  for (let y = 0; y < high; ++y) {
    c.fillStyle = `rgba(${colours.heat}, ${strength((most * (high - y)) / high)})`;
    c.fillRect(x, matrix.top + 6 + y, 12, 1);
  }
  c.textAlign = "left";
  c.font = "11px " + font;
  c.fillStyle = colours.soft;
  c.fillText(textOf(most), x + 18, matrix.top + 11);
  c.fillText("0", x + 18, matrix.top + high + 2);
  const flow = over && meta.flows.find((one) => one[0] === over[0] && one[1] === over[1]);
  if (over) {
    c.strokeStyle = colours.ink;
    c.lineWidth = 1.5;
    c.strokeRect(matrix.left + over[1] * matrix.cell + 0.5, matrix.top + over[0] * matrix.cell + 0.5, matrix.cell - 1, matrix.cell - 1);
  }
  const all = meta.flows.reduce((sum, one) => [sum[0] + one[2], sum[1] + one[3]], [0, 0]);
  byId("matrix-cell").textContent = over
    ? `rank ${over[0]} to rank ${over[1]}: ` + (flow ? `${flow[2]} message${flow[2] === 1 ? "" : "s"}, ${bytesText(flow[3])}` : "none")
    : `${all[0]} message${all[0] === 1 ? "" : "s"}, ${bytesText(all[1])} in all`;
}

function showFlows() {
  const most = [...meta.flows].sort((a, b) => b[3] - a[3] || b[2] - a[2]).slice(0, 8);
  const row = ([from, to, number, bytes]) => ({ cells: [`${from} → ${to}`, number, bytesText(bytes)] });
  if (most.length > 0)
    byId("flows").innerHTML = table([...words("most"), ...numbers("messages", "bytes")], most.map(row));
}

function showCollectives() {
  if (meta.collectives.length === 0) return;
  const row = ([name, communicator, times, bytes, ns, waiting]) => ({
    cells: [name, communicator || "world", times, bytesText(bytes), timeText(ns), shareText(waiting, ns)],
  });
  const titles = ["communicator", "times", "bytes of all ranks", "time of all ranks", "of it waiting"];
  byId("collectives").innerHTML =
    "<h3>Collectives</h3>" + table([...words("call"), ...numbers(...titles)], meta.collectives.map(row));
}

function slowestCalls(wanted) {
  const slowest = [];
  let least = -1;
  for (let e = 0; e < count; ++e) {
    const ns = events.end[e] - events.begin[e];
    if (slowest.length === wanted && ns <= least) continue;
    slowest.splice(firstAbove(slowest.map((one) => -(events.end[one] - events.begin[one])), -ns, 0, slowest.length), 0, e);
    slowest.length = Math.min(slowest.length, wanted);
    const last = slowest[slowest.length - 1];
    least = events.end[last] - events.begin[last];
  }
  return slowest;
}

function showSlowest() {
  const peerText = (e) => {
    if (events.kind[e] === 4 || events.peer[e] < 0) return "";
    return (events.kind[e] === 1 ? "from " : "to ") + events.peer[e];
  };
  const row = (event) => {
    const ns = events.end[event] - events.begin[event], waited = events.waited[event];
    return {
      event,
      cells: [
        callName(event), rankOf(event), peerText(event), events.kind[event] === 3 ? "" : bytesText(events.bytes[event]),
        timeText(ns), shareText(waited, ns), waited > 0 ? events.awaited[event] : "", momentText(events.begin[event]),
      ],
    };
  };
  byId("slow").innerHTML = table(
    [
      ...words("call"), ...numbers("rank"), ...words("peer"),
      ...numbers("bytes", "time", "of it waiting", "for rank", "at"),
    ],
    slowestCalls(10).map(row));
}
