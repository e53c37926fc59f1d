import { type Fault, fault } from "./fault.ts";
import type { Ec2Instance } from "./instance.ts";
import type { Inventory, Listed } from "./inventory.ts";

const INSTANCE_ID = /^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;

/** The instances with these ids, all of them or a fault: one that is missing or misspelt fails the call. */
export function instancesById(
  ids: readonly string[],
  inventory: Inventory,
  account: string,
  now: number,
): readonly Listed<Ec2Instance>[] | Fault {
  const wanted = [...new Set(ids)];
  const malformed = wanted.find((id) => !INSTANCE_ID.test(id));
  if (malformed !== undefined) return fault("InvalidInstanceID.Malformed", `Invalid id: "${malformed}"`);
  const found = inventory.find(account, "id", wanted, now);
  if (found.length === wanted.length) return found;
  const known = new Set(found.map(({ value }) => value.id));
  const missing = wanted.filter((id) => !known.has(id));
  const message =
    missing.length === 1
      ? `The instance ID '${missing[0]}' does not exist`
      : `The instance IDs '${missing.join(", ")}' do not exist`;
  return fault("InvalidInstanceID.NotFound", message);
}
