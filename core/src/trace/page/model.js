// The trace: what is in the page's two data elements, as columns, and in words. Times are ns from the trace's begin on.

const meta = JSON.parse(document.getElementById("meta").textContent);
const kinds = ["send", "receive", "both", "wait", "collective", "other"];
const kindNames = ["send", "receive", "send and receive", "wait", "collective", "other"];

// Columns of events, rank after rank: those of rank r are from first[r] to first[r + 1].
const first = [0];
for (const rank of meta.ranks) first.push(first[first.length - 1] + rank.events);
const count = first[first.length - 1];
const ranks = meta.ranks.length;
const events = {
  begin: new Float64Array(count), end: new Float64Array(count), call: new Uint8Array(count), kind: new Uint8Array(count),
  peer: new Int32Array(count), tag: new Int32Array(count), communicator: new Int32Array(count), bytes: new Float64Array(count),
  waited: new Float64Array(count), awaited: new Int32Array(count),
  from: new Map(),  // of a send-and-receive: [rank, tag, bytes]
  slow: new Map(),  // of a blocking send or receive: why it took the slow path
};
const messages = { send: new Int32Array(meta.messages), receive: new Int32Array(meta.messages), done: new Int32Array(meta.messages) };
const path = {
  rank: new Int32Array(meta.steps), kind: new Uint8Array(meta.steps),
  begin: new Float64Array(meta.steps), end: new Float64Array(meta.steps),
};
const devices = meta.devices.map((d) => ({
  ...d, copy: new Uint8Array(d.activities), begin: new Float64Array(d.activities), end: new Float64Array(d.activities),
  name: new Int32Array(d.activities), bytes: new Float64Array(d.activities), label: d.name,
}));
// By event: the message that it sends, gets, or ends with; the last one where it ends several.
const sentAs = new Int32Array(count).fill(-1), gotAs = new Int32Array(count).fill(-1);

{
  const text = atob(document.getElementById("data").textContent);
  let at = 0;
  // Numbers beyond 32 bits need multiplication: shifts are of 32.
  const read = () => {
    let value = 0, scale = 1;
    for (;;) {
      const byte = text.charCodeAt(at++);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  const readSigned = () => {
    const value = read();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  };
  for (let r = 0; r < ranks; ++r) {
    let time = 0;
    for (let e = first[r]; e < first[r + 1]; ++e) events.begin[e] = time += readSigned();
  }
  const column = (name, next) => {
    const values = events[name];
    for (let e = 0; e < count; ++e) values[e] = next(e);
  };
  column("end", (e) => events.begin[e] + read());
  column("call", read);
  column("kind", (e) => meta.calls[events.call[e]][1]);
  for (const name of ["peer", "tag", "communicator", "bytes"]) column(name, readSigned);
  column("waited", read);
  column("awaited", readSigned);
  for (let e = 0; e < count; ++e) if (events.kind[e] === 2) events.from.set(e, [readSigned(), readSigned(), readSigned()]);
  for (let e = 0; e < count; ++e) {
    const why = events.kind[e] < 2 ? read() : 0;
    if (why) events.slow.set(e, meta.reasons[why]);
  }
  let send = 0, receive = 0;
  for (let m = 0; m < meta.messages; ++m) {
    messages.send[m] = send += readSigned();
    messages.receive[m] = receive += readSigned();
    messages.done[m] = receive + read();
    sentAs[send] = gotAs[receive] = gotAs[messages.done[m]] = m;
  }
  let now = 0;
  for (let s = 0; s < meta.steps; ++s) {
    path.rank[s] = read();
    path.kind[s] = read();
    path.begin[s] = now;
    path.end[s] = now += read();
  }
  for (const device of devices) {
    let time = 0;
    for (let a = 0; a < device.activities; ++a) {
      device.copy[a] = read();
      device.begin[a] = time += readSigned();
      device.end[a] = device.begin[a] + read();
      device.name[a] = read();
      device.bytes[a] = readSigned();
    }
  }
}

// The first index in [from, to) at which `values` is above `limit`; values rise.
function firstAbove(values, limit, from, to) {
  while (from < to) {
    const middle = (from + to) >> 1;
    if (values[middle] > limit) to = middle;
    else from = middle + 1;
  }
  return from;
}

const rankOf = (e) => firstAbove(first, e, 0, first.length) - 1;

const threeDigits = (value) => (value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));
function timeText(ns) {
  const units = ["ns", "µs", "ms", "s"];
  let unit = 0;
  for (; Math.abs(ns) >= 999.5 && unit < 3; ++unit) ns /= 1000;
  return threeDigits(ns) + " " + units[unit];
}
function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; bytes >= 1023.5 && unit < 4; ++unit) bytes /= 1024;
  return threeDigits(bytes) + " " + units[unit];
}
function shareText(part, whole) {
  const percent = whole > 0 ? (100 * part) / whole : 0;
  if (percent > 0 && percent < 0.05) return "< 0.1 %";
  return (percent > 0 && percent < 0.95 ? percent.toFixed(1) : percent.toFixed(0)) + " %";
}
const escapeHtml = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

