// The page: one state (model, mesh, inputs, what to draw), and everything else follows it.
import { get, opened, ownLink, post, send } from "./api.js";
import { drawCurves, drawMap, drawWhole } from "./charts.js";
import { Geometry } from "./geometry.js";
import { buildInputs, medians } from "./inputs.js";
import { element, number, rounded, TRUST } from "./words.js";
import { Tried } from "./tried.js";

const at = (id) => document.getElementById(id);
const state = { model: null, meshes: {}, label: "", inputs: {}, target: null, sweep: null, each: "", step: 0 };
let facts = null;
let answer = null;
let refreshInputs = () => {};
let settled = null;
let starting = null;
let overTime = null;
let playing = null;

function complain(error) {
  if (error?.name === "AbortError") return;
  at("error").textContent = error ? error.message : "";
  at("error").hidden = !error;
}

/** Say something in the place of the predictions. */
function say(text) {
  at("answers").replaceChildren(element("div", "card quiet", text));
}

/** Return a function that does its work for the newest state, once at a time, however often it is called. */
function latest(work) {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    while (again) {
      again = false;
      try {
        await work();
      } catch (error) {
        complain(error);
      }
    }
    running = false;
  };
}

const question = () => ({ model: state.model, mesh: state.meshes, inputs: state.inputs });
const time = () => (facts.times ? { time: facts.times[state.step] } : {});
const complete = () => facts.mesh_columns.every((name) => state.meshes[name]);

const geometry = new Geometry(complain);
geometry.onAsk = latest(async () => geometry.update(question(), facts, time()));
geometry.onNode = (node) => {
  if (!facts.times) return;
  at("node").value = node;
  histories();
};
const tried = new Tried((row) => {
  Object.assign(state, { label: row.mesh, meshes: { ...row.meshes } });
  Object.assign(state.inputs, row.inputs);
  refreshInputs();
  showMesh();
});

const predict = latest(async () => {
  if (!complete()) return;
  clearTimeout(settled);
  at("answers").classList.add("busy");
  const of = facts;
  try {
    const found = await (await post("/api/predict", question())).json();
    if (of !== facts) return; // another model was chosen meanwhile
    answer = found;
    complain(null);
  } catch (error) {
    if (of !== facts) return;
    answer = null; // numbers of another case would mislead
    at("notes").hidden = at("whole-card").hidden = true;
    say("There is no prediction for this case.");
    throw error;
  } finally {
    at("answers").classList.remove("busy");
  }
  showAnswers();
  settled = setTimeout(() => tried.add(state, answer), 1200);
});

const curves = latest(async () => {
  if (!answer || !state.sweep || !state.target) return;
  const of = facts;
  const input = facts.inputs.find((one) => one.name === state.sweep);
  const [low, high] = [Math.min(input.least, state.inputs[state.sweep]), Math.max(input.largest, state.inputs[state.sweep])];
  const asked = { ...question(), inputs: { ...state.inputs }, sweep: { name: state.sweep, from: low, to: high > low ? high : low + 1, n: points() } };
  const other = facts.inputs.find((one) => one.name === state.each);
  if (other) asked.each = { name: other.name, values: [0.1, 0.5, 0.9].map((share) => Number((other.least + share * (other.largest - other.least)).toPrecision(4))) };
  const found = await (await post("/api/curve", asked)).json();
  if (!answer || of !== facts) return;
  drawCurves(at("curves"), found, state.target, input, { x: asked.inputs[state.sweep], ...answer.targets[state.target] });
});

/** Return how many points a curve has: each is a whole field where the model predicts fields. */
const points = () => (facts.kind !== "fields" ? 49 : geometry.header?.nodes > 20000 ? 5 : 13);

const showMap = latest(async () => {
  if (at("map-card").hidden) return;
  const values = facts.train[state.target];
  const found = answer?.map;
  drawMap(at("map"), facts.map, values, state.target, found?.place, found?.nearest ?? [], chooseTraining);
  at("near").textContent = found ? `Nearest: ${found.nearest.slice(0, 3).map((near) => near.label).join(", ")}.` : "";
});

