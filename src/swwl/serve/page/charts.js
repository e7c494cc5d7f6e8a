// Curves and maps, by plotly, which this server brings along.
import { cycle, scale } from "./colors.js";
import { number } from "./words.js";

const CONFIG = { displayModeBar: false, responsive: true };

function look() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  return { ink: color("--ink"), quiet: color("--quiet"), line: color("--line"), card: color("--card"), accent: color("--accent") };
}

function axes(title, more = {}) {
  const { quiet, line } = look();
  return { title: { text: title, font: { size: 12, color: quiet } }, gridcolor: line, zeroline: false, linecolor: line, tickfont: { color: quiet, size: 11 }, automargin: true, ...more };
}

function layout(more) {
  const { ink } = look();
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: "system-ui, sans-serif", size: 12 },
    margin: { l: 55, r: 12, t: 8, b: 45 }, hovermode: "closest", ...more,
  };
}

const faded = (hex, alpha) => `rgba(${[1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16)).join(",")},${alpha})`;

/** Split a band where two outcomes are possible: lower and upper ends, and the places of the points they reach over. */
function bands(lower, upper, start, stop) {
  const two = lower.map((_, i) => Number.isFinite(start?.[i]));
  const found = [];
  let places = [];
  lower.forEach((_, i) => {
    places.push(i);
    const last = i === lower.length - 1;
    if (last || two[i] !== two[i + 1]) {
      if (two[i]) found.push([lower, start, places], [stop, upper, places]);
      else found.push([lower, upper, places]);
      places = [];
    }
  });
  return found;
}

/** Draw curves with bands, the training range of the input, and where the case is. */
export function drawCurves(box, found, target, input, now) {
  const { ink, quiet, card } = look();
  const x = found.sweep.values;
  const traces = [];
  found.curves.forEach((curve, k) => {
    const color = cycle()[k % cycle().length];
    const { mean, lower, upper, gap_from: start, gap_to: stop } = curve.targets[target];
    const name = found.each === null ? "95 % band" : `${found.each} = ${number(curve.each)}`;
    for (const [low, high, places] of bands(lower, upper, start, stop)) {
      const along = places.map((i) => x[i]);
      traces.push({
        x: [...along, ...[...along].reverse()], y: [...places.map((i) => high[i]), ...[...places].reverse().map((i) => low[i])], fill: "toself", fillcolor: faded(color, 0.16),
        line: { width: 0 }, hoverinfo: "skip", showlegend: false, type: "scatter", mode: "lines",
      });
    }
    traces.push({
      x, y: mean, name, line: { color, width: 2.2, dash: ["solid", "dash", "dot", "dashdot"][k % 4] }, type: "scatter", mode: "lines",
      customdata: lower.map((low, i) => [number(low), number(upper[i])]), showlegend: found.each !== null,
      hovertemplate: `${found.sweep.name} %{x:.4g}<br><b>%{y:.5g}</b>, 95 %: %{customdata[0]} to %{customdata[1]}<extra>${found.each === null ? "" : name}</extra>`,
    });
  });
  traces.push({
    x: [now.x], y: [now.mean], type: "scatter", mode: "markers", marker: { size: 11, color: ink, line: { color: card, width: 2 } },
    error_y: { type: "data", symmetric: false, array: [now.upper - now.mean], arrayminus: [now.mean - now.lower], color: ink, thickness: 1.6, width: 5 },
    name: "this case", hovertemplate: "this case: <b>%{y:.5g}</b><extra></extra>", showlegend: found.each !== null,
  });
  const inside = [input.least, input.largest];
  const edge = (value) => ({ type: "line", x0: value, x1: value, y0: 0, y1: 1, yref: "paper", line: { color: quiet, width: 1, dash: "dot" } });
  const shapes = inside.filter((value) => value > x[0] && value < x[x.length - 1]).map(edge);
  Plotly.react(box, traces, layout({
    xaxis: axes(found.sweep.name), yaxis: axes(target), shapes,
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11 } }, margin: { l: 60, r: 12, t: found.each === null ? 8 : 40, b: 45 },
  }), CONFIG);
}

