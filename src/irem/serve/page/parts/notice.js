// One clear sentence about what went wrong, and where it helps, a field for the token of the server.

import { button, element, field } from "../lib/dom.js";
import { setToken } from "../lib/server.js";

export class Notice {
  constructor(host) {
    this.host = host;
  }

  clear() {
    this.host.replaceChildren();
  }

  show(sentence) {
    this.host.replaceChildren(
      element(
        "div",
        { class: "notice" },
        element("span", { class: "mark", text: "!", "aria-hidden": "true" }),
        element("p", { text: sentence }),
      ),
    );
  }

  /** Show a sentence, a field for the token, and go on with `retry` once it is given. */
  askToken(sentence, retry) {
    this.show(sentence);
    const input = element("input", { type: "password", autocomplete: "off" });
    const use = () => {
      setToken(input.value.trim());
      this.clear();
      retry();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") use();
    });
    this.host
      .querySelector("p")
      .append(element("span", { class: "tools" }, field("Token", input), button("Use it", use)));
  }
}