function update() {
  predict().then(curves);
  if (complete()) geometry.onAsk();
  remember();
}

async function showMesh() {
  at("mesh-name").textContent = state.label ? `Shown: ${state.label}` : "";
  update();
  if (!facts.mesh_columns.length || !complete()) return;
  try {
    await geometry.load(question(), facts);
    if (facts.times && overTime) geometry.hold(overTime.ranges);
    const { header } = geometry;
    if (geometry.view && geometry.shown !== geometry.key(question())) return; // another mesh was chosen meanwhile
    at("mesh-name").textContent = `${header.name} · ${header.nodes.toLocaleString("en")} nodes, ${header.cells.toLocaleString("en")} cells`;
  } catch (error) {
    complain(error);
  }
}

function showAnswers() {
  const known = facts.cases.find((one) => facts.mesh_columns.every((name) => one.meshes[name] === state.meshes[name]));
  const same = known?.inputs && Object.entries(known.inputs).every(([name, value]) => Math.abs(value - state.inputs[name]) <= 1e-9 * Math.abs(value));
  showWhole(same ? known : null);
  const cards = facts.targets.map((target) => {
    const found = answer.targets[target.name];
    const card = element("button", "answer" + (target.name === state.target && facts.targets.length > 1 ? " chosen" : ""));
    card.type = "button";
    const [left, right] = [element("div", "told"), element("div", "drawn")];
    left.append(element("div", "name", target.name), element("div", "mean", rounded(found.mean, found.std)));
    const two = Number.isFinite(found.gap_from);
    const ends_of = (lower, upper) => `${rounded(lower, found.std)} to ${rounded(upper, found.std)}`;
    const set = two ? `${ends_of(found.lower, found.gap_from)}, or ${ends_of(found.gap_to, found.upper)}` : ends_of(found.lower, found.upper);
    left.append(element("div", "interval", `95 %: ${set}`));
    if (two) left.append(element("div", "interval", "two outcomes are possible; the mean lies between them"));
    const low = Math.min(target.least ?? found.lower, found.lower);
    const high = Math.max(target.largest ?? found.upper, found.upper);
    const share = (value) => `${(100 * (value - low)) / (high - low || 1)}%`;
    const gauge = element("div", "gauge");
    const [span, mark] = [element("i"), element("b")];
    const stretch = (part, lower, upper) => {
      part.style.left = share(lower);
      part.style.width = `${(100 * (upper - lower)) / (high - low || 1)}%`;
    };
    stretch(span, found.lower, two ? found.gap_from : found.upper);
    mark.style.left = share(found.mean);
    gauge.append(span, mark);
    if (two) {
      const other = element("i");
      stretch(other, found.gap_to, found.upper);
      gauge.prepend(other);
    }
    gauge.title = "the interval, on the range of the training cases";
    const told = same && known.targets[target.name] !== undefined;
    if (told) {
      const truth = element("u");
      truth.style.left = share(known.targets[target.name]);
      gauge.append(truth);
    }
    const ends = element("div", "gauge-ends");
    ends.append(element("span", "", number(low)), element("span", "", number(high)));
    if (target.least !== undefined) right.append(gauge, ends);
    if (told) right.append(element("div", "truth", `simulated: ${number(known.targets[target.name])}${known.learned ? " (a training case)" : ""}`));
    const [sign, text, why] = TRUST[found.trust];
    const trust = element("span", `trust ${found.trust}`);
    trust.append(element("span", "", sign), element("span", "", text));
    trust.title = why;
    left.append(trust);
    card.append(left, right);
    card.addEventListener("click", () => chooseTarget(target.name));
    return card;
  });
  at("answers").replaceChildren(...cards);
  at("notes").hidden = answer.domain.notes.length === 0;
  at("notes").replaceChildren(...answer.domain.notes.flatMap((note) => note.split("; ")).map((note) => element("div", "", note)));
  showMap();
}

