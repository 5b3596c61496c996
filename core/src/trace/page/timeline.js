// The timeline and the map of all of it. What is narrower than a pixel is drawn as one with its neighbours.

const canvas = document.getElementById("timeline"), map = document.getElementById("map");
const rowsBox = document.getElementById("rows"), rowsHeight = document.getElementById("rows-height");
const view = { from: 0, to: Math.max(1, meta.duration) };
const shown = { path: true, messages: true, mask: null, hover: null, pinned: null, dragged: null };
const gutter = 158, axis = 24, gap = 7, arrowsAtMost = 250;
const pathRoom = (row) => (row.height < 16 ? 3 : 5);  // below a row's calls
let colours = {}, hatches = {}, lights = {}, rows = [], rowOfRank = [], pixels = { width: 0, height: 0 };

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of [...kinds, "ground", "paper", "ink", "soft", "line", "row", "kernel", "copy", "path", "message", "heat", "focus"])
    colours[name] = style.getPropertyValue("--" + name).trim();
  hatches = Object.fromEntries(kinds.map((kind) => [kind, hatch(colours[kind])]));
  lights = Object.fromEntries(kinds.map((kind) => [kind, mixed(colours[kind], colours.paper, 0.5)]));
}

const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const dark = ([r, g, b]) => 0.3 * r + 0.59 * g + 0.11 * b < 130;
function mixed(one, other, share) {
  const second = channels(other);
  return `rgb(${channels(one).map((value, i) => Math.round(value * share + second[i] * (1 - share))).join()})`;
}

// The waiting part of a call: the call's colour, light and hatched.
function hatch(colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const c = tile.getContext("2d");
  c.fillStyle = colours.paper;
  c.fillRect(0, 0, 6, 6);
  c.globalAlpha = 0.28;
  c.fillStyle = colour;
  c.fillRect(0, 0, 6, 6);
  c.globalAlpha = 0.75;
  c.strokeStyle = colour;
  c.lineWidth = 1.2;
  c.beginPath();
  for (const x of [-6, 0, 6]) {
    c.moveTo(x - 1, 7);
    c.lineTo(x + 7, -1);
  }
  c.stroke();
  return c.createPattern(tile, "repeat");
}

// Rows by node, process and device: CPU ranks, then for each device its own activities and its slots.
function layOut() {
  const groups = new Map();
  const groupOf = (thing) => {
    const key = [thing.node, thing.process, thing.device].map((n) => String(n + 1).padStart(9, "0")).join();
    if (!groups.has(key)) groups.set(key, []);
    return groups.get(key);
  };
  devices.forEach((d, index) => d.activities > 0 && groupOf(d).push({ device: index, label: d.group, name: d.label }));
  meta.ranks.forEach((rank, index) => groupOf(rank).push({ rank: index, label: `rank ${index}`, name: rank.name }));
  const sorted = [...groups.keys()].sort().map((key) => groups.get(key));
  const number = sorted.reduce((sum, group) => sum + group.length, 0);
  const room = Math.max(240, Math.min(640, window.innerHeight * 0.5));
  const height = Math.max(11, Math.min(36, Math.floor((room - axis - gap * sorted.length) / Math.max(1, number))));
  rows = [];
  let y = axis + 4;
  for (const group of sorted) {
    for (const row of group) {
      if (group[0].rank !== undefined) row.name = meta.ranks[row.rank].full;  // no row of the device says the node
      rows.push({ ...row, y, height });
      y += height;
    }
    y += gap;
  }
  rowOfRank = [];
  for (const row of rows) if (row.rank !== undefined) rowOfRank[row.rank] = row;
  rowsHeight.style.height = y + "px";
  rowsBox.style.height = Math.min(y, Math.max(room, axis + 60)) + "px";
}

