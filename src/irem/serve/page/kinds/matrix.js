// Tables of numbers: matrices to invert, tables with holes, several vectors.

import { drawMatrix } from "../draw/matrix.js";
import { isNumber, largest, product, rowsOf, short } from "../lib/numbers.js";
import { NumbersEditor } from "./numbers_editor.js";

const identity = (size) =>
  Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => Number(i === j)));

export const matrix = {
  hint: "Change an entry, or paste a table from a spreadsheet.",
  sizes: [2, 3, 5, 8, 12, 20].map((size) => [size, `${size} × ${size}`]),
  sizeName: "Size",
  size: 5,
  plain: "Random",
  hard: "Ill-conditioned",
  empty: identity,
  edit: (host, problem, tools) =>
    new NumbersEditor(host, rowsOf(problem), { ...tools, symmetric: true, blank: identity }),
  panels(problem, answer, { model }) {
    const [given, found] = [rowsOf(problem), rowsOf(answer)];
    const inverse = model?.task === "matrix-inverse";
    const panels = [
      {
        title: inverse ? "The inverse, as it forms" : "The answer",
        svg: drawMatrix(found, { label: spoken("Answer", found) }),
      },
    ];
    if (inverse && given[0]?.length === found.length) {
      const shown = product(given, found);
      panels.push({
        title: "Matrix times answer: the identity, once it is right",
        svg: drawMatrix(shown, { most: 1, label: spoken("Product of matrix and answer", shown) }),
      });
    }
    return panels;
  },
};

export const table = {
  hint: "Hatched cells are missing: they are what the model fills in. Empty a cell to make a hole, or paste a table from a spreadsheet.",
  sizes: [4, 6, 8, 12, 20].map((size) => [size, `${size} × ${size}`]),
  sizeName: "Size",
  size: 6,
  plain: "Random",
  hard: "Fewer entries",
  empty: (size) => Array.from({ length: size }, () => Array.from({ length: size }, () => null)),
  edit: (host, problem, tools) =>
    new NumbersEditor(host, rowsOf(problem), {
      ...tools,
      holes: true,
      resizable: true,
      blank: (size) => table.empty(size),
    }),
  panels(problem, answer) {
    const [given, found] = [rowsOf(problem), rowsOf(answer)];
    const holes = given.flatMap((row, i) =>
      row.map((value, j) => (isNumber(value) ? null : [j, i])).filter(Boolean),
    );
    return [
      {
        title: "Framed entries were missing.",
        svg: drawMatrix(found, {
          marked: holes,
          most: largest([...given, ...found]),
          label: spoken("Filled table", found),
        }),
      },
    ];
  },
};

export const vectors = {
  hint: "Every row is a vector. Change an entry, or paste rows from a spreadsheet.",
  plain: "Random",
  hard: "Harder ones",
  empty: () => [
    [1, 2, 3],
    [3, 2, 1],
  ],
  edit: (host, problem, tools) =>
    new NumbersEditor(host, rowsOf(problem), {
      ...tools,
      resizable: true,
      blank: (size) => [Array(size).fill(0), Array(size).fill(0)],
    }),
  panels(problem, answer) {
    const found = folded(rowsOf(answer));
    return [
      { title: "The answer", svg: drawMatrix(found, { label: spoken("Answer", rowsOf(answer)) }) },
    ];
  },
};

/** One long row as several shorter ones. */
function folded(rows) {
  if (rows.length !== 1 || rows[0].length <= 24) return rows;
  const across = Math.ceil(Math.sqrt(rows[0].length));
  const lines = [];
  for (let at = 0; at < rows[0].length; at += across) lines.push(rows[0].slice(at, at + across));
  while (lines.at(-1).length < across) lines.at(-1).push(null);
  return lines;
}

function spoken(name, rows) {
  if (rows.length <= 6 && rows[0]?.length <= 6)
    return `${name}: ${rows.map((row) => row.map((value) => short(value)).join(" ")).join("; ")}`;
  const all = rows.flat().filter(isNumber);
  return `${name}: ${rows.length} by ${rows[0]?.length ?? 0} numbers from ${short(Math.min(...all))} to ${short(Math.max(...all))}`;
}
