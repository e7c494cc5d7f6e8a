// Color maps that everyone can tell apart: stops from dark to light, even in lightness; one for signed values.
const STOPS = {
  viridis: "440154 48186a 472d7b 424086 3b528b 33638d 2c728e 26828e 21918c 1fa088 28ae80 3fbc73 5ec962 84d44b addc30 d8e219 fde725",
  cividis: "00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 fee838",
  signed: "0b4f7a 0072b2 4f9ccb a3c9e2 f2f2f2 f3c6a5 e58f57 d55e00 8f3d00",
};

/** Return 256 colors as bytes r, g, b, a. */
export function lut(name) {
  const stops = STOPS[name].split(" ").map((hex) => [0, 2, 4].map((k) => parseInt(hex.slice(k, k + 2), 16)));
  const bytes = new Uint8Array(1024);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    for (let k = 0; k < 3; k++) {
      bytes[4 * i + k] = stops[low][k] + (place - low) * (stops[low + 1][k] - stops[low][k]);
    }
    bytes[4 * i + 3] = 255;
  }
  return bytes;
}

/** Return a color map as a gradient of CSS, from left to right. */
export function gradient(name) {
  return `linear-gradient(to right, ${STOPS[name].split(" ").map((hex) => "#" + hex).join(", ")})`;
}

/** Return a color map in plotly's form. */
export function scale(name) {
  const stops = STOPS[name].split(" ");
  return stops.map((hex, k) => [k / (stops.length - 1), "#" + hex]);
}

// Okabe and Ito (2008).
const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];
const DARK = ["#56B4E9", "#F0A04B", "#3CC9A0", "#E09BC4", "#F0C24B", "#8FB8DE"];

/** Return a color for each of several lines, told apart on the paper of the page. */
export function cycle() {
  return document.documentElement.dataset.theme === "dark" ? DARK : LIGHT;
}
