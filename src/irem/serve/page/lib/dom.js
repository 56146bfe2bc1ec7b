// Short ways to make and find elements.

/** Make an element; keys that begin with "on" are listeners, `class` and `text` are what they say. */
export function element(tag, settings = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(settings)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "text") made.textContent = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const find = (id) => document.getElementById(id);

export const button = (text, onclick, settings = {}) =>
  element("button", { type: "button", text, onclick, ...settings });

/** A labelled field: the label stands above the control. */
export const field = (label, control) =>
  element("label", { class: "field" }, element("span", { text: label }), control);

/** A choice among `[value, text]` pairs. */
export function choice(pairs, chosen, onchange, settings = {}) {
  const options = pairs.map(([value, text]) =>
    element("option", { value, text, selected: String(value) === String(chosen) }),
  );
  return element(
    "select",
    { onchange: (event) => onchange(event.target.value), ...settings },
    ...options,
  );
}
