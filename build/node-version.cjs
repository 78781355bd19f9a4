/**
 * Ends a program that an older Node than package.json names has started, with a sentence. It runs
 * before anything else is loaded, and old versions have to be able to read it: it stays in the
 * JavaScript of 2015. The build puts it in front of the launcher (build/launcher.cjs).
 */
"use strict";
(function () {
  var needed = [20, 19];
  var version = process.versions.node;
  var parts = version.split(".").map(Number);
  if (parts[0] > needed[0] || (parts[0] === needed[0] && parts[1] >= needed[1])) return;
  process.stderr.write(
    "svc needs Node.js " + needed.join(".") + " or newer, and this is " + version + ".\n"
  );
  // A hook never fails what its runtime does.
  process.exit(process.argv[2] === "hook" ? 0 : 1);
})();
