/**
 * The least that an operation over node:http can be: JSON in, JSON out. `node endpoint.mjs SOCKET`;
 * ends with its standard input.
 */
import { createServer } from "node:http";

createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const input = JSON.parse(Buffer.concat(chunks).toString());
    const body = JSON.stringify({ ok: true, result: input });
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  });
}).listen(process.argv[2]);
process.stdin.on("end", () => process.exit()).resume();
