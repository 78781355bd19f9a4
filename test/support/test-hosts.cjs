// Names below .svc.test are this machine, for processes of tests that are started with --require.
const dns = require("node:dns");

const { lookup } = dns;
dns.lookup = (hostname, options, callback) => {
  if (!hostname.endsWith(".svc.test")) return lookup(hostname, options, callback);
  const done = callback ?? options;
  const { all } = typeof options === "object" ? options : {};
  process.nextTick(() =>
    all ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4),
  );
};