/** Draw the predicted curve of a model of curves, beside that of a training case that is shown as it was. */
function showWhole(known) {
  if (facts.times && facts.targets.length) return void histories(); // fields of cells have no values at nodes
  const own = facts.curves?.[0];
  at("whole-card").hidden = !own;
  if (!own) return;
  at("whole-name").textContent = own.name;
  const row = known?.learned ? Number(Object.values(known.meshes)[0].split(":").pop()) : NaN;
  drawWhole(at("whole"), own.name, answer.curves[own.name], { truth: own.train?.[row] });
}

/** Ask how fields change at a node, and draw it. */
const histories = latest(async () => {
  if (!answer) return;
  const of = facts;
  const node = at("node").value === "" ? null : Number(at("node").value);
  const found = await (await post("/api/history", { ...question(), node })).json();
  if (!answer || of !== facts) return;
  overTime = found;
  geometry.hold(found.ranges);
  at("node").value = found.node;
  const names = Object.keys(found.curves);
  const chosen = names.includes(at("history").value) ? at("history").value : names[0];
  at("history").replaceChildren(...names.map((one) => new Option(one, one)));
  at("history").value = chosen;
  at("history").hidden = names.length < 2;
  drawHistory();
});

function drawHistory() {
  at("whole-card").hidden = !overTime || !facts.times;
  if (at("whole-card").hidden) return;
  const name = at("history").value;
  at("whole-name").textContent = name;
  drawWhole(at("whole"), name, overTime.curves[name], { along: "time", now: facts.times[state.step] });
}

/** Show the fields at one of the times of a model of fields over time. */
function chooseTime(step) {
  state.step = step;
  at("time").value = step;
  at("time-now").textContent = number(facts.times[step]);
  at("time").setAttribute("aria-valuetext", number(facts.times[step]));
  if (complete()) geometry.onAsk();
  if (answer) drawHistory();
}

/** Go through all times, or stop. */
function play() {
  clearInterval(playing);
  playing = at("play").textContent === "Play" ? setInterval(() => chooseTime((state.step + 1) % facts.times.length), 400) : null;
  at("play").textContent = playing ? "Stop" : "Play";
}

function chooseTarget(name) {
  state.target = name;
  at("target").value = name;
  showFixed();
  if (answer) showAnswers();
  curves();
  remember();
}

/** Show what does not depend on the case: importance and scores. */
function showFixed() {
  const shares = facts.variance_shares[state.target];
  const columns = shares ?? facts.importance[state.target] ?? Object.values(facts.importance)[0] ?? {};
  const entries = Object.entries(columns).sort((a, b) => b[1] - a[1]).slice(0, 12);
  const most = Math.max(...entries.map(([, value]) => value), 1e-9);
  at("importance").replaceChildren(...entries.flatMap(([name, value]) => {
    const bar = element("i");
    bar.style.width = `${(100 * value) / most}%`;
    return [element("span", "", name), bar, element("em", "", shares ? `${Math.round(100 * value)} %` : value.toFixed(2))];
  }));
  const lines = (facts.targets.find((one) => one.name === state.target)?.scores ?? []).map((one) =>
    `${state.target}, ${one.test}: Q² ${one.q2.toFixed(3)}, typical error ${number(one.rmse)}, ${Math.round(100 * one.coverage)} % of ${one.n} inside their 95 % intervals`);
  for (const [name, rows] of Object.entries(facts.field_scores ?? {})) {
    for (const one of rows) lines.push(`${name}, ${one.test}: relative error ${number(one.rrmse)}, ${Math.round(100 * one.coverage)} % of nodes inside their 95 % intervals`);
  }
  for (const own of facts.curves ?? []) {
    for (const one of own.scores) {
      const whole = Number.isFinite(one.whole) ? `, ${Math.round(100 * one.whole)} % of curves inside their 90 % bands` : "";
      lines.push(`${own.name}, ${one.test}: Q² ${one.q2.toFixed(3)}, typical error ${number(one.rmse)}, ${Math.round(100 * one.coverage)} % of values inside their 95 % intervals${whole}`);
    }
  }
  at("scores").replaceChildren(...lines.map((text) => element("div", "", text)));
  at("importance").hidden = entries.length === 0;
  at("matters").textContent = entries.length ? "What matters most" : "How good the model is";
  at("matters").title = shares ? "share of the variance of predictions that is lost when an input is averaged out" : "";
}

