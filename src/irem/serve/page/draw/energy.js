// Energy against steps: one line for every start, a mark at the step that is shown.

import { isNumber, short } from "../lib/numbers.js";
import { scaleOf, ticks } from "./axes.js";
import { picture, round, tag, text } from "./svg.js";

const DASHES = ["", "7 4", "2 4", "10 3 2 3"];
const NAMED = 4;
const MOST_POINTS = 600;

/** Draw lines of energies; `step` is marked, `width` and `height` are in pixels. */
export function drawEnergies(
  series,
  { step = 0, last = 1, width = 400, height = 240, label } = {},
) {
  const all = series.flat().filter(isNumber);
  if (!all.length) return picture(width, height, label ?? "No energies yet", "");
  const scale = scaleOf(all);
  const box = { left: 58, top: 10, right: width - 20, bottom: height - 34 };
  const x = (at) => box.left + (at / Math.max(last, 1)) * (box.right - box.left);
  const y = (energy) => box.bottom - scale.share(energy) * (box.bottom - box.top);
  const order = series.map((_, i) => i).reverse(); // the first starts lie on top
  const content =
    grid(box, scale, x, y, last) +
    tag("line", { class: "d-now", x1: x(step), x2: x(step), y1: box.top, y2: box.bottom }) +
    order.map((i) => curve(series[i], i, x, y)).join("") +
    order.map((i) => dot(series[i], i, step, x, y)).join("");
  return picture(width, height, label ?? `Energy against steps${scale.name}`, content, {
    width,
    height,
  });
}

function grid(box, scale, x, y, last) {
  const small = { class: "d-muted d-small d-number" };
  const lines = scale.ticks.map(
    (tick) =>
      tag("line", { class: "d-hair", x1: box.left, x2: box.right, y1: y(tick), y2: y(tick) }) +
      text(box.left - 8, y(tick) + 4, short(tick), { ...small, "text-anchor": "end" }),
  );
  const steps = ticks(0, Math.max(last, 1), (box.right - box.left) / 70).filter(Number.isInteger);
  const under = steps.map((tick) =>
    text(x(tick), box.bottom + 16, tick.toLocaleString("en"), {
      ...small,
      "text-anchor": "middle",
    }),
  );
  return (
    lines.join("") +
    under.join("") +
    text((box.left + box.right) / 2, box.bottom + 31, "step", {
      ...small,
      "text-anchor": "middle",
    }) +
    (scale.name ? text(4, box.bottom + 31, "logarithmic", small) : "")
  );
}

const series = (kind, i) => `d-${kind}-${i < NAMED ? i : "rest"}`;

function curve(energies, i, x, y) {
  const stride = Math.ceil(energies.length / MOST_POINTS);
  const kept = energies
    .map((energy, at) => [at, energy])
    .filter(
      ([at, energy]) => isNumber(energy) && (at % stride === 0 || at === energies.length - 1),
    );
  const points = kept.map(([at, energy]) => `${round(x(at))} ${round(y(energy))}`);
  return points.length
    ? tag("path", {
        class: `d-curve ${series("series", i)}`,
        "stroke-dasharray": DASHES[i] || undefined,
        d: `M${points.join("L")}`,
      })
    : "";
}

function dot(energies, i, step, x, y) {
  const at = Math.min(step, energies.length - 1);
  return isNumber(energies[at])
    ? tag("circle", { class: series("dot", i), cx: x(at), cy: y(energies[at]), r: 4 })
    : "";
}
