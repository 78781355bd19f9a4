/** The HTTP addresses that aren't operations, as one table (docs/http.md). */
import { API_PREFIX } from "../../../shared/names.ts";
import type { HttpMethod } from "../../../shared/operations/http-routes.ts";
import type { Exchange } from "./exchange.ts";

export interface Route {
  method: HttpMethod;
  /** `{name}` is a variable. */
  path: string;
  /** Served to everyone, without a credential. */
  open?: boolean;
  /** The exhibit's listener serves it too, by GET (docs/core-model.md#ports). */
  exhibited?: boolean;
  serve(exchange: Exchange): void | Promise<void>;
}

/** Where requests of other instances come. Their bodies may be larger than others. */
export const PEER_PATH = `${API_PREFIX}/connect/peer`;

/** What serves each of the special addresses. */
export interface SpecialServices {
  health: (exchange: Exchange) => void;
  ready: (exchange: Exchange) => void;
  metrics: (exchange: Exchange) => Promise<void>;
  upload: (exchange: Exchange) => Promise<void>;
  blob: (exchange: Exchange) => Promise<void>;
  presentation: (exchange: Exchange) => Promise<void>;
  ledgerStream: (exchange: Exchange) => void;
  globalStream: (exchange: Exchange) => Promise<void>;
  webSocketByPlainGet: (exchange: Exchange) => void;
  activityStream: (exchange: Exchange) => void;
  peerIdentity: (exchange: Exchange) => void;
  peerRequest: (exchange: Exchange) => Promise<void>;
  groupCheck: (exchange: Exchange) => Promise<void>;
  frameOpening: (exchange: Exchange) => Promise<void>;
}

export function specialRoutes(services: SpecialServices): Route[] {
  const group = `${API_PREFIX}/groups/{group_id}`;
  return [
    { method: "GET", path: "/health", open: true, exhibited: true, serve: services.health },
    { method: "GET", path: "/ready", open: true, serve: services.ready },
    { method: "GET", path: "/metrics", serve: services.metrics },
    { method: "POST", path: `${group}/uploads`, serve: services.upload },
    { method: "GET", path: `${group}/blobs/{sha256}`, exhibited: true, serve: services.blob },
    { method: "GET", path: `${group}/presentations/{slot}/content`, serve: services.presentation },
    { method: "GET", path: `${group}/ledger/stream`, exhibited: true, serve: services.ledgerStream },
    { method: "GET", path: `${group}/runtime-activity/stream`, serve: services.activityStream },
    { method: "GET", path: `${API_PREFIX}/events/stream`, serve: services.globalStream },
    { method: "GET", path: `${API_PREFIX}/events/ws`, serve: services.webSocketByPlainGet },
    { method: "GET", path: `${group}/actors/{actor_id}/term`, serve: services.webSocketByPlainGet },
    { method: "GET", path: `${API_PREFIX}/connect/identity`, open: true, serve: services.peerIdentity },
    { method: "POST", path: `${API_PREFIX}/connect/group-check`, open: true, serve: services.groupCheck },
    { method: "POST", path: `${API_PREFIX}/connect/open`, serve: services.frameOpening },
    { method: "POST", path: PEER_PATH, open: true, serve: services.peerRequest },
  ];
}
