import * as z from "zod";
import { INSTANCE_ANNOTATION } from "#core/contracts.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";

/** A node as a table has it: without what its API server adds. */
export const TableNode = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({}).optional(),
  status: z.looseObject({}).optional(),
});
export type TableNode = z.output<typeof TableNode>;

/**
 * Returns all that the controllers may change on a node, and the conditions, which they must not change. The
 * annotation with the instance is left out, because the stock controller does not write it.
 */
export function describeNode({ metadata, spec, status }: TableNode | StoredObject) {
  const { [INSTANCE_ANNOTATION]: _, ...annotations } = (metadata["annotations"] ?? {}) as Record<
    string,
    string
  >;
  return {
    labels: metadata["labels"] ?? {},
    annotations,
    providerID: spec?.["providerID"] ?? "",
    taints: spec?.["taints"] ?? [],
    addresses: status?.["addresses"] ?? [],
    conditions: status?.["conditions"] ?? [],
  };
}
