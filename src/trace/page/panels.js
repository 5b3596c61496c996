// Below the timeline: times of ranks, the critical path by rank and kind, who sends to whom, collectives, slowest calls.

const byId = (id) => document.getElementById(id);
const pathKinds = ["computing", "calls", "transferring"];

function table(columns, rows) {
  const cell = (tag, column, html, attributes = "") => `<${tag} class="${column.type ?? ""}"${attributes}>${html}</${tag}>`;
  return `<table><thead><tr>${columns.map((c) => cell("th", c, c.title, ' scope="col"')).join("")}</tr></thead><tbody>` +
    rows.map(({ cells, event, rank }) => {
      const leads = event !== undefined ? ` class="leads" tabindex="0" data-event="${event}"` : rank !== undefined ? ` class="leads" tabindex="0" data-rank="${rank}"` : "";
      return `<tr${leads}>${columns.map((c, i) => cell("td", c, cells[i])).join("")}</tr>`;
    }).join("") + "</tbody></table>";
}

const parts = (list, whole, what) =>
  `<div class="parts" role="img" aria-label="${what}">` +
  list.map(([kind, ns]) => `<span class="${kind}" style="width:${(100 * ns) / Math.max(1, whole)}%"></span>`).join("") + "</div>";
const keys = (list) => `<div class="keys">${list.map(([kind, name]) => `<span><i class="swatch ${kind}"></i>${name}</span>`).join("")}</div>`;

function showTimes() {
  const whole = Math.max(1, meta.duration);
  byId("times").innerHTML = keys([["computing", "computing, or not in a call"], ["transferring", "in calls, transferring"], ["waiting", "in calls, waiting for another rank"]]) +
    table(
      [{ title: "rank" }, { title: "", type: "wide" }, { title: "computing", type: "number" }, { title: "transferring", type: "number" }, { title: "waiting", type: "number" }],
      times.map((t, r) => {
        const transferring = t.inCalls - t.waiting;
        const dropped = meta.ranks[r].dropped ? ` <span class="note" title="calls that found no room: raise DCGN_TRACE_EVENTS">(+${meta.ranks[r].dropped})</span>` : "";
        return {
          rank: r,
          cells: [
            `${r} <span class="note">${escapeHtml(meta.ranks[r].full)}</span>${dropped}`,
            parts([["computing", t.computing], ["transferring", transferring], ["waiting", t.waiting]], whole,
              `computing ${shareText(t.computing, whole)}, waiting ${shareText(t.waiting, whole)}`),
            shareText(t.computing, whole), shareText(transferring, whole), shareText(t.waiting, whole),
          ],
        };
      }));
}

function showPath() {
  const ofRank = new Map(), all = [0, 0, 0];
  for (let s = 0; s < meta.steps; ++s) {
    const ns = path.end[s] - path.begin[s], r = path.rank[s];
    if (!ofRank.has(r)) ofRank.set(r, { rank: r, sums: [0, 0, 0], longest: s });
    const one = ofRank.get(r);
    one.sums[path.kind[s]] += ns;
    all[path.kind[s]] += ns;
    if (path.end[one.longest] - path.begin[one.longest] < ns) one.longest = s;
  }
  const whole = all[0] + all[1] + all[2], sum = ([a, b, c]) => a + b + c;
  if (whole === 0) {
    byId("path").innerHTML = '<p class="note">There are no calls.</p>';
    return;
  }
  const row = (name, sums, rank) => ({
    rank,
    cells: [name, parts([["computing", sums[0]], ["transferring", sums[2]], ["calls", sums[1]]], whole, pathKinds.map((k, i) => `${k} ${shareText(sums[i], whole)}`).join()),
      shareText(sums[0], whole), shareText(sums[2], whole), shareText(sums[1], whole), timeText(sum(sums))],
  });
  const sorted = [...ofRank.values()].sort((a, b) => sum(b.sums) - sum(a.sums));
  byId("path").innerHTML = keys([["computing", "computing"], ["transferring", "transferring, once the other had come"], ["calls", "other calls"]]) +
    table([{ title: "rank" }, { title: "share of the path", type: "wide" }, { title: "computing", type: "number" }, { title: "transferring", type: "number" },
      { title: "calls", type: "number" }, { title: "time", type: "number" }],
    [row("<b>all</b>", all), ...sorted.map((one) => row(`${one.rank} <span class="note">${escapeHtml(meta.ranks[one.rank].full)}</span>`, one.sums, one.rank))]);
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
  if (most.length > 0)
    byId("flows").innerHTML = table([{ title: "most", type: "" }, { title: "messages", type: "number" }, { title: "bytes", type: "number" }],
      most.map(([from, to, number, bytes]) => ({ cells: [`${from} → ${to}`, number, bytesText(bytes)] })));
}

function showCollectives() {
  if (meta.collectives.length === 0) return;
  byId("collectives").innerHTML = "<h3>Collectives</h3>" +
    table([{ title: "call" }, { title: "communicator", type: "number" }, { title: "times", type: "number" }, { title: "bytes of all ranks", type: "number" },
      { title: "time of all ranks", type: "number" }, { title: "of it waiting", type: "number" }],
    meta.collectives.map(([name, communicator, times, bytes, ns, waiting]) => ({
      cells: [name, communicator || "world", times, bytesText(bytes), timeText(ns), shareText(waiting, ns)],
    })));
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
  const peerText = (e) => (events.kind[e] === 4 || events.peer[e] < 0 ? "" : `${events.kind[e] === 1 ? "from" : "to"} ${events.peer[e]}`);
  byId("slow").innerHTML = table(
    [{ title: "call" }, { title: "rank", type: "number" }, { title: "peer" }, { title: "bytes", type: "number" }, { title: "time", type: "number" },
      { title: "of it waiting", type: "number" }, { title: "for rank", type: "number" }, { title: "at", type: "number" }],
    slowestCalls(10).map((e) => ({
      event: e,
      cells: [callName(e), rankOf(e), peerText(e), events.kind[e] === 3 ? "" : bytesText(events.bytes[e]), timeText(events.end[e] - events.begin[e]),
        shareText(events.waited[e], events.end[e] - events.begin[e]), events.waited[e] > 0 ? events.awaited[e] : "", momentText(events.begin[e])],
    })));
}
