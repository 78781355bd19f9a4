/** The other end of a round trip over TCP: answers every N bytes with N bytes. Prints its port. */
import { createServer } from "node:net";

const [asked, answered] = process.argv.slice(2).map(Number);
const answer = Buffer.alloc(answered, 7);
const server = createServer({ noDelay: true }, (socket) => {
  let left = asked;
  socket.on("data", (bytes) => {
    left -= bytes.length;
    if (left > 0) return;
    left += asked;
    socket.write(answer);
  });
  socket.on("error", () => {});
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
