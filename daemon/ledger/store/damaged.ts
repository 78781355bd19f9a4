/** What is refused in a Group whose history is damaged. */

import { missingWords } from "../../../shared/damage-words.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { LedgerDamage } from "../../../shared/ledger-damage.ts";

export function damagedRefusal(damage: LedgerDamage): Refusal {
  return new Refusal("ledger_damaged", {
    specifics: `Nothing new is recorded in this Group, because its history is damaged. ${missingWords(damage)}`,
    details: { ...damage },
  });
}
