
// ---- Elements. Text only ever becomes text: no string is parsed as markup. ----

const at = (id) => document.getElementById(id);

function put(parent, name, attributes = {}, text = null) {
  const svg = name === "svg" || parent instanceof SVGElement;
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
  if (text !== null) made.textContent = plain(text);
  parent.append(made);
  return made;
}

// What is long may be cut off by the style, so it is in the title as well.
function say(element, text) {
  const shown = plain(text);
  if (element.textContent === shown) return;
  element.textContent = shown;
  if (shown.length > 40 && element.parentElement) element.title = shown;
  else element.removeAttribute("title");
}

function style(element, name) {
  if (element.className !== name) element.className = name;
}

// A table whose rows are kept, by their keys, while their cells change: a selection or a focus in it
// survives. Columns: {title, text(row), number, lead, wide, look(row), order(row)}; or {title,
// draw(cell, row)}, called again and again.
class DataTable {
  constructor(place, columns, none) {
    this.columns = columns;
    this.rows = new Map();
    this.sorted = null;
    this.nothing = put(place, "p", {class: "none"}, none);
    this.scroll = put(place, "div", {class: "scroll"});
    this.table = put(this.scroll, "table", {class: "cards"});
    const head = put(put(this.table, "thead"), "tr");
    this.heads = columns.map((column) => this.head(head, column));
    this.body = put(this.table, "tbody");
    this.rest = put(place, "p", {class: "note rest"});
  }
  head(row, column) {
    const cell = put(row, "th", {scope: "col", class: column.number ? "number" : null});
    if (column.order === undefined) {
      cell.textContent = column.title;
      return cell;
    }
    put(cell, "button", {type: "button"}, column.title).addEventListener("click", () => this.sortBy(column));
    return cell;
  }
  sortBy(column) {
    const down = this.sorted?.column === column ? !this.sorted.down : Boolean(column.number);
    this.sorted = {column, down};
    this.columns.forEach((each, i) => {
      if (each === column) this.heads[i].setAttribute("aria-sort", down ? "descending" : "ascending");
      else this.heads[i].removeAttribute("aria-sort");
    });
    this.show(this.shown, this.rest.textContent);
  }
  // `rows`: objects with a `key`. `rest`: says what is left out.
  show(rows, rest = "") {
    this.shown = rows;
    say(this.rest, rest);
    this.nothing.hidden = rows.length > 0;
    this.scroll.hidden = rows.length === 0;
    const ordered = this.sorted ? this.inOrder(rows) : rows;
    const keys = new Set(ordered.map((row) => row.key));
    for (const [key, row] of this.rows) if (!keys.has(key)) row.remove(), this.rows.delete(key);
    ordered.forEach((row, i) => {
      const line = this.rows.get(row.key) ?? this.line(row.key);
      this.columns.forEach((column, j) => this.fill(line.cells[j], column, row));
      if (this.body.rows[i] !== line) this.body.insertBefore(line, this.body.rows[i] ?? null);
    });
  }
  inOrder(rows) {
    const {column, down} = this.sorted;
    return [...rows].sort((a, b) => {
      const [x, y] = [column.order(a), column.order(b)];
      const order = x < y ? -1 : x > y ? 1 : 0;
      return down ? -order : order;
    });
  }
  line(key) {
    const line = put(this.body, "tr");
    for (const column of this.columns) {
      const kind = column.lead ? "lead" : column.number ? "number" : "";
      const cell = put(line, "td", {"data-label": column.title, class: `${kind} ${column.wide ? "wide" : ""}`});
      put(cell, "bdi");
    }
    this.rows.set(key, line);
    return line;
  }
  fill(cell, column, row) {
    if (column.draw) return column.draw(cell, row);
    say(cell.firstChild, column.text(row));
    style(cell.firstChild, column.look?.(row) ?? "");
  }
}
