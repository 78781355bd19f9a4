import assert from "node:assert/strict";
import { keyData, TERMINAL_KEYS, withControl } from "../../webview/terminals/keys.ts";

describe("the keys below a terminal", () => {
  const sent = (held: { application: boolean; control: boolean }) =>
    TERMINAL_KEYS.map((key) => keyData(key, held));

  it("send what a keyboard would, in both modes of the arrows", () => {
    assert.deepEqual(sent({ application: false, control: false }), [
      "\u001b",
      "\t",
      "\u001b[D",
      "\u001b[A",
      "\u001b[B",
      "\u001b[C",
    ]);
    assert.deepEqual(sent({ application: true, control: false }).slice(2), [
      "\u001bOD",
      "\u001bOA",
      "\u001bOB",
      "\u001bOC",
    ]);
    assert.equal(sent({ application: true, control: true })[3], "\u001b[1;5A");
  });

  it("make a control character of the next one, and leave a paste and other keys alone", () => {
    assert.deepEqual(["c", "C", "[", " ", "?", "@", "1", "é", "abc", "\u001b[A", ""].map(withControl), [
      "\u0003",
      "\u0003",
      "\u001b",
      "\u0000",
      "\u007f",
      "\u0000",
      "1",
      "é",
      "abc",
      "\u001b[A",
      "",
    ]);
  });
});
