/** The minimum that listens with Express: what the account service's memory is compared with. */
import express from "express";

const app = express();
app.get("/", (_request, response) => response.json({ ok: true }));
app.listen(Number(process.argv[2]), "127.0.0.1");
