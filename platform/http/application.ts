/** What every Express application of ours has in common. */
import express, { type Express } from "express";
import { Refusal } from "../../shared/errors.ts";

/** An application that matches paths exactly, parses no query and names no software. */
export function strictApplication(): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.set("case sensitive routing", true);
  app.set("strict routing", true);
  app.set("query parser", false);
  return app;
}

/** The refusal that an error is; null if nobody expected it. */
export function expectedRefusal(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error;
  // Express's own: a path that can't be decoded.
  if (error instanceof URIError || (error as { status?: unknown } | null)?.status === 400)
    return new Refusal("invalid_request");
  return null;
}