function fit(element, width, height) {
  const scale = window.devicePixelRatio || 1;
  element.width = Math.round(width * scale);
  element.height = Math.round(height * scale);
  element.style.height = height + "px";
  const context = element.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

const xOf = (time) => gutter + ((time - view.from) / (view.to - view.from)) * (pixels.width - gutter - 2);
const timeAt = (x) => view.from + ((x - gutter) / (pixels.width - gutter - 2)) * (view.to - view.from);
const yOf = (row) => row.y - rowsBox.scrollTop;

// Marks at 1, 2 or 5 times a power of ten, in one unit for all.
function drawAxis(c) {
  const wanted = (view.to - view.from) / Math.max(2, (pixels.width - gutter) / 110);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].find((n) => n * power >= wanted) * power;
  // No unit of which the marks are less than thousandths.
  const [unit, name] =
    [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([ns]) => view.to >= ns && step >= ns / 1000) ?? [1, "ns"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  c.font = "12px " + getComputedStyle(document.body).fontFamily;
  c.textBaseline = "middle";
  c.textAlign = "left";
  for (let k = Math.ceil(view.from / step); k * step <= view.to; ++k) {
    const x = Math.round(xOf(k * step)) + 0.5;
    c.fillStyle = colours.line;
    c.fillRect(x, axis - 5, 1, pixels.height);
    const text = ((k * step) / unit).toFixed(digits) + " " + name;
    c.fillStyle = colours.soft;
    if (x + 4 + c.measureText(text).width <= pixels.width) c.fillText(text, x + 4, axis / 2 - 2);
  }
}

function drawRank(c, row, y) {
  const r = row.rank, scale = (pixels.width - gutter - 2) / (view.to - view.from), h = row.height - pathRoom(row);
  const { begin, end, kind, waited } = events, mask = shown.mask;
  const sums = new Float64Array(kinds.length);
  let column = -1, waiting = 0, some = false, hit = false;
  const flush = () => {
    if (!some) return;
    let most = 0, all = 0;
    for (let k = 0; k < sums.length; ++k) {
      all += sums[k];
      if (sums[k] > sums[most]) most = k;
    }
    const share = Math.min(1, all * scale);
    c.globalAlpha = (0.3 + 0.7 * share) * (mask && !hit ? 0.15 : 1);
    c.fillStyle = (waiting > all / 2 ? lights : colours)[kinds[most]];
    c.fillRect(column, y, 1, h);
    c.globalAlpha = 1;
    sums.fill(0);
    waiting = 0;
    some = hit = false;
  };
  for (let e = firstAbove(end, view.from, first[r], first[r + 1]); e < first[r + 1] && begin[e] < view.to; ++e) {
    const x = gutter + (begin[e] - view.from) * scale, width = (end[e] - begin[e]) * scale;
    if (width < 1.5) {
      const at = Math.floor(x);
      if (at !== column) {
        flush();
        column = at;
      }
      if (at < gutter) continue;
      sums[kind[e]] += end[e] - begin[e] || 1;
      waiting += waited[e];
      some = true;
      hit ||= mask !== null && mask[e] === 1;
      continue;
    }
    flush();
    const left = Math.max(gutter, x), right = Math.min(pixels.width - 2, x + width);
    const split = Math.min(right, Math.max(left, x + waited[e] * scale));
    const colour = kinds[kind[e]];
    c.globalAlpha = mask && !mask[e] ? 0.15 : 1;
    if (split > left) {
      c.fillStyle = split - left > 7 ? hatches[colour] : lights[colour];
      c.fillRect(left, y, split - left, h);
    }
    c.fillStyle = colours[colour];
    c.fillRect(split, y, right - split, h);
    if (width > 6 && right - left > 3) {  // tells neighbours apart
      c.fillStyle = colours.paper;
      c.fillRect(right - 0.75, y, 0.75, h);
    }
    if (right - left > 34 && h >= 13) label(c, e, left, split, right, y, h);
    c.globalAlpha = 1;
  }
  flush();
}

// A call's name in the wider of its parts, where it has room.
function label(c, e, left, split, right, y, h) {
  const onSolid = right - split >= split - left, from = onSolid ? split : left;
  const room = (onSolid ? right - split : split - left) - 8;
  const peer = events.peer[e] >= 0 && events.kind[e] < 2 ? ["→", "←"][events.kind[e]] + " " + events.peer[e] : "";
  const text = [`${callName(e)} ${peer}`.trim(), callName(e)].find((t) => c.measureText(t).width <= room);
  if (!text) return;
  if (onSolid) {
    c.fillStyle = dark(channels(colours[kinds[events.kind[e]]])) ? "#ffffff" : "#10131a";
    c.fillText(text, from + 5, y + h / 2 + 0.5);
  } else {  // over the hatch, on a ground of its own
    c.fillStyle = colours.paper;
    c.fillRect(from + 2, y + h / 2 - 8, c.measureText(text).width + 6, 16);
    c.fillStyle = colours.ink;
    c.fillText(text, from + 5, y + h / 2 + 0.5);
  }
}

function drawDevice(c, row, y) {
  const d = devices[row.device], scale = (pixels.width - gutter - 2) / (view.to - view.from), h = row.height - pathRoom(row);
  let last = -1;
  for (let a = 0; a < d.activities && d.begin[a] < view.to; ++a) {
    if (d.end[a] <= view.from) continue;
    const left = Math.max(gutter, gutter + (d.begin[a] - view.from) * scale);
    const right = Math.min(pixels.width - 2, Math.max(left + 1, gutter + (d.end[a] - view.from) * scale));
    if (right <= last) continue;
    last = right;
    c.fillStyle = d.copy[a] ? colours.copy : colours.kernel;
    c.fillRect(left, y, right - left, h);
    const text = meta.names[d.name[a]];
    if (h >= 13 && right - left > 34 && c.measureText(text).width < right - left - 10) {
      c.fillStyle = dark(channels(d.copy[a] ? colours.copy : colours.kernel)) ? "#ffffff" : "#10131a";
      c.fillText(text, left + 5, y + h / 2 + 0.5);
    }
  }
}

function drawNames(c) {
  c.fillStyle = colours.paper;
  c.fillRect(0, axis, gutter, pixels.height);
  c.textBaseline = "middle";
  for (const row of rows) {
    const y = yOf(row) + row.height / 2;
    if (y < axis || y > pixels.height) continue;
    c.font = (row.height < 13 ? "10px " : "12px ") + getComputedStyle(document.body).fontFamily;
    const isDevice = row.device !== undefined;
    c.fillStyle = shown.hover?.row === row ? colours.focus : colours.ink;
    c.fillText(row.label, 2, y);
    const used = c.measureText(row.label).width + 10;
    c.fillStyle = colours.soft;
    let name = row.name;
    while (name && c.measureText(name).width > gutter - used - 10) name = name.slice(0, -1);
    if (isDevice && name !== row.name) name = name.slice(0, -1) + "…";
    c.textAlign = "right";
    c.fillText(name, gutter - 8, y);
    c.textAlign = "left";
  }
}

function drawPath(c) {
  if (!shown.path || meta.steps === 0) return;
  c.beginPath();
  let lastX = -9, lastY = -9, some = false;
  for (let s = firstAbove(path.end, view.from, 0, meta.steps); s < meta.steps && path.begin[s] <= view.to; ++s) {
    const row = rowOfRank[path.rank[s]], y = yOf(row) + row.height - pathRoom(row) / 2;
    const x0 = Math.max(gutter - 4, xOf(path.begin[s])), x1 = Math.min(pixels.width + 4, xOf(path.end[s]));
    if (some && y === lastY && x1 - lastX < 0.3) continue;
    if (some) c.lineTo(x0, y);
    else c.moveTo(x0, y);
    c.lineTo(x1, y);
    [lastX, lastY, some] = [x1, y, true];
  }
  c.lineJoin = "round";
  c.strokeStyle = colours.paper;
  c.lineWidth = 5;
  c.stroke();
  c.strokeStyle = colours.path;
  c.lineWidth = 2.5;
  c.stroke();
}

// From the middle of a send's row, when it began, to where the receiver had it.
function arrow(c, m, strong) {
  const s = messages.send[m], d = messages.done[m];
  const from = rowOfRank[rankOf(s)], to = rowOfRank[rankOf(messages.receive[m])];
  const x0 = xOf(events.begin[s]), x1 = xOf(events.end[d]);
  if (Math.max(x0, x1) < gutter || Math.min(x0, x1) > pixels.width) return;
  const down = from.y < to.y;
  const y0 = yOf(from) + from.height / 2, y1 = yOf(to) + (from === to ? to.height / 2 : down ? 1 : to.height - pathRoom(to));
  const angle = Math.atan2(y1 - y0, x1 - x0);
  c.globalAlpha = strong ? 1 : 0.5;
  c.strokeStyle = c.fillStyle = strong ? colours.ink : colours.message;
  c.lineWidth = strong ? 1.8 : 1;
  c.beginPath();
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
  c.stroke();
  c.beginPath();
  c.moveTo(x1, y1);
  for (const turn of [2.75, -2.75]) c.lineTo(x1 + 7 * Math.cos(angle + turn), y1 + 7 * Math.sin(angle + turn));
  c.fill();
  c.beginPath();
  c.arc(x0, y0, strong ? 2.6 : 1.8, 0, 7);
  c.fill();
  c.globalAlpha = 1;
}

const messagesOf = (e) => {
  const all = sentAs[e] >= 0 ? [sentAs[e]] : [];
  if (gotAs[e] < 0) return all;
  // A wait may end several, which its rank began shortly before.
  for (let other = e; other >= Math.max(first[rankOf(e)], e - 64); --other) {
    const m = gotAs[other];
    if (m >= 0 && (messages.receive[m] === e || messages.done[m] === e)) all.push(m);
  }
  return [...new Set(all)];
};

function drawMessages(c) {
  if (shown.messages) {
    const some = [];
    for (const row of rows) {
      if (row.rank === undefined || yOf(row) + row.height < axis || yOf(row) > pixels.height) continue;
      const from = firstAbove(events.end, view.from, first[row.rank], first[row.rank + 1]);
      const to = firstAbove(events.begin, view.to, from, first[row.rank + 1]);
      if (to - from > 20 * arrowsAtMost) return drawChosen(c);
      for (let e = from; e < to && some.length <= arrowsAtMost; ++e) if (sentAs[e] >= 0) some.push(sentAs[e]);
    }
    // No more than can be told apart.
    if (some.length <= Math.min(arrowsAtMost, (pixels.width - gutter) / 10)) {
      for (const m of some)
        if (!shown.mask || shown.mask[messages.send[m]] || shown.mask[messages.receive[m]]) arrow(c, m, false);
    }
  }
  drawChosen(c);
}

function drawChosen(c) {
  for (const chosen of [shown.pinned, shown.hover]) {
    if (!chosen || chosen.event === undefined) continue;
    const row = rowOfRank[rankOf(chosen.event)];
    for (const m of messagesOf(chosen.event)) arrow(c, m, true);
    const left = Math.max(gutter, xOf(events.begin[chosen.event])), right = Math.min(pixels.width - 1, xOf(events.end[chosen.event]));
    if (right < gutter || left > pixels.width) continue;
    c.strokeStyle = colours.ink;
    c.lineWidth = chosen === shown.pinned ? 2.5 : 1.5;
    c.strokeRect(left - 0.5, yOf(row), Math.max(2, right - left) + 1, row.height - pathRoom(row) + 0.5);
  }
}

function drawTimeline() {
  pixels = { width: rowsBox.clientWidth, height: rowsBox.clientHeight };
  const c = fit(canvas, pixels.width, pixels.height);
  c.clearRect(0, 0, pixels.width, pixels.height);
  drawAxis(c);
  c.save();
  c.beginPath();
  c.rect(0, axis, pixels.width, pixels.height - axis);
  c.clip();
  for (const row of rows) {
    const y = yOf(row);
    if (y + row.height < axis || y > pixels.height) continue;
    c.fillStyle = colours.row;
    c.globalAlpha = 0.75;
    c.fillRect(gutter, y, pixels.width - gutter - 2, row.height - pathRoom(row));
    c.globalAlpha = 1;
    c.font = "11px " + getComputedStyle(document.body).fontFamily;
    if (row.rank !== undefined) drawRank(c, row, y);
    else drawDevice(c, row, y);
  }
  c.save();
  c.beginPath();
  c.rect(gutter, axis, pixels.width - gutter, pixels.height);
  c.clip();
  drawPath(c);
  drawMessages(c);
  c.restore();
  drawNames(c);
  c.restore();
  if (shown.dragged) {
    const [a, b] = shown.dragged;
    c.fillStyle = colours.focus;
    c.globalAlpha = 0.15;
    c.fillRect(Math.min(a, b), axis, Math.abs(b - a), pixels.height);
    c.globalAlpha = 1;
    c.fillText(timeText(Math.abs(timeAt(b) - timeAt(a))), Math.min(a, b) + 4, axis + 8);
  }
}

// Over all of the time what share of the ranks transfers, waits and computes; counted once for a width.
let shares = null;
function countShares(width) {
  const inCalls = new Float64Array(width), waiting = new Float64Array(width), scale = width / Math.max(1, meta.duration);
  const add = (sums, from, to) => {
    const a = from * scale, b = Math.min(to * scale, width - 1e-9);
    for (let x = Math.floor(a); x <= b; ++x) sums[x] += Math.min(b, x + 1) - Math.max(a, x);
  };
  for (let e = 0; e < count; ++e) {
    if (events.waited[e] > 0) add(waiting, events.begin[e], events.begin[e] + events.waited[e]);
    add(inCalls, events.begin[e], events.end[e]);
  }
  return { width, inCalls, waiting };
}

function drawMap() {
  const width = map.clientWidth - gutter - 2, height = 44, c = fit(map, map.clientWidth, height);
  if (width < 10) return;
  if (shares?.width !== Math.floor(width)) shares = countShares(Math.floor(width));
  const top = 4, full = height - 8;
  c.fillStyle = colours.kernel;
  c.globalAlpha = 0.45;
  c.fillRect(gutter, top, width, full);
  c.globalAlpha = 1;
  for (let x = 0; x < shares.width; ++x) {
    const waiting = Math.min(1, shares.waiting[x] / ranks), busy = Math.min(1, shares.inCalls[x] / ranks) - waiting;
    c.fillStyle = lights.wait;
    c.fillRect(gutter + x, top + full * (1 - waiting - busy), 1, full * waiting);
    c.fillStyle = colours.send;
    c.fillRect(gutter + x, top + full * (1 - busy), 1, full * busy);
  }
  c.font = "12px " + getComputedStyle(document.body).fontFamily;
  c.textBaseline = "middle";
  c.fillStyle = colours.ink;
  c.fillText("all ranks", 2, height / 2 - 7);
  c.font = "11px " + getComputedStyle(document.body).fontFamily;
  c.fillStyle = colours.soft;
  c.fillText("over the whole trace", 2, height / 2 + 8);
  const left = gutter + (view.from / meta.duration) * width, right = gutter + (view.to / meta.duration) * width;
  c.fillStyle = colours.paper;
  c.globalAlpha = 0.65;
  c.fillRect(gutter, 0, left - gutter, height);
  c.fillRect(right, 0, gutter + width - right, height);
  c.globalAlpha = 1;
  c.strokeStyle = colours.focus;
  c.lineWidth = 1.5;
  c.strokeRect(left + 0.5, 1.5, Math.max(2, right - left - 1), height - 3);
}

// What is under the pointer: a call, an activity, or a row alone.
function under(x, y) {
  const row = rows.find((one) => yOf(one) <= y && y < yOf(one) + one.height);
  if (!row || x < gutter || y < axis) return row ? { row } : null;
  const time = timeAt(x), reach = 3 * (timeAt(1) - timeAt(0));
  const nearest = (begin, end, from, to) => {
    const i = firstAbove(end, time, from, to);
    const off = (k) => (k < from || k >= to ? Infinity : Math.max(0, begin[k] - time, time - end[k]));
    const best = off(i - 1) < off(i) ? i - 1 : i;
    return off(best) <= reach ? best : undefined;
  };
  if (row.rank !== undefined) return { row, event: nearest(events.begin, events.end, first[row.rank], first[row.rank + 1]) };
  const d = devices[row.device];
  return { row, activity: nearest(d.begin, d.end, 0, d.activities) };
}
