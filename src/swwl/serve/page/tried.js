// The table of what was tried: every case that stood still for a moment.
import { download } from "./api.js";
import { element, number } from "./words.js";

const MOST = 200;
const at = (id) => document.getElementById(id);

export class Tried {
  constructor(onPick) {
    this.onPick = onPick;
    this.rows = [];
    at("csv").addEventListener("click", () => this.save());
    at("clear").addEventListener("click", () => {
      this.rows = [];
      this.draw();
    });
  }

  start(facts) {
    this.facts = facts;
    this.rows = [];
    this.draw();
  }

  /** Add a case and what was predicted, unless it is the last one again. */
  add(state, answer) {
    const key = JSON.stringify([state.meshes, state.inputs]);
    if (this.rows[0]?.key === key) return;
    this.rows.unshift({ key, mesh: state.label, meshes: { ...state.meshes }, inputs: { ...state.inputs }, targets: answer.targets, inside: answer.domain.inside });
    this.rows.length = Math.min(this.rows.length, MOST);
    this.draw();
  }

  draw() {
    const inputs = this.facts.inputs.map((one) => one.name);
    const targets = this.facts.targets.map((one) => one.name);
    const head = element("tr");
    for (const text of ["mesh", ...inputs, ...targets.flatMap((name) => [name, "95 % interval"]), "like the training cases"]) head.append(element("th", "", text));
    at("tried").tHead.replaceChildren(head);
    const body = this.rows.map((row) => {
      const line = element("tr");
      const name = element("td");
      const again = element("button", "again", row.mesh || "–");
      Object.assign(again, { type: "button", title: "Show this case again" });
      name.append(again);
      line.append(name);
      for (const name of inputs) line.append(element("td", "", typeof row.inputs[name] === "number" ? number(row.inputs[name]) : String(row.inputs[name])));
      for (const name of targets) {
        const one = row.targets[name];
        line.append(element("td", "", number(one.mean)), element("td", "quiet", `${number(one.lower)} … ${number(one.upper)}`));
      }
      line.append(element("td", "", row.inside === null ? "cannot tell" : row.inside ? "yes" : "no"));
      line.addEventListener("click", () => this.onPick(row));
      return line;
    });
    at("tried").tBodies[0].replaceChildren(...body);
    at("tried").hidden = body.length === 0;
    at("tried-none").hidden = body.length > 0;
  }

  save() {
    const inputs = this.facts.inputs.map((one) => one.name);
    const targets = this.facts.targets.map((one) => one.name);
    const keys = ["mean", "std", "lower", "upper"];
    const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
    const lines = [["mesh", ...inputs, ...targets.flatMap((name) => keys.map((key) => `${name}_${key.replace(/er$/, "er95")}`)), "inside_training_range"]];
    for (const row of this.rows) {
      lines.push([row.mesh, ...inputs.map((name) => row.inputs[name]), ...targets.flatMap((name) => keys.map((key) => row.targets[name][key])), row.inside]);
    }
    download("tried.csv", new Blob([lines.map((line) => line.map(cell).join(",")).join("\n") + "\n"], { type: "text/csv" }));
  }
}
