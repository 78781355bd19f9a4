/**
 * How long an instance takes to learn of its connections: the question, the answer checked and kept
 * on disk. The daemon's own code asks the service's process.
 */
import { AccountClient } from "../../daemon/peers/account/account-client.ts";
import { AccountGroupLinks } from "../../daemon/peers/account/group-links.ts";
import { Membership } from "../../daemon/peers/account/membership.ts";
import { RealHttpClient } from "../../platform/http/real-client.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { compare, interleave, type Measurement, median } from "../figure.ts";
import { scratchPath } from "../folder.ts";
import { clock, Issuer, type Linked, quiet } from "./issuer.ts";

const NAME = "sync of 128 connections, time";
const MANY = 128;
/** A device may ask 30 times a minute: these, and one at the start. */
const ROUNDS = 4;
const SYNCS = 7;

export const sync: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const issuer = await Issuer.open();
    const http = new RealHttpClient({ clock });
    const [ann, ben, carla] = [
      await issuer.linked("Ann"),
      await issuer.linked("Ben"),
      await issuer.linked("Carla"),
    ];
    await issuer.connect(ann, carla, 1);
    await issuer.connect(ben, carla, MANY);
    const [one, many] = [await linksOf(ann, issuer, http), await linksOf(ben, issuer, http)];
    try {
      const times = await interleave(short ? 1 : ROUNDS, {
        many: () => timed(many, MANY),
        one: () => timed(one, 1),
      });
      return [
        compare({
          name: NAME,
          unit: "ms",
          value: times.many,
          against: "of one connection",
          against_value: times.one,
          goal: 3,
          floor: 5,
          better: "lower",
        }),
      ];
    } finally {
      await Promise.all([one.close(), many.close()]);
      http.close();
      await issuer.close();
    }
  },
};

async function timed(links: AccountGroupLinks, count: number): Promise<number> {
  const times: number[] = [];
  for (let done = 0; done < SYNCS; done += 1) {
    const begun = performance.now();
    await links.refresh();
    times.push(performance.now() - begun);
    if (links.current?.links.length !== count) throw new Error(`not ${count} connections: ${links.trouble}`);
  }
  return median(times);
}

async function linksOf(
  { device, instance }: Linked,
  { service }: Issuer,
  http: RealHttpClient,
): Promise<AccountGroupLinks> {
  const files = new RealFiles();
  const folder = scratchPath("links");
  files.mkdir(folder);
  const membership = await Membership.open(files, `${folder}/membership.json`);
  await membership.update((value) => ({
    ...value,
    logged_in: true,
    account_origin: service.origin,
    device_id: device.id,
    device_token: device.token,
  }));
  return AccountGroupLinks.open({
    files,
    clock,
    random: new RealRandom(),
    log: quiet,
    path: `${folder}/connect_groups.json`,
    identity: instance,
    membership,
    client: new AccountClient(http, 15, new AbortController().signal),
    // How it went is another file's matter.
    directory: { snapshot: null, noteGroupSync: () => Promise.resolve() },
    // All Groups are there: nothing has to be ended.
    registry: { find: () => undefined, knows: () => true },
  });
}
