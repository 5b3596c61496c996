// What the pointer, the keys and the controls do.

let due = false;
function draw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    drawTimeline();
    drawMap();
  });
}

function show(from, to) {
  const least = Math.min(20, meta.duration || 1), span = Math.max(least, Math.min(to - from, Math.max(1, meta.duration)));
  view.from = Math.max(0, Math.min(from, meta.duration - span));
  view.to = view.from + span;
  draw();
}
const zoom = (factor, x = (gutter + pixels.width) / 2) => {
  const middle = timeAt(x);
  show(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
};
const move = (share) => show(view.from + (view.to - view.from) * share, view.to + (view.to - view.from) * share);

function showDetail() {
  const chosen = shown.pinned;
  byId("detail").innerHTML = chosen?.event !== undefined
    ? `<span><strong>${callInWords(chosen.event)}</strong></span><span><kbd>Esc</kbd> lets go</span>`
    : "<span>Wheel, <kbd>w</kbd> <kbd>s</kbd> zoom; <kbd>a</kbd> <kbd>d</kbd> move; drag: a range; <kbd>0</kbd> all; " +
      "Shift and wheel: more ranks; click pins a call, <kbd>,</kbd> <kbd>.</kbd> go to the next</span>" +
      (meta.clockError > 0 ? `<span>clocks differ by ${timeText(meta.clockError)} at most</span>` : "");
}

function pin(event, alsoShow) {
  shown.pinned = event === undefined ? null : { event };
  if (event !== undefined && alsoShow) {
    const ns = Math.max(events.end[event] - events.begin[event], 1), middle = (events.begin[event] + events.end[event]) / 2;
    const span = Math.max(ns * 5, Math.min(view.to - view.from, ns * 40));
    show(middle - span / 2, middle + span / 2);
    bringIntoView(rowOfRank[rankOf(event)]);
  }
  showDetail();
  draw();
}
function bringIntoView(row) {
  if (yOf(row) < axis) rowsBox.scrollTop = row.y - axis - 4;
  else if (yOf(row) + row.height > rowsBox.clientHeight) rowsBox.scrollTop = row.y + row.height - rowsBox.clientHeight + 4;
}

// Pointer ---------------------------------------------------------------------------------------------------------------
const tip = byId("tip");
function showTip(x, y, html) {
  tip.hidden = !html;
  if (!html) return;
  tip.innerHTML = html;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(x + 16, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18) + "px";
}

let pressed = null;
canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  pressed = { x: event.offsetX, from: view.from, to: view.to, moves: event.shiftKey, far: false };
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (pressed) {
    pressed.far ||= Math.abs(event.offsetX - pressed.x) > 4;
    if (!pressed.far) return;
    showTip(0, 0, "");
    const by = ((event.offsetX - pressed.x) / (pixels.width - gutter)) * (pressed.to - pressed.from);
    if (pressed.moves) show(pressed.from - by, pressed.to - by);
    else shown.dragged = [Math.max(gutter, pressed.x), Math.max(gutter, event.offsetX)];
    draw();
    return;
  }
  shown.hover = under(event.offsetX, event.offsetY);
  const { row, event: call, activity } = shown.hover ?? {};
  let text = "";
  if (call !== undefined) text = callInWords(call);
  else if (activity !== undefined) text = activityInWords(devices[row.device], activity);
  showTip(event.clientX, event.clientY, text);
  draw();
});
canvas.addEventListener("pointerup", (event) => {
  const range = shown.dragged, far = pressed?.far;
  pressed = shown.dragged = null;
  if (range && Math.abs(range[1] - range[0]) > 4) show(timeAt(Math.min(...range)), timeAt(Math.max(...range)));
  else if (!far) pin(under(event.offsetX, event.offsetY)?.event);
  draw();
});
canvas.addEventListener("pointerleave", () => {
  shown.hover = null;
  showTip(0, 0, "");
  draw();
});
canvas.addEventListener("wheel", (event) => {
  if (event.shiftKey) return;  // scrolls the rows
  event.preventDefault();
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 1000);
  else zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 200), event.offsetX);
}, { passive: false });
canvas.addEventListener("dblclick", () => show(0, meta.duration));

let mapPressed = null;
const mapTime = (event) => ((event.offsetX - gutter) / (map.clientWidth - gutter - 2)) * meta.duration;
map.addEventListener("pointerdown", (event) => {
  const time = mapTime(event), inside = view.from <= time && time <= view.to && view.to - view.from < meta.duration * 0.98;
  mapPressed = { time, inside, from: view.from, to: view.to };
  map.setPointerCapture(event.pointerId);
  if (!inside && view.to - view.from < meta.duration * 0.98) show(time - (view.to - view.from) / 2, time + (view.to - view.from) / 2);
});
map.addEventListener("pointermove", (event) => {
  if (!mapPressed) return;
  const time = mapTime(event), by = time - mapPressed.time;
  if (mapPressed.inside) show(mapPressed.from + by, mapPressed.to + by);
  else if (Math.abs(by) > meta.duration / 200) show(Math.min(time, mapPressed.time), Math.max(time, mapPressed.time));
});
for (const name of ["pointerup", "pointercancel"]) map.addEventListener(name, () => (mapPressed = null));
canvas.addEventListener("pointercancel", () => (pressed = shown.dragged = null));

