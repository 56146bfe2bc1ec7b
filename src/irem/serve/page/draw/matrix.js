// A table of numbers: blue cells are positive, orange ones negative, hatched ones missing.

import { isNumber, largest, rowsOf, short } from "../lib/numbers.js";
import { shaded } from "./cells.js";
import { picture, squares, tag, text } from "./svg.js";

const WRITTEN = 8; // columns beyond which the numbers do not fit into the cells

/** Draw a table. `most` is the number that has the full colour, `names` stand beside rows and columns. */
export function drawMatrix(table, { label, most, names, marked } = {}) {
  const rows = rowsOf(table);
  const [height, width] = [rows.length, rows[0]?.length ?? 0];
  const written = width <= WRITTEN && height <= 2 * WRITTEN;
  const size = written ? 44 : Math.max(4, 352 / Math.max(width, height));
  const edge = names ? 18 : 1;
  const full = most ?? largest(rows);
  const inside =
    tag("rect", { class: "d-paper", width: width * size, height: height * size }) +
    colours(rows, full, size, written ? 0.5 : 0.9) +
    (written ? numbers(rows, full, size) : "") +
    (marked ? marks(marked, size) : "") +
    frame(width, height, size, written);
  const content =
    (names ? nameTexts(names, rows, size, edge) : "") +
    tag("g", { transform: `translate(${edge} ${edge})` }, inside);
  return picture(
    width * size + edge + 1,
    height * size + edge + 1,
    label ?? `Table of ${height} by ${width} numbers`,
    content,
  );
}

/** Shades, lighter where a number is written on them. */
function colours(rows, full, size, darkest) {
  const plus = [],
    minus = [],
    holes = [];
  rows.forEach((row, i) =>
    row.forEach((value, j) => {
      if (!isNumber(value)) holes.push([j, i]);
      else (value < 0 ? minus : plus).push([j, i, (Math.abs(value) / full) ** 0.7 * darkest]);
    }),
  );
  return (
    tag("path", { class: "d-hole", d: squares(holes, size) }) +
    shaded(plus, "d-plus", size) +
    shaded(minus, "d-minus", size)
  );
}

/** Numbers of two digits, rounded to a hundredth of the largest. */
function numbers(rows, full, size) {
  const unit = 10 ** (Math.floor(Math.log10(full)) - 2);
  const written = (value) => (isNumber(value) ? short(Math.round(value / unit) * unit, 2) : "");
  return rows
    .map((row, i) =>
      row
        .map((value, j) =>
          text((j + 0.5) * size, (i + 0.5) * size + 4, written(value), {
            class: "d-number",
            "text-anchor": "middle",
            "font-size": 12,
          }),
        )
        .join(""),
    )
    .join("");
}

const marks = (places, size) =>
  tag("path", { class: "d-frame", "stroke-width": 2, d: squares(places, size, 1) });

function frame(width, height, size, hairs) {
  let lines = "";
  for (let j = 1; hairs && j < width; j += 1) lines += `M${j * size} 0v${height * size}`;
  for (let i = 1; hairs && i < height; i += 1) lines += `M0 ${i * size}h${width * size}`;
  return (
    tag("path", { class: "d-hair", d: lines }) +
    tag("rect", { class: "d-frame", width: width * size, height: height * size })
  );
}

function nameTexts(names, rows, size, edge) {
  const style = { class: "d-muted", "font-size": 12, "text-anchor": "middle" };
  const above = names
    .slice(0, rows[0].length)
    .map((name, j) => text(edge + (j + 0.5) * size, 12, name, style));
  const beside = names
    .slice(0, rows.length)
    .map((name, i) => text(8, edge + (i + 0.5) * size + 4, name, style));
  return above.join("") + beside.join("");
}
