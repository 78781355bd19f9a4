/**
 * The native part of node-pty on Linux and macOS. It isn't described in node-pty's documentation,
 * so package.json names an exact version, and what is used of it is checked when it is loaded.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

interface NativeTerminals {
  /** Throws an error without a code when the system has no terminal left. */
  fork: (
    file: string,
    args: string[],
    environment: string[],
    directory: string,
    columns: number,
    rows: number,
    user: number,
    group: number,
    isUtf8: boolean,
    helper: string,
    exited: (code: number, signal: number) => void,
  ) => { fd: number; pid: number };
  resize: (
    descriptor: number,
    columns: number,
    rows: number,
    pixelWidth: number,
    pixelHeight: number,
  ) => void;
  /** Program that starts others in a terminal on macOS. */
  helper: string;
}

/** Loaded with the first terminal, because many Homes never need this native code. */
let loaded: NativeTerminals | undefined;

/** Throws when node-pty isn't installed for this platform. */
export function nativeTerminals(): NativeTerminals {
  return (loaded ??= load());
}

function load(): NativeTerminals {
  const require = createRequire(import.meta.url);
  const { native } = require("@lydell/node-pty") as { native?: Partial<NativeTerminals> };
  const { fork, resize } = native ?? {};
  if (typeof fork !== "function" || typeof resize !== "function")
    throw new Error("This version of node-pty has another native part.");
  const platform = `${process.platform}-${process.arch}`;
  const place = createRequire(require.resolve("@lydell/node-pty")).resolve(`@lydell/node-pty-${platform}`);
  return { fork, resize, helper: join(dirname(place), "..", "prebuilds", platform, "spawn-helper") };
}
