/**
 * What svc itself throws in one terminal: while it passes on output, draws, resizes, writes, at the
 * exit and while the daemon stops. It ends that Actor's process, whose row says so, and nothing
 * else.
 */
import assert from "node:assert/strict";
import * as headlessModule from "@xterm/headless";
import { DeliveryProof } from "../../daemon/runtimes/input/delivery-proof.ts";
import type { AttachedViewer } from "../../daemon/runtimes/terminal/terminal.ts";
import type { TerminalProcess } from "../../platform/processes.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { TerminalMessage, TerminalRequest } from "../../shared/terminal.ts";
import { refusal } from "../messaging/setting.ts";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { Broken, Hosted } from "./fake-processes.ts";
import { Prompted } from "./prompter-setting.ts";
import { Setting } from "./setting.ts";

type Headless = typeof headlessModule;
const { Terminal } = ("default" in headlessModule ? headlessModule.default : headlessModule) as Headless;
const EMULATOR = Terminal.prototype;

/** The emulator's parser throws at this. */
const BREAKS_PARSER = "\u001b]7777;\u0007";
/** From then on what is named throws in an emulator that has drawn this. */
const BREAKS = { buffer: "no buffer any more", resize: "no size any more" } as const;
const READS_PASTES = "\u001b[?2004h";
const CURSOR_QUESTION = "\u001b[6n";
const LOG = "the daemon's log says where";

/** Puts another function in the place of a class's method or getter; gives the way back. */
function inPlaceOf<This, Arguments extends unknown[], Result>(
  of: object,
  name: string,
  make: (
    original: (self: This, ...given: Arguments) => Result,
  ) => (self: This, ...given: Arguments) => Result,
): () => void {
  const was = Object.getOwnPropertyDescriptor(of, name)!;
  const kind = was.get === undefined ? "value" : "get";
  const original = was[kind] as (this: This, ...given: Arguments) => Result;
  const other = make((self, ...given) => original.apply(self, given));
  const made = function (this: This, ...given: Arguments): Result {
    return other(this, ...given);
  };
  Object.defineProperty(of, name, { ...was, [kind]: made });
  return () => void Object.defineProperty(of, name, was);
}

/** An emulator that throws on demand, in all terminals of these tests. */
function breakableEmulator(): () => void {
  const known = new WeakSet<object>();
  const broken = { buffer: new WeakSet<object>(), resize: new WeakSet<object>() };
  type Emulator = InstanceType<typeof Terminal>;
  const ways = [
    inPlaceOf<Emulator, [data: string, drawn?: () => void], void>(EMULATOR, "write", (write) => {
      return (self, data, drawn) => {
        if (!known.has(self))
          self.parser.registerOscHandler(7777, () => {
            throw new Broken("parser");
          });
        known.add(self);
        for (const what of ["buffer", "resize"] as const)
          if (data.includes(BREAKS[what])) broken[what].add(self);
        write(self, data, drawn);
      };
    }),
    ...(["buffer", "resize"] as const).map((what) =>
      inPlaceOf<Emulator, number[], unknown>(EMULATOR, what, (original) => (self, ...given) => {
        if (broken[what].has(self)) throw new Broken(what);
        return original(self, ...given);
      }),
    ),
  ];
  return () => ways.forEach((restore) => restore());
}

/** An Actor whose process runs, and who watches it. */
class Watched {
  readonly messages: TerminalMessage[] = [];
  shown = "";
  readonly #hosted: Hosted;
  readonly #viewer: AttachedViewer;
  readonly at: { group_id: string; actor_id: string };

  constructor(hosted: Hosted, groupId: string, actorId: string) {
    this.#hosted = hosted;
    this.at = { group_id: groupId, actor_id: actorId };
    this.#viewer = hosted.services.runtimes.attach(groupId, actorId, {
      output: (bytes) => void (this.shown += Buffer.from(bytes).toString()),
      message: (message) => void this.messages.push(message),
    });
  }

  get process() {
    const launch = this.#hosted.services.launches.current(this.at.group_id, this.at.actor_id);
    return this.#hosted.processes.all.find(({ pid }) => pid === launch?.pid)!;
  }

  prints(text: string): void {
    this.process.output(Buffer.from(text));
  }

  asks(...requests: TerminalRequest[]): void {
    for (const request of requests) this.#viewer.request(request);
  }

  /** It prints this, and everything so far is on the daemon's screen. */
  async draws(text: string): Promise<void> {
    const { launches } = this.#hosted.services;
    const { group_id: groupId, actor_id: actorId } = this.at;
    this.prints(text);
    await launches.find(groupId, actorId)!.terminal.settled();
  }

  async row(): Promise<string> {
    return (await this.#hosted.call("actor_show", this.at)).actor.presence.reason;
  }
}

