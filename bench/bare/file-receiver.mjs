/**
 * Takes files over TCP: 8 bytes of length, the bytes; answers their SHA-256 when they are written
 * and synced. Prints its port.
 */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:net";

const path = process.argv[2];
const server = createServer({ noDelay: true }, (socket) => {
  let left = -1;
  let file = -1;
  let hash;
  socket.on("data", (bytes) => {
    if (left === -1) {
      left = Number(bytes.readBigUInt64BE(0));
      file = openSync(path, "w", 0o600);
      hash = createHash("sha256");
      bytes = bytes.subarray(8);
    }
    writeSync(file, bytes);
    hash.update(bytes);
    left -= bytes.length;
    if (left > 0) return;
    fsyncSync(file);
    closeSync(file);
    left = -1;
    socket.write(hash.digest());
  });
  socket.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
