// A line of bits, broken into rows: the problem above, the answer below.

import { shaded } from "./cells.js";
import { picture, tag, text } from "./svg.js";

const CELL = 22;
const ACROSS = 16;
const LETTERS = 512; // bits beyond which the digits are left out

/** Draw a line of bits and, under each, how near its answer is to one. */
export function drawBits(bits, entries, { label } = {}) {
  const across = Math.min(Math.max(bits.length, 1), bits.length > LETTERS ? 4 * ACROSS : ACROSS);
  const rows = Math.ceil(bits.length / across);
  const pitch = entries ? 2.6 : 1.4;
  const given = [],
    found = [];
  let letters = "";
  [...bits].forEach((bit, place) => {
    const [column, row] = [place % across, Math.floor(place / across) * pitch];
    if (bit === "1") given.push([column, row, 0.25]);
    const entry = entries?.[place];
    if (typeof entry === "number") found.push([column, row + 1, entry * 0.9]);
    if (bits.length <= LETTERS)
      letters +=
        digit(column, row, bit, "d-given") +
        (entry === undefined
          ? ""
          : digit(column, row + 1, entry > 0.5 ? "1" : "0", entry > 0.6 ? "d-letter" : "d-found"));
  });
  const frames = Array.from({ length: rows }, (_, row) => {
    const width = Math.min(across, bits.length - row * across) * CELL;
    return (
      tag("rect", { class: "d-frame", y: row * pitch * CELL, width, height: CELL }) +
      (entries
        ? tag("rect", { class: "d-frame", y: (row * pitch + 1) * CELL, width, height: CELL })
        : "")
    );
  });
  const content = tag(
    "g",
    { transform: "translate(1 1)" },
    shaded(given, "d-muted", CELL) + shaded(found, "d-path", CELL) + letters + frames.join(""),
  );
  return picture(
    across * CELL + 2,
    (Math.max(rows - 1, 0) * pitch + (entries ? 2 : 1)) * CELL + 2,
    label ?? `Line of ${bits.length} bits`,
    content,
  );
}

const digit = (column, row, character, name) =>
  text((column + 0.5) * CELL, (row + 0.5) * CELL + 5, character, {
    class: name,
    "text-anchor": "middle",
    "font-size": 13,
  });
