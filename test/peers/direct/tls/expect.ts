import assert from "node:assert/strict";
import { ALERTS, type AlertName } from "../../../../daemon/peers/direct/tls/alert.ts";
import type { Puppet } from "./puppet.ts";
import { type Target } from "./target.ts";

/**
 * The target ended the connection by `alert`, once, the puppet could read it, and nothing goes any
 * more.
 */
export function refusedWith(puppet: Puppet, alert: AlertName): void {
  const { target } = puppet;
  puppet.listen();
  assert.equal(
    target.failure?.message === undefined ? "no failure" : target.failure.alert,
    ALERTS[alert],
    target.failure?.message,
  );
  assert.equal(target.failure?.origin, "us");
  assert.equal(target.failures.length, 1);
  assert.deepEqual(puppet.alerts, [ALERTS[alert]]);
  isOver(target);
}

/** Nothing comes of a failed connection. */
export function isOver(target: Target): void {
  const { data, closed } = target;
  target.connection.receive(Buffer.from("170303001100000000000000000000000000000000", "hex"));
  target.connection.end();
  target.connection.close();
  assert.equal(target.failures.length, 1);
  assert.equal(target.output.length, 0);
  assert.equal(target.data, data);
  assert.equal(target.closed, closed);
  assert.throws(() => target.connection.write(Buffer.of(1)));
}