/** Draw a predicted curve of one case: its intervals, the band of the whole curve and the simulated one where they are known, and a place on it. */
export function drawWhole(box, name, found, { truth, along = "abscissa", now } = {}) {
  const { ink } = look();
  const x = found.abscissa;
  const color = cycle()[0];
  const band = (lower, upper, alpha, title) => ({
    x: [...x, ...[...x].reverse()], y: [...upper, ...[...lower].reverse()], fill: "toself", fillcolor: faded(color, alpha), name: title,
    line: { width: 0 }, hoverinfo: "skip", type: "scatter", mode: "lines",
  });
  const traces = [
    ...(found.lower_whole ? [band(found.lower_whole, found.upper_whole, 0.14, "whole curve")] : []),
    band(found.lower, found.upper, 0.28, found.lower_whole ? "each place" : "95 %"),
    {
      x, y: found.mean, name: "predicted", line: { color, width: 2.4 }, type: "scatter", mode: "lines", customdata: x.map((_, i) => [number(found.lower[i]), number(found.upper[i])]),
      hovertemplate: "at %{x:.4g}<br><b>%{y:.5g}</b>, 95 %: %{customdata[0]} to %{customdata[1]}<extra></extra>",
    },
  ];
  if (truth) traces.push({ x, y: truth, name: "simulated", line: { color: ink, width: 1.6, dash: "dot" }, type: "scatter", mode: "lines", hovertemplate: "simulated: %{y:.5g}<extra></extra>" });
  const shapes = now === undefined ? [] : [{ type: "line", x0: now, x1: now, y0: 0, y1: 1, yref: "paper", line: { color: ink, width: 1.2, dash: "dot" } }];
  Plotly.react(box, traces, layout({
    xaxis: axes(along), yaxis: axes(name), shapes, legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 11 }, entrywidth: 75, entrywidthmode: "pixels" }, margin: { l: 60, r: 12, t: 36, b: 45 },
  }), CONFIG);
}

/** Draw the training cases on their two main components, in the colors of their values if known, and this mesh among them. */
export function drawMap(box, map, values, target, place, nearest, onPick) {
  const { ink, quiet, card, accent } = look();
  const [x, y] = [0, 1].map((k) => map.places.map((one) => one[k]));
  const traces = [{
    x, y, type: "scatter", mode: "markers", name: "training cases", text: map.labels,
    marker: { color: accent, size: 8, line: { color: card, width: 0.6 }, symbol: map.far.map((far) => (far ? "diamond-open" : "circle")) },
    hovertemplate: "%{text}<extra></extra>",
  }];
  if (values) {
    const colorbar = { title: { text: target, side: "right", font: { size: 11, color: quiet } }, thickness: 10, outlinewidth: 0, tickfont: { size: 10, color: quiet } };
    Object.assign(traces[0].marker, { color: values, colorscale: scale("viridis"), colorbar });
    Object.assign(traces[0], { customdata: values.map((value) => number(value)), hovertemplate: `%{text}<br>${target} %{customdata}<extra></extra>` });
  }
  if (place) {
    const lines = nearest.slice(0, 3).flatMap((one) => [place, map.places[one.case], [null, null]]);
    traces.unshift({ x: lines.map((p) => p[0]), y: lines.map((p) => p[1]), type: "scatter", mode: "lines", line: { color: quiet, width: 1 }, hoverinfo: "skip" });
    traces.push({
      x: [place[0]], y: [place[1]], type: "scatter", mode: "markers", name: "this mesh", hovertemplate: "this mesh<extra></extra>",
      marker: { symbol: "star", size: 18, color: "#D55E00", line: { color: ink, width: 1.2 } },
    });
  }
  const bare = { showticklabels: false, showgrid: true };
  Plotly.react(box, traces, layout({
    xaxis: axes("component 1", bare), yaxis: axes("component 2", bare), showlegend: false, margin: { l: 30, r: 8, t: 8, b: 32 },
  }), CONFIG);
  if (!box.dataset.listening) {
    box.dataset.listening = "yes";
    box.on("plotly_click", (event) => {
      const point = event.points[0];
      if (point.data.name === "training cases") onPick(point.pointIndex);
    });
  }
}
