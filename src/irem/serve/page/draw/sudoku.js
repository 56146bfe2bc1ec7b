// A grid of symbols: givens are bold, what was found stands in colour, what is open shows its candidates.

import { shaded } from "./cells.js";
import { picture, tag, text } from "./svg.js";

const CELL = 40;
const SYMBOLS = "123456789ABCDEFGHIJKLMNOP";

export const sizeOf = (grid) => Math.round(Math.sqrt(grid.length));
export const isOpen = (character) =>
  character === "." || character === "0" || character === undefined;
/** Rows and columns of a box. */
export const boxOf = (size) => Math.round(Math.sqrt(size));

/** Draw the answer of a puzzle; `certainty[row][column][symbol]` is from 0 to 1. */
export function drawSudoku(given, found, { certainty, label } = {}) {
  const size = sizeOf(given);
  const cells = [...given].map((character, place) => ({
    given: character,
    row: Math.floor(place / size),
    column: place % size,
    found: found?.[place],
    shares: certainty?.[Math.floor(place / size)]?.[place % size],
  }));
  const open = cells.filter((cell) => isOpen(cell.given));
  const content =
    tag("rect", { class: "d-paper", width: size * CELL, height: size * CELL }) +
    shaded(
      open.map((cell) => [cell.column, cell.row, certaintyOf(cell)]),
      "d-changed",
      CELL,
    ) +
    cells.map((cell) => drawCell(cell, size)).join("") +
    lines(size);
  return picture(size * CELL, size * CELL, label ?? "Puzzle", content);
}

const certaintyOf = (cell) =>
  cell.shares ? Math.max(0, ...cell.shares) : isOpen(cell.found) ? 0 : 1;

function drawCell(cell, size) {
  const middle = { "text-anchor": "middle", "font-size": 22 };
  const [x, y] = [(cell.column + 0.5) * CELL, (cell.row + 0.5) * CELL + 8];
  if (!isOpen(cell.given)) return text(x, y, cell.given, { ...middle, class: "d-given" });
  if (size <= 9 && cell.shares && (isOpen(cell.found) || certaintyOf(cell) < 0.75))
    return candidates(cell, boxOf(size));
  return isOpen(cell.found) ? "" : text(x, y, cell.found, { ...middle, class: "d-found" });
}

/** The symbols that a cell may still hold, each in its own place, larger the likelier it is. */
function candidates(cell, box) {
  const step = CELL / box;
  return cell.shares
    .map((share, symbol) => {
      if (share < 0.12) return "";
      const x = cell.column * CELL + ((symbol % box) + 0.5) * step;
      const y = cell.row * CELL + (Math.floor(symbol / box) + 0.5) * step + 4;
      return text(x, y, SYMBOLS[symbol], {
        class: "d-maybe",
        "text-anchor": "middle",
        "font-size": 8 + 6 * Math.min(share, 1),
      });
    })
    .join("");
}

function lines(size) {
  const [box, whole] = [boxOf(size), size * CELL];
  const at = (keep) =>
    Array.from({ length: size - 1 }, (_, i) => i + 1)
      .filter(keep)
      .map((i) => `M${i * CELL} 0v${whole}M0 ${i * CELL}h${whole}`)
      .join("");
  return (
    tag("path", { class: "d-hair", d: at((i) => i % box !== 0) }) +
    tag("path", { class: "d-frame", "stroke-width": 2, d: at((i) => i % box === 0) }) +
    tag("rect", {
      class: "d-frame",
      "stroke-width": 3,
      x: 1,
      y: 1,
      width: whole - 2,
      height: whole - 2,
      rx: 3,
    })
  );
}
