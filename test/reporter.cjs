/** mocha's spec reporter with one plain closing line behind its own. */
const Mocha = require("mocha");

/**
 * What a test leaves open keeps the process alive; after this time it is named and the run has
 * failed.
 */
const LEFT_OPEN_MS = 60_000;

module.exports = class PlainClosing extends Mocha.reporters.Spec {
  epilogue() {
    super.epilogue();
    this.#close();
    setTimeout(() => {
      console.log(`Still open after the last test: ${process.getActiveResourcesInfo().join(", ")}`);
      this.#close();
      // Behind mocha's own listener, which sets the code by the failed tests alone.
      process.once("exit", () => {
        process.exitCode = 1;
      });
      process.exit();
    }, LEFT_OPEN_MS).unref();
  }

  #close() {
    console.log(`${this.stats.passes} passed, ${this.stats.failures} failed`);
  }
};
