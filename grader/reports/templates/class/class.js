"use strict";
// Sorting and filtering of the table of students. Without it the table is whole, by name.
const table = document.getElementById("students");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const words = document.getElementById("words");
const status = document.getElementById("status");
const shown = document.getElementById("shown");
const texts = new Map(rows.map((row) => [row, row.textContent.toLocaleLowerCase()]));

function filter() {
  const wanted = words.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const fits = (!status.value || row.dataset.status === status.value)
      && wanted.every((word) => texts.get(row).includes(word));
    row.hidden = !fits;
    count += fits;
  }
  shown.textContent = shown.dataset.text.replace("{shown}", count).replace("{total}", rows.length);
}

function sort(column, heading) {
  const down = heading.getAttribute("aria-sort") === "ascending";
  const value = (row) => row.cells[column].dataset.v;
  const compare = heading.dataset.sort === "number"
    ? (a, b) => value(a) - value(b)
    : (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
  rows.sort((a, b) => (down ? compare(b, a) : compare(a, b)));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows);
}

Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...heading.childNodes);
  button.addEventListener("click", () => sort(column, heading));
  heading.append(button);
});
words.addEventListener("input", filter);
status.addEventListener("change", filter);
words.form.addEventListener("submit", (event) => event.preventDefault());
words.form.hidden = false;
filter();
