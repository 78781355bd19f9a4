/** An operation's input as an HTTP request. */
import { API_PREFIX } from "../../../shared/names.ts";
import { HTTP_ROUTES } from "../../../shared/operations/http-routes.ts";

export interface Prepared {
  method: string;
  url: string;
  /** JSON; absent where the method has no body. */
  body?: string;
}

/** Fields named in the path go there, the rest into the query or the body. */
export function prepare(name: string, input: Readonly<Record<string, unknown>>): Prepared {
  const route = HTTP_ROUTES.get(name);
  if (route === undefined) throw new Error(`${name} has no HTTP route`);
  const { method, action } = route;
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined));
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest.get(field);
    rest.delete(field);
    return encodeURIComponent(String(value));
  });
  const url = API_PREFIX + path;
  if (method !== "GET" && method !== "DELETE")
    return { method, url, body: JSON.stringify({ action, ...Object.fromEntries(rest) }) };
  const query = new URLSearchParams();
  for (const [field, value] of rest) {
    for (const entry of Array.isArray(value) ? value : [value]) query.append(field, String(entry));
  }
  return { method, url: query.size === 0 ? url : `${url}?${query}` };
}
