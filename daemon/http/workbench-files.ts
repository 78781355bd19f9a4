/** The built Workbench: its page at `/` and below `/ui/`, its files beside it. */
import express, { type Express } from "express";

/** Chunks carry a digest in their names, so that they never change. */
const HASHED = /[-.][A-Z0-9]{8}\.(?:js|css|ttf|woff2|svg|png)$/;

export function serveWorkbench(app: Express, directory: string): void {
  const page: express.RequestHandler = (_request, response, next) => {
    response.setHeader("Cache-Control", "no-cache");
    response.sendFile("index.html", { root: directory, cacheControl: false }, (error?: Error) => {
      if (error !== undefined && !response.headersSent) next();
    });
  };
  app.get("/", page);
  app.get(/^\/ui(?:\/.*)?$/, page);
  app.use(
    express.static(directory, {
      index: false,
      dotfiles: "ignore",
      redirect: false,
      fallthrough: true,
      cacheControl: false,
      setHeaders(response, path) {
        response.setHeader(
          "Cache-Control",
          HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
        );
      },
    }),
  );
}
