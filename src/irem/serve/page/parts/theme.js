// The switch between light and dark; by default the page follows the system.

const KEPT = "irem-theme";

export function setUpTheme(select) {
  const show = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    select.value = theme;
  };
  select.addEventListener("change", () => {
    localStorage.setItem(KEPT, select.value);
    show(select.value);
  });
  show(localStorage.getItem(KEPT) ?? "auto");
}
