/** The rows of connections between two accounts. */
import type { Measurement } from "../figure.ts";
import { ending } from "./ending.ts";
import { pages } from "./pages.ts";
import { sync } from "./sync.ts";

export const externalMeasurements: readonly Measurement[] = [pages, sync, ending];
