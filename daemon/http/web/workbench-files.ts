/**
 * The built Workbench: its page at `/` and below `/ui/`, its files beside it, each as small as the
 * browser takes it.
 */
import { extname } from "node:path";
import express, { type Express } from "express";
import { encodingFor } from "../../../platform/http/answer.ts";
import { ERRORS } from "../../../shared/errors.ts";
import { plainPage } from "../exchange/plain-page.ts";

/** Chunks carry a digest in their names, so that they never change. */
const HASHED = /[-.][A-Z0-9]{8}\.(?:js|css|ttf|woff2|svg|png)$/;

const SUFFIXES = { br: ".br", gzip: ".gz" } as const;
const TYPES: ReadonlyMap<string, string> = new Map([
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".ttf", "font/ttf"],
]);

/** `headers` sets those of the page that depend on who asks. */
export function serveWorkbench(
  app: Express,
  directory: string,
  headers: (request: express.Request, response: express.Response) => void,
): void {
  const page: express.RequestHandler = (request, response) => {
    response.setHeader("Cache-Control", "no-cache");
    headers(request, response);
    response.sendFile("index.html", { root: directory, cacheControl: false }, (error?: Error) => {
      if (error === undefined || response.headersSent) return;
      const { status, sentence, remedy } = ERRORS.program_gone;
      response
        .status(status)
        .type("html")
        .send(plainPage("The Workbench isn’t there", `${sentence} ${remedy}`, null));
    });
  };
  app.get("/", page);
  app.get(/^\/ui(?:\/.*)?$/, page);
  app.get(/^\/[\w.-]+$/, packed(directory));
  app.use(
    express.static(directory, {
      index: false,
      dotfiles: "ignore",
      redirect: false,
      fallthrough: true,
      cacheControl: false,
      setHeaders(response, path) {
        response.setHeader("Cache-Control", cacheControl(path));
      },
    }),
  );
}

/** What the build has compressed already (esbuild.mjs), where the browser takes it so. */
function packed(directory: string): express.RequestHandler {
  return (request, response, next) => {
    const type = TYPES.get(extname(request.path));
    if (type === undefined) {
      next();
      return;
    }
    response.setHeader("Vary", "Accept-Encoding");
    const encoding = encodingFor(request);
    if (encoding === null) {
      next();
      return;
    }
    const headers = {
      "Content-Type": type,
      "Content-Encoding": encoding,
      "Cache-Control": cacheControl(request.path),
    };
    const file = `${request.path.slice(1)}${SUFFIXES[encoding]}`;
    response.sendFile(file, { root: directory, cacheControl: false, headers }, (error?: Error) => {
      if (error === undefined || response.headersSent) return;
      // This one isn't compressed.
      for (const name of Object.keys(headers)) response.removeHeader(name);
      next();
    });
  };
}

function cacheControl(path: string): string {
  return HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache";
}
