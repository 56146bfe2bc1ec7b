// A slice of the energy as bands of colour, with the paths of the descents on it.

import { isNumber } from "../lib/numbers.js";
import { regionAbove } from "./contours.js";
import { picture, round, tag, text } from "./svg.js";

const BANDS = 8;
const DASHES = ["", "7 4", "2 4", "10 3 2 3"];
const NAMED = 4;

/**
 * Draw `energies[v][u]` over `axes`, and paths of `[u, v]` points.
 * axes: {u: [low, high], v: [low, high]}, or the places of columns and of rows;
 * starts: the number of the start of every path, shown: the point of every path that is marked.
 */
export function drawLandscape(
  { energies, axes, paths = [], starts = paths.map((_, i) => i) },
  { shown = [], width = 320, height = 280, label } = {},
) {
  const rows = filled(energies);
  const [columns, lines] = [rows[0].length - 1, rows.length - 1];
  const [u, v] = [axes?.u ?? axes?.[0] ?? [0, columns], axes?.v ?? axes?.[1] ?? [0, lines]].map(
    extent,
  );
  const place = ([a, b]) => [
    ((a - u[0]) / (u[1] - u[0])) * width,
    height - ((b - v[0]) / (v[1] - v[0])) * height,
  ];
  const ground =
    tag("rect", { class: "d-band-0", width, height }) +
    tag(
      "g",
      {
        transform: `translate(0 ${height}) scale(${width / columns} ${-height / lines})`,
        "stroke-width": 0.06,
      },
      bands(rows),
    );
  const content =
    tag("clipPath", { id: "slice" }, tag("rect", { width, height, rx: 4 })) +
    tag(
      "g",
      { "clip-path": "url(#slice)" },
      ground +
        paths.map((path, i) => trail(path.map(place), starts[i])).join("") +
        paths.map((path, i) => ends(path.map(place), starts[i], shown[i])).join(""),
    );
  return picture(width, height, label ?? "Slice of the energy", content, { width, height });
}

const extent = (places) => [places[0], places[places.length - 1]];

/** Energies that are not finite are as high as the highest. */
function filled(energies) {
  const most = Math.max(...energies.flat().filter(isNumber));
  return energies.map((row) => row.map((value) => (isNumber(value) ? value : most)));
}

/** Bands that each hold about as many cells, so that a steep rim does not hide a flat middle. */
function bands(rows) {
  const sorted = rows.flat().sort((a, b) => a - b);
  const levels = Array.from(
    { length: BANDS - 1 },
    (_, k) => sorted[Math.floor(((k + 1) / BANDS) ** 1.5 * (sorted.length - 1))],
  );
  return levels
    .map((level, k) =>
      level > sorted[0]
        ? tag("path", { class: `d-band-${k + 1}`, d: regionAbove(rows, level) })
        : "",
    )
    .join("");
}

const named = (kind, i) => `d-${kind}-${i < NAMED ? i : "rest"}`;

function trail(points, i) {
  if (!points.length) return "";
  const line = `M${points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}`;
  const dots =
    points.length > 120
      ? ""
      : points
          .map(([x, y]) => tag("circle", { class: named("dot", i), cx: x, cy: y, r: 2 }))
          .join("");
  return (
    tag("path", {
      class: `d-curve ${named("series", i)}`,
      "stroke-dasharray": DASHES[i] || undefined,
      d: line,
    }) + dots
  );
}

/** A number at the first guess, a star at the end, a ring at the step that is shown. */
function ends(points, i, shown) {
  if (!points.length) return "";
  const [first, last] = [points[0], points[points.length - 1]];
  const now = points[Math.min(shown ?? points.length - 1, points.length - 1)];
  return (
    tag("circle", {
      class: `d-paper ${named("series", i)}`,
      cx: first[0],
      cy: first[1],
      r: 9,
      "stroke-width": 2,
    }) +
    text(first[0], first[1] + 4, i + 1, {
      "text-anchor": "middle",
      "font-size": 12,
      "font-weight": 600,
    }) +
    star(last) +
    tag("circle", { class: `d-curve ${named("series", i)}`, cx: now[0], cy: now[1], r: 7 })
  );
}

function star([x, y]) {
  const points = Array.from({ length: 10 }, (_, i) => {
    const [angle, radius] = [(Math.PI * i) / 5 - Math.PI / 2, i % 2 ? 3.2 : 7.5];
    return `${round(x + radius * Math.cos(angle))},${round(y + radius * Math.sin(angle))}`;
  });
  return tag("polygon", { class: "d-star", points: points.join(" ") });
}
