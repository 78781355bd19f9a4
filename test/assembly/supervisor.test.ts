/**
 * The supervisor: order, a start that fails halfway, what a list gives, a subset with stand-ins.
 */
import assert from "node:assert/strict";
import { type Service, ServiceList } from "../../daemon/assembly/service.ts";
import { Supervisor } from "../../daemon/assembly/supervisor.ts";

/** Notes what happens to its services. */
class Notes {
  readonly lines: string[] = [];

  service<Part>(name: string, part: Part, fails?: "start" | "stop"): Service<Part> {
    const note = (what: "start" | "stop"): void => {
      this.lines.push(`${what} ${name}`);
      if (fails === what) throw new Error(`${what} of ${name}`);
    };
    return { part, start: () => note("start"), stop: () => note("stop") };
  }
}

const found = (text: string) => ({ severity: "ok" as const, text, remedy: "" });

describe("the supervisor", () => {
  it("makes and starts services in order, each with what those before it give, and stops them in the opposite one", async () => {
    const notes = new Notes();
    const list = ServiceList.of<{ base: number }>()
      .with("one", ({ base }) => notes.service("one", base + 1))
      .with("two", async ({ one }) => notes.service("two", one + 1));
    const supervisor = await Supervisor.start(list, { base: 1 });
    assert.deepEqual(supervisor.parts, { one: 2, two: 3 });
    assert.deepEqual(notes.lines, ["start one", "start two"]);
    await Promise.all([supervisor.stop(), supervisor.stop()]);
    assert.deepEqual(notes.lines.slice(2), ["stop two", "stop one"]);
  });

  it("stops what it has made when one can't be made or started, and throws that one's error", async () => {
    for (const fails of ["create", "start"] as const) {
      const notes = new Notes();
      const list = ServiceList.of<object>()
        .with("one", () => notes.service("one", 1))
        .with("two", () => {
          if (fails === "create") throw new Error("create of two");
          return notes.service("two", 2, "start");
        })
        .with("three", () => notes.service("three", 3));
      await assert.rejects(Supervisor.start(list, {}), new Error(`${fails} of two`));
      const expected = fails === "create" ? ["start one"] : ["start one", "start two", "stop two"];
      assert.deepEqual(notes.lines, [...expected, "stop one"]);
    }
  });

  it("stops the others when one fails to, and tells of it", async () => {
    const notes = new Notes();
    const list = ServiceList.of<object>()
      .with("one", () => notes.service("one", 1))
      .with("two", () => notes.service("two", 2, "stop"));
    const supervisor = await Supervisor.start(list, {});
    await assert.rejects(supervisor.stop(), new Error("stop of two"));
    assert.deepEqual(notes.lines.slice(2), ["stop two", "stop one"]);
  });

  it("runs only once everything has started, and no more when it begins to stop", async () => {
    const seen: boolean[] = [];
    const list = ServiceList.of<object>().with("one", ({ isRunning }) => ({
      part: isRunning,
      start: () => void seen.push(isRunning()),
      stop: () => void seen.push(isRunning()),
    }));
    const supervisor = await Supervisor.start(list, {});
    seen.push(supervisor.parts.one());
    await supervisor.stop();
    assert.deepEqual(seen, [false, true, false]);
  });

  it("collects operations and health; a check that fails by itself is an error", async () => {
    const list = ServiceList.of<object>()
      .with("one", () => ({
        part: null,
        handlers: { daemon_stop: () => ({ stopping: true, pid: 1 }) },
        health: [{ code: "one", title: "One", run: () => found("well") }],
      }))
      .with("two", () => ({
        part: null,
        health: [
          {
            code: "two",
            title: "Two",
            run: () => {
              throw new Error("no");
            },
          },
        ],
      }));
    const supervisor = await Supervisor.start(list, {});
    assert.deepEqual(Object.keys(supervisor.handlers), ["daemon_stop"]);
    const [one, two] = supervisor.checks();
    assert.deepEqual(one, { code: "one", title: "One", ...found("well") });
    assert.deepEqual([two?.code, two?.severity], ["two", "error"]);
    const twice = list.with("three", () => ({
      part: null,
      handlers: { daemon_stop: () => ({ stopping: true, pid: 2 }) },
    }));
    await assert.rejects(Supervisor.start(twice, {}), /two services answer daemon_stop/);
  });

  it("runs some of a list, with others in the place of its own", async () => {
    const notes = new Notes();
    const list = ServiceList.of<object>()
      .with("one", () => notes.service("one", { count: 1, text: "" }))
      .with("two", ({ one }) => notes.service("two", one.count + 1))
      .with("three", () => notes.service("three", 3));
    const instead = { one: () => ({ part: { count: 10 } }) };
    const supervisor = await Supervisor.start(list, {}, { only: ["one", "two"], instead });
    assert.equal(supervisor.parts.two, 11);
    assert.deepEqual(notes.lines, ["start two"]);
    await supervisor.stop();
  });
});
