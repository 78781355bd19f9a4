/**
 * Markdown of messages as safe HTML. Raw HTML in a message is text; the result passes through
 * DOMPurify as well. Pictures become links, so that looking at a message fetches nothing from
 * anywhere.
 */
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { shownCode, shownText } from "../../shared/foreign-text.ts";
import { TextCache } from "../controls/text-cache.ts";

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true, typographer: false });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

/** Each outer block has the direction of its own text, and so does everything in it. */
markdown.core.ruler.push("direction", ({ tokens }) => {
  for (const token of tokens) if (token.level === 0 && token.nesting === 1) token.attrSet("dir", "auto");
});
/** Tab reaches nothing inside a message before the message has been entered (message.ts). */
markdown.renderer.rules.link_open = (tokens, at, options, _env, self) => {
  tokens[at]!.attrSet("tabindex", "-1");
  return self.renderToken(tokens, at, options);
};

const escape = (text: string) => markdown.utils.escapeHtml(text);

const TASK = /^\[([ xX])\]\s+/;

/** `- [ ]` and `- [x]` in a list: what is to be done, and what is. */
markdown.core.ruler.after("inline", "tasks", ({ tokens, Token }) => {
  for (const [at, token] of tokens.entries()) {
    const item = tokens[at - 2];
    const text = token.children?.[0];
    if (token.type !== "inline" || item?.type !== "list_item_open" || text?.type !== "text") continue;
    const mark = TASK.exec(text.content);
    if (mark === null) continue;
    text.content = text.content.slice(mark[0].length);
    item.attrJoin("class", "task");
    const box = new Token("task", "", 0);
    box.content = mark[1] === " " ? "" : "done";
    token.children!.unshift(box);
  }
});
markdown.renderer.rules["task"] = (tokens, at) => {
  const done = tokens[at]!.content;
  return `<span class="task-box ${done}"></span><span class="only-heard">${done === "" ? "To do" : "Done"}: </span>`;
};

/** Added and removed lines of a patch, each in its colour. */
function patchLines(code: string): string {
  const kinds: Record<string, string> = { "+": "added", "-": "removed", "@": "place" };
  return code
    .split("\n")
    .map((line) => {
      const kind = /^(?:\+\+\+|---) /.test(line) ? "place" : kinds[line[0] ?? ""];
      return kind === undefined ? escape(line) : `<span class="patch-${kind}">${escape(line)}</span>`;
    })
    .join("\n");
}

/** Names a language for code-colors.ts, which knows those that have colors. */
function languageClass(language: string): string {
  return /^[\w+#-]{1,24}$/.test(language) ? `language-${language.toLowerCase()}` : "";
}

function codeOf(content: string, language: string): string {
  const code = shownCode(content.replace(/\n$/, ""));
  const isPatch = language === "diff" || language === "patch";
  return `<pre tabindex="-1" dir="ltr"><code class="${languageClass(language)}">${isPatch ? patchLines(code) : escape(code)}</code></pre>`;
}

function codeBlock(content: string, language: string): string {
  const name = language === "" ? "code" : language;
  return (
    `<div class="code-block"><div class="code-head"><span class="code-language">${escape(name)}</span>` +
    `<button type="button" class="code-copy" tabindex="-1">Copy</button></div>${codeOf(content, language)}</div>`
  );
}

markdown.renderer.rules.fence = (tokens, at) => {
  const token = tokens[at]!;
  return codeBlock(token.content, token.info.trim().split(/\s+/, 1)[0] ?? "");
};
markdown.renderer.rules.code_block = (tokens, at) => codeBlock(tokens[at]!.content, "");
markdown.renderer.rules.code_inline = (tokens, at) =>
  `<code>${escape(shownCode(tokens[at]!.content))}</code>`;
markdown.renderer.rules.image = (tokens, at) => {
  const token = tokens[at]!;
  const address = String(token.attrGet("src") ?? "");
  return `<a href="${escape(address)}" tabindex="-1">${escape(token.content === "" ? address : token.content)}</a>`;
};
/** The alignment of a column, as a class: styles in attributes aren't allowed. */
function cell(name: "th" | "td"): NonNullable<typeof markdown.renderer.rules.th_open> {
  return (tokens, at) =>
    String(tokens[at]!.attrGet("style") ?? "").includes("right")
      ? `<${name} dir="auto" class="right">`
      : `<${name} dir="auto">`;
}
markdown.renderer.rules.th_open = cell("th");
markdown.renderer.rules.td_open = cell("td");
markdown.renderer.rules.table_open = () => `<div class="table-scroll" tabindex="-1"><table>`;
markdown.renderer.rules.table_close = () => `</table></div>`;

const ALLOWED = {
  ALLOWED_TAGS:
    "a b blockquote br button code del div em h1 h2 h3 h4 h5 h6 hr i li ol p pre s span strong table tbody td th thead tr ul".split(
      " ",
    ),
  ALLOWED_ATTR: ["class", "dir", "href", "start", "tabindex", "type"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  /** Their values aren't addresses. */
  ADD_URI_SAFE_ATTR: ["dir", "start", "tabindex", "type"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

/** Recent results: of messages, and of whole documents in slots. */
const messages = new TextCache({ entries: 600, characters: 8_000_000 });
const documents = new TextCache({ entries: 8, characters: 4_000_000 });

/**
 * A page draws this many elements of one message at once without a pause that people notice, and
 * this many of a document with one that they expect.
 */
const MESSAGE_ELEMENTS = 4000;
const DOCUMENT_ELEMENTS = 12_000;

/** Text as it was typed, for one with more markup than a page can draw at once. */
function asTyped(text: string): string {
  return `<p class="hint">Shown as it was typed, because it has too much markup.</p><p class="plain" dir="auto">${escape(text)}</p>`;
}

function htmlOf(given: string, most: number): string {
  const text = shownText(given);
  const html = markdown.render(text);
  const elements = html.split("<").length / 2;
  return DOMPurify.sanitize(elements > most ? asTyped(text) : html, ALLOWED);
}

/** Safe HTML of a message's text, of at most 64 KiB. */
export function renderMarkdown(text: string): string {
  return messages.of(text, () => htmlOf(text, MESSAGE_ELEMENTS));
}

/** Safe HTML of a document, of at most `LIMITS.presentation.markdownCharacters`. */
export function renderDocument(text: string): string {
  return documents.of(text, () => htmlOf(text, DOCUMENT_ELEMENTS));
}

/** Safe HTML of program text, or of any text as it is. */
export function renderCode(text: string, language: string): string {
  return DOMPurify.sanitize(codeOf(text, language), ALLOWED);
}
