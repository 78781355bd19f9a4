/** mocha's spec reporter with one plain closing line behind its own. */
const Mocha = require("mocha");

/**
 * What a test leaves open keeps the process alive; after this time it is named and the run has
 * failed.
 */
const LEFT_OPEN_MS = 60_000;

module.exports = class PlainClosing extends Mocha.reporters.Spec {
  #isClosed = false;

  constructor(runner, options) {
    super(runner, options);
    process.once("exit", () => {
      if (this.#isClosed) return;
      console.log("The process ended before the last test did.");
      this.#fail();
    });
  }

  epilogue() {
    super.epilogue();
    // mocha fails such a run (`fail-zero`), but neither says so nor counts it.
    const isEmpty = this.runner.total === 0;
    if (isEmpty) console.log("There is no such test.");
    this.#close(isEmpty ? 1 : 0);
    setTimeout(() => {
      console.log(`Still open after the last test: ${process.getActiveResourcesInfo().join(", ")}`);
      // Behind mocha's own listener, which sets the code by the failed tests alone.
      process.once("exit", () => this.#fail());
      process.exit();
    }, LEFT_OPEN_MS).unref();
  }

  /** The run has failed whatever its tests did. */
  #fail() {
    this.#close(1);
    process.exitCode = 1;
  }

  #close(more) {
    this.#isClosed = true;
    console.log(`${this.stats.passes} passed, ${this.stats.failures + more} failed`);
  }
};
