// A maze: dark walls, a start and an end with their letters, and the path as far as it is certain.

import { shaded } from "./cells.js";
import { picture, squares, tag, text } from "./svg.js";

const CELL = 20;

export const rowsOfMaze = (maze) => maze.split("\n");

/** Draw a maze; `path` has a number from 0 to 1 for every cell, `cursor` is the cell of the keyboard. */
export function drawMaze(maze, { path, cursor, label } = {}) {
  const rows = rowsOfMaze(maze);
  const [height, width] = [rows.length, Math.max(...rows.map((row) => row.length))];
  const walls = [],
    shares = [];
  rows.forEach((row, i) =>
    [...row.padEnd(width)].forEach((cell, j) => {
      if (cell === "#") walls.push([j, i]);
      else if (path) shares.push([j, i, path[i]?.[j] ?? 0]);
    }),
  );
  const content =
    tag("rect", { class: "d-floor", width: width * CELL, height: height * CELL }) +
    tag("path", { class: "d-wall", d: squares(walls, CELL) }) +
    shaded(shares, "d-path", CELL) +
    end(rows, "S", "d-start") +
    end(rows, "E", "d-end") +
    tag("rect", { class: "d-frame", width: width * CELL, height: height * CELL }) +
    (cursor
      ? tag("rect", {
          class: "d-cursor",
          x: cursor.column * CELL + 1,
          y: cursor.row * CELL + 1,
          width: CELL - 2,
          height: CELL - 2,
          "stroke-width": 4,
        })
      : "");
  return picture(
    width * CELL,
    height * CELL,
    label ?? `Maze of ${height} by ${width} cells`,
    content,
  );
}

/** The start or the end: round or square, so that colour is not needed to tell them. */
function end(rows, letter, name) {
  const row = rows.findIndex((line) => line.includes(letter));
  if (row < 0) return "";
  const column = rows[row].indexOf(letter);
  const place = { x: column * CELL + 1, y: row * CELL + 1, width: CELL - 2, height: CELL - 2 };
  return (
    tag("rect", { class: name, ...place, rx: letter === "S" ? CELL / 2 : 2 }) +
    text((column + 0.5) * CELL, (row + 0.5) * CELL + 4.5, letter, {
      class: "d-letter",
      "text-anchor": "middle",
      "font-size": 13,
    })
  );
}