// Keys ------------------------------------------------------------------------------------------------------------------
function stepTo(by) {
  if (count === 0) return;
  const now = shown.pinned?.event;
  const next = now !== undefined ? now + by : firstAbove(events.end, (view.from + view.to) / 2, first[0], first[1]);
  if (next < 0 || next >= count || (now !== undefined && rankOf(next) !== rankOf(now))) return;
  pin(next, events.begin[next] < view.from || events.end[next] > view.to);
}
const actions = {
  w: () => zoom(0.7), s: () => zoom(1 / 0.7), "+": () => zoom(0.7), "-": () => zoom(1 / 0.7),
  a: () => move(-0.2), d: () => move(0.2), ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  ArrowUp: () => (rowsBox.scrollTop -= 60), ArrowDown: () => (rowsBox.scrollTop += 60),
  0: () => show(0, meta.duration), ",": () => stepTo(-1), ".": () => stepTo(1), Escape: () => pin(undefined),
  "/": () => byId("search").focus(),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = event.target.closest?.("tr.leads");
  if (row && (event.key === "Enter" || event.key === " ")) {
    event.preventDefault();
    lead(row);
    return;
  }
  if (event.target.matches?.('input[type="search"], input[type="radio"]')) return;
  // Outside the timeline arrows scroll the page.
  if (event.key.startsWith("Arrow") && event.target !== canvas) return;
  const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
  if (!action) return;
  event.preventDefault();
  action();
});

// Controls --------------------------------------------------------------------------------------------------------------
function lead(row) {
  if (row.dataset.event !== undefined) pin(Number(row.dataset.event), true);
  else bringIntoView((shown.hover = { row: rowOfRank[Number(row.dataset.rank)] }).row);
  byId("timeline-section").scrollIntoView({ block: "nearest" });
  draw();
}
document.addEventListener("click", (event) => {
  const row = event.target.closest("tr.leads");
  if (row) lead(row);
});
byId("show-path").addEventListener("change", (event) => {
  shown.path = event.target.checked;
  draw();
});
byId("show-messages").addEventListener("change", (event) => {
  shown.messages = event.target.checked;
  draw();
});
byId("reset").addEventListener("click", () => show(0, meta.duration));
byId("search").addEventListener("input", (event) => {
  shown.mask = find(event.target.value);
  const hits = shown.mask?.reduce((sum, hit) => sum + hit, 0);
  event.target.classList.toggle("told", shown.mask !== null);
  byId("found").textContent = shown.mask ? `${hits} call${hits === 1 ? "" : "s"}` : "";
  draw();
});
byId("search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    event.target.value = "";
    event.target.dispatchEvent(new Event("input"));
    canvas.focus();
  }
  if (event.key !== "Enter" || !shown.mask) return;
  const from = shown.pinned ? shown.pinned.event + (event.shiftKey ? -1 : 1) : 0;
  const next = event.shiftKey ? shown.mask.lastIndexOf(1, from) : shown.mask.indexOf(1, from);
  const found = next >= 0 ? next : event.shiftKey ? shown.mask.lastIndexOf(1) : shown.mask.indexOf(1);
  if (found >= 0) pin(found, true);
});
for (const input of document.querySelectorAll('input[name="unit"]')) input.addEventListener("change", () => showMatrix());
const matrixCell = (event) => {
  const cell = [event.offsetY - matrix.top, event.offsetX - matrix.left].map((at) => Math.floor(at / matrix.cell));
  return cell.every((n) => n >= 0 && n < ranks) ? cell : null;
};
matrix.canvas.addEventListener("pointermove", (event) => showMatrix(matrixCell(event)));
matrix.canvas.addEventListener("pointerleave", () => showMatrix());

function showLegend() {
  const used = new Set(events.kind);
  byId("legend").innerHTML = "";
  const entry = (name, paint) => {
    const item = document.createElement("li"), swatch = document.createElement("canvas");
    item.append(swatch, name);
    byId("legend").append(item);
    paint(fit(swatch, 16, 11));
  };
  kinds.forEach((kind, k) => {
    if (!used.has(k)) return;
    entry(kindNames[k], (c) => {
      c.fillStyle = colours[kind];
      c.fillRect(0, 0, 16, 11);
    });
  });
  entry("hatched: waiting for another rank", (c) => {
    c.fillStyle = hatches.other;
    c.fillRect(0, 0, 16, 11);
  });
  entry("plain: computing", (c) => {
    c.fillStyle = colours.row;
    c.fillRect(0, 0, 16, 11);
    c.strokeStyle = colours.other;
    c.strokeRect(0.5, 0.5, 15, 10);
  });
}

function showAll() {
  readColours();
  showLegend();
  layOut();
  showMatrix();
  draw();
}
rowsBox.addEventListener("scroll", draw);
window.addEventListener("resize", showAll);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showAll);

byId("program").textContent = meta.program || "A trace";
byId("summary").innerHTML = escapeHtml(meta.summary).replace(/(\d) us\b/g, "$1 µs")
  .replace(/\d[\d.]* (%|(ns|µs|ms|s)\b)/g, (quantity) => `<b>${quantity.replace(" ", "\u00a0")}</b>`);
showTimes();
showPath();
showFlows();
showCollectives();
showSlowest();
showDetail();
showAll();
drawTimeline();
drawMap();
document.documentElement.dataset.ready = `${count} calls, ${meta.messages} messages`;