const SIZES: TerminalRequest[] = [
  { type: "take" },
  { type: "resize", columns: 90, rows: 20 },
  { type: "resize", columns: 91, rows: 21 },
];
/** More is a flood, which is gathered. */
const FLOOD = 256 * 1024;
const BACKLOG = 9 * 1024 * 1024;

/** Each brings about one exception; gives its name. */
const WAYS: Record<string, (ann: Watched, hosted: Hosted) => Promise<string> | string> = {
  "output that isn't bytes": ({ process }) => {
    process.output("text" as unknown as Uint8Array);
    return "TypeError";
  },
  "such output in a flood": ({ process }, { clock }) => {
    process.output(Buffer.alloc(FLOOD, "x"));
    process.output("text" as unknown as Uint8Array);
    clock.advance(100);
    return "TypeError";
  },
  "the emulator's parser": (ann) => {
    ann.prints(BREAKS_PARSER);
    return "Broken";
  },
  "the emulator's buffer, when the daemon reads the screen": async (ann, { services }) => {
    await ann.draws(BREAKS.buffer);
    const launch = services.launches.current(ann.at.group_id, ann.at.actor_id)!;
    assert.deepEqual(services.launches.screen(launch), []);
    return "Broken";
  },
  "the emulator's buffer, when a viewer comes": async (ann, { services }) => {
    await ann.draws(BREAKS.buffer);
    const port = { output: () => {}, message: () => {} };
    for (let viewers = 0; viewers < 3; viewers += 1)
      services.runtimes.attach(ann.at.group_id, ann.at.actor_id, port);
    return "Broken";
  },
  "the emulator's parser and buffer, while viewers wait for the screen": async (ann, { services }) => {
    await ann.draws(BREAKS.buffer);
    ann.prints(BREAKS_PARSER);
    const port = { output: () => {}, message: () => {} };
    for (let viewers = 0; viewers < 3; viewers += 1)
      services.runtimes.attach(ann.at.group_id, ann.at.actor_id, port);
    return "Broken";
  },
  "an answer of the terminal": (ann) => {
    ann.process.broken.add("answer");
    ann.prints(CURSOR_QUESTION);
    return "Broken";
  },
  "the size of the terminal": (ann) => {
    ann.process.broken.add("resize");
    ann.asks(...SIZES);
    return "Broken";
  },
  "the size of the terminal, in a timer": (ann, { clock }) => {
    ann.asks(...SIZES);
    ann.process.broken.add("resize");
    clock.advance(100);
    return "Broken";
  },
  "the size of the screen": async (ann) => {
    await ann.draws(BREAKS.resize);
    ann.asks(...SIZES);
    return "Broken";
  },
  "what a person types": (ann) => {
    ann.process.broken.add("write");
    ann.asks({ type: "take" });
    assert.throws(() => ann.asks({ type: "input", data: "a" }), refusal("not_running"));
    return "Broken";
  },
  "an interrupt": async (ann, hosted) => {
    ann.process.broken.add("write");
    await assert.rejects(hosted.call("actor_interrupt", ann.at), refusal("not_running"));
    return "Broken";
  },
  "the end of a paste": (ann) => {
    ann.asks({ type: "take" }, { type: "input", data: "\u001b[200~half" });
    ann.process.broken.add("write");
    ann.asks({ type: "release" });
    return "Broken";
  },
  "a message that goes in": async (ann, hosted) => {
    await ann.draws(READS_PASTES);
    ann.process.broken.add("write");
    await hosted.call("send", { group_id: ann.at.group_id, text: "hello", to: ["ann"] });
    return "Broken";
  },
  "a look at what was delivered, when somebody sends": async (ann, hosted) => {
    let thrown = 0;
    const restore = inPlaceOf<object, [], void>(DeliveryProof.prototype, "consider", (consider) => (self) => {
      thrown += 1;
      if (thrown === 1) throw new Broken("consider");
      consider(self);
    });
    await hosted.call("send", { group_id: ann.at.group_id, text: "hello", to: ["ann"] });
    restore();
    assert.ok(thrown > 0);
    return "Broken";
  },
  "a pause": (ann) => {
    ann.process.broken.add("pause");
    ann.prints("x".repeat(BACKLOG));
    return "Broken";
  },
  "being told that it doesn't read": ({ process }) => {
    process.broken.add("isStuck");
    process.stuck();
    return "Broken";
  },
};

