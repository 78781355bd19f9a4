import { PRODUCT_VERSION } from "../../shared/version.ts";
import type { CommandContext } from "../context.ts";

/** `--json` prints an envelope like an operation's. */
export async function version(context: CommandContext): Promise<void> {
  if (context.out.json) context.out.document({ ok: true, result: { version: PRODUCT_VERSION } });
  else context.out.line(`svc ${PRODUCT_VERSION}`);
}
