// Regions of a grid of numbers that lie above a level: marching squares with straight edges.

import { round } from "./svg.js";

/** The region where `values[row][column]` is at least `level`, as a path in units of cells. */
export function regionAbove(values, level) {
  let path = "";
  for (let row = 0; row + 1 < values.length; row += 1) {
    let run = null; // whole cells side by side are one rectangle
    for (let column = 0; column + 1 < values[row].length; column += 1) {
      const corners = [
        [column, row],
        [column + 1, row],
        [column + 1, row + 1],
        [column, row + 1],
      ].map(([j, i]) => [j, i, values[i][j] - level]);
      const above = corners.filter((corner) => corner[2] >= 0).length;
      if (above === 4) {
        run ??= column;
        continue;
      }
      path += rectangle(run, column, row);
      run = null;
      if (above > 0) path += clipped(corners);
    }
    path += rectangle(run, values[row].length - 1, row);
  }
  return path;
}

const rectangle = (from, to, row) =>
  from === null ? "" : `M${from} ${row}H${to}V${row + 1}H${from}z`;

/** The part of one cell that is above: its corners, and where the level crosses its sides. */
function clipped(corners) {
  const points = [];
  corners.forEach(([x, y, height], i) => {
    const [nextX, nextY, nextHeight] = corners[(i + 1) % 4];
    if (height >= 0) points.push([x, y]);
    if (height >= 0 !== nextHeight >= 0) {
      const share = height / (height - nextHeight);
      points.push([x + share * (nextX - x), y + share * (nextY - y)]);
    }
  });
  return `M${points.map(([x, y]) => `${round(x)} ${round(y)}`).join("L")}z`;
}
