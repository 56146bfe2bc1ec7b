// Numbers as short texts, and tables of numbers.

/** About three digits: 0.0123, 12.3, 1.2e-7; a dash where there is no number. */
export function short(value, digits = 3) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    size >= 1e5 || size < 1e-3
      ? value.toExponential(Math.max(digits - 2, 0)).replace(/\.0+e/, "e")
      : String(Number(value.toPrecision(digits)));
  return text.replace("-", "−").replace("e-", "e−").replace("e+", "e");
}

/** The rows of a table, however it was sent: nested lists, a flat list, or `{values}`. */
export function rowsOf(table) {
  const values = Array.isArray(table) ? table : (table?.values ?? []);
  if (!Array.isArray(values[0])) return values.length ? [values] : [];
  return Array.isArray(values[0][0]) ? values.flat() : values;
}

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** The largest absolute value, at least the smallest positive number that divides safely. */
export function largest(rows) {
  let most = 1e-30;
  for (const row of rows)
    for (const value of row) if (isNumber(value)) most = Math.max(most, Math.abs(value));
  return most;
}

/** The product of two matrices; null where a factor has no number. */
export function product(a, b) {
  return a.map((row) =>
    b[0].map((_, j) => {
      const sum = row.reduce(
        (total, value, k) =>
          total + (isNumber(value) && isNumber(b[k]?.[j]) ? value * b[k][j] : NaN),
        0,
      );
      return Number.isFinite(sum) ? sum : null;
    }),
  );
}

/** "1 step", "2 steps". */
export const count = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
