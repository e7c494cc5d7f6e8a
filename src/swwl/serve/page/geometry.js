// The card of the mesh: what it is colored by, its color bar, and what lies under the pointer.
import { post, unpacked, download } from "./api.js";
import { gradient } from "./colors.js";
import { number } from "./words.js";
import { View3D } from "./view3d.js";

const at = (id) => document.getElementById(id);

// The field that says how far nodes of meshes that move went, and which part of the mesh a motion has to be to be seen.
const MOTION = "motion";
const SEEN = 0.02;

export class Geometry {
  constructor(complain) {
    this.complain = complain;
    this.sources = {};
    this.wanted = null;
    try {
      this.view = new View3D(at("canvas"), (point, event) => this.tip(point, event));
    } catch (error) {
      at("view-card").hidden = true;
      complain(error);
    }
    at("edges").addEventListener("change", () => {
      this.view.edges = at("edges").checked;
      this.view.draw();
    });
    at("home").addEventListener("click", () => this.view.reset());
    at("color").addEventListener("change", () => {
      this.wanted = at("color").value;
      this.paint();
    });
    at("moved").addEventListener("change", () => {
      this.mover = at("moved").value;
      at("moved-times").value = "";
      this.onAsk?.();
      this.move();
    });
    at("moved-times").addEventListener("input", () => this.move());
    at("vtu").addEventListener("click", () => this.takeAway());
  }

  /** Show the mesh of a question; facts are those of the model. */
  async load(question, facts) {
    if (!this.view) return;
    const wanted = (this.loading = this.key(question));
    const { model, mesh } = question;
    const { header, arrays } = await unpacked(await post("/api/surface", { model, mesh, column: at("column").value }));
    if (wanted !== this.loading) return; // another mesh was chosen meanwhile
    this.shown = wanted;
    this.header = header;
    this.nodes = arrays.nodes;
    this.points = arrays.points;
    this.view.show(arrays.points, arrays.triangles, arrays.edges, header.dimension < 3);
    this.sources = {};
    this.vectors = {};
    at("moved-row").hidden = at("moved-times-row").hidden = true;
    at("moved").replaceChildren(new Option("nothing", ""));
    at("moved-times").value = "";
    for (const name of header.fields) this.sources[`file:${name}`] = { name: `${name} in the file`, values: arrays[`field:${name}`] };
    for (const name of facts.fields) {
      this.sources[`mean:${name}`] = { name: `${name}, predicted`, later: true };
      this.sources[`std:${name}`] = { name: `${name}, standard deviation`, later: true, map: "cividis" };
    }
    if (facts.sensitivity) {
      for (const one of facts.targets) this.sources[`sens:${one.name}`] = { name: `${one.name} per outward shift`, later: true, map: "signed", signed: true };
    }
    const choice = at("color");
    choice.replaceChildren(new Option("nothing", ""), ...Object.entries(this.sources).map(([key, one]) => new Option(one.name, key)));
    const first = Object.keys(this.sources).find((key) => key.startsWith("mean:")) ?? Object.keys(this.sources)[0] ?? "";
    choice.value = this.wanted !== null && (this.wanted === "" || this.sources[this.wanted]) ? this.wanted : first;
    at("vtu").hidden = facts.fields.length === 0;
    this.paint();
  }

  /** Return what tells one mesh that is drawn from another: the model, the meshes, and which of them. */
  key(question) {
    return JSON.stringify([question.model, question.mesh, at("column").value]);
  }

  /** Take over another case: what depends on inputs is asked again, if it is shown. */
  async update(question, facts, time = {}) {
    const key = at("color").value;
    const stale = () => this.key(question) !== this.shown;
    if (!this.view || stale()) return; // it is asked for again as soon as the mesh is there
    this.question = { ...question, column: at("column").value };
    this.time = time;
    if (facts.fields.length && (/^(mean|std):/.test(key) || at("moved").value || facts.fields.includes(this.mover ?? MOTION))) {
      const { arrays } = await unpacked(await post("/api/field", { ...this.question, ...time }));
      if (stale()) return;
      for (const name of facts.fields) {
        this.sources[`mean:${name}`].values = this.chosen(arrays[`value:${name}`]);
        this.sources[`std:${name}`].values = this.chosen(arrays[`std:${name}`]);
        this.vectors[name] = this.vectorsOf(arrays[`value:${name}`]);
      }
      this.offer();
    }
    if (key.startsWith("sens:")) {
      const { arrays } = await unpacked(await post("/api/sensitivity", this.question));
      if (stale()) return;
      for (const [name, values] of Object.entries(arrays)) {
        const source = this.sources[`sens:${name.slice("value:".length)}`];
        if (source) source.values = this.chosen(values);
      }
    }
    this.paint(false);
  }

