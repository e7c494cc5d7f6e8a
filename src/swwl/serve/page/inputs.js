// Sliders, number fields and choices of the inputs, with the training range marked.
import { element, number } from "./words.js";

// Sliders reach a little beyond the training range: how a prediction loses its trust can be seen.
const BEYOND = 0.15;

/** Build the controls of a model's inputs; changed is called whenever a value is. */
export function buildInputs(box, inputs, values, changed) {
  box.replaceChildren();
  const refresh = [];
  for (const one of inputs) {
    const row = element("div", "input");
    const top = element("div", "top");
    const name = element("span", "", one.name);
    top.append(name);
    row.append(top);
    if (one.holds === "categories") {
      const choice = element("select");
      choice.setAttribute("aria-label", one.name);
      for (const text of one.categories) choice.append(new Option(text, text));
      choice.addEventListener("change", () => {
        values[one.name] = choice.value;
        changed();
      });
      refresh.push(() => (choice.value = values[one.name]));
      top.append(choice);
    } else if (one.holds === "rows") {
      const field = element("input");
      field.type = "text";
      field.setAttribute("aria-label", one.name);
      field.addEventListener("change", () => {
        try {
          values[one.name] = JSON.parse(field.value);
        } catch {
          values[one.name] = field.value;
        }
        changed();
      });
      refresh.push(() => (field.value = JSON.stringify(values[one.name])));
      top.append(field);
    } else {
      refresh.push(numeric(row, top, one, values, changed));
    }
    box.append(row);
  }
  const all = () => refresh.forEach((one) => one());
  all();
  return all;
}

function numeric(row, top, one, values, changed) {
  const field = element("input");
  field.type = "number";
  field.step = "any";
  field.setAttribute("aria-label", one.name);
  top.append(field);
  const width = one.largest - one.least || Math.abs(one.median) || 1;
  const known = one.least !== undefined;
  const low = known ? one.least - BEYOND * width : 0;
  const high = known ? one.largest + BEYOND * width : 1;
  let slider = null;
  if (known) {
    const track = element("div", "track");
    const band = element("i");
    const share = (value) => `${(100 * (value - low)) / (high - low)}%`;
    band.style.setProperty("--from", share(one.least));
    band.style.setProperty("--to", `calc(100% - ${share(one.largest)})`);
    track.title = `training cases: ${number(one.least)} to ${number(one.largest)}`;
    slider = element("input");
    Object.assign(slider, { type: "range", min: 0, max: 1000, step: 1 });
    slider.setAttribute("aria-label", `${one.name}, slider`);
    slider.addEventListener("input", () => {
      const digits = Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(width))));
      values[one.name] = Number((low + ((high - low) * slider.value) / 1000).toFixed(digits));
      show(slider);
      changed();
    });
    track.append(band, slider);
    row.append(track);
  }
  field.addEventListener("input", () => {
    if (field.value === "" || !Number.isFinite(field.valueAsNumber)) return;
    values[one.name] = field.valueAsNumber;
    show(field);
    changed();
  });
  field.addEventListener("change", () => show(null)); // what is not a number gives way to the last one
  function show(source) {
    const value = values[one.name];
    if (source !== field) field.value = Number(value.toPrecision(7));
    if (slider && source !== slider) slider.value = (1000 * (value - low)) / (high - low);
    if (slider) slider.setAttribute("aria-valuetext", number(value));
    row.classList.toggle("outside", known && (value < one.least || value > one.largest));
  }
  return () => show(null);
}

/** Return the middle of the training cases. */
export function medians(inputs) {
  const pick = (one) => (one.holds === "categories" ? one.categories[0] : one.holds === "rows" ? 0 : (one.median ?? 0));
  return Object.fromEntries(inputs.map((one) => [one.name, pick(one)]));
}
