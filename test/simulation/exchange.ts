/** One HTTP request to the product's own handlers, without a socket between them. */
import { IncomingMessage, type RequestListener, ServerResponse } from "node:http";
import { Socket } from "node:net";

export interface WebRequest {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** Address of the machine that asks. */
  from: string;
}

export interface WebAnswer {
  status: number;
  headers: Readonly<Record<string, string | string[]>>;
  body: Buffer;
}

/** What the handler answers. Never resolves when it doesn't. */
export function served(listener: RequestListener, asked: WebRequest): Promise<WebAnswer> {
  const { method, url, headers, body, from } = asked;
  return new Promise((resolve) => {
    const request = new IncomingMessage(
      Object.defineProperty(new Socket(), "remoteAddress", { value: from }),
    );
    request.method = method;
    request.url = `${url.pathname}${url.search}`;
    const length = body.length === 0 ? {} : { "content-length": String(body.length) };
    const all = Object.entries({ host: url.host, ...headers, ...length });
    request.rawHeaders = all.flat();
    const lower = all.map(([name, value]) => [name.toLowerCase(), value] as const);
    request.headers = Object.fromEntries(lower);
    request.headersDistinct = Object.fromEntries(lower.map(([name, value]) => [name, [value]]));
    request.push(body.length === 0 ? null : body);
    if (body.length > 0) request.push(null);
    request.complete = true;
    const response = new ServerResponse(request);
    response.end = ((last?: string | Buffer) => {
      const given = Object.entries(response.getHeaders()).map(([name, value]) => [
        name,
        Array.isArray(value) ? value : String(value),
      ]);
      resolve({
        status: response.statusCode,
        headers: Object.fromEntries(given),
        body: Buffer.from(last ?? ""),
      });
      response.emit("finish");
      return response;
    }) as ServerResponse["end"];
    listener(request, response);
  });
}
