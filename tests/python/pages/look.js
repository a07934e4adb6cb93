// What is wrong with the page as it is laid out now: a list of sentences, empty if nothing is.
() => {
  const found = [];
  const say = (what, node) => {
    const element = node.nodeType === Node.TEXT_NODE ? node.parentElement : node;
    found.push(`${what}: <${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}"> ` +
               JSON.stringify((node.textContent ?? "").trim().slice(0, 60)));
  };
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) {
    found.push(`the page is ${root.scrollWidth} pixels wide, the window ${innerWidth}`);
  }
  const clips = (element) => getComputedStyle(element).overflowX !== "visible";
  const clipping = (element) => {
    for (let one = element; one && one !== root; one = one.parentElement) if (clips(one) && !(one instanceof SVGElement)) return one;
    return null;
  };
  const colors = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (text) => {
    colors.clearRect(0, 0, 1, 1);
    colors.fillStyle = text;
    colors.fillRect(0, 0, 1, 1);
    return [...colors.getImageData(0, 0, 1, 1).data];
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = rgba(getComputedStyle(one).backgroundColor);
      if (color[3] === 255) return color;
    }
    return rgba(matchMedia("print").matches || !matchMedia("(prefers-color-scheme: dark)").matches ? "white" : "#121212");
  };
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)  // WCAG 2.2, relative luminance
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = new Map();
  const contrast_of = (element) => {
    const style = getComputedStyle(element);
    const text = element instanceof SVGElement ? style.fill : style.color, back = behind(element);
    const key = text + back;
    if (!contrast.has(key)) {
      const [a, b] = [luminance(rgba(text)), luminance(back)].sort((x, y) => y - x);
      contrast.set(key, (a + 0.05) / (b + 0.05));
    }
    return contrast.get(key);
  };

  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || parent.closest("style, title, script")) continue;
    if (!parent.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const rects = [...range.getClientRects()].filter((rect) => rect.width > 0 && rect.height > 0);
    if (rects.length && contrast_of(parent) < 4.5) say(`contrast ${contrast_of(parent).toFixed(2)}`, node);
    const frame = clipping(parent)?.getBoundingClientRect();
    const picture = parent.closest("svg")?.getBoundingClientRect();
    for (const rect of rects) {
      if (rect.left < -1 || (!frame && rect.right > innerWidth + 1)) say("cut at the edge of the page", node);
      const around = picture ?? (frame && clipping(parent).scrollWidth <= frame.width + 1 ? frame : null);
      if (around && (rect.left < around.left - 2 || rect.right > around.right + 2)) say("cut at the edge of its box", node);
      // Fonts of other scripts have boxes taller than the line: their middle is what can be seen to overlap.
      const spare = rect.height * 0.22;
      boxes.push({node, left: rect.left + 1, right: rect.right - 1, top: rect.top + spare, bottom: rect.bottom - spare});
    }
  }
  for (const image of document.querySelectorAll("img, .hole")) {
    if (!image.checkVisibility({contentVisibilityAuto: true})) continue;
    if (image.tagName === "IMG" && !(image.complete && image.naturalWidth > 0)) say("a picture that is not shown", image);
    const rect = image.getBoundingClientRect();
    if (image.tagName === "IMG") boxes.push({node: image, left: rect.left + 1, right: rect.right - 1, top: rect.top + 1, bottom: rect.bottom - 1});
  }
  boxes.sort((a, b) => a.top - b.top);
  let open = [];
  for (const box of boxes) {
    open = open.filter((one) => one.bottom > box.top);
    for (const one of open) {
      if (one.node !== box.node && one.left < box.right && box.left < one.right) say("lies over other content", box.node);
    }
    open.push(box);
  }

  const name_of = (element) => (element.getAttribute("aria-label") ?? element.textContent ?? "").trim();
  for (const element of document.querySelectorAll("svg")) {
    if (element.getAttribute("role") !== "img" || !element.getAttribute("aria-label")) say("a drawing without a name", element);
  }
  for (const element of document.querySelectorAll("a[href], summary, [tabindex='0']")) {
    if (!name_of(element)) say("nothing to read aloud", element);
  }
  for (const element of document.querySelectorAll("img")) {
    const caption = element.closest("figure")?.querySelector("figcaption")?.textContent.trim();
    if (!element.getAttribute("alt") && !caption) say("a picture without a name", element);
  }
  for (const element of document.querySelectorAll("table")) {
    if (!element.querySelector("th") && !element.getAttribute("aria-label")) say("a table without heads or a name", element);
  }
  return found.slice(0, 20);
}
