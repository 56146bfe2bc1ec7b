// What happens when: models are listed, a problem is set, Solve is pressed, lines of the walk arrive.

import { kindOf } from "./kinds/index.js";
import { element, find } from "./lib/dom.js";
import { count } from "./lib/numbers.js";
import { models, tokenFromAddress, walk as fetchWalk } from "./lib/server.js";
import { Walk } from "./lib/walk.js";
import { Answer } from "./parts/answer.js";
import { Examples } from "./parts/examples.js";
import { Notice } from "./parts/notice.js";
import { Options } from "./parts/options.js";
import { setUpTheme } from "./parts/theme.js";
import { showVerdict } from "./parts/verdict.js";

const SLOW = 4000; // milliseconds without a line after which the page says so
const LONGER = 2; // how many times as many steps and tries

const notice = new Notice(find("notice"));
const options = new Options(find("options"));
const answer = new Answer();
const examples = new Examples(find("examples"), {
  begin: () => say("Loading an example.", true),
  load: setProblem,
  clear,
  fail,
});

let listed = [];
let model = null;
let kind = null;
let editor = null;
let running = null; // the AbortController of the walk under way
let pressed = false; // whether Solve waits for an example
let spent = {}; // steps and tries of the last walk

async function begin() {
  setUpTheme(find("theme"));
  tokenFromAddress();
  find("solve").addEventListener("click", () => solve());
  find("longer").addEventListener("click", () => solve(longer()));
  find("cancel").addEventListener("click", () => running?.abort());
  find("model").addEventListener("change", (event) => choose(event.target.value));
  addEventListener("hashchange", () =>
    choose(new URLSearchParams(location.hash.slice(1)).get("model")),
  );
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) solve();
    else if (event.key === "Escape") running?.abort();
  });
  await list();
}

async function list() {
  try {
    listed = await models();
  } catch (error) {
    fail(error, list);
    return;
  }
  if (!listed.length) {
    notice.show(
      "The server has no models; start it with the name of one, such as `irem serve zoo:sudoku`.",
    );
    return;
  }
  const names = listed.map(({ name, title }) =>
    element("option", {
      value: name,
      text: listed.some((other) => other.title === title && other.name !== name)
        ? `${title} (${name})`
        : title,
    }),
  );
  find("model").replaceChildren(...names);
  find("model").disabled = false;
  choose(new URLSearchParams(location.hash.slice(1)).get("model"));
}

/** Show a model, the first one where there is none of that name. */
function choose(name) {
  const chosen = listed.find((one) => one.name === name) ?? listed[0];
  if (!chosen || chosen === model) return;
  running?.abort();
  model = chosen;
  kind = kindOf(model);
  find("model").value = model.name;
  find("summary").textContent = model.summary ?? "";
  document.title = `${model.title} · irem`;
  history.replaceState(null, "", `#model=${encodeURIComponent(model.name)}`);
  notice.clear();
  about();
  examples.show(model, kind);
  setProblem(examples.empty, "");
  examples.fetch(false);
}

function about() {
  const host = find("about");
  const facts = [
    `zoo name or folder: ${model.name}`,
    model.parameters && count(model.parameters, "parameter"),
    model.checked ? "answers are checked" : "answers are not checked",
  ].filter(Boolean);
  host.replaceChildren(
    element("p", { class: "hint", text: facts.join(" · ") }),
    ...(model.card
      ? [
          element(
            "details",
            {},
            element("summary", { text: "Card of the model" }),
            element("pre", { text: model.card }),
          ),
        ]
      : []),
  );
  host.closest("section").hidden = false;
}

function setProblem(problem, label, places) {
  editor = kind.edit(find("editor"), problem, {
    places,
    model,
    changed: edited,
    moved: () => answer.draw(),
    say,
  });
  find("hint").textContent = kind.hint;
  changed();
  say(label ? `Example: ${label}.` : "", true);
}

/** The problem was changed by hand. */
function edited() {
  examples.drop();
  changed();
}

function clear() {
  examples.drop();
  if (editor.clear) editor.clear();
  else setProblem(kind.empty(examples.size), "");
  changed();
}

/** The problem is another now: its answer is gone, and so is a complaint about the last one. */
function changed() {
  running?.abort();
  answer.clear();
  find("longer").hidden = true;
}

/** Say something beside the editor: quietly, or as a notice. */
function say(sentence, quietly = false) {
  if (quietly) {
    notice.clear();
    find("status").textContent = sentence;
  } else notice.show(sentence);
}

function fail(error, retry) {
  if (error.name === "AbortError") return;
  if (error.status === 401)
    notice.askToken(error.message, retry ?? (() => (listed.length ? solve() : list())));
  else notice.show(error.message);
}

/** Steps and tries for a longer walk than the last one. */
function longer() {
  const last = spent.restarts ?? 0;
  return {
    steps: LONGER * (spent.steps ?? answer.walk?.budget ?? 100),
    restarts: last ? LONGER * last : 4,
  };
}

async function solve(more = {}) {
  if (running || pressed || !model) return;
  pressed = true; // while an example is on its way, it is what is meant
  await examples.loading;
  pressed = false;
  notice.clear();
  let body;
  try {
    body = { problem: editor.problem(), ...options.chosen, ...more, landscape: true };
  } catch (error) {
    notice.show(error.message);
    return;
  }
  const controller = new AbortController();
  running = controller;
  busy(true);
  const walk = new Walk();
  answer.chosen = false;
  answer.begin(walk, body.problem, kind, { model, editor });
  const slow = patience();
  try {
    await fetchWalk(model.name, body, {
      signal: controller.signal,
      onMessage: (message) => take(walk, message, slow),
    });
    spent = { steps: body.steps ?? walk.budget, restarts: body.restarts };
    offerMore(walk.result);
  } catch (error) {
    find("status").textContent = error.name === "AbortError" ? "Cancelled." : "";
    answer.stop();
    fail(error);
  } finally {
    slow.stop();
    running = null;
    busy(false);
  }
}

/** Offer to think longer, and where the answer does not hold say what that allows. */
function offerMore(result) {
  const { steps, restarts } = longer();
  find("longer").hidden = false;
  find("status").textContent =
    result.verified === false
      ? `Think longer allows ${count(steps, "step")} and ${restarts} further tries.`
      : "";
}

function take(walk, message, slow) {
  slow.restart();
  if (answer.walk !== walk) return; // the problem was changed meanwhile
  const type = walk.add(message);
  if (type === "begin")
    find("status").textContent =
      `Walking from ${count(walk.planned, "first guess").replace("guesss", "guesses")}.`;
  if (type === "result")
    showVerdict(find("verdict"), walk.result, walk.descents[walk.result.start]?.end);
  answer.grow();
}

/** Says that the server takes its time, once no line has come for a while. */
function patience() {
  let timer;
  const restart = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      find("status").textContent =
        "Still waiting for the server: the first problem of a size takes some seconds. Cancel stops it.";
    }, SLOW);
  };
  restart();
  return { restart, stop: () => clearTimeout(timer) };
}

function busy(is) {
  find("solve").setAttribute("aria-disabled", is);
  find("cancel").hidden = !is;
  find("problem").setAttribute("aria-busy", is);
  if (is) {
    find("longer").hidden = true;
    find("status").textContent = "Sent; waiting for the first step.";
  }
}

begin();