describe("an exception in one terminal", () => {
  let hosted: Hosted;
  let ann: Watched;
  let bob: Watched;
  let restore = (): void => {};
  before(() => (restore = breakableEmulator()));
  after(() => restore());
  beforeEach(async () => {
    hosted = await Hosted.open();
    const groupId = await hosted.group();
    for (const actorId of ["ann", "bob"]) {
      const at = { group_id: groupId, actor_id: actorId };
      await hosted.call("actor_add", { ...at, runner: "pty", command: ["sh"], prompts: true });
      await hosted.call("actor_start", at);
    }
    ann = new Watched(hosted, groupId, "ann");
    bob = new Watched(hosted, groupId, "bob");
    await until("both are seen", () => ann.messages.length > 0 && bob.messages.length > 0);
  });
  afterEach(() => hosted.remove());

  /** The other Actor's terminal works, and messages and operations do. */
  async function othersGoOn(): Promise<void> {
    const before = bob.shown;
    const { input } = bob.process;
    await bob.draws(`still here ${READS_PASTES}`);
    await until("its viewer sees it", () => bob.shown.length > before.length && bob.shown.includes("still"));
    bob.asks({ type: "take" }, { type: "input", data: "k" });
    assert.equal(bob.process.input, `${input}k`);
    await hosted.call("send", { group_id: bob.at.group_id, text: "hello", to: ["bob"] });
    assert.equal((await hosted.call("actor_list", { group_id: bob.at.group_id })).actors.length, 2);
    assert.equal(hosted.services.runtimes.isRunning(bob.at.group_id, "bob"), true);
  }

  const logged = (event: string): boolean => hosted.log.lines.some((line) => line.event === event);

  for (const [what, does] of Object.entries(WAYS))
    it(`ends its process and nothing else: ${what}`, async () => {
      const { process } = ann;
      const kind = await does(ann, hosted);
      const words = `its terminal failed in svc (${kind}); ${LOG}`;
      await until("its row says so", async () => (await ann.row()) === words);
      assert.equal(process.isAlive, false);
      assert.deepEqual(ann.messages.at(-1), { type: "ended", reason: words });
      await until("it is noted", async () => {
        const { events } = await hosted.call("ledger_tail", { group_id: ann.at.group_id, limit: 20 });
        return ofKind(events, "actor.stop").some(({ data }) => data.reason === "terminal_failed");
      });
      assert.ok(logged("runtime terminal"));
      await othersGoOn();
      await hosted.call("actor_start", ann.at);
      await ann.draws("anew");
      assert.equal(hosted.services.runtimes.isRunning(ann.at.group_id, "ann"), true);
      await hosted.stop();
      assert.deepEqual(hosted.processes.living, []);
    });

  it("keeps no process whose terminal couldn't be set up, and its row says why", async () => {
    await hosted.call("actor_stop", ann.at);
    hosted.processes.broken = ["onExit"];
    await assert.rejects(hosted.call("actor_start", ann.at), /internal error/);
    assert.equal(await ann.row(), `couldn't be started: its start failed in svc (Broken); ${LOG}`);
    assert.deepEqual(hosted.processes.living, [bob.process]);
    assert.equal(ann.messages.at(-1)?.type, "ended");
    await othersGoOn();
    hosted.processes.broken = [];
    await hosted.call("actor_start", ann.at);
    await ann.draws("anew");
  });

  it("hides no state of the others when one can't be told", async () => {
    ann.process.broken.add("isStuck");
    hosted.clock.advance(1000);
    assert.equal(await ann.row(), `svc can't tell what it does (Broken); ${LOG}`);
    hosted.clock.advance(3000);
    assert.equal(hosted.log.lines.filter(({ event }) => event === "working state").length, 1);
    await othersGoOn();
    ann.process.broken.clear();
    hosted.clock.advance(1000);
    assert.doesNotMatch(await ann.row(), /can't tell/);
  });

  it("in the delivery of messages is why they wait", async () => {
    const { activity, launches } = hosted.services;
    type Doing = Parameters<typeof activity.doing>;
    const restore = inPlaceOf<object, Doing, unknown>(
      Object.getPrototypeOf(activity) as object,
      "doing",
      (doing) => (self, launch) => {
        if (launch.actor_id === "ann") throw new Broken("doing");
        return doing(self, launch);
      },
    );
    await hosted.call("send", { group_id: ann.at.group_id, text: "hello", to: ["ann"] });
    const why = () => launches.whyWaiting(ann.at.group_id, "ann");
    await until("it says so", () => why() === `svc failed to deliver them (Broken); ${LOG}`);
    assert.ok(logged("prompt"));
    await othersGoOn();
    restore();
    hosted.clock.advance(60_000);
    await until("it is tried again", () => !why().includes("failed"));
  });

  it("of an earlier process ends nothing", async () => {
    await ann.draws(BREAKS.resize);
    ann.process.end();
    await until("its row says so", async () => (await ann.row()) === "exited with code 0");
    ann.asks(...SIZES);
    hosted.clock.advance(100);
    await othersGoOn();
    await hosted.call("actor_start", ann.at);
    await ann.draws("anew");
    assert.equal(hosted.services.runtimes.isRunning(ann.at.group_id, "ann"), true);
  });

  it("at its exit leaves the end noted", async () => {
    const { process } = ann;
    process.broken.add("unread");
    hosted.services.launches.onEnded(() => {
      throw new Broken("listener");
    });
    process.end(3);
    await until("its row says so", async () => (await ann.row()) === "exited with code 3");
    assert.deepEqual(ann.messages.at(-1), { type: "ended", reason: "exited with code 3" });
    assert.ok(logged("runtime end") && logged("runtime told"));
    await othersGoOn();
  });

  it("in the last output before its exit is told with the end", async () => {
    const { process } = ann;
    process.output(Buffer.alloc(FLOOD, "x"));
    process.output("text" as unknown as Uint8Array);
    process.end(3);
    const words = `its terminal failed in svc (TypeError); ${LOG}`;
    await until("its row says so", async () => (await ann.row()) === words);
    await othersGoOn();
  });

  it("while the daemon stops keeps neither the others nor the stop from ending", async () => {
    const { process } = ann;
    const other = bob.process;
    process.broken.add("unread");
    process.output(Buffer.alloc(FLOOD, "x"));
    process.output("text" as unknown as Uint8Array);
    ann.prints(BREAKS_PARSER);
    await hosted.stop();
    assert.deepEqual([process.isAlive, other.isAlive], [false, false]);
    assert.ok(logged("runtime end"));
  });

  it("that keeps its end from being seen is left behind by the stop", async () => {
    const other = bob.process;
    ann.process.isMute = true;
    let isOver = false;
    const stopped = hosted.stop().then(() => (isOver = true));
    await until("the stop ends", () => {
      hosted.clock.advance(500);
      return isOver;
    });
    await stopped;
    assert.equal(other.isAlive, false);
  });

  it("in the system's list of processes keeps nobody else from being stopped", async () => {
    const other = bob.process;
    const { pid } = ann.process;
    hosted.processes.familyOf = (of) => {
      if (of === pid) throw new Broken("family");
      return [of];
    };
    await hosted.stop();
    assert.equal(other.isAlive, false);
    assert.ok(logged("runtime stop"));
  });
});

describe("an exception in what watches a delivery", () => {
  it("is told and not thrown into the event loop", async () => {
    const prompted = await Prompted.open();
    const { runtime } = prompted;
    await prompted.send("hello");
    await prompted.written(1);
    const { doing } = runtime;
    const broken = new Broken("doing");
    Object.defineProperty(runtime, "doing", {
      configurable: true,
      get() {
        throw broken;
      },
    });
    prompted.wait(LIMITS.prompt.evidenceSeconds);
    assert.deepEqual(runtime.failures.splice(0), [broken]);
    Object.defineProperty(runtime, "doing", { value: doing });
    await prompted.close();
  });
});

describe("a daemon whose terminals all throw", () => {
  let setting: Setting;
  let restore = (): void => {};
  after(async () => {
    restore();
    await setting.close();
  });

  it("stops, and leaves the Home to the next one", async () => {
    setting = await Setting.open();
    // As the daemon of this setting imports it.
    const { RealProcesses } = await import("../../platform/real-processes.ts");
    const broken = new Set<string | symbol>();
    restore = inPlaceOf<object, unknown[], TerminalProcess>(
      RealProcesses.prototype,
      "openTerminal",
      (openTerminal) =>
        (self, ...given) => {
          const process = openTerminal(self, ...given);
          return new Proxy(process, {
            get(_target, name) {
              if (broken.has(name)) throw new Broken(String(name));
              const value = process[name as keyof TerminalProcess];
              return typeof value === "function" ? value.bind(process) : value;
            },
          });
        },
    );
    const actors = ["ann", "bob"];
    for (const actorId of actors) {
      const at = { group_id: setting.group_id, actor_id: actorId };
      const command = ["/bin/sh", "-c", "echo ready; exec sleep 1000"];
      await setting.client.result("actor_add", { ...at, runner: "pty", command });
      await setting.startActor(actorId);
    }
    for (const name of ["unread", "isStuck", "write", "answer", "resize", "pause"]) broken.add(name);
    for (const actorId of actors)
      await until("its state is looked at", async () =>
        /can't tell what it does/.test((await setting.presence(actorId)).reason),
      );
    await setting.stop();
    await setting.start();
    for (const actorId of actors)
      assert.equal((await setting.presence(actorId)).reason, "the daemon stopped");
  });
});
