// How values are written: as the command line writes them.

/** Return a number with four significant digits. */
export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(3);
  if (size >= 1000) return value.toFixed(size >= 1e4 ? 0 : 1).replace(/\.0$/, "");
  return String(Number(value.toPrecision(4)));
}

/** Return a mean with as many digits as its standard deviation justifies. */
export function rounded(value, std) {
  if (!Number.isFinite(std) || std <= 0) return number(value);
  const digits = Math.max(0, Math.min(8, 1 - Math.floor(Math.log10(std))));
  return Math.abs(value) >= 1e7 || digits === 8 ? number(value) : value.toFixed(digits);
}

export const TRUST = {
  tested: ["✓", "within what was tested", "The case is like the training cases, and the model is as sure of it as of those when they are left out."],
  unsure: ["≈", "less sure than usual", "The model is less sure of this case than of 95 of 100 training cases when they are left out, so the interval is widened."],
  unknown: ["?", "too few cases to tell", "Fewer than 100 training cases cannot tell whether the case is like them."],
  untested: ["!", "outside: nothing was tested", "The case is unlike the training cases. Nothing has been tested here."],
};

/** Make an element with a class and text. */
export function element(kind, name = "", text = "") {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text !== "") made.textContent = text;
  return made;
}
