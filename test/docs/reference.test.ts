import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { commandsPage, errorsPage, operationsPage } from "../../build/reference-docs.ts";
import { ERRORS } from "../../shared/errors.ts";
import { PEER_REFUSALS } from "../../shared/wire/v1/refusals.ts";
import { verifies } from "../requirements.ts";

const REGENERATE = "regenerate with: node --import=tsx build/reference-docs.ts";

describe("reference documents", () => {
  it("docs/operations.md describes every operation as it is", () => {
    verifies("EVT-010");
    assert.equal(readFileSync("docs/operations.md", "utf8"), operationsPage(), REGENERATE);
  });

  it("docs/cli.md describes every command as it is", () => {
    assert.equal(readFileSync("docs/cli.md", "utf8"), commandsPage(), REGENERATE);
  });

  it("docs/errors.md lists every code with its status", () => {
    verifies("ERR-018", "ERR-019");
    assert.equal(readFileSync("docs/errors.md", "utf8"), errorsPage(), REGENERATE);
  });

  it("every error says what is wrong and what to do in whole sentences", () => {
    for (const [code, { sentence, remedy }] of Object.entries(ERRORS)) {
      assert.match(sentence, /^[A-Z].*\.$/u, code);
      assert.match(remedy, /^[A-Z].*\.$/u, code);
    }
    for (const [code, { sentence }] of Object.entries(PEER_REFUSALS))
      assert.match(sentence, /^[A-Z].*\.$/u, code);
  });
});
