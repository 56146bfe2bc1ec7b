// Pictures: dropped or chosen from files, with noise added where there is none.

import { button, element } from "../lib/dom.js";
import { picture as drawing, tag } from "../draw/svg.js";

const LONGEST = 256; // pixels of a side; larger pictures are made smaller
const NOISE = 0.1; // standard deviation, of values from 0 to 1

const dataOf = (problem) => (typeof problem === "string" ? problem : (problem?.png ?? ""));
const addressOf = (problem) => `data:image/png;base64,${dataOf(problem)}`;

export const picture = {
  hint: "Drop a noisy picture here or choose a file. Add noise to a clean one to see what the model removes.",
  plain: "Example",
  hard: "Noisier example",
  empty: () => ({ png: "" }),
  edit: (host, problem, tools) => new PictureEditor(host, problem, tools),
  panels(problem, answer, { editor }) {
    return [
      {
        title: "The answer",
        svg: drawPicture(
          answer,
          editor,
          "The picture without its noise, as far as the answer has it",
        ),
      },
      { title: "As given", svg: drawPicture(problem, editor, "The noisy picture") },
    ];
  },
};

function drawPicture(png, editor, label) {
  const { width, height } = editor?.extent ?? { width: 1, height: 1 };
  return drawing(width, height, label, tag("image", { href: addressOf(png), width, height }));
}

class PictureEditor {
  extent = { width: 1, height: 1 };

  constructor(host, problem, tools) {
    this.tools = tools;
    this.longest = Math.min(tools.model?.sizes?.max ?? LONGEST, LONGEST);
    this.image = element("img", {
      alt: "The picture as it will be sent",
      hidden: true,
      onload: () => this.measured(),
    });
    const files = element("input", {
      type: "file",
      accept: "image/*",
      "aria-label": "Picture file",
      onchange: (event) => this.take(event.target.files[0]),
    });
    this.area = element(
      "div",
      {
        class: "drop",
        ondragover: (event) => this.over(event, true),
        ondragleave: (event) => this.over(event, false),
        ondrop: (event) => this.drop(event),
      },
      this.image,
      element("p", { text: "Drop a picture here, or choose a file." }),
      files,
    );
    host.replaceChildren(
      this.area,
      element(
        "div",
        { class: "tools" },
        button("Add noise", () => this.addNoise()),
      ),
    );
    this.show(dataOf(problem));
  }

  show(png) {
    this.png = png;
    this.image.hidden = !png;
    if (png) this.image.src = addressOf(png);
  }

  measured() {
    this.extent = { width: this.image.naturalWidth, height: this.image.naturalHeight };
    this.tools.moved();
  }

  over(event, inside) {
    event.preventDefault();
    this.area.classList.toggle("over", inside);
  }

  drop(event) {
    this.over(event, false);
    this.take(event.dataTransfer.files[0]);
  }

  async take(file) {
    if (!file) return;
    try {
      const bitmap = await createImageBitmap(file);
      const share = Math.min(1, this.longest / Math.max(bitmap.width, bitmap.height));
      if (share < 1)
        this.tools.say(
          `The picture has ${bitmap.width} × ${bitmap.height} pixels; it was made smaller, to ${this.longest} on its longer side.`,
        );
      this.draw(
        bitmap,
        Math.max(1, Math.round(bitmap.width * share)),
        Math.max(1, Math.round(bitmap.height * share)),
      );
    } catch {
      this.tools.say(
        `'${file.name}' cannot be read as a picture; choose a PNG, JPEG or WebP file.`,
      );
    }
  }

  addNoise() {
    if (!this.png) {
      this.tools.say("There is no picture yet; drop one or choose a file.");
      return;
    }
    this.draw(this.image, this.extent.width, this.extent.height, (pixels) => {
      const normal = () =>
        Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
      for (let i = 0; i < pixels.length; i += 1) if (i % 4 < 3) pixels[i] += 255 * NOISE * normal();
    });
  }

  draw(source, width, height, change) {
    const canvas = element("canvas", { width, height });
    const paper = canvas.getContext("2d");
    paper.drawImage(source, 0, 0, width, height);
    if (change) {
      const data = paper.getImageData(0, 0, width, height);
      change(data.data);
      paper.putImageData(data, 0, 0);
    }
    this.show(canvas.toDataURL("image/png").split(",")[1]);
    this.tools.changed();
  }

  problem() {
    if (!this.png)
      throw new Error("There is no picture yet; drop one, choose a file, or load the example.");
    return { png: this.png };
  }
}
