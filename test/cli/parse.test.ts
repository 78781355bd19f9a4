/** Arguments become commands, and ids stay what was typed. */
import assert from "node:assert/strict";
import * as fc from "fast-check";
import { type Invocation, parse } from "../../cli/parse.ts";
import { COMMANDS } from "../../cli/table.ts";
import { UsageError } from "../../cli/usage-error.ts";

function invocation(...argv: string[]): Invocation {
  const parsed = parse(argv);
  assert.ok(!("help" in parsed), `help for ${JSON.stringify(argv)}`);
  return parsed;
}

function refuses(argv: string[], message: RegExp): void {
  assert.throws(
    () => parse(argv),
    (error) => error instanceof UsageError && message.test(error.message),
    argv.join(" "),
  );
}

describe("parsing of the command line", () => {
  it("keeps every id and text as typed", () => {
    const ids = ["0123", "1e3", "0x10", "Infinity", "007", "1_000", "true", "null"];
    for (const id of ids) {
      const { options, args } = invocation("send", id, `--to=${id}`, "--group", id, "--idempotency-key", id);
      assert.deepEqual(args, [id]);
      assert.deepEqual(options["to"], [id]);
      assert.equal(options["group"], id);
      assert.equal(options["idempotency-key"], id);
    }
  });

  it("knows every switch by its name, also one that begins with no-", () => {
    for (const command of COMMANDS) {
      const words = command.words.split(" ");
      const needed = (command.args ?? "").split(" ").filter((name) => name.startsWith("<"));
      for (const { name, value } of command.options ?? []) {
        if (value !== undefined) continue;
        const { options } = invocation(...words, ...needed, `--${name}`);
        const given = Object.keys(options).filter((one) => options[one] !== undefined);
        assert.deepEqual(given, [name], command.words);
        assert.equal(options[name], true);
      }
    }
  });

  it("keeps any text behind -- and any value behind =", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (text, value) => {
        const { args, options } = invocation("send", `--insight=${value}`, "--", text);
        assert.deepEqual(args, [text]);
        assert.equal(options["insight"], value);
      }),
    );
  });

  it("takes options anywhere, global ones before the command too", () => {
    for (const argv of [
      ["--json", "--home", "/h", "group", "show", "g_1"],
      ["group", "--home=/h", "show", "--json", "g_1"],
      ["group", "show", "g_1", "--json", "--home", "/h"],
      ["group", "--json", "show", "--home", "/h", "--", "g_1"],
    ]) {
      const { command, args, options } = invocation(...argv);
      assert.equal(command.words, "group show");
      assert.deepEqual(args, ["g_1"]);
      assert.equal(options["json"], true);
      assert.equal(options["home"], "/h");
    }
  });

  it("repeats what may be repeated and refuses the rest twice", () => {
    assert.deepEqual(invocation("send", "x", "--to", "a", "-t", "b", "--to=c").options["to"], [
      "a",
      "b",
      "c",
    ]);
    refuses(["send", "x", "--mode", "mail", "--mode", "send"], /--mode is given twice/);
  });

  it("takes - as text, short options with attached values, and a command behind --", () => {
    assert.deepEqual(invocation("send", "-", "--to", "a").args, ["-"]);
    assert.equal(invocation("tail", "-n20", "-f").options["lines"], "20");
    const added = invocation("actor", "add", "0123", "--env", "A=1=2", "--", "node", "--flag", "x");
    assert.deepEqual(added.args, ["0123"]);
    assert.deepEqual(added.rest, ["node", "--flag", "x"]);
    assert.deepEqual(added.options["env"], ["A=1=2"]);
  });

  it("says what is wrong", () => {
    refuses(["nothing"], /no command 'nothing'/);
    refuses(["sedn"], /Did you mean 'svc send'/);
    refuses(["group"], /Which 'svc group' command/);
    refuses(["group", "nothing"], /no command 'svc group nothing'/);
    refuses(["send"], /TEXT is missing/);
    refuses(["send", "two", "words"], /Unexpected argument: words/);
    refuses(["send", "x", "--nothing"], /Unknown option --nothing/);
    refuses(["send", "x", "-x"], /Unknown option -x/);
    refuses(["send", "--hepl"], /Unknown option --hepl/);
    refuses(["send", "x", "--to"], /--to needs a value/);
    refuses(["send", "x", "--to", "--json"], /--to needs a value/);
    refuses(["send", "x", "--mode", "shout"], /--mode must be one of/);
    for (const argv of [
      ["group", "list", "--home", ""],
      ["up", "--host="],
      ["send", "x", "--group", ""],
      ["account-service", "--folder", ""],
    ])
      refuses(argv, /needs a value: (?:DIR|HOST|GROUP)/);
    refuses(["tail", "-n", "1e1"], /whole number/);
    refuses(["tail", "-n", "201"], /whole number from 0 to 200/);
    refuses(["tail", "--json=yes"], /--json takes no value/);
    refuses(["--nothing"], /Unknown option --nothing/);
  });

  it("refuses an unknown option of every command", () => {
    for (const { words, args = "" } of COMMANDS) {
      const given = args.split(" ").filter((part) => part.startsWith("<"));
      refuses([...words.split(" "), ...given, "--no-such-option"], /Unknown option --no-such-option/);
    }
  });

  it("answers help for a command, a group of commands and everything", () => {
    assert.deepEqual(parse([]), { help: "" });
    assert.deepEqual(parse(["--help"]), { help: "" });
    assert.deepEqual(parse(["help"]), { help: "" });
    assert.deepEqual(parse(["group", "-h"]), { help: "group" });
    assert.deepEqual(parse(["help", "group", "show"]), { help: "group show" });
    assert.deepEqual(parse(["send", "--help", "--no-such-option"]), { help: "send" });
  });
});
