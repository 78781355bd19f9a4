/**
 * The document as the terminal sees it. The terminal writes style sheets as text and colours as
 * style attributes; the page's policy allows neither. Here its sheets become constructed ones and
 * its attributes go through the object model, which the policy allows.
 */

function sheetElement(): HTMLStyleElement {
  const element = document.createElement("style");
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  let text = "";
  Object.defineProperty(element, "textContent", {
    get: () => text,
    set: (value: string) => {
      text = value;
      sheet.replaceSync(value);
    },
  });
  element.remove = () => {
    HTMLStyleElement.prototype.remove.call(element);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((entry) => entry !== sheet);
  };
  return element;
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === "style") this.style.cssText = value;
  else HTMLElement.prototype.setAttribute.call(this, name, value);
}

function createElement(name: string): HTMLElement {
  if (name.toLowerCase() === "style") return sheetElement();
  const element = document.createElement(name);
  if (name === "span") element.setAttribute = setAttribute;
  return element;
}

/** Takes the place of `document` in the terminal's code when it is bundled. */
export const strictDocument: Document = new Proxy(document, {
  get(target, name) {
    if (name === "createElement") return createElement;
    const value: unknown = Reflect.get(target, name, target);
    return typeof value === "function" ? value.bind(target) : value;
  },
  set: (target, name, value) => Reflect.set(target, name, value, target),
});