// The moment of a time: as many digits as tell it from a microsecond later.
const momentText = (ns) => (ns < 1e6 ? (ns / 1e3).toFixed(1) + " µs" : (ns / 1e6).toFixed(ns < 1e9 ? 4 : 3) + " ms");
const rankText = (r) => (meta.ranks[r] ? `rank ${r} (${meta.ranks[r].full})` : `rank ${r}`);
const callName = (e) => meta.calls[events.call[e]][0];

// What a call was, in a sentence; HTML.
function callInWords(e) {
  const r = rankOf(e), name = callName(e), kind = events.kind[e], peer = events.peer[e];
  const tag = events.tag[e] >= 0 ? ` with tag ${events.tag[e]}` : "";
  const communicator = events.communicator[e] ? ` in communicator ${events.communicator[e]}` : "";
  const size = bytesText(events.bytes[e]);
  let what;
  if (kind === 0) what = `sends ${size} to ${rankText(peer)}${tag}`;
  else if (kind === 1) {
    // Of any source or tag, and how much: its message's send says.
    const m = gotAs[e], known = m >= 0 && messages.receive[m] === e;
    const from = known ? rankOf(messages.send[m]) : peer, got = known ? bytesText(events.bytes[messages.send[m]]) : "a message";
    what = `receives ${got} from ${from >= 0 ? rankText(from) : "any rank"}${known ? ` with tag ${events.tag[messages.send[m]]}` : tag}`;
  }
  else if (kind === 2) {
    const [from, fromTag, fromBytes] = events.from.get(e);
    what = `sends ${size} to ${rankText(peer)}${tag} and receives ${bytesText(fromBytes)} from ${from >= 0 ? rankText(from) : "any rank"}` +
      (fromTag >= 0 ? ` with tag ${fromTag}` : "");
  } else if (kind === 4) what = `takes part with ${size}` + (peer >= 0 ? `, root ${rankText(peer)}` : "");
  else if (kind === 3) what = name === "finish" ? "ends" : "waits for what it has begun";
  else what = peer >= 0 ? `looks for a message from ${rankText(peer)}${tag}` : "looks whether something has come";
  let text = `<b>${name}</b>: rank ${r} (${escapeHtml(meta.ranks[r].full)}) ${escapeHtml(what + communicator)}. ` +
    `${timeText(events.end[e] - events.begin[e])}, from ${momentText(events.begin[e])} on`;
  if (events.waited[e] > 0)
    text += `, of which <b>${timeText(events.waited[e])} waiting</b> until ${escapeHtml(rankText(events.awaited[e]))} came`;
  if (events.slow.has(e)) text += `. It took the slow path: ${escapeHtml(events.slow.get(e))}`;
  return text + ".";
}

function activityInWords(device, a) {
  const size = device.copy[a] && device.bytes[a] > 0 ? ` of ${bytesText(device.bytes[a])}` : "";
  const what = device.copy[a] ? "copy" : "kernel";
  return `<b>${escapeHtml(meta.names[device.name[a]])}</b>: a ${what}${size} on ` +
    `${escapeHtml(device.group)} (${escapeHtml(device.label)}). ${timeText(device.end[a] - device.begin[a])}, from ${momentText(device.begin[a])} on.`;
}

// For each rank, ns.
const times = meta.ranks.map((_, r) => {
  let inCalls = 0, waiting = 0;
  for (let e = first[r]; e < first[r + 1]; ++e) {
    inCalls += events.end[e] - events.begin[e];
    waiting += events.waited[e];
  }
  return { inCalls, waiting, computing: Math.max(0, meta.duration - inCalls) };
});

// What is looked for: a mask over events, or null where nothing is. Words that all must hold: "tag 7", "peer 3",
// "rank 2", "comm 1", "waited", or a part of a call's name.
function find(query) {
  const words = query.toLowerCase().match(/(tag|peer|rank|comm)\s*[:=]?\s*\d+|\S+/g);
  if (!words) return null;
  const conditions = words.map((word) => {
    const [, field, digits] = word.match(/^(tag|peer|rank|comm)\s*[:=]?\s*(\d+)$/) ?? [];
    const value = Number(digits);
    if (field === "tag") return (e) => events.tag[e] === value || events.from.get(e)?.[1] === value;
    if (field === "peer") return (e) => events.peer[e] === value || events.from.get(e)?.[0] === value;
    if (field === "comm") return (e) => events.communicator[e] === value;
    if (field === "rank") return (e) => first[value] <= e && e < first[value + 1];
    if (word === "waited") return (e) => events.waited[e] > 0;
    return (e) => callName(e).includes(word);
  });
  const mask = new Uint8Array(count);
  for (let e = 0; e < count; ++e) mask[e] = conditions.every((holds) => holds(e)) ? 1 : 0;
  return mask;
}
