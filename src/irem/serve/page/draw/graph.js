// A graph: nodes with names, edges with lengths; a note under each node, edges that lie on shortest paths in colour.

import { short } from "../lib/numbers.js";
import { picture, tag, text } from "./svg.js";

export const WIDTH = 400;
export const HEIGHT = 320;
const RADIUS = 17;
const GROUPS = 6;

/** "A" to "Z", then "A1", ... */
export const nodeName = (node) =>
  String.fromCharCode(65 + (node % 26)) + (node >= 26 ? Math.floor(node / 26) : "");

/**
 * Draw a graph.
 * edges: [{a, b, length (or null), tight}], places: shares of the width and height, notes: a text for each node,
 * groups: a number for each node, picked: the node that is chosen, grips: whether nodes can be reached with the keyboard.
 */
export function drawGraph({ places, edges, notes, groups, picked, grips = false }, { label } = {}) {
  const points = places.map(({ x, y }) => ({ x: x * WIDTH, y: y * HEIGHT }));
  const content =
    edges.map((edge) => line(points, edge)).join("") +
    edges.map((edge) => length(points, edge)).join("") +
    points
      .map((point, node) =>
        circle(point, node, {
          note: notes?.[node],
          group: groups?.[node],
          picked: node === picked,
          grips,
        }),
      )
      .join("");
  return picture(WIDTH, HEIGHT, label ?? "Graph", content, grips ? { role: "group" } : {});
}

function line(points, { a, b, tight }) {
  const [from, to] = [points[a], points[b]];
  return tag("line", {
    x1: from.x,
    y1: from.y,
    x2: to.x,
    y2: to.y,
    class: tight ? "d-tight" : "d-edge",
    "stroke-width": tight ? 4 : 1.5,
  });
}

/** The length of an edge, off its middle, where the lines of a ring cross. */
function length(points, { a, b, length: value }) {
  if (value === null || value === undefined) return "";
  const [from, to] = [points[a], points[b]];
  return text(from.x + 0.42 * (to.x - from.x), from.y + 0.42 * (to.y - from.y) + 4, short(value), {
    class: "d-halo d-number",
    "text-anchor": "middle",
    "font-size": 13,
  });
}

function circle({ x, y }, node, { note, group, picked, grips }) {
  const name =
    group === undefined || group === null
      ? picked
        ? "d-node-picked"
        : "d-node"
      : `d-node d-group-${group % GROUPS}`;
  const settings = grips
    ? {
        class: "node",
        tabindex: 0,
        role: "button",
        "aria-label": `Node ${nodeName(node)}`,
        "aria-pressed": picked ? "true" : "false",
        "data-node": node,
      }
    : {};
  return tag(
    "g",
    settings,
    tag("circle", {
      class: picked && group !== undefined ? `${name} d-node-picked` : name,
      cx: x,
      cy: y,
      r: RADIUS,
      "stroke-width": picked ? 3 : 1.5,
    }) +
      text(x, y + 5, nodeName(node), {
        "text-anchor": "middle",
        "font-size": 14,
        "font-weight": 600,
      }) +
      (note ? noteText(x, y, note) : ""),
  );
}

/** A note beside a node, on the side away from the middle, where fewer edges run. */
function noteText(x, y, note) {
  const [across, down] = [x - WIDTH / 2, y - HEIGHT / 2];
  const far = Math.hypot(across, down) || 1;
  const [noteX, noteY] = [
    x + (across / far) * (RADIUS + 13 + 3 * (note.length - 1)),
    y + (down / far) * (RADIUS + 11) + 5,
  ];
  const inside = Math.min(Math.max(noteX, 4 * note.length), WIDTH - 4 * note.length);
  return text(inside, Math.min(Math.max(noteY, 12), HEIGHT - 4), note, {
    class: "d-halo d-found d-number",
    "text-anchor": "middle",
    "font-size": 13,
  });
}
