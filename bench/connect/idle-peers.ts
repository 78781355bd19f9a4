/** What an account with 20 other instances costs an idle daemon. */
import { absolute, type Measurement } from "../figure.ts";
import { Account } from "./account.ts";
import { discovered, type Instance, startInstance, stopAll } from "./direct.ts";
import { idlePercent } from "./idle-percent.ts";

const NAME = "idle with a binding and 20 peers";
const PEERS = 20;

export const idlePeers: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const account = await Account.open();
    // Those that come later know it at once, and it asks for them.
    const bound = await account.instance();
    const peers: Instance[] = [];
    for (let made = 0; made < (short ? 2 : PEERS); made += 1) peers.push(await account.instance());
    await account.refresh(bound, "The idle one");
    for (const peer of peers) await discovered(bound, peer);
    const alone = await startInstance();
    const [linked, without] = (await idlePercent([bound, alone], short)) as [number, number];
    await stopAll([alone]);
    await account.close();
    return [
      absolute({
        name: NAME,
        unit: "% of a core",
        value: linked - without,
        against: `% more than without (${linked.toFixed(2)}, without ${without.toFixed(2)})`,
        goal: 1,
        floor: 3,
        better: "lower",
      }),
    ];
  },
};
