/** The HTTP addresses besides those of operations, as one table (docs/http.md). */
import { API_PREFIX } from "../../../shared/names.ts";
import type { Exchange } from "./exchange.ts";

export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `{name}` is a variable. */
  path: string;
  /** Served to whoever comes, without a credential. */
  open?: boolean;
  /** The operation behind it, if it is one of the registry's. */
  operation?: string;
  serve(exchange: Exchange): void | Promise<void>;
}

/** What serves each of the special addresses. */
export interface SpecialServices {
  health: (exchange: Exchange) => void;
  ready: (exchange: Exchange) => void;
  metrics: (exchange: Exchange) => Promise<void>;
  upload: (exchange: Exchange) => Promise<void>;
  blob: (exchange: Exchange) => Promise<void>;
  ledgerStream: (exchange: Exchange) => void;
  globalStream: (exchange: Exchange) => Promise<void>;
  webSocketByPlainGet: (exchange: Exchange) => void;
  activityStream: (exchange: Exchange) => void;
}

export function specialRoutes(services: SpecialServices): Route[] {
  const group = `${API_PREFIX}/groups/{group_id}`;
  return [
    { method: "GET", path: "/health", open: true, serve: services.health },
    { method: "GET", path: "/ready", open: true, serve: services.ready },
    { method: "GET", path: "/metrics", serve: services.metrics },
    { method: "POST", path: `${group}/uploads`, serve: services.upload },
    { method: "GET", path: `${group}/blobs/{sha256}`, serve: services.blob },
    { method: "GET", path: `${group}/ledger/stream`, serve: services.ledgerStream },
    { method: "GET", path: `${group}/runtime-activity/stream`, serve: services.activityStream },
    { method: "GET", path: `${API_PREFIX}/events/stream`, serve: services.globalStream },
    { method: "GET", path: `${API_PREFIX}/events/ws`, serve: services.webSocketByPlainGet },
    { method: "GET", path: `${group}/actors/{actor_id}/term`, serve: services.webSocketByPlainGet },
  ];
}

/** What the exhibit's listener serves, and nothing else (docs/core-model.md#ports). */
export const EXHIBIT_PATHS: ReadonlySet<string> = new Set([
  `${API_PREFIX}/groups`,
  `${API_PREFIX}/groups/{group_id}`,
  `${API_PREFIX}/groups/{group_id}/actors`,
  `${API_PREFIX}/groups/{group_id}/ledger/tail`,
  `${API_PREFIX}/groups/{group_id}/ledger/window`,
  `${API_PREFIX}/groups/{group_id}/ledger/search`,
  `${API_PREFIX}/groups/{group_id}/ledger/stream`,
  `${API_PREFIX}/groups/{group_id}/blobs/{sha256}`,
  `${API_PREFIX}/web-access`,
  "/health",
]);
