// Pictures as texts: every drawing is a pure function from data to SVG, and needs no browser.

const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export const escaped = (text) =>
  String(text).replace(/[&<>"']/g, (character) => ESCAPES[character]);

/** One element; attributes without a value are left out. */
export function tag(name, attributes = {}, content = "") {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(
      ([key, value]) => ` ${key}="${escaped(typeof value === "number" ? round(value) : value)}"`,
    );
  return `<${name}${written.join("")}>${content}</${name}>`;
}

export const text = (x, y, content, attributes = {}) =>
  tag("text", { x, y, ...attributes }, escaped(content));

/** A whole picture; `label` says in words what it shows. */
export function picture(width, height, label, content, attributes = {}) {
  return tag(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${round(width)} ${round(height)}`,
      role: "img",
      "aria-label": label,
      ...attributes,
    },
    content,
  );
}

export const round = (value) => Math.round(value * 100) / 100;

/** Unit squares at `[column, row]` pairs as one path, which is far quicker than an element for each. */
export const squares = (places, size = 1, inset = 0) =>
  places
    .map(
      ([column, row]) =>
        `M${round(column * size + inset)} ${round(row * size + inset)}h${round(size - 2 * inset)}v${round(size - 2 * inset)}h${round(2 * inset - size)}z`,
    )
    .join("");
