// Runs before the first paint, so that a page never flashes in the other colours.
(() => {
  let theme = null;
  try { theme = localStorage.getItem("deadwatch-theme"); } catch { /* storage is forbidden: the system decides */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  document.documentElement.dataset.script = "on";
})();