  /** Keep the colors of fields the same at all times: the least and the largest of all of them, by field. */
  hold(ranges) {
    this.ranges = ranges;
    for (const [name, { mean, std }] of Object.entries(ranges)) {
      if (this.sources[`mean:${name}`]) this.sources[`mean:${name}`].range = mean;
      if (this.sources[`std:${name}`]) this.sources[`std:${name}`].range = std;
    }
    if (this.view) this.paint(false);
  }

  /** Return the values at the points that are drawn; of vectors, their lengths. */
  chosen(values) {
    const width = values.length / this.header.nodes;
    return Float32Array.from(this.nodes, (node) => {
      let sum = 0;
      for (let k = 0; k < width; k++) sum += values[node * width + k] ** 2;
      return width === 1 ? values[node] : Math.sqrt(sum);
    });
  }

  /** Return three numbers for each point that is drawn of a field of vectors, or null of other fields. */
  vectorsOf(values) {
    const width = values.length / this.header.nodes;
    if (width !== 2 && width !== 3) return null;
    const found = new Float32Array(3 * this.nodes.length);
    for (const [point, node] of this.nodes.entries()) for (let k = 0; k < width; k++) found[3 * point + k] = values[node * width + k];
    return found;
  }

  /** Offer the predicted vectors to move nodes by; where the mesh of a case moves in time, it does so by itself. */
  offer() {
    const choice = at("moved");
    const names = Object.keys(this.vectors).filter((name) => this.vectors[name]);
    if (choice.childElementCount !== names.length + 1) {
      choice.replaceChildren(new Option("nothing", ""), ...names.map((name) => new Option(name, name)));
      const wanted = this.mover ?? MOTION;
      choice.value = names.includes(wanted) ? wanted : "";
      at("moved-row").hidden = names.length === 0;
    }
    this.move();
  }

  /** Draw the nodes where the chosen vectors take them, so many times as far. */
  move() {
    const vectors = this.vectors?.[at("moved").value];
    at("moved-times-row").hidden = !vectors;
    if (!vectors) {
      this.view.displace(this.points);
      return;
    }
    const times = at("moved-times");
    if (times.value === "") times.value = this.factor(vectors);
    const factor = Number(times.value);
    if (Number.isFinite(factor)) this.view.displace(this.points.map((value, i) => value + factor * vectors[i]));
  }

  /** Return 1 for vectors that can be seen, and a round number that makes others visible. */
  factor(vectors) {
    const largest = this.ranges?.[at("moved").value]?.mean[1] ?? vectors.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const share = largest / this.view.mesh.radius;
    if (!(share > 0)) return "";
    if (share >= SEEN && share <= 1) return 1;
    const wanted = (2 * SEEN) / share;
    const power = 10 ** Math.floor(Math.log10(wanted));
    return Number((power * [5, 2, 1].find((digit) => digit * power <= wanted)).toPrecision(1));
  }

  paint(ask = true) {
    const key = at("color").value;
    const source = this.sources[key];
    at("bar").hidden = !source?.values;
    if (source?.later && ask && this.onAsk) this.onAsk();
    if (!source?.values) {
      this.view.color(null);
      return;
    }
    let low = Infinity;
    let high = -Infinity;
    for (const value of source.values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (source.range) [low, high] = source.range;
    if (source.signed) {
      high = Math.max(Math.abs(low), Math.abs(high));
      low = -high;
    }
    this.view.color(source.values, [low, high], source.map ?? "viridis");
    at("bar-low").textContent = number(Math.abs(low) < 1e-9 * Math.abs(high) ? 0 : low);
    at("bar-high").textContent = number(high);
    at("bar-name").textContent = source.name;
    at("bar-scale").style.background = gradient(source.map ?? "viridis");
  }

  tip(point, event) {
    const tip = at("tip");
    tip.hidden = point < 0 || !event;
    if (tip.hidden) return;
    if (event.type === "pointerup") this.onNode?.(this.nodes[point]);
    const values = this.sources[at("color").value]?.values;
    const value = values ? ` · ${number(values[point])}` : "";
    tip.textContent = `node ${this.nodes[point]}${value}`;
    const box = at("canvas").getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - box.left + 12, box.width - 150)}px`;
    tip.style.top = `${Math.max(0, event.clientY - box.top - 30)}px`;
  }

  async takeAway() {
    try {
      const response = await post("/api/field", { ...this.question, ...this.time, format: "vtu" });
      download(`${this.header.name.replace(/\.\w+$/, "")}-predicted.vtu`, await response.blob());
    } catch (error) {
      this.complain(error);
    }
  }
}
