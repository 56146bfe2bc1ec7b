// Cells whose shade says how large a number is: one path for each of a few shades.

import { squares, tag } from "./svg.js";

const SHADES = 16;

/** Squares in the colour of `name`, as opaque as their share; `shares` yields `[column, row, share]`. */
export function shaded(shares, name, size = 1, inset = 0) {
  const levels = Array.from({ length: SHADES + 1 }, () => []);
  for (const [column, row, share] of shares) {
    const level = Math.round(Math.min(Math.max(share, 0), 1) * SHADES);
    if (level > 0) levels[level].push([column, row]);
  }
  return levels
    .map((places, level) =>
      places.length
        ? tag("path", {
            class: name,
            "fill-opacity": level / SHADES,
            d: squares(places, size, inset),
          })
        : "",
    )
    .join("");
}
