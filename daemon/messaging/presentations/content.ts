/** What a presentation's file must be: checked while it is written, never whole in memory. */
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { PresentationKind } from "../../../shared/presentation-kind.ts";
import { overSize } from "../../../shared/size-words.ts";
import type { Chunks } from "../files/file-streams.ts";

export type FileKind = Exclude<PresentationKind, "url">;

const SVG = "image/svg+xml";
/** Images by their first bytes. `x` is any byte. */
const IMAGES: readonly (readonly [mimeType: string, head: string])[] = [
  ["image/png", "89504e470d0a1a0a"],
  ["image/jpeg", "ffd8ff"],
  ["image/gif", "474946383761"],
  ["image/gif", "474946383961"],
  ["image/webp", "52494646xxxxxxxx57454250"],
  ["image/avif", "xxxxxxxx6674797061766966"],
];
const PDF = /^%PDF-\d/;
/** An SVG begins with its element, after declarations and comments. */
const SVG_HEAD =
  /^\uFEFF?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*(?:<!DOCTYPE svg\b[^>[]*>\s*)?(?:<!--(?:(?!-->)[\s\S])*-->\s*)*<svg[\s>]/;

/** The types that the content of a kind is ever served with. */
const TYPES: Readonly<Record<FileKind, readonly string[]>> = {
  markdown: ["text/markdown"],
  html: ["text/html"],
  csv: ["text/csv"],
  pdf: ["application/pdf"],
  image: [...new Set(IMAGES.map(([mimeType]) => mimeType)), SVG],
};

/**
 * The type that content is served with, whatever an import's event says: one that belongs to its
 * kind. Null when there is none.
 */
export function servedType(kind: FileKind, mimeType: string | undefined): string | null {
  return TYPES[kind].find((type) => type === mimeType) ?? null;
}

/**
 * Passes the bytes of a file on and checks them on the way. Throws too_large, or invalid_content
 * when they aren't of this kind.
 */
export class ContentCheck {
  readonly #kind: FileKind;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  #bytes = 0;
  #head = Buffer.alloc(0);
  #isText = true;

  constructor(kind: FileKind) {
    this.#kind = kind;
  }

  async *through(chunks: Chunks): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#look(chunk);
      yield chunk;
    }
    this.#decode();
    if (this.#bytes === 0) throw wrong(this.#kind, "It is empty.");
    if (this.#type() === null) throw wrong(this.#kind);
  }

  /** Once everything has passed. */
  get mimeType(): string {
    return this.#type()!;
  }

  #look(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    const { contentBytes, headBytes } = LIMITS.presentation;
    if (this.#bytes > contentBytes) throw tooLarge(this.#bytes);
    if (this.#head.length < headBytes)
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, headBytes - this.#head.length)]);
    this.#decode(chunk);
  }

  /** Stops decoding what isn't text and needn't be. */
  #decode(chunk?: Uint8Array): void {
    if (!this.#isText) return;
    try {
      this.#decoder.decode(chunk, { stream: chunk !== undefined });
    } catch {
      this.#isText = false;
      if (this.#kind !== "image" && this.#kind !== "pdf") throw wrong(this.#kind, "It isn't UTF-8.");
    }
  }

  #type(): string | null {
    const kind = this.#kind;
    if (kind === "pdf") return PDF.test(this.#head.toString("latin1")) ? "application/pdf" : null;
    if (kind !== "image") return TYPES[kind][0]!;
    const hex = this.#head.toString("hex", 0, 16);
    const found = IMAGES.find(([, head]) =>
      Array.from(head).every((digit, at) => digit === "x" || digit === hex[at]),
    );
    if (found !== undefined) return found[0];
    return this.#isText && SVG_HEAD.test(this.#head.toString()) ? SVG : null;
  }
}

/** Before the first byte is read. */
export function checkContentSize(bytes: number): void {
  if (bytes > LIMITS.presentation.contentBytes) throw tooLarge(bytes);
}

function tooLarge(bytes: number): Refusal {
  const limit = LIMITS.presentation.contentBytes;
  return new Refusal("too_large", {
    specifics: overSize("The content", bytes, limit),
    details: { limit_bytes: limit },
  });
}

const NEEDED: Readonly<Record<FileKind, string>> = {
  markdown: "Give Markdown as UTF-8.",
  html: "Give one HTML page as UTF-8, with its styles, scripts and images inside.",
  csv: "Give comma-separated values as UTF-8.",
  image: "Give a PNG, JPEG, GIF, WebP, AVIF or SVG file.",
  pdf: "Give a PDF file.",
};

function wrong(kind: FileKind, why = `Its bytes aren't those of the kind '${kind}'.`): Refusal {
  return new Refusal("invalid_content", { specifics: why, remedy: NEEDED[kind], details: { field: "kind" } });
}