function chooseCase(key) {
  const found = facts.cases[Number(key)];
  if (!found) return;
  at("cases").value = key;
  state.meshes = { ...found.meshes };
  state.label = found.label;
  if (found.inputs) Object.assign(state.inputs, found.inputs);
  refreshInputs();
  showMesh();
}

function chooseTraining(place) {
  const found = facts.cases.findIndex((one) => Object.entries(one.meshes).every(([name, mesh]) => mesh === `train:${name}:${place}`));
  chooseCase(String(found));
}

async function take(file) {
  if (!file) return;
  const before = at("mesh-name").textContent;
  at("mesh-name").textContent = `Reading ${file.name} …`;
  try {
    const found = (await send("/api/mesh", { mesh: file })).meshes[0];
    const column = at("column").value || facts.mesh_columns[0];
    state.meshes = { ...state.meshes, [column]: found.mesh };
    state.label = found.name;
    at("cases").value = "";
    complain(null);
    await showMesh();
  } catch (error) {
    at("mesh-name").textContent = before;
    complain(error);
  }
}

function remember() {
  const kept = { ...state, color: geometry.wanted };
  history.replaceState(null, "", "#" + btoa(unescape(encodeURIComponent(JSON.stringify(kept)))).replaceAll("=", ""));
}

function remembered() {
  try {
    const found = JSON.parse(decodeURIComponent(escape(atob(location.hash.slice(1)))));
    return found && typeof found === "object" ? found : {};
  } catch {
    return {};
  }
}

async function start(name, kept = {}) {
  const wanted = (starting = name);
  const found = await get(`/api/model?model=${encodeURIComponent(name)}`);
  if (wanted !== starting) return; // another model was chosen meanwhile
  facts = found;
  clearTimeout(settled);
  answer = null;
  document.title = `${facts.name} · swwl`;
  const targets = facts.targets.map((one) => one.name);
  const numeric = facts.inputs.filter((one) => one.holds === "numbers" && one.least !== undefined);
  const pick = (value, among, other) => (among.includes(value) ? value : other);
  const names = numeric.map((one) => one.name);
  Object.assign(state, { model: facts.name, meshes: {}, label: "", inputs: medians(facts.inputs) });
  state.target = pick(kept.target, targets, targets[0]);
  state.sweep = pick(kept.sweep, names, names[names.length - 1] ?? null);
  state.each = pick(kept.each, names, "");
  geometry.wanted = kept.color ?? null;
  for (const one of facts.inputs) if (kept.inputs && one.name in kept.inputs) state.inputs[one.name] = kept.inputs[one.name];
  at("about").textContent = `predicts ${(facts.fields.length ? facts.fields : facts.curves ? [`the curve ${facts.curves[0].name}`, ...targets] : targets).join(", ")}${facts.n_train ? ` · learned from ${facts.n_train} cases` : ""}`;
  at("target").replaceChildren(...targets.map((one) => new Option(one, one)));
  at("target").hidden = targets.length < 2;
  at("fixed-card").hidden = !targets.length && !facts.fields.length;
  at("sweep").replaceChildren(...names.map((one) => new Option(one, one)));
  at("each").replaceChildren(new Option("one curve", ""), ...names.map((one) => new Option(one, one)));
  Object.assign(at("target"), { value: state.target });
  Object.assign(at("sweep"), { value: state.sweep ?? "" });
  Object.assign(at("each"), { value: state.each });
  at("mesh-card").hidden = at("view-card").hidden = facts.mesh_columns.length === 0;
  at("map-card").hidden = !facts.map || facts.mesh_columns.length === 0;
  at("curve-card").hidden = names.length === 0 || targets.length === 0;
  at("column").replaceChildren(...facts.mesh_columns.map((one) => new Option(one, one)));
  at("column-row").hidden = facts.mesh_columns.length < 2;
  at("cases-row").hidden = facts.cases.length === 0;
  const groups = [["held out", false], ["learned from", true]].map(([title, learned]) => {
    const group = document.createElement("optgroup");
    group.label = title;
    facts.cases.forEach((one, k) => one.learned === learned && group.append(new Option(one.label, String(k))));
    return group;
  });
  at("cases").replaceChildren(new Option("–", ""), ...groups.filter((group) => group.childElementCount));
  refreshInputs = buildInputs(at("inputs"), facts.inputs, state.inputs, update);
  tried.start(facts);
  at("answers").replaceChildren();
  at("whole-card").hidden = true;
  overTime = null;
  if (playing) play();
  at("time-row").hidden = at("node-row").hidden = !facts.times;
  at("history").hidden = true;
  at("node").value = "";
  at("whole-title").textContent = facts.times ? "Over time" : "Predicted curve";
  at("whole-told").textContent = facts.times ? "Click a node of the mesh to see its values; the band holds 95 % of values, time by time."
    : "The dark band holds 95 % of values, place by place; the light one holds 95 % of curves as a whole.";
  if (facts.times) {
    at("time").max = facts.times.length - 1;
    const last = facts.times.length - 1;
    chooseTime(Number.isInteger(kept.step) ? Math.min(Math.max(kept.step, 0), last) : last);
  }
  showFixed();
  if (kept.meshes && facts.mesh_columns.length && facts.mesh_columns.every((one) => typeof kept.meshes[one] === "string")) {
    Object.assign(state, { meshes: kept.meshes, label: String(kept.label ?? "") });
    const index = facts.cases.findIndex((one) => facts.mesh_columns.every((column) => one.meshes[column] === state.meshes[column]));
    at("cases").value = index < 0 ? "" : String(index);
    await showMesh();
  } else if (facts.cases.length) {
    chooseCase("0");
  } else {
    await showMesh();
  }
  if (!complete()) say(facts.mesh_columns.length > 1 ? `Drop mesh files for ${facts.mesh_columns.join(" and ")} to see predictions.` : "Drop a mesh file to see predictions.");
}

