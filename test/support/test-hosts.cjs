// Names below .svc.test are this machine, for processes of tests that are started with --require.
// What they ask of such hosts is written to the file that TEST_REQUESTS names.
const { subscribe } = require("node:diagnostics_channel");
const dns = require("node:dns");
const { appendFileSync } = require("node:fs");

const { TEST_REQUESTS: requests } = process.env;
if (requests !== undefined)
  subscribe("http.client.request.start", ({ request: { host, method, path } }) => {
    if (host.endsWith(".svc.test")) appendFileSync(requests, `${host} ${method} ${path}\n`);
  });

const { lookup } = dns;
dns.lookup = (hostname, options, callback) => {
  if (!hostname.endsWith(".svc.test")) return lookup(hostname, options, callback);
  const done = callback ?? options;
  const { all } = typeof options === "object" ? options : {};
  process.nextTick(() =>
    all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4),
  );
};
