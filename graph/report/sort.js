// Tables of class "sortable" sort by the column whose heading is clicked. Without this they stay in order.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const key = (row, i) => row.cells[i].dataset.v ?? row.cells[i].textContent.trim().toLowerCase();
  const order = (a, b) => (a !== "" && b !== "" && !isNaN(a) && !isNaN(b) ? a - b : String(a).localeCompare(String(b)));
  table.querySelectorAll("thead th").forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => order(key(a, i), key(b, i)) * (down ? -1 : 1));
      body.append(...rows);
    });
  });
}
// What is folded away on screen is printed.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
