/** The rows of the ledger inside one process. */
import type { Measurement } from "../figure.ts";
import { appends } from "./append.ts";
import { groups, histories } from "./history.ts";

export const ledgerMeasurements: readonly Measurement[] = [appends, histories, groups];
