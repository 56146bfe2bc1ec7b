// Graphs with lengths of edges (shortest paths), and graphs without (connected components).

import { drawGraph, nodeName } from "../draw/graph.js";
import { drawMatrix } from "../draw/matrix.js";
import { isNumber, rowsOf, short } from "../lib/numbers.js";
import { GraphEditor, edgesOf } from "./graph_editor.js";
import { islands, roads } from "./graph_examples.js";

const MOST_NODES = 20; // more are shown as a table alone

/** Edges have no direction here. */
const isSymmetric = (rows) => rows.every((row, i) => row.every((value, j) => value === rows[j][i]));

const shared = {
  suits: (problem) => isSymmetric(rowsOf(problem)),
  sizes: [4, 6, 8, 10, 15].map((size) => [size, `${size} nodes`]),
  sizeName: "Nodes",
  size: 6,
  plain: "Random",
  compared: 1,
};

export const graph = {
  ...shared,
  hint: "Drag nodes; click one and then another to join or part them; set lengths in the list. With the keyboard: Tab to a node, arrow keys move it, Enter picks it.",
  hard: "Sparse",
  instead: roads,
  empty: (size) =>
    Array.from({ length: size }, (_, i) =>
      Array.from({ length: size }, (_, j) => (i === j ? 0 : Math.abs(i - j) === 1 ? 1 : null)),
    ),
  edit: (host, problem, tools) =>
    new GraphEditor(host, rowsOf(problem), { ...tools, lengths: true }),
  panels(problem, answer, { editor, model }) {
    const [lengths, distances] = [rowsOf(problem), rowsOf(answer)];
    const names = lengths.map((_, node) => nodeName(node));
    const whole = {
      title: "Lengths between all nodes",
      svg: drawMatrix(distances, {
        names,
        label: `Lengths between all nodes: ${spoken(distances)}`,
      }),
    };
    if (lengths.length > MOST_NODES || model?.task !== "shortest-path") return [whole];
    const from = Math.min(editor?.picked ?? 0, lengths.length - 1);
    return [pathsFrom(from, lengths, distances, editor), whole];
  },
};

/** The lengths of paths from one node, and the edges that lie on them. */
function pathsFrom(from, lengths, distances, editor) {
  const most = Math.max(...distances.flat().filter(isNumber), 0) || 1;
  const fits = (a, b, length) =>
    Math.abs(distances[from][a] + length - distances[from][b]) < 0.02 * most;
  const edges = edgesOf(lengths).map((edge) => ({
    ...edge,
    tight: fits(edge.a, edge.b, edge.length) || fits(edge.b, edge.a, edge.length),
  }));
  const notes = distances[from].map((length, node) =>
    node === from ? "" : isNumber(length) ? short(length) : "∞",
  );
  const label = `Lengths of paths from ${nodeName(from)}: ${notes
    .map((note, node) => note && `${nodeName(node)} ${note}`)
    .filter(Boolean)
    .join(", ")}`;
  const svg = drawGraph({ places: editor.places, edges, notes, picked: from }, { label });
  return {
    title: `From ${nodeName(from)}: lengths, and edges on shortest paths. Pick another node on the left.`,
    svg,
  };
}

export const relation = {
  ...shared,
  hint: "Drag nodes; click one and then another to join or part them. With the keyboard: Tab to a node, arrow keys move it, Enter picks it.",
  size: 8,
  hard: "Long chains",
  instead: islands,
  empty: (size) =>
    Array.from({ length: size }, (_, i) =>
      Array.from({ length: size }, (_, j) => Number(Math.abs(i - j) === 1)),
    ),
  edit: (host, problem, tools) =>
    new GraphEditor(host, rowsOf(problem), { ...tools, lengths: false }),
  panels(problem, answer, { editor }) {
    const [joined, together] = [rowsOf(problem), rowsOf(answer)];
    const names = joined.map((_, node) => nodeName(node));
    const groups = groupsOf(together);
    const count = new Set(groups).size;
    const whole = {
      title: "Which nodes belong together",
      svg: drawMatrix(together, {
        most: 1,
        names,
        label: `Which nodes belong together: ${spoken(together)}`,
      }),
    };
    if (joined.length > MOST_NODES) return [whole];
    const notes = groups.map((group) => `${group + 1}`);
    const label = `Graph in ${count} parts: ${notes.map((note, node) => `${names[node]} in part ${note}`).join(", ")}`;
    return [
      {
        title: "Nodes of one number and colour belong together.",
        svg: drawGraph(
          {
            places: editor.places,
            edges: edgesOf(joined).map(({ a, b }) => ({ a, b })),
            groups,
            notes,
          },
          { label },
        ),
      },
      whole,
    ];
  },
};

/** The part of every node: that of the first node that belongs to it. */
function groupsOf(together) {
  const firsts = together.map((row, node) => {
    const first = row.findIndex((share, other) => other === node || share > 0.5);
    return first < 0 ? node : first;
  });
  const order = [...new Set(firsts)];
  return firsts.map((first) => order.indexOf(first));
}

const spoken = (rows) =>
  rows.length > 8
    ? `${rows.length} rows`
    : rows.map((row) => row.map((value) => short(value)).join(" ")).join("; ");
