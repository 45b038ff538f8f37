
// ---- The picture of a bad sample, in its row, once somebody asks for it ----

// A slow network may take half a minute for a large picture.
const PICTURE_PATIENCE = 40000, PICTURE_TYPES = /^image\/(jpeg|png|gif|webp|bmp)$/;
const pictures = new WeakMap();  // by cell

function drawPicture(cell, row) {
  if (!pictures.has(cell)) pictures.set(cell, new BadPicture(cell));
  pictures.get(cell).offer(row);
}

// A button that shows the picture, or why there is none, and then hides it again.
class BadPicture {
  constructor(cell) {
    cell.replaceChildren();
    cell.classList.add("pictured");
    this.asked = 0;  // counts, so that the answer to an earlier press is dropped
    this.button = put(cell, "button", {type: "button", class: "small"});
    this.button.addEventListener("click", () => this.said.textContent ? this.hide() : this.show());
    this.place = put(cell, "span", {class: "picture"});
    this.said = put(cell, "small", {class: "note", "aria-live": "polite"});
  }
  offer(row) {
    this.row = row;
    this.button.hidden = !row.pictured;
    if (row.pictured) this.label();
    else this.hide();
  }
  // What a screen reader says begins with what the button shows.
  label() {
    const word = this.said.textContent ? "hide" : "show", {dataset, sample} = this.row;
    say(this.button, word);
    this.button.setAttribute("aria-label", plain(`${word} the picture of sample ${count(sample)} of ${dataset}`));
  }
  hide() {
    ++this.asked;
    this.place.replaceChildren();
    say(this.said, "");
    this.label();
  }
  async show() {
    const asked = ++this.asked;
    say(this.said, "Reading …");
    this.label();
    const [image, words] = await this.get();
    if (asked !== this.asked) return;
    if (image) this.place.append(image);
    say(this.said, words);
  }
  // An image and its size, or null and why there is none.
  async get() {
    const {dataset, sample} = this.row;
    const path = `/bad-sample?dataset=${encodeURIComponent(dataset)}&sample=${encodeURIComponent(sample)}`;
    try {
      const answer = await fetch(path, {cache: "no-store", signal: AbortSignal.timeout(PICTURE_PATIENCE)});
      if (!answer.ok) return [null, capital((await answer.text()).trim())];
      if (!PICTURE_TYPES.test(answer.headers.get("Content-Type"))) return [null, "Not an image"];
      return await this.decode(await answer.blob());
    } catch {
      return [null, "No answer"];
    }
  }
  async decode(blob) {
    const {dataset, sample} = this.row, image = new Image(), url = URL.createObjectURL(blob);
    image.alt = plain(`Sample ${count(sample)} of ${dataset}, as far as the browser can decode it`);
    const decoded = await new Promise((done) => {
      image.onload = () => done(true);
      image.onerror = () => done(false);
      image.src = url;
    });
    URL.revokeObjectURL(url);
    if (!decoded) return [null, `The browser cannot decode it; it has ${bytes(blob.size)}`];
    return [image, `${image.naturalWidth} × ${image.naturalHeight}, ${bytes(blob.size)}`];
  }
}
