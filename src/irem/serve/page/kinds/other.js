// Any other model: problems and answers as JSON.

import { drawMatrix } from "../draw/matrix.js";
import { picture, text } from "../draw/svg.js";
import { element } from "../lib/dom.js";
import { rowsOf } from "../lib/numbers.js";

export const other = {
  hint: "A problem in JSON: nested lists of numbers, null where one is missing.",
  plain: "Example",
  hard: "Harder example",
  empty: () => [[0]],
  edit(host, problem, tools) {
    const area = element("textarea", {
      "aria-label": "Problem as JSON",
      spellcheck: "false",
      oninput: () => tools.changed(),
    });
    area.value = JSON.stringify(problem);
    host.replaceChildren(area);
    return { problem: () => parsed(area.value) };
  },
  panels(problem, answer) {
    const rows = rowsOf(answer);
    const svg = rows.length
      ? drawMatrix(rows, { label: `Answer of ${rows.length} by ${rows[0].length} numbers` })
      : picture(300, 40, "Answer", text(4, 24, JSON.stringify(answer).slice(0, 40)));
    return [{ title: "The answer", svg }];
  },
};

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(
      `The problem is not JSON (${error.message}); correct it, such as [[1, 2], [3, 4]].`,
    );
  }
}
