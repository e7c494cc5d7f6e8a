// Before anything is drawn: light or dark as chosen here before, or as the system says.
(() => {
  const chosen = localStorage.getItem("swwl-theme");
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