function listen() {
  const drop = at("drop");
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  for (const kind of ["dragleave", "drop"]) document.addEventListener(kind, () => drop.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    take(event.dataTransfer.files[0]);
  });
  at("file").addEventListener("change", () => take(at("file").files[0]));
  at("column").addEventListener("change", showMesh);
  at("cases").addEventListener("change", () => chooseCase(at("cases").value));
  at("medians").addEventListener("click", () => {
    Object.assign(state.inputs, medians(facts.inputs));
    refreshInputs();
    update();
  });
  at("model").addEventListener("change", () => start(at("model").value).catch(complain));
  at("target").addEventListener("change", () => chooseTarget(at("target").value));
  at("time").addEventListener("input", () => {
    if (playing) play();
    chooseTime(Number(at("time").value));
    remember();
  });
  at("play").addEventListener("click", play);
  at("node").addEventListener("change", histories);
  at("history").addEventListener("change", drawHistory);
  for (const id of ["sweep", "each"]) {
    at(id).addEventListener("change", () => {
      state[id] = at(id).value;
      if (state.each === state.sweep) state.each = at("each").value = "";
      curves();
      remember();
    });
  }
  at("link").addEventListener("click", async () => {
    remember();
    try {
      await navigator.clipboard.writeText(ownLink(location.hash));
      at("link").textContent = "Copied";
    } catch {
      prompt("The link", ownLink(location.hash));
    }
    setTimeout(() => (at("link").textContent = "Copy link"), 1500);
  });
  at("theme").addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    localStorage.setItem("swwl-theme", dark ? "dark" : "light");
    themed();
  });
}

function themed() {
  if (geometry.view) {
    geometry.view.dark = document.documentElement.dataset.theme === "dark";
    geometry.view.draw();
  }
  if (answer) {
    curves();
    showAnswers();
  }
}

async function main() {
  listen();
  themed();
  at("http").href = opened("/http");
  const { models } = await get("/api/models");
  at("model").replaceChildren(...models.map((one) => new Option(one.name, one.name)));
  const kept = remembered();
  const first = models.some((one) => one.name === kept.model) ? kept.model : models[0].name;
  at("model").value = first;
  await start(first, kept);
}

main().catch(complain);
