/** mocha's spec reporter with one plain closing line behind its own. */
const Mocha = require("mocha");

module.exports = class PlainClosing extends Mocha.reporters.Spec {
  epilogue() {
    super.epilogue();
    console.log(`${this.stats.passes} passed, ${this.stats.failures} failed`);
  }
};
