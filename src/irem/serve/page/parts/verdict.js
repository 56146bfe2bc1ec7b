// Whether the answer holds: a symbol, words, the residual; never colour alone.

import { element } from "../lib/dom.js";
import { count, isNumber, short } from "../lib/numbers.js";

const STATES = {
  good: { mark: "✓", name: "Verified" },
  bad: { mark: "✗", name: "Not verified" },
  open: { mark: "?", name: "Not checked" },
};

const WHY = {
  "energy-unchanged": "stopped at a minimum",
  "gradient-small": "stopped at a minimum",
  budget: "stopped when all its steps were spent",
  "not-finite": "stopped where the energy is not finite",
  flat: "the energy never changed",
  stalled: "stopped where no step lowers the energy",
};

export function showVerdict(host, result, end) {
  const state = result.verified === true ? "good" : result.verified === false ? "bad" : "open";
  const { mark, name } = STATES[state];
  const sentence =
    result.check || (state === "open" ? "Nothing checks answers of this model." : "");
  host.replaceChildren(
    element(
      "div",
      { class: state },
      element("span", { class: "mark", text: mark, "aria-hidden": "true" }),
      element("p", {}, element("strong", { text: `${name}.` }), ` ${sentence}`),
      element("p", { class: "facts", text: facts(result, end) }),
    ),
  );
}

/** The same place while the walk goes on. */
export function showWaiting(host) {
  host.replaceChildren(
    element(
      "div",
      {},
      element("span", { class: "mark", text: "…", "aria-hidden": "true" }),
      element("p", { text: "Walking to lower energy." }),
      element("p", { class: "facts", text: "The answer is checked at the end." }),
    ),
  );
}

function facts(result, end) {
  const [reason, steps] = [end?.reason ?? result.reason, end?.steps ?? result.steps];
  return [
    isNumber(result.residual) && `residual ${short(result.residual)}`,
    isNumber(result.expected_error) && `expected error ${short(result.expected_error)}`,
    isNumber(result.energy) && `energy ${short(result.energy)}`,
    isNumber(steps) && `${count(steps, "step")}${WHY[reason] ? `, ${WHY[reason]}` : ""}`,
  ]
    .filter(Boolean)
    .join(" · ");
}
