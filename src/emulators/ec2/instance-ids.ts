import { createFault, type Fault } from "./fault.ts";
import type { Ec2Instance } from "./instance.ts";
import type { Inventory, Listed } from "./inventory.ts";

const INSTANCE_ID = /^i-(?:[0-9a-f]{8}|[0-9a-f]{17})$/;

/** Returns all instances with these IDs, or a fault: a missing or malformed one fails the call. */
export function findInstancesById(
  ids: readonly string[],
  inventory: Inventory,
  account: string,
  now: number,
): readonly Listed<Ec2Instance>[] | Fault {
  const wanted = [...new Set(ids)];
  const malformed = wanted.find((id) => !INSTANCE_ID.test(id));
  if (malformed !== undefined)
    return createFault("InvalidInstanceID.Malformed", `Invalid id: "${malformed}"`);
  const found = inventory.find(account, "id", wanted, now);
  if (found.length === wanted.length) return found;
  const known = new Set(found.map(({ value }) => value.id));
  const missing = wanted.filter((id) => !known.has(id));
  const message =
    missing.length === 1
      ? `The instance ID '${missing[0]}' does not exist`
      : `The instance IDs '${missing.join(", ")}' do not exist`;
  return createFault("InvalidInstanceID.NotFound", message);
}
