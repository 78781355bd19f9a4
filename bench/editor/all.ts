/** The extension in a real editor: what people wait for, and what it costs the editor. */
import type { Measurement } from "../figure.ts";
import { activation } from "./activation.ts";
import { memory } from "./memory.ts";
import { packages } from "./packages.ts";
import { shown } from "./shown.ts";
import { sideBar } from "./side-bar.ts";
import { walk } from "./walk.ts";

export const editorMeasurements: readonly Measurement[] = [
  packages,
  activation,
  sideBar,
  shown,
  memory,
  walk,
];
